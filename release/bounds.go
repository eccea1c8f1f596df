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
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// Where bounds come from, other than the query.
const (
	privateBounds = "private"
	priorBounds   = "prior:lognormal,"
)

// Values are counted by the powers of two that they are between: 0, of magnitudes up to 2^leastPower, and on
// either side (2^(e-1), 2^e] for the e above that up to mostPower, beyond which values are clipped.
const (
	leastPower   = -32
	mostPower    = 64
	largestPower = 0x1p64
	zeroBin      = mostPower - leastPower
	numBins      = 2*zeroBin + 1
)

// boundsShare is one over the share of epsilon that goes to finding bounds.
const boundsShare = 5

// bins are the rows in each bin, in ascending order of their values.
type bins []tally

func newBins() bins {
	b := make(bins, numBins)
	for i := range b {
		b[i].sum.SetPrec(sumPrecision)
	}
	return b
}

// binOf returns the bin of a value of at most largestPower in magnitude.
func binOf(v float64) int {
	f, e := math.Frexp(math.Abs(v))
	if f == 0.5 { // a power of two
		e--
	}
	if v == 0 || e <= leastPower {
		return zeroBin
	}
	if v < 0 {
		return zeroBin - (e - leastPower)
	}
	return zeroBin + e - leastPower
}

// take takes a value, which is 0 if its magnitude is at most 2^leastPower.
func (b bins) take(v float64) {
	i := binOf(v)
	b[i].n++
	if i != zeroBin {
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
			t.add(b[i].n, -power(zeroBin-lower))
		case i > upper:
			t.add(b[i].n, power(upper-zeroBin))
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

// power is the end of a bin so many beyond that of 0, which is 0.
func power(bins int) float64 {
	if bins == 0 {
		return 0
	}
	return math.Ldexp(1, leastPower+bins)
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
	if out.scale == nil { // of a sum
		of := m.meanError
		out.scale = func() float64 { return of }
	}
	rate, _ := noise.rate.Float64()
	deviation := math.Sqrt2 * float64(q.most()*int64(q.Releases)) / q.Epsilon // of the noise, by the bound
	out.answer = func(tallies []tally) ([]Estimate, error) {                  // of one group
		counts, err := noise.counts(tallies[0].bins)
		if err != nil {
			return nil, err
		}
		lower, upper := chooseBounds(counts, rate, deviation)
		low, high := 0-power(zeroBin-lower), power(upper-zeroBin)
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
	if len(q.Also) > 0 {
		return newScalableTogether(ctx, q, source)
	}
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

// newScalableTogether is for several answers, of a pair, or of a sum where the number of rows is public.
func newScalableTogether(ctx context.Context, q Query, source Source) (within func(lower, upper float64) (*mechanism, error), m *mechanism, err error) {
	way := newPairOf
	if q.fixed() {
		way = newPublicSums
	}
	of, err := way(ctx, q, source)
	if err != nil {
		return nil, nil, err
	}
	again := charged([]account.Cost{of.cost}, source)
	return func(lower, upper float64) (*mechanism, error) {
		own := q
		own.Lower, own.Upper = lower, upper
		of, err := way(context.Background(), own, again)
		if err != nil {
			return nil, err
		}
		return of.mechanism(), nil
	}, of.mechanism(), nil
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

// chooseBounds returns the bins whose outer ends are the bounds, from counts with Laplace noise of a rate. noise is the
// standard deviation of the noise on a sum, by its bound.
//
// It is a rule for a small error, on which no promise rests. On either side of 0: a bin is sure if its count is above
// all noise but for a probability of 1e-6. Beyond the outermost sure one counts are those that the last three sure ones
// let expect, if their ratios go on falling as they do, but those found in bins next to them that are above noise but for one of
// 1e-3, and none from a bin on that has fewer than expected by more than such noise. The bound is the power of two of the least
// expected square of what is clipped and of the noise together.
func chooseBounds(counts []float64, rate, noise float64) (lower, upper int) {
	side := func(bin func(i int) float64) int {
		return bestPower(expected(bin, math.Log(1e6*numBins)/rate, math.Log(1000)/rate), noise)
	}
	upper = zeroBin + side(func(i int) float64 { return counts[zeroBin+i] })
	lower = zeroBin - side(func(i int) float64 { return counts[zeroBin-i] })
	if lower == upper {
		upper++
	}
	return lower, upper
}

// expected returns the counts of the bins beyond 0 that are expected, from those found.
func expected(found func(i int) float64, sure, noise float64) []float64 {
	counts := make([]float64, zeroBin+1)
	last := 0
	for i := 1; i <= zeroBin; i++ {
		if found(i) > sure {
			last = i
		}
	}
	if last == 0 {
		return counts
	}
	for i := 1; i <= last; i++ {
		counts[i] = max(found(i), 0)
	}
	ratio, falls := 0.5, 0.5
	if before := counts[max(last-1, 0)]; before > sure {
		ratio = counts[last] / before
		if first := counts[max(last-2, 0)]; first > sure {
			falls = min(ratio/(before/first), 0.9)
		}
	}
	expected, seen := counts[last], true
	for i := last + 1; i <= zeroBin; i++ {
		before := expected
		ratio *= falls
		expected = before * ratio
		if seen = seen && found(i) > noise; seen {
			counts[i] = found(i)
			expected = min(expected, found(i))
			ratio = expected / before
			continue
		}
		if expected-found(i) > noise {
			break
		}
		counts[i] = expected
	}
	return counts
}

// bestPower returns how many bins beyond 0 the best bound is, 0 if there are no rows.
func bestPower(counts []float64, noise float64) int {
	best, least := 0, math.Inf(1)
	for i := range counts {
		bound := power(i)
		bias, square := 0.0, noise*noise*bound*bound
		for j := i + 1; j < len(counts); j++ {
			off := 0.75*power(j) - bound // a value in the middle of its bin
			bias += counts[j] * off
			square += counts[j] * off * off
		}
		if square += bias * bias; square < least {
			best, least = i, square
		}
	}
	return best
}
