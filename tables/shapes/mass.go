// SPDX-License-Identifier: Apache-2.0

package shapes

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
)

// massBits is the number of binary places carried by eachMass. Its recursions lose some
// 3j² units of them by step j, less than 2^40.
const massBits = 232

// leastCells is how many cells sigma has at least: eachMass is made for fine grids.
const leastCells = 8

var one = big.NewInt(1)

func square(x *big.Rat) *big.Rat { return new(big.Rat).Mul(x, x) }

// span is an interval of numbers >= 0, in units of 2^-massBits.
type span struct{ low, high *big.Int }

// times returns the products of numbers of two spans.
func (s span) times(o span) span {
	low := new(big.Int).Mul(s.low, o.low)
	return span{low.Rsh(low, massBits), exact.ShiftUp(new(big.Int).Mul(s.high, o.high), massBits)}
}

func (s span) plus(o span) span {
	return span{new(big.Int).Add(s.low, o.low), new(big.Int).Add(s.high, o.high)}
}

// spanOf returns the numbers from low to high >= low >= 0.
func spanOf(low, high *big.Rat) span {
	scale := new(big.Rat).SetInt(new(big.Int).Lsh(one, massBits))
	l, h := new(big.Rat).Mul(low, scale), new(big.Rat).Mul(high, scale)
	return span{exact.Floor(l), exact.Ceil(h)}
}

// alternating bounds Σ_k (-x)^k/k!·weight(k) for 0 <= x <= 1/2 and weights in [0, 1]
// that do not increase: by partial sums, as the terms alternate and fall.
func alternating(x *big.Rat, weight func(k int64) *big.Rat) span {
	sum, power := new(big.Rat), big.NewRat(1, 1)
	small := new(big.Rat).SetFrac(one, new(big.Int).Lsh(one, massBits))
	for k := int64(0); ; k++ {
		before := new(big.Rat).Set(sum)
		term := new(big.Rat).Mul(power, weight(k))
		if k%2 == 0 {
			sum.Add(sum, term)
		} else {
			sum.Sub(sum, term)
		}
		if term.Cmp(small) < 0 {
			if k%2 == 0 {
				return spanOf(before, sum)
			}
			return spanOf(sum, before)
		}
		power.Mul(power, x).Quo(power, new(big.Rat).SetInt64(k+1))
	}
}

// eachMass calls f for j = 0 … reach with bounds, times 2^exact.NormalBits, of the
// probability that normal noise of standard deviation 1, rounded to multiples of h, is
// j·h. It returns an upper bound on the probability beyond reach, on one side. f must
// not keep the bounds. h is at most 1/leastCells.
//
// With φ the normal density and x = jh the mass is
//
//	∫ φ(x+t) dt = φ(x)·∫ e^(-t²/2)·cosh(xt) dt   over |t| <= h/2
//	            = φ(x)·Σ_m v^m·h/(2m)!·∫₀¹ s^(2m)·e^(-(hs)²/8) ds,   v = (xh/2)²,
//
// a series of positive terms with coefficients that are the same for all j; and φ(x) = φ(0)·q^(j²),
// q = e^(-h²/2), takes two products from one j to the next. Beyond x = exact.NormalEnd the mass is
// less than 2^-exact.NormalBits. Cost: some microseconds per j.
func eachMass(h *big.Rat, reach int, f func(j int, low, high *big.Int)) (beyond *big.Int) {
	y := new(big.Rat).Mul(square(h), big.NewRat(1, 2))
	ySpan := spanOf(y, y)
	coefficients := massCoefficients(h)

	always := func(int64) *big.Rat { return big.NewRat(1, 1) }
	q := alternating(y, always)
	qq := q.times(q)
	low, high := exact.NormalPeak()
	density := span{low.Lsh(low, massBits), high.Lsh(high, massBits)} // φ(jh)
	density.low.Rsh(density.low, exact.NormalPeakBits)
	exact.ShiftUp(density.high, exact.NormalPeakBits)
	ratio := q // q^(2j+1)

	hNum, hDen := h.Num(), h.Denom()
	far := new(big.Int).Mul(hDen, big.NewInt(exact.NormalEnd))
	for j := range reach + 1 {
		index := big.NewInt(int64(j))
		if new(big.Int).Mul(hNum, index).Cmp(far) >= 0 {
			f(j, new(big.Int), big.NewInt(1))
			continue
		}
		root := span{new(big.Int).Mul(ySpan.low, index), new(big.Int).Mul(ySpan.high, index)} // xh/2 = j·h²/2
		v := root.times(root)
		sum := coefficients[len(coefficients)-1]
		for m := len(coefficients) - 2; m >= 0; m-- {
			sum = sum.times(v).plus(coefficients[m])
		}
		mass := sum.times(density)
		f(j, mass.low.Rsh(mass.low, massBits-exact.NormalBits), exact.ShiftUp(mass.high, massBits-exact.NormalBits))
		density = density.times(ratio)
		ratio = ratio.times(qq)
	}
	edge := new(big.Rat).Mul(h, new(big.Rat).SetFrac64(2*int64(reach)+1, 2))
	_, beyond = exact.NormalTail(edge.Num(), edge.Denom())
	return beyond
}

// massCoefficients returns those of the series of eachMass for v <= 1, to which x <
// exact.NormalEnd and h <= 1/leastCells restrict it. The last one stands for all that follow:
// together less than twice the first of them, as (2m+1)(2m+2) >= 2.
func massCoefficients(h *big.Rat) []span {
	lambda := square(h)
	lambda.Mul(lambda, big.NewRat(1, 8))
	hSpan := spanOf(h, h)
	var list []span
	factorial := big.NewInt(1) // (2m)!
	for m := int64(0); ; m++ {
		f := new(big.Rat).SetFrac(one, factorial)
		if factorial.BitLen() > massBits {
			rest := f.Mul(f, big.NewRat(2, 1)).Mul(f, h)
			return append(list, spanOf(new(big.Rat), rest))
		}
		moment := alternating(lambda, func(k int64) *big.Rat { return big.NewRat(1, 2*(m+k)+1) })
		list = append(list, moment.times(hSpan).times(spanOf(f, f)))
		factorial.Mul(factorial, big.NewInt((2*m+1)*(2*m+2)))
	}
}
