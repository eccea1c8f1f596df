// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// powerTail bounds the expected loss of tails from above for a loss c that is no
// polynomial: one that on either side of 0 is convex, grows, and grows no faster than
// a power P (docs/proofs/tail.md).
//
// Let f(m) be the mean loss of some cells of a block, m periods of length T further out. It is
// convex in m and grows, so between m and m+L it is at most its chord, whose expectation is
// elementary. And from a point x of the cells on that is next to 0,
//
//	f(m+1) <= f(m)·((x+mT+T)/(x+mT))^P,
//
// so the terms ρ^m·f(m) fall at least geometrically once ρ times that is below 1.
type powerTail struct {
	s     *Spec
	loss  loss.Loss
	meter *proof.Meter
	power float64
	runs  []blockRun
}

// blockRun is a run of block cells on one side of 0 that weigh the same.
type blockRun struct {
	first, cells int
	side         int64
}

const (
	// tailBits is the precision of what is rounded up.
	tailBits = 192
	// tailPrecision is how much of the sum, at most, the bound on the rest of
	// the series may be: 2^-tailPrecision.
	tailPrecision = 60
	// tailPeriods is the number of periods, over the number of runs, that are
	// summed one by one; further out a chord spans that share of its distance,
	// which costs about P²/(8·tailPeriods²) of its part of the sum.
	tailPeriods = 512
	// leastPeriods is used in place of tailPeriods if there are many runs.
	leastPeriods = 8
)

// blockRuns lists the runs of block cells with a weight.
func (s *Spec) blockRuns() []blockRun {
	var runs []blockRun
	for i, w := range s.Weights {
		side, ok := s.isBlock(i)
		if !ok || w == 0 {
			continue
		}
		if n := len(runs); n > 0 {
			r := &runs[n-1]
			if r.side == side && r.first+r.cells == i && s.Weights[r.first] == w {
				r.cells++
				continue
			}
		}
		runs = append(runs, blockRun{i, 1, side})
	}
	return runs
}

func (*powerTail) add(int, int64) {}

func (t *powerTail) total() *big.Rat {
	sum := roundedUp()
	for _, r := range t.runs {
		sum.Add(sum, t.sum(r))
	}
	total, _ := sum.Rat(nil)
	return total
}

// sum returns Σ_m W·(1-ρ)ρ^m·f(m), rounded up, for the cells of a run together.
func (t *powerTail) sum(r blockRun) *big.Float {
	g := t.s.Grid
	step, ratio := g.Step(), t.s.ratio()
	first, points := g.FirstPoint(r.first), int64(r.cells)*g.PointsPerCell
	f := func(m int64) *big.Float {
		return roundedUp().SetRat(t.loss.GridMeanUp(first+r.side*m*g.period(), points, step))
	}
	nearest := first // to 0; it is not 0
	if r.side < 0 {
		nearest = -(first + points - 1)
	}
	single := max(leastPeriods, tailPeriods/int64(len(t.runs)))
	sum, weight := roundedUp(), roundedUp().SetInt64(1) // weight is ρ^m
	near := f(0)
	work := loss.Of(t.loss).Work(t.s.pointBits()+64).Bound + 20*exact.RationalWork(4*tailBits)
	for m := int64(0); t.meter.Spend(2 * work); {
		length := 1 + m/single
		far := f(m + length)
		if far.Cmp(near) < 0 {
			far = near // both are rounded
		}
		term := chord(near, far, ratio, length)
		sum.Add(sum, term.Mul(term, weight))
		weight.Mul(weight, power(ratio, length, tailBits, big.ToPositiveInf))
		m += length
		near = far

		// What is left is at most ρ^m·f(m)·(1-ρ)/(1-q).
		if rest := roundedUp().Mul(weight, near); rest.Sign() != 0 && rest.MantExp(nil) >= sum.MantExp(nil)-tailPrecision {
			continue
		}
		x := new(big.Rat).SetFrac64(nearest+(m+1)*g.period(), nearest+m*g.period())
		q := exact.PowUp(x, t.power, tailBits)
		if q.Mul(q, ratio).Cmp(new(big.Rat).SetInt64(1)) >= 0 {
			continue
		}
		factor := rest(ratio)
		factor.Quo(factor, rest(q))
		near.Mul(near, weight)
		sum.Add(sum, near.Mul(near, roundedUp().SetRat(factor)))
		break
	}
	sum.Mul(sum, roundedUp().SetUint64(t.s.Weights[r.first]))
	return sum.Mul(sum, roundedUp().SetInt64(int64(r.cells)))
}

// chord returns Σ_{i<n} (1-ρ)ρ^i·(near + (far-near)·i/n), rounded up. With r = ρ^(n-1) it is
//
//	near·(1-ρr) + (far-near)/n·( ρ(1-r)/(1-ρ) - (n-1)ρr ),
//
// which falls in r.
func chord(near, far *big.Float, ratio *big.Rat, n int64) *big.Float {
	one := roundedUp().SetInt64(1)
	last := power(ratio, n-1, tailBits, big.ToNegativeInf)
	next := power(ratio, n, tailBits, big.ToNegativeInf)
	sum := roundedUp().Sub(one, next)
	sum.Mul(sum, near)
	if n == 1 {
		return sum
	}
	odds := new(big.Rat).Quo(ratio, rest(ratio))
	slope := roundedUp().Sub(one, last)
	slope.Mul(slope, roundedUp().SetRat(odds))
	next.Mul(next, new(big.Float).SetInt64(n-1))
	slope.Sub(slope, next)
	slope.Mul(slope, roundedUp().Sub(far, near))
	return sum.Add(sum, slope.Quo(slope, roundedUp().SetInt64(n)))
}

func rest(r *big.Rat) *big.Rat { return new(big.Rat).Sub(new(big.Rat).SetInt64(1), r) }

// power returns r^n for n >= 0, to so many bits, rounded as the mode says.
func power(r *big.Rat, n int64, bits uint, mode big.RoundingMode) *big.Float {
	rounded := func() *big.Float { return new(big.Float).SetPrec(bits).SetMode(mode) }
	result, base := rounded().SetInt64(1), rounded().SetRat(r)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result.Mul(result, base)
		}
		base.Mul(base, base)
	}
	return result
}

// roundedUp returns a number whose operations round up.
func roundedUp() *big.Float { return new(big.Float).SetPrec(tailBits).SetMode(big.ToPositiveInf) }
