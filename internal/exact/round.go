// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"math"
	"math/bits"
)

// halfBits are the bits of 0.5. The bits of non-negative floats are ordered as the floats are.
const halfBits = 0x3fe0000000000000

// RoundToGrid returns ⌊x/g + 1/2⌋ exactly, for back = 1/g, or false if x is NaN
// or the result has a magnitude above limit, an integer of at most 2^53.
//
// Halves go up: rounding them to even would move 0.5 and 1.5, one step apart, two points apart, and
// the privacy proof needs values at most m steps apart to stay at most m points apart. The obvious
// ⌊t + 0.5⌋ is wrong for the float64 below 0.5 and for odd t above 2^52, where t + 0.5 is not a
// float64; t - ⌊t⌋ is one wherever it matters (docs/proofs/rounding.md).
//
// Apart from the verdict nothing here branches on x.
func RoundToGrid(x, back float64, limit int64) (n int64, ok bool) {
	// The product is exact unless it underflows, and then it is too close to 0 to matter. The
	// conversion keeps compilers from fusing it with what follows.
	t := float64(x * back)
	if !(math.Abs(t) <= MaxInteger) {
		return 0, false
	}
	f := math.Floor(t)
	_, below := bits.Sub64(math.Float64bits(t-f), halfBits, 0)
	n = int64(f) + 1 - int64(below)
	return n, uint64(n+limit) <= 2*uint64(limit) // -limit <= n <= limit
}
