package latent

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/latent/internal/budget"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// The range in which noise is designed. A point outside gets the noise of a point
// inside with no larger ε and δ, which serves there too: with ε = 0 and δ = 0
// below the least, and with the most above.
const (
	leastDesignEpsilon = 1e-3
	mostDesignEpsilon  = 20
	leastDesignDelta   = 1e-12
	mostDesignDelta    = 0.9
)

// Curve is designed noise as a function of (ε, δ), for sensitivity 1 and the loss
// l2. It is safe for concurrent use.
type Curve struct {
	store  *tables.Store
	mu     sync.Mutex
	points map[*tables.Verified]*Point
}

// Point is a table for sensitivity 1 and what a decoder needs to know of it. It
// is immutable.
type Point struct {
	// Table keeps (ε, δ)-privacy with its own, possibly smaller, ε and δ.
	Table *tables.Table
	// Mean is E X, rounded to the nearest; 0 for a symmetric table.
	Mean float64
	// Variance is E (X - Mean)², exact but for rounding up to the next float64.
	Variance float64
}

// NewCurve returns a curve of the tables in a store, which designs those that it does
// not have: for real queries of sensitivity 1, with the loss l2.
func NewCurve(store *tables.Store) *Curve {
	return &Curve{store: store, points: make(map[*tables.Verified]*Point)}
}

// family is designed noise as a split of a budget sees it: without its tables, which take
// time. Its variance is an upper bound on the least one of all private noise, proved in
// docs/proofs/noise-curve.md, where At has a table for it. One designed within a gap g of
// the optimum has at most (1+g) times this variance; At knows exactly.
func (c *Curve) family() budget.Family {
	bound := budget.TruncatedStaircase()
	return budget.Family{Name: "designed", Variance: func(epsilon, delta float64) (float64, error) {
		p, err := designProblem(epsilon, delta, 1)
		if err != nil {
			return 0, err
		}
		return bound.Variance(p.Epsilon, p.Delta)
	}}
}

// Split divides the budget (ε, δ) over coordinates and returns noise for each, nil for one
// that is better not released. Coordinate i has variance one and the price lambda[i] >= 0,
// which is lost without it (any unit), and is clipped to ±halfwidth[i], above 0: noise of
// variance v for sensitivity 1 leaves the share k/(1+k), k = 4·halfwidth[i]²·v, of the
// price. The split is the one of the least total loss that was found.
//
// Guarantee: the ε and the δ of the tables, as numbers without rounding, add up to at most
// the budget, so that by basic composition the release of all is (ε, δ)-private.
//
// Errors wrap [dp.ErrInvalid], or are those of At.
func (c *Curve) Split(ctx context.Context, lambda, halfwidth []float64, epsilon, delta float64) ([]*Point, error) {
	a, err := budget.Split(ctx, lambda, halfwidth, epsilon, delta, c.family())
	if err != nil {
		return nil, err
	}
	return c.pointsOf(ctx, a)
}

// pointsOf returns the noise of an allocation, nil for coordinates that are not used.
func (c *Curve) pointsOf(ctx context.Context, a *budget.Allocation) ([]*Point, error) {
	points := make([]*Point, len(a.Epsilon))
	for i, epsilon := range a.Epsilon {
		if epsilon == 0 {
			continue
		}
		var err error
		if points[i], err = c.At(ctx, epsilon, a.Delta[i]); err != nil {
			return nil, err
		}
	}
	return points, nil
}

// At returns noise that is (ε, δ)-private for sensitivity 1, from the store.
//
// Guarantee: whatever a file or a designer said, the table was certified in exact
// arithmetic for an ε and a δ of at most those asked for.
//
// Errors wrap [dp.ErrInvalid] for ε or δ outside their range, or are those of
// tables.Store.Get.
func (c *Curve) At(ctx context.Context, epsilon, delta float64) (*Point, error) {
	problem, err := designProblem(epsilon, delta, 1)
	if err != nil {
		return nil, err
	}
	v, err := c.store.Get(ctx, problem)
	if err != nil {
		return nil, check.Errorf("latent", nil, "noise for epsilon = %g, delta = %g: %w", problem.Epsilon, problem.Delta, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.points[v] == nil {
		c.points[v] = measure(v.Mechanism())
	}
	return c.points[v], nil
}

// designProblem returns what to design for (ε, δ) and a sensitivity; see leastDesignEpsilon.
func designProblem(epsilon, delta, sensitivity float64) (dp.Problem, error) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: sensitivity}, Query: dp.RealQuery, Loss: loss.L2}
	if err := p.Validate(); err != nil {
		return p, check.Errorf("latent", dp.ErrInvalid, "%w", err)
	}
	p.Epsilon, p.Delta = math.Min(epsilon, mostDesignEpsilon), math.Min(delta, mostDesignDelta)
	if p.Epsilon < leastDesignEpsilon {
		p.Epsilon = 0
	}
	if p.Delta < leastDesignDelta {
		p.Delta = 0
	}
	if p.Epsilon == 0 && p.Delta == 0 {
		return p, check.Field("latent", "epsilon", epsilon,
			fmt.Sprintf("at least %g, or delta at least %g, for noise to be designed", leastDesignEpsilon, leastDesignDelta))
	}
	return p, nil
}

// measure returns a point with the moments of a table.
func measure(t *tables.Table) *Point {
	p := &Point{Table: t}
	mean := t.Mean()
	p.Mean, _ = mean.Float64()
	// E (X-m)² = E X² - m(2 E X - m).
	m := exact.Rational(p.Mean)
	off := mean.Add(mean, mean)
	off.Sub(off, m).Mul(off, m)
	square := t.ExpectedLossOf(loss.L2)
	p.Variance = exact.FloatUp(square.Sub(square, off))
	return p
}
