// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/release/internal/ratio"
)

// means answers with the ratio of two sums with noise (docs/proofs/mean.md).
type means struct {
	query  Query
	first  *scaled // Σ(x − lower), or of a split Σ(x − center)
	second *scaled // Σ(upper − x), or of a split the number of rows
	method *ratio.Method
	split  bool
	cost   account.Cost
}

// newMeans chooses the method with the smaller error on the average of all means, which
// does not depend on the data.
func newMeans(ctx context.Context, q Query, source Source) (*mechanism, error) {
	if q.fixed() {
		return newPublicMeans(ctx, q, source)
	}
	pair, err := newPair(q)
	split, errSplit := newSplit(ctx, q, source)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && errSplit != nil:
		return nil, check.Errorf("release", dp.ErrInvalid, "epsilon = %v is too small or too large for a mean with %d uses of noise: %w", q.Epsilon, q.uses()*q.Releases, err)
	case err != nil:
		return split.mechanism(), nil
	case errSplit != nil: // such as less than a design takes, or no solver
		return pair.mechanism(), nil
	}
	if averageError(split.method, q) < averageError(pair.method, q) {
		return split.mechanism(), nil
	}
	return pair.mechanism(), nil
}

// newPair is the method of two sums that a row changes by upper − lower together, with
// Laplace noise for the whole of epsilon each (Kulesza, Suresh & Wang 2024).
func newPair(q Query) (*means, error) {
	epsilon, err := q.pureUse()
	if err != nil {
		return nil, err
	}
	v, points, err := ratio.NewPairNoise(epsilon)
	if err != nil {
		return nil, err
	}
	change := new(big.Rat).Sub(exact.Rational(q.Upper), exact.Rational(q.Lower))
	change.Mul(change, new(big.Rat).SetInt64(q.most()))
	if q.Neighbors == dp.Replace {
		change.Add(change, change) // both sums change by as much, in opposite directions
	}
	noise := &scaled{v, change.Quo(change, new(big.Rat).SetInt64(points))}
	law, err := noise.law()
	if err != nil {
		return nil, err
	}
	return &means{
		query: q, first: noise, second: noise, method: ratio.Pair(q.Lower, q.Upper, law, law),
		cost: account.Cost{Epsilon: epsilon, Times: q.uses()},
	}, nil
}

// newSplit is the method of a sum and a count, which share epsilon and delta.
func newSplit(ctx context.Context, q Query, source Source) (*means, error) {
	v, err := q.table(ctx, source, 1, dp.RealQuery, 2*q.uses())
	if err != nil {
		return nil, err
	}
	sum, count := newScaled(v, q.sensitivity(q.center())), newScaled(v, new(big.Rat).SetInt64(q.most()))
	sumLaw, err := sum.law()
	if err != nil {
		return nil, err
	}
	countLaw, err := count.law()
	if err != nil {
		return nil, err
	}
	return &means{
		query: q, first: sum, second: count, method: ratio.Split(q.Lower, q.Upper, sumLaw, countLaw), split: true,
		cost: account.Cost{Table: v, Times: 2 * q.uses()},
	}, nil
}

func (q Query) center() *big.Rat {
	c := new(big.Rat).Add(exact.Rational(q.Lower), exact.Rational(q.Upper))
	return c.Quo(c, big.NewRat(2, 1))
}

// law is that of the noise in query units.
func (n *scaled) law() (*ratio.Law, error) {
	unit, _ := n.unit.Float64()
	return ratio.NewLaw(n.table, unit)
}

// steps is an index as a float64. One beyond 2^53 is clipped to that, and not refused:
// whether an answer comes must not depend on the draw.
func steps(index *big.Int) float64 {
	limit := big.NewInt(1 << 53)
	if index.CmpAbs(limit) > 0 {
		index = limit.Mul(limit, big.NewInt(int64(index.Sign())))
	}
	x, _ := index.Float64()
	return x
}

func (m *means) mechanism() *mechanism {
	name := "Laplace noise on the sums of the distances to both bounds"
	if m.split {
		name = "noise on a sum and on the number of rows, half of the privacy each"
	}
	return &mechanism{cost: m.cost, name: name, meanError: math.NaN(), scale: func() float64 { return averageError(m.method, m.query) }, answer: m.answer}
}

func (m *means) answer(tallies []tally) ([]Estimate, error) {
	first, second := make([]*big.Rat, len(tallies)), make([]*big.Rat, len(tallies))
	for i := range tallies {
		n := tallies[i].count()
		sum, _ := tallies[i].sum.Rat(nil)
		from := func(base *big.Rat) *big.Rat { // Σ(x − base)
			x := new(big.Rat).Mul(n, base)
			return x.Sub(sum, x)
		}
		if m.split {
			first[i], second[i] = from(m.query.center()), n
			continue
		}
		first[i], second[i] = from(exact.Rational(m.query.Lower)), from(exact.Rational(m.query.Upper))
		second[i].Neg(second[i])
	}
	a, err := m.first.add(first)
	if err != nil {
		return nil, err
	}
	b, err := m.second.add(second)
	if err != nil {
		return nil, err
	}
	out := make([]Estimate, len(tallies))
	for i := range out {
		x, y := steps(a[i]), steps(b[i])
		low, high, err := m.method.Interval(x, y, level)
		if err != nil {
			return nil, err
		}
		out[i] = Estimate{Value: m.method.Estimate(x, y), Lower: low, Upper: high}
	}
	return out, nil
}
