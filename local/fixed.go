// SPDX-License-Identifier: Apache-2.0

package local

import (
	"math"
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
)

// gridBits returns b such that all numbers are multiples of 2^-b, b >= 0.
func gridBits(lists ...[]float64) int {
	bits := 0
	for _, list := range lists {
		for _, x := range list {
			bits = max(bits, exact.Rational(x).Denom().BitLen()-1)
		}
	}
	return bits
}

// onGrid returns the numbers in units of 2^-bits, of which they are multiples.
func onGrid(x []float64, bits int) []*big.Int {
	out := make([]*big.Int, len(x))
	for i, v := range x {
		out[i] = floorAt(exact.Rational(v), bits)
	}
	return out
}

// shift returns x·2^bits, rounded down; it may change x.
func shift(x *big.Int, bits int) *big.Int {
	if bits < 0 {
		return x.Rsh(x, uint(-bits))
	}
	return x.Lsh(x, uint(bits))
}

// floorAt returns ⌊r·2^bits⌋.
func floorAt(r *big.Rat, bits int) *big.Int {
	num, den := r.Num(), r.Denom()
	if bits < 0 {
		return new(big.Int).Div(num, new(big.Int).Lsh(den, uint(-bits)))
	}
	num = new(big.Int).Lsh(num, uint(bits))
	return num.Div(num, den)
}

// ceilAt returns ⌈r·2^bits⌉.
func ceilAt(r *big.Rat, bits int) *big.Int {
	up := floorAt(new(big.Rat).Neg(r), bits)
	return up.Neg(up)
}

// at returns x·2^-bits.
func at(x *big.Int, bits int) *big.Rat {
	r := new(big.Rat).SetInt(x)
	return r.Mul(r, exact.PowerOfTwo(-bits))
}

// costDigits is the number of binary places, beyond the size of a cost, with which costs
// are computed: far more than claims have.
const costDigits = 128

// costBits returns the number of binary places of costs: costDigits beyond the largest
// cost of a label, or the loss of an error as large as the range. That loss is a bound from
// above, rounded up once: for losses with large parameters a float64 would cancel to nothing.
func (s *Spec) costBits() int {
	top := 0.0
	if s.Values.Kind == Category {
		for _, row := range s.Costs {
			for _, c := range row {
				top = max(top, c)
			}
		}
	} else {
		width := new(big.Rat).Sub(exact.Rational(s.Values.Upper), exact.Rational(s.Values.Lower))
		for range 2 {
			top = max(top, exact.FloatUp(s.Loss.RampMeanUp(width, width)))
			width.Neg(width)
		}
	}
	if !(top > 0 && top <= math.MaxFloat64) {
		return costDigits
	}
	return costDigits - math.Ilogb(top)
}
