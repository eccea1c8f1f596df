// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"context"
	"math"
	"sync"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/latent/internal/budget"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// The range in which noise is designed. A point outside gets that of one inside with no larger ε
// and δ, which serves there too: with ε = 0 and δ = 0 below the least, and with the most above.
const (
	leastDesignEpsilon = 1e-3
	mostDesignEpsilon  = 20
	leastDesignDelta   = 1e-12
	mostDesignDelta    = 0.9
)

// curve is designed noise as a function of (ε, δ), for sensitivity 1 and the loss
// l2: the tables of a store. It is safe for concurrent use.
type curve struct {
	store  *tables.Store
	mu     sync.Mutex
	points map[*tables.Verified]*point
}

// point is a table for sensitivity 1 and what a decoder needs to know of it. It is immutable.
type point struct {
	table    *tables.Table // of its own, possibly smaller, ε and δ
	mean     float64       // E X, rounded to the nearest
	variance float64       // E (X - mean)², rounded up
}

func newCurve(store *tables.Store) *curve {
	return &curve{store: store, points: make(map[*tables.Verified]*point)}
}

// family is designed noise as a split of a budget sees it: without its tables, which take time. Its
// variance bounds the least one of all private noise, proved in docs/proofs/noise-curve.md.
func (c *curve) family() budget.Family {
	bound := budget.TruncatedStaircase()
	return budget.Family{Name: "designed", Variance: func(epsilon, delta float64) (float64, error) {
		p, err := designProblem(epsilon, delta, 1)
		if err != nil {
			return 0, err
		}
		return bound.Variance(p.Epsilon, p.Delta)
	}}
}

// Split divides the budget (ε, δ) over coordinates with noise from the Store, and returns the
// variance of the noise for each, 0 for one that is better not released. Coordinate i has variance
// one and the price lambda[i] >= 0, which is lost without it (any unit), and is clipped to
// ±halfwidth[i], above 0: noise of variance v for sensitivity 1 leaves the share k/(1+k), k =
// 4·halfwidth[i]²·v, of the price. The split is the one of the least total loss that was found. The
// ε and the δ of the tables, as numbers without rounding, add up to at most the budget.
//
// Errors wrap [dp.ErrInvalid], or are those of the store.
func (o *Options) Split(ctx context.Context, lambda, halfwidth []float64, epsilon, delta float64) (variances []float64, err error) {
	if o.Store == nil {
		return nil, check.Field("latent", "store", "none", "one of tables")
	}
	points, err := newCurve(o.Store).split(ctx, lambda, halfwidth, epsilon, delta)
	variances = make([]float64, len(points))
	for i, p := range points {
		if p != nil {
			variances[i] = p.variance
		}
	}
	return variances, err
}

// split returns the noise of a split of the budget, see Options.Split.
func (c *curve) split(ctx context.Context, lambda, halfwidth []float64, epsilon, delta float64) ([]*point, error) {
	a, err := budget.Split(ctx, lambda, halfwidth, epsilon, delta, c.family())
	if err != nil {
		return nil, err
	}
	return c.pointsOf(ctx, a)
}

// pointsOf returns the noise of an allocation, nil for coordinates that are not used.
func (c *curve) pointsOf(ctx context.Context, a *budget.Allocation) ([]*point, error) {
	points := make([]*point, len(a.Epsilon))
	for i, epsilon := range a.Epsilon {
		if epsilon == 0 {
			continue
		}
		var err error
		if points[i], err = c.at(ctx, epsilon, a.Delta[i]); err != nil {
			return nil, err
		}
	}
	return points, nil
}

// at returns noise that is (ε, δ)-private for sensitivity 1, from the store. Errors wrap
// [dp.ErrInvalid] for ε or δ outside their range, or are those of tables.Store.Get.
func (c *curve) at(ctx context.Context, epsilon, delta float64) (*point, error) {
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
	bad := check.In("latent")
	bad.Want(p.Epsilon > 0 || p.Delta > 0, "epsilon", epsilon, "at least %g, or delta at least %g, for noise to be designed", leastDesignEpsilon, leastDesignDelta)
	return p, bad.Err()
}

func measure(t *tables.Table) *point {
	p := &point{table: t}
	mean := t.Mean()
	p.mean, _ = mean.Float64()
	// E (X-m)² = E X² - m(2 E X - m).
	m := exact.Rational(p.mean)
	off := mean.Add(mean, mean)
	off.Sub(off, m).Mul(off, m)
	square := t.ExpectedLossOf(loss.L2)
	p.variance = exact.FloatUp(square.Sub(square, off))
	return p
}
