package latent

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/tables"
)

// maxCoordinates bounds the coordinates that noise per coordinate is tried for.
const maxCoordinates = 64

// perCoordinate finds encoders for noise of the family on each coordinate. In a
// ball it takes each to lie within ±radius, which wastes the sphere, and tries all
// numbers of coordinates; a curve, which takes time, only those around the best
// one for truncated Laplace noise.
func (r *Result) perCoordinate(ctx context.Context, kind bundle.Kind, family Family) ([]*Candidate, error) {
	if r.problem.Domain != DomainBall {
		c, err := r.splitCandidate(ctx, kind, family, len(r.Lambda), r.Radii)
		if err != nil || c == nil {
			return nil, err
		}
		return []*Candidate{c}, nil
	}
	from, to := 1, min(len(r.Lambda), maxCoordinates)
	if curve, ok := family.(*Curve); ok {
		cheap := Staircase()
		if r.problem.Delta > 0 {
			cheap = TruncatedLaplace()
		}
		all, err := r.inBalls(ctx, kind, cheap, from, to)
		if err != nil {
			return nil, err
		}
		best := all[0]
		for _, c := range all {
			if c.Loss < best.Loss {
				best = c
			}
		}
		family, from, to = curve, max(1, best.Z-1), min(to, best.Z+1)
	}
	return r.inBalls(ctx, kind, family, from, to)
}

// inBalls makes the candidates of so many coordinates.
func (r *Result) inBalls(ctx context.Context, kind bundle.Kind, family Family, from, to int) ([]*Candidate, error) {
	var cs []*Candidate
	for z := from; z <= to; z++ {
		radii := make([]float64, z)
		for i := range radii {
			radii[i] = r.Radii[z-1]
		}
		c, err := r.splitCandidate(ctx, kind, family, z, radii)
		if err != nil {
			return nil, err
		}
		if c != nil {
			cs = append(cs, c)
		}
	}
	return cs, nil
}

// splitCandidate splits the budget over the first z coordinates with the radii;
// nil if none is worth using.
func (r *Result) splitCandidate(ctx context.Context, kind bundle.Kind, family Family, z int, radii []float64) (*Candidate, error) {
	p := &r.problem
	delta := p.Delta
	if family.Pure() {
		delta = 0
	}
	basic, err := Split(ctx, r.Lambda[:z], radii[:z], p.Epsilon, delta, family)
	if err != nil {
		return nil, err
	}
	if basic.Used() == 0 {
		return nil, nil
	}
	best, err := r.allocationCandidate(kind, bundle.Basic, basic, radii)
	if err != nil {
		return nil, err
	}
	if p.Delta > 0 && basic.Used() > 1 {
		exact, err := r.exactSplit(ctx, basic, family, radii)
		if err != nil {
			return nil, err
		}
		if exact != nil {
			c, err := r.allocationCandidate(kind, bundle.Exact, exact, radii)
			if err != nil {
				return nil, err
			}
			if c.Loss < best.Loss {
				best = c
			}
		}
	}
	return best, nil
}

// allocationCandidate judges an allocation.
func (r *Result) allocationCandidate(kind bundle.Kind, composition bundle.Composition, a *Allocation, radii []float64) (*Candidate, error) {
	c := &Candidate{Noise: kind, Encoder: TaskAware, Composition: composition, allocation: a}
	axes := make([]float64, len(radii))
	c.Theory = 0
	for i, e := range a.Epsilon {
		c.Theory += r.Lambda[i]
		if e == 0 {
			continue
		}
		axes[i] = 0.5
		v := a.Variance[i]
		if a.Points != nil {
			v = a.Points[i].Variance
		}
		c.Epsilon, c.Delta = append(c.Epsilon, e), append(c.Delta, a.Delta[i])
		c.variances = append(c.variances, v)
		k := 4 * radii[i] * radii[i] * v
		c.Theory -= r.Lambda[i] / (1 + k)
	}
	for _, l := range r.Lambda[len(a.Epsilon):] {
		c.Theory += l
	}
	// Of the families only designed tables can be drawn from.
	c.Bundled = a.Points != nil
	var err error
	if c.encoder, err = r.unitEncoder(axes, radii); err != nil {
		return nil, err
	}
	return c, r.judge(c)
}

// minSaving is the least relative gain in epsilon for which a split is composed
// exactly.
const minSaving = 0.005

// deltaShares are the parts of the total delta that exactly composed coordinates
// may spend themselves.
var deltaShares = []float64{0.2, 0.5}

// exactSplit splits a budget that is larger than the promise by as much as exact
// composition allows; nil if that is not worth it.
//
// Any mechanism that is (ε_i, δ_i)-private is dominated by the worst one that is
// (Kairouz, Oh & Viswanath 2017), so the shares of the basic split can grow by
// a factor for which those worst ones compose to the promise, whatever the family.
// A curve's tables are better than that, so a second step grows the shares again
// as the composition of the tables allows. What it returns was composed.
func (r *Result) exactSplit(ctx context.Context, basic *Allocation, family Family, radii []float64) (*Allocation, error) {
	p := &r.problem
	var best *Allocation
	for _, share := range deltaShares {
		factor, err := r.exactFactor(basic, share)
		if err != nil || factor < 1+minSaving {
			return best, err
		}
		a, err := Split(ctx, r.Lambda[:len(radii)], radii, p.Epsilon*factor, p.Delta*share, family)
		if err != nil {
			return nil, err
		}
		kept, epsilon, err := r.keeps(a)
		if err != nil {
			return nil, err
		}
		if a.Points != nil && epsilon > 0 {
			grown, err := Split(ctx, r.Lambda[:len(radii)], radii, p.Epsilon*factor*(p.Epsilon/epsilon)*(1-0x1p-10), p.Delta*share, family)
			if err != nil {
				return nil, err
			}
			if ok, _, err := r.keeps(grown); err != nil {
				return nil, err
			} else if ok && grown.Loss < a.Loss {
				a, kept = grown, true
			}
		}
		if kept && (best == nil || a.Loss < best.Loss) {
			best = a
		}
	}
	return best, nil
}

// exactFactor returns by how much all shares of epsilon can grow when the
// coordinates spend the share of delta.
func (r *Result) exactFactor(a *Allocation, share float64) (float64, error) {
	lo, hi := 1.0, 1.0
	fits := func(factor float64) (bool, error) {
		grown := &Allocation{Epsilon: make([]float64, len(a.Epsilon)), Delta: make([]float64, len(a.Epsilon))}
		for i, e := range a.Epsilon {
			grown.Epsilon[i] = e * factor
			if e > 0 {
				grown.Delta[i] = r.problem.Delta * share / float64(a.Used())
			}
		}
		ok, _, err := r.keeps(grown)
		return ok, err
	}
	for hi < 64 {
		ok, err := fits(hi * 1.25)
		if err != nil {
			return 0, err
		}
		if !ok {
			hi *= 1.25
			break
		}
		hi *= 1.25
		lo = hi
	}
	for hi-lo > 1e-3*lo {
		middle := (lo + hi) / 2
		ok, err := fits(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			lo = middle
		} else {
			hi = middle
		}
	}
	return lo, nil
}

// keeps reports whether the shares compose to the promise, of the tables if there
// are any, and the composed epsilon at its delta; 0 if there is none.
func (r *Result) keeps(a *Allocation) (ok bool, epsilon float64, err error) {
	var releases []account.Release
	for i, e := range a.Epsilon {
		if e == 0 {
			continue
		}
		var m *account.Mechanism
		if a.Points != nil {
			m, err = account.Table(a.Points[i].Table)
		} else {
			m, err = account.Approximate(e, a.Delta[i])
		}
		if err != nil {
			return false, 0, err
		}
		releases = append(releases, account.Release{Mechanism: m, Times: 1})
	}
	c, err := account.Compose(releases, account.Options{})
	if err != nil {
		return false, 0, err
	}
	// Judged as Compose does, at the epsilon of the promise.
	d, err := c.Delta(r.problem.Epsilon)
	if err != nil {
		return false, 0, err
	}
	b, err := c.Epsilon(r.problem.Delta)
	switch {
	case errors.Is(err, account.ErrDeltaTooSmall):
		return false, 0, nil
	case err != nil:
		return false, 0, err
	}
	return d.Upper <= r.problem.Delta, b.Upper, nil
}

// Compose bounds the composition of a bundle's tables exactly, with package
// account: see [bundle.Bundle.Verify].
func Compose(coordinates []*tables.Table, promise bundle.Promise) (deltaUpper float64, err error) {
	mechanisms := map[*tables.Table]*account.Mechanism{}
	var releases []account.Release
	for _, t := range coordinates {
		m, ok := mechanisms[t]
		if !ok {
			if m, err = account.Table(t); err != nil {
				return 0, err
			}
			mechanisms[t] = m
		}
		releases = append(releases, account.Release{Mechanism: m, Times: 1})
	}
	c, err := account.Compose(releases, account.Options{})
	if err != nil {
		return 0, err
	}
	b, err := c.Delta(promise.Epsilon)
	if err != nil {
		return 0, err
	}
	if math.IsNaN(b.Upper) {
		return 0, fmt.Errorf("latent: composed delta is not a number: %w", ErrInvalid)
	}
	return b.Upper, nil
}
