// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// Quantile returns the least value x of the noise, in the query's units, with
// P(X <= x) >= p: a multiple of the grid's step, as sampler.Noise.Sample returns
// it, 0 among them. It is exact: p stands for the exact value of the float64, and
// probabilities are those of the integer weights, with all of a tail.
//
// The error wraps dp.ErrInvalid unless 0 < p < 1 and |x| is at most 2^53 steps, beyond
// which no noise is drawn; only a tail reaches that far. Cost: 54 passes over the
// weights, about 50 ns per cell.
func (t *Table) Quantile(p float64) (float64, error) {
	if err := within01("p", p); err != nil {
		return 0, err
	}
	n, ok := t.spec.quantile(exact.Rational(p), 0)
	if !ok {
		return 0, tooFar("p", p)
	}
	step, _ := t.spec.Grid.Step().Float64() // exact: a unit or a power of two
	return float64(n) * step, nil
}

// Interval returns a confidence interval for the true value x behind a released
// value y = sampler.Noise.AddNoise(x), in the query's units.
//
// Guarantee (docs/proofs/interval.md): whatever x is, over the noise and the random rounding of a
// lattice query, P(x < lower) <= (1-level)/2 and P(x > upper) <= (1-level)/2, so that lower <= x <=
// upper with a probability of at least level. The interval accounts for the rounding of x to the
// grid: half a step for a real query, a step for a lattice, none for an integer. Among ends that
// are y plus constants none are closer to y (but for a lattice, whose rounding is counted at its
// worst); they are rounded outwards to float64s, all else is exact. It is about the value that the
// noise was added to: if that was clipped first, about the clipped one.
//
// The error wraps dp.ErrInvalid unless 0 < level < 1, y is a multiple of the step as AddNoise
// returns it, and the ends are within 2^53 steps of y. Cost: twice that of Quantile.
func (t *Table) Interval(y, level float64) (lower, upper float64, err error) {
	low, high, ok := t.spec.points(y)
	if !ok {
		step, _ := t.spec.Grid.Step().Float64()
		err = check.Field("tables", "value", y, fmt.Sprintf("a multiple of the table's step, %g, as it is after the noise", step))
	}
	if err := errors.Join(err, within01("level", level)); err != nil {
		return 0, 0, err
	}
	// (1-level)/2 on either side.
	side := new(big.Rat).Sub(big.NewRat(1, 1), exact.Rational(level))
	side.Mul(side, big.NewRat(1, 2))
	// The largest a with P(N < a) <= side: the least one with P(N <= a) > side.
	a, okA := t.spec.quantile(side, 1)
	// The least b with P(N > b) <= side.
	b, okB := t.spec.quantile(side.Sub(big.NewRat(1, 1), side), 0)
	if !okA || !okB {
		return 0, 0, tooFar("level", level)
	}
	// In half steps: a rounded value is within so many of the true one.
	var slack int64
	switch t.spec.Query {
	case dp.RealQuery:
		slack = 1
	case dp.LatticeQuery:
		slack = 2
	case dp.IntegerQuery:
	}
	half := t.spec.Grid.Step()
	half.Mul(half, big.NewRat(1, 2))
	end := func(n int64) *big.Rat {
		x := new(big.Rat).SetInt64(n)
		return x.Mul(x, half)
	}
	return exact.FloatDown(end(2*(low-b) - slack)), exact.FloatUp(end(2*(high-a) + slack)), nil
}

// OnGrid reports whether y is a multiple of the step, as AddNoise returns it.
func (t *Table) OnGrid(y float64) bool {
	_, _, ok := t.spec.points(y)
	return ok
}

// within01 checks a probability.
func within01(field string, p float64) error {
	if !(p > 0 && p < 1) {
		return check.Field("tables", field, p, "a number above 0 and below 1")
	}
	return nil
}

func tooFar(field string, p float64) error {
	return check.Field("tables", field, p, "one that the noise keeps within 2^53 steps of 0")
}

// points returns the range of integers n, |n| <= 2^53, that a released y may stand
// for: y is n·step, up to a relative 2^-51 for a lattice, whose multiples may have
// been rounded as the product of two float64s or as that of two decimals.
func (s *Spec) points(y float64) (low, high int64, ok bool) {
	step, _ := s.Grid.Step().Float64()
	tolerance := 0.0
	if s.Query == dp.LatticeQuery {
		tolerance = 0x1p-51 * math.Abs(y)
	}
	const slack = 6 // exceeds the roundings, see docs/proofs/interval.md
	near := math.RoundToEven(y / step)
	if !(math.Abs(near) <= exact.MaxInteger+slack) {
		return 0, 0, false
	}
	for n := int64(near) - slack; n <= int64(near)+slack; n++ {
		if math.Abs(float64(float64(n)*step)-y) > tolerance || n < -exact.MaxInteger || n > exact.MaxInteger {
			continue
		}
		if !ok {
			low, ok = n, true
		}
		high = n
	}
	return low, high, ok
}

// quantile returns the least point n at which P(N <= n) compares with p as asked
// for: it is at least p, or above p if above is 1. It reports whether |n| <= 2^53.
func (s *Spec) quantile(p *big.Rat, above int) (n int64, ok bool) {
	// In units of 2^-64/S, in which the points of the cells are integers.
	units := new(big.Rat).SetInt64(s.Grid.PointsPerCell)
	units.Mul(units, exact.PowerOfTwo(64))
	units.Mul(units, p)
	const far = exact.MaxInteger + 1
	low, high := int64(-far), int64(far)
	for low < high {
		middle := low + (high-low)/2
		if s.compareBelow(middle, units) >= above {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, -far < low && low < far
}

// compareBelow returns the sign of P(N <= n) - p, exactly, for p > 0 in units of
// 2^-64/S with S the points per cell, a multiple of a power of two.
func (s *Spec) compareBelow(n int64, p *big.Rat) int {
	g, cells := s.Grid, len(s.Weights)
	if k := g.CellsPerSensitivity; s.hasTail() {
		if inner := g.FirstPoint(k); n < inner {
			periods, place := (inner-1-n)/g.period(), (inner-1-n)%g.period()
			return s.comparePower(s.before(g.period()-place), s.before(g.period()), periods, p)
		}
		if inner := g.FirstPoint(cells - k); n >= inner {
			periods, place := (n-inner)/g.period(), (n-inner)%g.period()
			// P(N > n) against 1-p.
			all := s.before(int64(cells) * g.PointsPerCell)
			block := new(big.Int).Sub(all, s.before(inner-g.FirstPoint(0)))
			outside := all.Sub(all, s.before(inner-g.FirstPoint(0)+place+1))
			rest := new(big.Rat).SetInt64(g.PointsPerCell)
			rest.Mul(rest, exact.PowerOfTwo(64))
			return -s.comparePower(outside, block, periods, rest.Sub(rest, p))
		}
	}
	count := n - g.FirstPoint(0) + 1
	sum := s.before(min(max(count, 0), int64(cells)*g.PointsPerCell))
	if n >= 0 {
		atom := new(big.Int).SetUint64(s.Atom)
		sum.Add(sum, atom.Mul(atom, big.NewInt(g.PointsPerCell)))
	}
	return new(big.Rat).SetInt(sum).Cmp(p)
}

// before returns the weight of the first so many points of the table, those of a
// block with their repetitions, in units of 2^-64/S.
func (s *Spec) before(count int64) *big.Int {
	points := s.Grid.PointsPerCell
	cells := count / points
	var sum exact.Uint128
	for _, w := range s.Weights[:cells] {
		sum.Add64(w)
	}
	total := sum.Big()
	total.Mul(total, big.NewInt(points))
	if rest := count % points; rest > 0 {
		part := exact.Mul64(s.Weights[cells], uint64(rest))
		total.Add(total, part.Big())
	}
	return total
}

// comparePower returns the sign of ρ^m·((1-ρ)·part + ρ·block) - p, the probability
// that the noise is in a part of a block, m periods out, or further out.
//
// Both sides are multiples of powers of two. If they are equal, the odd part of the
// left one is that of p, of less than 1200 bits: some precision holds it and all
// that leads to it without rounding. If they are not, some precision tells.
func (s *Spec) comparePower(part, block *big.Int, m int64, p *big.Rat) int {
	// In units of 2^-128/S.
	factor := new(big.Int).SetUint64(-s.TailRatio)
	factor.Mul(factor, part)
	more := new(big.Int).SetUint64(s.TailRatio)
	factor.Add(factor, more.Mul(more, block))
	scaled := new(big.Rat).Mul(p, exact.PowerOfTwo(64))
	want := new(big.Float).SetRat(scaled) // exact: it has as many bits as needed
	ratio := s.ratio()
	for precision := uint(tailBits); ; precision *= 2 {
		bound := func(mode big.RoundingMode) int {
			f := new(big.Float).SetPrec(precision).SetMode(mode).SetInt(factor)
			return f.Mul(f, power(ratio, m, precision, mode)).Cmp(want)
		}
		if low, high := bound(big.ToNegativeInf), bound(big.ToPositiveInf); low == high {
			return low
		}
	}
}
