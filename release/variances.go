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
	"github.com/noisewright/noisewright/tables"
)

// variances answers with sums with noise of the distances from the middle of the bounds, of their squares, and, where it
// is not public, of the rows (docs/proofs/mean.md, "Variances"). With c the middle and h half of the width,
// Var = Q/n − (S/n)², S = Σ(x − c), Q = Σ(x − c)² = R + n·h²/2, where R = Σ((x − c)² − h²/2) changes half as much as Q.
type variances struct {
	query       Query
	half        *big.Rat // h
	sum, square *scaled  // S and R
	count       *scaled  // nil if the number of rows is public
	level       float64  // of each of their intervals
}

func newVariances(ctx context.Context, q Query, source Source) (*mechanism, error) {
	m, sums := &variances{query: q}, 3
	if q.fixed() {
		sums = 2
	}
	v, err := q.table(ctx, source, 1, dp.RealQuery, sums*q.uses())
	if err != nil {
		return nil, err
	}
	m.scale(v)
	// All of them hold together with the probability that is left if each of the others fails by itself.
	m.level = ofEach(level, sums)
	name := "noise on the number of rows, on a sum and on one of squares, a third of the privacy each"
	if q.fixed() {
		name = "noise on a sum and on one of squares, half of the privacy each, divided by the public number of rows"
	}
	return &mechanism{
		cost: account.Cost{Table: v, Times: sums * q.uses()}, name: name, meanError: math.NaN(), scale: m.scaleOfError, answer: m.answer,
	}, nil
}

// scale scales the noise to the sums.
func (m *variances) scale(v *tables.Verified) {
	q := m.query
	m.half = new(big.Rat).Sub(exact.Rational(q.Upper), exact.Rational(q.Lower))
	m.half.Quo(m.half, big.NewRat(2, 1))
	most := new(big.Rat).SetInt64(q.most())
	m.sum = newScaled(v, q.sensitivity(q.center()))
	change := m.squareHalf() // of a row more or less
	if q.Neighbors == dp.Replace {
		change.Add(change, change) // from the middle to an end
	}
	m.square = newScaled(v, change.Mul(change, most))
	if !q.fixed() {
		m.count = newScaled(v, most)
	}
}

// scaleOfError is that of the mechanism, NaN if the tails are too long to tell.
func (m *variances) scaleOfError() float64 {
	square := func(n *scaled) float64 {
		if n == nil {
			return 0
		}
		law, err := n.law()
		if err != nil {
			return math.NaN()
		}
		return law.Square()
	}
	half, _ := m.half.Float64()
	sum, rows := square(m.sum), square(m.count)
	return varianceError(half, square(m.square), func(ofSum, ofRows float64) float64 { return ofSum*ofSum*sum + ofRows*ofRows*rows })
}

// squareHalf returns h²/2.
func (m *variances) squareHalf() *big.Rat {
	x := new(big.Rat).Mul(m.half, m.half)
	return x.Quo(x, big.NewRat(2, 1))
}

// sums returns S and R of a group.
func (m *variances) sums(t *tally) (sum, square *big.Rat) {
	c, n := m.query.center(), t.count()
	total := t.total()
	nc := new(big.Rat).Mul(n, c)
	sum = new(big.Rat).Sub(total, nc)
	// Σ(x − c)² = Σx² − 2cΣx + nc²
	square = t.totalSquares()
	twice := new(big.Rat).Mul(c, total)
	square.Sub(square, twice.Add(twice, twice))
	square.Add(square, nc.Mul(nc, c))
	return sum, square.Sub(square, n.Mul(n, m.squareHalf()))
}

func (m *variances) answer(tallies []tally) ([]Estimate, error) {
	var sums, squares, counts []*big.Rat
	for i := range tallies {
		s, q := m.sums(&tallies[i])
		sums, squares, counts = append(sums, s), append(squares, q), append(counts, tallies[i].count())
	}
	if m.count == nil && tallies[0].n == 0 {
		return nil, check.Errorf("release", dp.ErrInvalid, "no rows, and so no variance")
	}
	s, err := m.sum.ranges(sums, m.level)
	if err != nil {
		return nil, err
	}
	r, err := m.square.ranges(squares, m.level)
	if err != nil {
		return nil, err
	}
	n := make([]ranged, len(counts))
	for i, x := range counts {
		n[i] = ranged{x, x, x}
	}
	if m.count != nil {
		if n, err = m.count.ranges(counts, m.level); err != nil {
			return nil, err
		}
	}
	out := make([]Estimate, len(tallies))
	for i := range out {
		out[i] = m.estimate(n[i], s[i], r[i])
	}
	return out, nil
}

// estimate is the variance of numbers with noise. It is between 0 and h², that of numbers within the bounds, and between the
// least and the largest that the ranges allow.
func (m *variances) estimate(n, s, r ranged) Estimate {
	most := new(big.Rat).Mul(m.half, m.half)
	one := big.NewRat(1, 1)
	within := func(x, low, high *big.Rat) *big.Rat {
		switch {
		case x.Cmp(low) < 0:
			return low
		case x.Cmp(high) > 0:
			return high
		}
		return x
	}
	atLeastOne := func(x *big.Rat) *big.Rat {
		if x.Cmp(one) < 0 {
			return one
		}
		return x
	}
	// The variance at corners of the ranges: of the mean of squares and of the square of the mean.
	square := func(r, n *big.Rat) *big.Rat {
		x := new(big.Rat).Quo(r, n)
		return within(x.Add(x, m.squareHalf()), new(big.Rat), most)
	}
	mean := func(s, n *big.Rat) *big.Rat {
		x := new(big.Rat).Quo(s, n)
		return within(x.Mul(x, x), new(big.Rat), most)
	}
	least, largest := atLeastOne(n.low), atLeastOne(n.high)
	near, far := s.low, s.high // from 0
	if new(big.Rat).Abs(near).Cmp(new(big.Rat).Abs(far)) > 0 {
		near, far = far, near
	}
	if near.Sign()*far.Sign() < 0 {
		near = new(big.Rat)
	}
	over := func(x *big.Rat, up bool) *big.Rat { // the n that x is to be divided by for the largest quotient, or the least
		if (x.Sign() > 0) == up {
			return least
		}
		return largest
	}
	low := square(r.low, over(r.low, false))
	low = new(big.Rat).Sub(low, mean(far, least))
	high := square(r.high, over(r.high, true))
	high = new(big.Rat).Sub(high, mean(near, largest))
	middle := atLeastOne(n.value)
	value := new(big.Rat).Sub(square(r.value, middle), mean(s.value, middle))
	e := Estimate{Lower: exact.FloatDown(within(low, new(big.Rat), most)), Upper: exact.FloatUp(within(high, new(big.Rat), most))}
	e.Value, _ = within(value, new(big.Rat), most).Float64()
	return e
}
