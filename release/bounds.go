// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/powers"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// Where bounds come from, other than the query.
const (
	privateBounds = "private"
	priorBounds   = "prior:lognormal,"
)

// boundsShare is one over the share of epsilon that goes to finding bounds.
const boundsShare = 5

// bins are the rows in each bin, in ascending order of their values.
type bins []tally

func newBins() bins {
	b := make(bins, powers.Bins)
	for i := range b {
		b[i].sum.SetPrec(sumPrecision)
	}
	return b
}

// take takes a value, which is 0 if its magnitude is in its bin.
func (b bins) take(v float64) {
	i := powers.Of(v)
	b[i].n++
	if i != powers.Zero {
		b[i].sum.Add(&b[i].sum, big.NewFloat(v)) // exact: see sumPrecision
	}
}

// clipped returns the tally of all values, clipped to the ends of two bins.
func (b bins) clipped(lower, upper int) tally {
	var t tally
	t.sum.SetPrec(sumPrecision)
	for i := range b {
		t.n += b[i].n
		switch {
		case i < lower:
			t.add(b[i].n, -powers.Power(powers.Zero-lower))
		case i > upper:
			t.add(b[i].n, powers.Power(upper-powers.Zero))
		default:
			t.sum.Add(&t.sum, &b[i].sum)
		}
	}
	return t
}

// add adds so many values that are the same.
func (t *tally) add(n int64, v float64) {
	product := new(big.Float).SetPrec(sumPrecision).SetInt64(n)
	t.sum.Add(&t.sum, product.Mul(product, big.NewFloat(v)))
}

// newUnbounded plans an answer whose bounds are not in the query.
func newUnbounded(ctx context.Context, q Query, source Source) (*mechanism, error) {
	if q.Bounds == privateBounds {
		return newPrivateBounds(ctx, q, source)
	}
	prior, err := parsePrior(q.Bounds)
	if err != nil {
		return nil, err
	}
	q.Upper = prior.bound(q)
	bias := -prior.excess(q.Upper)
	if q.Kind == Sum {
		bias *= float64(q.Rows)
	}
	m, err := newMechanism(ctx, q, source)
	if err != nil {
		return nil, err
	}
	return m.clipping(Clipped{q.Lower, q.Upper, &bias}), nil
}

// clipping is the mechanism, whose answers say what they were clipped to.
func (m *mechanism) clipping(c Clipped) *mechanism {
	saying := *m
	saying.radius = nil // of what is clipped, nothing is known
	saying.answer = func(tallies []tally) ([]Estimate, error) {
		out, err := m.answer(tallies)
		for i := range out {
			out[i].Clipped = &c
		}
		return out, err
	}
	return &saying
}

// newPrivateBounds finds bounds by a histogram over powers of two, with a part of epsilon, and answers within
// them with the rest (docs/proofs/bounds.md).
func newPrivateBounds(ctx context.Context, q Query, source Source) (*mechanism, error) {
	part := new(big.Rat).Quo(exact.Rational(q.Epsilon), big.NewRat(boundsShare*int64(q.Releases), 1))
	noise, cost, err := q.boundsNoise(part)
	if err != nil {
		return nil, err
	}
	rest := exact.Rational(q.Epsilon)
	spent := exact.Rational(cost.Epsilon)
	q.Epsilon = exact.FloatDown(rest.Sub(rest, spent.Mul(spent, big.NewRat(int64(q.Releases), 1))))
	q.Bounds, q.Lower, q.Upper = "", 0, 1 // the noise is the same for all bounds but for their scale
	within, m, err := newScalable(ctx, q, source)
	if err != nil {
		return nil, err
	}
	out := *m
	out.before, out.meanError, out.radius = cost, math.NaN(), nil
	out.name = fmt.Sprintf("bounds by a histogram with noise, for epsilon %.4g; %s", cost.Epsilon, m.name)
	rate, _ := noise.rate.Float64()
	deviation := math.Sqrt2 * float64(q.most()*int64(q.Releases)) / q.Epsilon // of the noise, by the bound
	out.answer = func(tallies []tally) ([]Estimate, error) {                  // of one group
		counts, err := noise.counts(tallies[0].bins)
		if err != nil {
			return nil, err
		}
		lower, upper := powers.Choose(counts, rate, deviation)
		low, high := 0-powers.Power(powers.Zero-lower), powers.Power(upper-powers.Zero)
		bounded, err := within(low, high)
		if err != nil {
			return nil, err
		}
		return bounded.clipping(Clipped{Lower: low, Upper: high}).answer([]tally{tallies[0].bins.clipped(lower, upper)})
	}
	return &out, nil
}

// newScalable returns the mechanism of a query, and what makes it for other bounds, of the same noise, with the same cost.
func newScalable(ctx context.Context, q Query, source Source) (within func(lower, upper float64) (*mechanism, error), m *mechanism, err error) {
	var asked *tables.Verified
	m, err = newMechanism(ctx, q, func(ctx context.Context, p dp.Problem, uses int) (v *tables.Verified, err error) {
		asked, err = source(ctx, p, uses)
		return asked, err
	})
	if err != nil {
		return nil, nil, err
	}
	again := func(context.Context, dp.Problem, int) (*tables.Verified, error) { return asked, nil }
	pair := m.cost.Table == nil // two sums with Laplace noise
	return func(lower, upper float64) (*mechanism, error) {
		own := q
		own.Lower, own.Upper = lower, upper
		if own.Kind == Sum || own.fixed() {
			return newMechanism(context.Background(), own, again)
		}
		sums := func() (*means, error) { return newSplit(context.Background(), own, again) }
		if pair {
			sums = func() (*means, error) { return newPair(own) }
		}
		of, err := sums()
		if err != nil {
			return nil, err
		}
		return of.mechanism(), nil
	}, m, nil
}

// binNoise is Laplace noise on the counts of the bins.
type binNoise struct {
	*scaled
	rate *big.Rat // the epsilon of a count that changes by 1
}

// boundsNoise returns noise for bins such that all of a unit's changes, one after another, cost at most epsilon.
func (q Query) boundsNoise(epsilon *big.Rat) (*binNoise, account.Cost, error) {
	changes := new(big.Rat).SetInt64(q.binChanges())
	rate := exact.FloatDown(new(big.Rat).Quo(epsilon, changes))
	v, err := shapes.Laplace(dp.Problem{
		Privacy: dp.Privacy{Epsilon: rate, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L1,
	}, tables.Grid{})
	if err != nil {
		return nil, account.Cost{}, check.Errorf("release", dp.ErrInvalid, "epsilon = %v is too small or too large to find bounds with a part of it: %w", q.Epsilon, err)
	}
	whole := whole(v)
	// The steps of one unit are not independent uses: together they are private by their sum, and no better.
	all := new(big.Rat).Mul(exact.Rational(v.Mechanism().Privacy().Epsilon), changes)
	return &binNoise{whole, exact.Rational(rate)}, account.Cost{Epsilon: exact.FloatUp(all), Times: 1}, nil
}

// binChanges returns by how much a unit changes all counts of bins together: by each of its rows, which are others
// before and after with replace.
func (q Query) binChanges() int64 {
	changes := int64(max(q.MaxPerPerson, 1))
	if q.Neighbors == dp.Replace {
		changes *= 2
	}
	return changes
}

// counts returns the numbers of rows in each bin, with noise.
func (n *binNoise) counts(b bins) ([]float64, error) {
	exactly := make([]*big.Rat, len(b))
	for i := range b {
		exactly[i] = b[i].count()
	}
	noisy, err := n.add(exactly)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(noisy))
	for i, x := range noisy {
		out[i] = steps(x)
	}
	return out, nil
}
