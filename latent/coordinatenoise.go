// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/latent/internal/blocks"
	"github.com/noisewright/noisewright/latent/internal/budget"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/tables"
)

// maxCoordinates bounds the coordinates that noise per coordinate is tried for in a ball.
const maxCoordinates = 64

// separately returns the numbers of coordinates to try, from and to, where each has noise of
// its own: all of them, or in a ball, where each is taken to lie within ±radius, up to most.
func (r *Result) separately(most int) (from, to int) {
	if n := len(r.Lambda); r.problem.Domain != bundle.Ball {
		return n, n
	}
	return 1, min(len(r.Lambda), most)
}

// perCoordinate finds the best encoder for noise of the family; curve, if not nil, has its tables.
func (r *Result) perCoordinate(ctx context.Context, kind bundle.Kind, family budget.Family, curve *curve) ([]*Candidate, error) {
	from, to := r.separately(maxCoordinates)
	var cs []*Candidate
	splits := map[int]*budget.Allocation{}
	for z := from; z <= to; z++ {
		l := r.leading(z)
		if l.radii[0] == 0 && r.problem.Domain == bundle.Ball {
			continue
		}
		a, err := budget.Split(ctx, l.lambda, l.halfwidths, r.problem.Epsilon, r.problem.Delta, family)
		if err != nil {
			return nil, err
		}
		splits[z] = a
		cs = append(cs, r.splitCandidate(kind, kind.Composition(), a, nil, l))
	}
	best, err := r.bestOf(ctx, cs)
	if err != nil || best == nil {
		return nil, err
	}
	l := r.leading(len(best.axes))
	if curve != nil {
		a := splits[len(best.axes)]
		points, err := curve.pointsOf(ctx, a)
		if err != nil {
			return nil, err
		}
		best = r.splitCandidate(kind, kind.Composition(), a, points, l)
		if best.Loss, err = r.loss(best); err != nil {
			return nil, err
		}
	}
	exact, err := r.exactSplit(ctx, best, l, family, curve)
	if err != nil {
		return nil, err
	}
	if exact != nil && exact.Loss < best.Loss {
		best = exact
	}
	return []*Candidate{best}, nil
}

// leading is what a split needs to know of the first coordinates.
type leading struct {
	radii              []float64
	lambda, halfwidths []float64
}

func (r *Result) leading(z int) *leading {
	l := &leading{radii: r.radiiOf(z), lambda: r.Lambda[:z]}
	l.halfwidths = l.radii
	if r.objective.Separable() {
		l.lambda, l.halfwidths = r.objective.Effective(l.radii)
	}
	return l
}

// splitCandidate is the encoder of the coordinates used, each with half the unit sensitivity of its
// noise on either side. Points are nil for noise that is not designed, which is not drawn.
func (r *Result) splitCandidate(kind bundle.Kind, composition bundle.Composition, a *budget.Allocation, points []*point, l *leading) *Candidate {
	c := &Candidate{
		Noise: kind, Encoder: taskAware, Composition: composition,
		axes: make([]float64, len(l.radii)), radii: l.radii,
		Bundled: points != nil,
	}
	for i, price := range r.Lambda {
		if i >= len(a.Epsilon) || a.Epsilon[i] == 0 {
			c.UnclippedLoss += price
			continue
		}
		c.axes[i] = 0.5
		c.Epsilon, c.Delta = append(c.Epsilon, a.Epsilon[i]), append(c.Delta, a.Delta[i])
		v := a.Variance[i]
		if points != nil {
			v = points[i].variance
			c.points = append(c.points, points[i])
		}
		c.variances = append(c.variances, v)
		c.UnclippedLoss += price / (1 + 1/(4*l.radii[i]*l.radii[i]*v))
	}
	c.Z = len(c.variances)
	return c
}

// deltaShares are the parts of delta that exactly composed coordinates may spend themselves.
var deltaShares = []float64{0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}

// minSaving is the least relative gain over the basic split for which one is composed
// exactly, as planned, and retries how often a plan is shrunk by that if it fails.
const (
	minSaving = 0.001
	retries   = 4
)

// exactSplit is the best split into equal shares that are composed exactly; nil if it
// is not better than the basic one, as it seldom is.
//
// Planning takes each coordinate for the worst mechanism with its share: see worstDelta. The losses
// of all Z of these are ε_i at once with probability Π 1/(1+e^-ε_i) at least; so if Σε_i > ε,
//
//	Σε_i - ε <= -ln(1 - δ·Π(1+e^-ε_i)),
//
// which is next to nothing unless there are many coordinates of small ε_i or δ is large. Up to
// δ = 0.03 no exactly composed split of up to 200 equal coordinates was better than the basic
// one; at δ = 0.1 some are, by up to 2 % of what is gained, and at 0.3 by up to 10 %. There
// equal shares are nearly all there is, and they take one table.
func (r *Result) exactSplit(ctx context.Context, basic *Candidate, l *leading, family budget.Family, curve *curve) (*Candidate, error) {
	epsilon, delta, order := r.planEqual(l, family, l.gain(basic))
	for try := 0; len(order) > 0 && try < retries; try++ {
		variance, err := family.Variance(epsilon, delta)
		if err != nil {
			return nil, err
		}
		n := len(l.lambda)
		a := &budget.Allocation{Epsilon: make([]float64, n), Delta: make([]float64, n), Variance: make([]float64, n)}
		for _, i := range order {
			a.Epsilon[i], a.Delta[i], a.Variance[i] = epsilon, delta, variance
		}
		var points []*point
		if curve != nil {
			if points, err = curve.pointsOf(ctx, a); err != nil {
				return nil, err
			}
		}
		c := r.splitCandidate(basic.Noise, bundle.Exact, a, points, l)
		fits, err := r.composes(c)
		if err != nil {
			return nil, err
		}
		if fits {
			c.Loss, err = r.loss(c)
			return c, err
		}
		epsilon *= 1 - minSaving
	}
	return nil, nil
}

// gain is by how much a candidate lowers the loss, as planned.
func (l *leading) gain(c *Candidate) float64 {
	sum, used := 0.0, 0
	for i, s := range c.axes {
		if s > 0 {
			sum += l.gainOf(i, c.variances[used])
			used++
		}
	}
	return sum
}

// gainOf is what coordinate i gains with noise of a variance, as in a split.
func (l *leading) gainOf(i int, variance float64) float64 {
	return l.lambda[i] / (1 + 4*l.halfwidths[i]*l.halfwidths[i]*variance)
}

// planEqual returns the equal share, and the coordinates to use, that gain most; none if
// that is not more than the basic gain.
func (r *Result) planEqual(l *leading, family budget.Family, basic float64) (epsilon, delta float64, used []int) {
	p := &r.problem
	shares := deltaShares
	if family.Pure {
		shares = []float64{0}
	}
	best := basic * (1 + minSaving)
	for z := 2; p.Delta > 0 && z <= min(len(l.lambda), maxCoordinates); z++ {
		for _, share := range shares {
			e, d, variance, ok := equalShare(p.Promise, z, share, family)
			if !ok {
				continue
			}
			// The coordinates that gain most by this noise.
			order, gains := upTo(len(l.lambda)), make([]float64, len(l.lambda))
			for i := range gains {
				gains[i] = l.gainOf(i, variance)
			}
			slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(gains[j], gains[i]) })
			gain := 0.0
			for _, i := range order[:z] {
				gain += gains[i]
			}
			if gain > best {
				best, epsilon, delta, used = gain, e, d, order[:z]
			}
		}
	}
	return epsilon, delta, used
}

// equalShare returns the share of each of z coordinates whose worst composition keeps the promise
// where they spend a part of delta, and the variance of the noise; ok is false if there is none.
func equalShare(promise bundle.Promise, z int, part float64, family budget.Family) (epsilon, delta, variance float64, ok bool) {
	delta = promise.Delta * part / float64(z)
	epsilon = equalEpsilon(promise.Epsilon, promise.Delta, delta, z)
	variance, err := family.Variance(epsilon, delta)
	return epsilon, delta, variance, err == nil
}

// equalEpsilon returns the largest share of each of z coordinates, to one part in 10⁴,
// whose worst composition keeps the promise with d each.
func equalEpsilon(epsilon, delta, d float64, z int) float64 {
	low, high := 0.0, epsilon
	for high-low > 1e-4*high {
		if middle := (low + high) / 2; worstDelta(middle, d, z, epsilon) <= delta {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// worstDelta returns the δ at epsilon of z releases that are (e, d)-private, at worst:
// each is randomized response that fails with probability d, and with p = 1/(1+e^-e)
//
//	1 - (1-d)^z (1 - Σ_j C(z,j) p^(z-j) (1-p)^j (1 - e^(ε-(z-2j)e))₊).
//
// Source: Kairouz, Oh & Viswanath (2017), Theorem 3.3. It is in floating point, to plan with.
func worstDelta(e, d float64, z int, epsilon float64) float64 {
	p := 1 / (1 + math.Exp(-e))
	probability := math.Pow(p, float64(z)) // of j failures
	sum := 0.0
	for j := 0; j <= z && float64(z-2*j)*e > epsilon; j++ {
		sum -= probability * math.Expm1(epsilon-float64(z-2*j)*e)
		probability *= float64(z-j) / float64(j+1) * math.Exp(-e)
	}
	return 1 - math.Pow(1-d, float64(z))*(1-sum)
}

// composes reports whether the equal shares of a candidate, of its table if it has one,
// compose exactly to the promise or less.
func (r *Result) composes(c *Candidate) (bool, error) {
	if c.points == nil {
		one, err := account.Approximate(c.Epsilon[0], c.Delta[0])
		return composes(one, err, c.Z, r.problem.Promise)
	}
	one, err := account.LossOf(c.points[0].table)
	return composes(one, err, c.Z, r.problem.Promise)
}

// composes says if z releases of a privacy loss, perhaps an error, compose to the promise or less.
func composes(one *account.PrivacyLossDistribution, err error, z int, promise bundle.Promise) (bool, error) {
	if err != nil {
		return false, err
	}
	delta, err := composedDelta(slices.Repeat([]*account.PrivacyLossDistribution{one}, z), promise.Epsilon)
	return delta <= promise.Delta, err
}

// EqualTable returns the table that each of z coordinates has alike, for values that differ
// by a sensitivity at most, and the composition by which all of them together keep the
// promise: basic, or exact where that leaves room for less variance, see exactSplit.
// What design makes is verified by the bundle that it comes into.
//
// Errors wrap dp.ErrInvalid for a promise outside the range of designs, or are those of
// design and of package account.
func EqualTable(ctx context.Context, promise bundle.Promise, z int, sensitivity float64, design func(context.Context, dp.Problem) (*tables.Verified, error)) (*tables.Table, bundle.Composition, error) {
	table := func(epsilon, delta float64) (*tables.Table, error) {
		p, err := designProblem(epsilon, delta, sensitivity)
		if err != nil {
			return nil, err
		}
		v, err := design(ctx, p)
		if err != nil {
			return nil, check.Errorf("latent", nil, "noise for epsilon = %g, delta = %g: %w", p.Epsilon, p.Delta, err)
		}
		return v.Mechanism(), nil
	}
	epsilon, delta := exact.Share(promise.Epsilon, z), exact.Share(promise.Delta, z)
	if e, d := exactShares(promise, z, epsilon, delta); e > 0 {
		for range retries {
			t, err := table(e, d)
			if err != nil {
				return nil, "", err
			}
			one, err := account.LossOf(t)
			if fits, err := composes(one, err, z, promise); err != nil || fits {
				return t, bundle.Exact, err
			}
			e *= 1 - minSaving
		}
	}
	t, err := table(epsilon, delta)
	return t, bundle.Designed.Composition(), err
}

// exactShares returns the equal shares of exact composition that have less variance, as
// planned, than (epsilon, delta) by basic composition; 0 if there are none.
func exactShares(promise bundle.Promise, z int, epsilon, delta float64) (e, d float64) {
	family := budget.TruncatedStaircase()
	best, err := family.Variance(epsilon, delta)
	if z < 2 || promise.Delta == 0 || err != nil {
		return 0, 0
	}
	best *= 1 - minSaving
	for _, share := range deltaShares {
		if larger, own, v, ok := equalShare(promise, z, share, family); ok && v < best {
			best, e, d = v, larger, own
		}
	}
	return e, d
}

// FitRandomizer returns the local randomizer of least mean squared error, with delta = 0,
// for values that have the law of those given, within ±radius. With few of them the
// law is mixed with the uniform one. Its answer is the mean of the values given that answer.
//
// Errors wrap dp.ErrInvalid: no values, one beyond ±radius, or an epsilon not from 1e-6 to 100.
func FitRandomizer(values []float64, radius, epsilon float64) (*local.Randomizer, error) {
	if len(values) == 0 {
		return nil, check.Field("latent", "values", "none", "at least one")
	}
	if i := slices.IndexFunc(values, func(v float64) bool { return !(v >= -radius && v <= radius) }); i >= 0 {
		return nil, check.Errorf("latent", dp.ErrInvalid, "values[%d] = %g, want a number within ±%g", i, values[i], radius)
	}
	if !(epsilon >= leastLocalEpsilon && epsilon <= check.MaxEpsilon) {
		return nil, check.Errorf("latent", dp.ErrInvalid, "epsilon = %g, want a number from %g to %d", epsilon, leastLocalEpsilon, check.MaxEpsilon)
	}
	return blocks.NewLaw(values, values, radius).Randomizer(epsilon)
}
