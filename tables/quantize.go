// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"math"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// Quantize turns a law of cell masses and an atom, non-negative floats that sum
// to about 1, into integer weights that sum to exactly 2^64.
//
// Every mass is rounded up after scaling, and the excess is taken from the heaviest cell (or the
// atom, if that is heavier; or the middle cell of symmetric masses, if that is at least half as
// heavy, or weighs many times the excess). Rounding up protects the privacy of tiny tail masses: a cell can only gain, and by one
// unit, so every positive part W_j − e^ε·W_{j−k} grows by at most one unit through W_j and shrinks
// through W_{j−k}; a heavy cell, which pays, is practically never the divisor of a positive part.
// Nothing here is trusted: the result is certified as any other table.
//
// The error wraps dp.ErrInvalid if a mass is negative, not finite, or their sum is
// not within 2^-20 of 1.
func Quantize(pmf []float64, atom float64) (weights []uint64, atomWeight uint64, err error) {
	var sum exact.Sum
	for i := -1; i < len(pmf); i++ {
		p := atom
		if i >= 0 {
			p = pmf[i]
		}
		if !(p >= 0) || p > 2 {
			return nil, 0, check.Field("tables", "mass", p, "a number from 0 to 1")
		}
		sum.Add(p)
	}
	total := sum.Value()
	if math.Abs(total-1) > 0x1p-20 {
		return nil, 0, check.Field("tables", "sum of masses", total, "1")
	}
	// Aim a hair above 2^64, so that the correction is always a subtraction.
	scale := 0x1p64 / total * (1 + 0x1p-50)
	if m := slices.Max(append(slices.Clone(pmf), atom)); m*scale >= 0x1p64 {
		return nil, 0, check.Field("tables", "mass", m, "less than 1, since no private noise is constant")
	}
	weights = make([]uint64, len(pmf))
	atomWeight = uint64(math.Ceil(atom * scale))
	all := exact.Uint128{Lo: atomWeight}
	for i, p := range pmf {
		weights[i] = uint64(math.Ceil(p * scale))
		all.Add64(weights[i])
	}
	payer := &atomWeight
	for i, w := range weights {
		if w > *payer {
			payer = &weights[i]
		}
	}
	// A middle cell about as heavy, or heavy enough not to feel it, pays instead if the masses are symmetric, which keeps them so.
	const heavy = 1 << 40
	if n := len(weights); n%2 == 1 && weights[n/2] >= min(*payer/2, heavy) && isSymmetric(weights) {
		payer = &weights[n/2]
	}
	// all = 2^64 + Lo, with an excess Lo of at most a few thousand units.
	if all.Hi != 1 || all.Lo >= *payer {
		return nil, 0, check.Errorf("tables", dp.ErrInvalid, "masses cannot be rounded to weights, excess %d of %d", all.Lo, *payer)
	}
	*payer -= all.Lo
	return weights, atomWeight, nil
}
