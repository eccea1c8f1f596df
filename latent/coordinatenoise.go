package latent

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/tables"
)

// maxCoordinates bounds the coordinates that noise per coordinate is tried for in
// a ball.
const maxCoordinates = 64

// unmade is a family as far as its variances are known: those of a curve without its
// tables, which take time.
type unmade struct{ Family }

// perCoordinate finds the best encoder for noise of the family on each coordinate. In a
// ball it takes each to lie within ±radius, which wastes the sphere, and tries all
// numbers of coordinates.
func (r *Result) perCoordinate(ctx context.Context, kind bundle.Kind, family Family) ([]*Candidate, error) {
	planned := unmade{family}
	_, designed := family.(*Curve)
	from, to := len(r.Lambda), len(r.Lambda)
	if r.problem.Domain == bundle.Ball {
		from, to = 1, min(to, maxCoordinates)
	}
	var cs []*Candidate
	for z := from; z <= to; z++ {
		b := r.newBudget(z)
		if b.radii[0] == 0 && r.problem.Domain == bundle.Ball {
			continue
		}
		a, err := b.split(ctx, r.problem.Epsilon, r.problem.Delta, planned)
		if err != nil {
			return nil, err
		}
		if a.Used() > 0 {
			cs = append(cs, r.splitCandidate(kind, bundle.Basic, a, b))
		}
	}
	best, err := r.bestOf(ctx, cs)
	if err != nil || best == nil {
		return nil, err
	}
	b := r.newBudget(len(best.axes))
	if designed {
		if best, err = r.resplit(ctx, best, b, family); err != nil {
			return nil, err
		}
	}
	exact, err := r.exactSplit(ctx, best, b, planned, family)
	if err != nil {
		return nil, err
	}
	if exact != nil && exact.Loss < best.Loss {
		best = exact
	}
	return []*Candidate{best}, nil
}

// budget is what a split needs to know of the first coordinates.
type budget struct {
	radii              []float64
	lambda, halfwidths []float64
}

func (r *Result) newBudget(z int) *budget {
	b := &budget{radii: r.radiiOf(z), lambda: r.Lambda[:z]}
	b.halfwidths = b.radii
	if r.objective.Separable() {
		b.lambda, b.halfwidths = r.objective.Effective(b.radii)
	}
	return b
}

func (b *budget) split(ctx context.Context, epsilon, delta float64, family Family) (*Allocation, error) {
	if family.Pure() {
		delta = 0
	}
	return Split(ctx, b.lambda, b.halfwidths, epsilon, delta, family)
}

// resplit is the split of a candidate with the tables of a curve.
func (r *Result) resplit(ctx context.Context, c *Candidate, b *budget, family Family) (*Candidate, error) {
	a, err := b.split(ctx, r.problem.Epsilon, r.problem.Delta, family)
	if err != nil {
		return nil, err
	}
	c = r.splitCandidate(c.Noise, bundle.Basic, a, b)
	c.Loss, err = r.loss(c)
	return c, err
}

// splitCandidate is the encoder of the coordinates used, each with half the unit
// sensitivity of its noise on either side.
func (r *Result) splitCandidate(kind bundle.Kind, composition bundle.Composition, a *Allocation, b *budget) *Candidate {
	c := &Candidate{
		Noise: kind, Encoder: TaskAware, Composition: composition,
		axes: make([]float64, len(b.radii)), radii: b.radii,
		Bundled: a.Points != nil, // of the families only a curve's tables can be drawn from
	}
	for i, l := range r.Lambda {
		if i >= len(a.Epsilon) || a.Epsilon[i] == 0 {
			c.Theory += l
			continue
		}
		c.axes[i] = 0.5
		c.Epsilon, c.Delta = append(c.Epsilon, a.Epsilon[i]), append(c.Delta, a.Delta[i])
		v := a.Variance[i]
		if a.Points != nil {
			c.points = append(c.points, a.Points[i])
		}
		c.variances = append(c.variances, v)
		c.Theory += l / (1 + 1/(4*b.radii[i]*b.radii[i]*v))
	}
	c.Z = len(c.variances)
	return c
}

// deltaShares are the parts of the total delta that exactly composed coordinates
// may spend themselves.
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
// Planning takes each coordinate for the worst mechanism with its share: see
// worstDelta. The losses of all Z of these are ε_i at once with probability Π
// 1/(1+e^-ε_i) at least, so that, if Σε_i is more than ε,
//
//	Σε_i - ε <= -ln(1 - δ·Π(1+e^-ε_i)),
//
// which is next to nothing unless there are many coordinates of small ε_i or δ is
// large. But noise varies so much less for larger ε that few coordinates with several
// units of ε each are best: up to δ = 0.03 no exactly composed split of up to 200 equal
// coordinates was better than the basic one; at δ = 0.1 some are, by up to 2 % of
// what is gained, and at 0.3 by up to 10 %. There equal shares are nearly all there is,
// and they take one table.
func (r *Result) exactSplit(ctx context.Context, basic *Candidate, b *budget, planned, family Family) (*Candidate, error) {
	epsilon, delta, order := r.planEqual(b, planned, b.gain(basic))
	for try := 0; len(order) > 0 && try < retries; try++ {
		a := &Allocation{Epsilon: make([]float64, len(b.lambda)), Delta: make([]float64, len(b.lambda)), Variance: make([]float64, len(b.lambda))}
		variance, err := family.Variance(epsilon, delta)
		if err != nil {
			return nil, err
		}
		if curve, ok := family.(*Curve); ok {
			point, err := curve.At(ctx, epsilon, delta)
			if err != nil {
				return nil, err
			}
			variance = point.Variance
			a.Points = make([]*Point, len(b.lambda))
			for _, i := range order {
				a.Points[i] = point
			}
		}
		for _, i := range order {
			a.Epsilon[i], a.Delta[i], a.Variance[i] = epsilon, delta, variance
		}
		kept, err := r.keeps(a)
		if err != nil {
			return nil, err
		}
		if kept {
			c := r.splitCandidate(basic.Noise, bundle.Exact, a, b)
			c.Loss, err = r.loss(c)
			return c, err
		}
		epsilon *= 1 - minSaving
	}
	return nil, nil
}

// gain is by how much a candidate lowers the loss, as planned.
func (b *budget) gain(c *Candidate) float64 {
	sum, used := 0.0, 0
	for i, s := range c.axes {
		if s > 0 {
			sum += b.coordinate(i).gain(c.variances[used])
			used++
		}
	}
	return sum
}

func (b *budget) coordinate(i int) coordinate {
	return coordinate{lambda: b.lambda[i], spread: 4 * b.halfwidths[i] * b.halfwidths[i], index: i}
}

// planEqual returns the equal share, and the coordinates to use, that gain most; none if
// that is not more than the basic gain.
func (r *Result) planEqual(b *budget, planned Family, basic float64) (epsilon, delta float64, used []int) {
	p := &r.problem
	shares := deltaShares
	if planned.Pure() {
		shares = []float64{0}
	}
	best := basic * (1 + minSaving)
	for z := 2; p.Delta > 0 && z <= min(len(b.lambda), maxCoordinates); z++ {
		for _, share := range shares {
			d := p.Delta * share / float64(z)
			e := equalEpsilon(p.Epsilon, p.Delta, d, z)
			variance, err := planned.Variance(e, d)
			if err != nil {
				continue
			}
			// The coordinates that gain most by this noise.
			order := make([]int, len(b.lambda))
			for i := range order {
				order[i] = i
			}
			gains := make([]float64, len(b.lambda))
			for i := range gains {
				gains[i] = b.coordinate(i).gain(variance)
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
// Source: Kairouz, Oh & Viswanath (2017), Theorem 3.3. It is in floating point, to plan
// with.
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

// keeps reports whether the shares compose to the promise: those of the tables if there
// are any.
func (r *Result) keeps(a *Allocation) (bool, error) {
	var mechanisms []*account.PrivacyLossDistribution
	for i, e := range a.Epsilon {
		if e == 0 {
			continue
		}
		var m *account.PrivacyLossDistribution
		var err error
		if a.Points != nil {
			m, err = account.Table(a.Points[i].Table)
		} else {
			m, err = account.Approximate(e, a.Delta[i])
		}
		if err != nil {
			return false, err
		}
		mechanisms = append(mechanisms, m)
	}
	delta, err := composedDelta(mechanisms, r.problem.Epsilon)
	return delta <= r.problem.Delta, err
}

// Compose bounds the composition of a bundle's tables exactly, with package
// account: see [bundle.Bundle.Verify].
func Compose(coordinates []*tables.Table, promise bundle.Promise) (deltaUpper float64, err error) {
	known := map[*tables.Table]*account.PrivacyLossDistribution{}
	var mechanisms []*account.PrivacyLossDistribution
	for _, t := range coordinates {
		m, ok := known[t]
		if !ok {
			if m, err = account.Table(t); err != nil {
				return 0, err
			}
			known[t] = m
		}
		mechanisms = append(mechanisms, m)
	}
	return composedDelta(mechanisms, promise.Epsilon)
}

// composedDelta returns an upper bound on the δ at epsilon of all mechanisms together.
func composedDelta(mechanisms []*account.PrivacyLossDistribution, epsilon float64) (float64, error) {
	releases := make([]account.Release, len(mechanisms))
	for i, m := range mechanisms {
		releases[i] = account.Release{PLD: m, Times: 1}
	}
	c, err := account.Compose(releases, account.Options{})
	if err != nil {
		return 0, err
	}
	b, err := c.Delta(epsilon)
	if err != nil {
		return 0, err
	}
	if !(b.Upper >= 0) { // NaN too
		return 0, check.Field("latent", "composed delta", b.Upper, "a number of at least 0")
	}
	return b.Upper, nil
}
