// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"math"
	"math/bits"
)

// roundAtRandom returns one of the two integers next to x/h at random, with
// expectation x/h exactly, or ok = false if x is NaN or the result might have a
// magnitude above limit, which is decided before anything is drawn. It takes
// one random word, and another with probability below 2^-63 for each before.
//
// The law is that of ⌊x/h + u⌋ with u uniform on [0, 1), under which values at most m·h apart never
// land more than m points apart (docs/proofs/lattice.md). The nearest integer n and the rest x -
// n·h, both exact, yield it with a single comparison: away from n in the direction of the rest with
// probability |rest|/h.
func (s *Noise) roundAtRandom(x float64) (n int64, ok bool, err error) {
	nearest := math.RoundToEven(x / s.step)
	if !(math.Abs(nearest) < float64(s.limit)) {
		return 0, false, nil
	}
	// Exact: the rest is a float64.
	rest := math.FMA(-nearest, s.step, x)
	away, err := s.below(math.Abs(rest), s.step)
	if err != nil {
		return 0, true, err
	}
	// away with the sign of rest, without a branch.
	sign := int64(math.Float64bits(rest)) >> 63 //nolint:gosec // the sign bit, spread
	return int64(nearest) + (away ^ sign) - sign, true, nil
}

// below returns 1 if a random number v, uniform on [0, 1), is below a/h and 0 otherwise, for 0 <= a
// < h, exactly: v is the fraction 0.w₁w₂… in base 2^64, and words are drawn until they decide.
func (s *Noise) below(a, h float64) (int64, error) {
	for {
		w, err := s.word()
		if err != nil {
			return 0, err
		}
		less, decided := compare(w, a, h)
		if decided {
			return less, nil
		}
		// The digits agree: compare what comes after. The rest of a division is exact in Mod.
		if a = math.Mod(a*0x1p64, h); a == 0 {
			return 0, nil // no number is below 0
		}
	}
}

// compare compares w with a/h·2^64, for 0 <= a < h: less is 1 if w+1 is not above it, so that every
// number with the first digit w is below a/h, and 0 if w is not below it. Otherwise it is not
// decided. But for the last verdict it has no branch that depends on its arguments.
func compare(w uint64, a, h float64) (less int64, decided bool) {
	ma, ea := mantissa(a)
	mh, eh := mantissa(h)
	// In units of 2^eh, a·2^64 is ma·2^64/2^shift, of which hi:lo is the floor;
	// shifts by 64 or more give 0, and so do those that wrapped.
	shift := eh - ea
	hi := ma >> shift
	lo := ma<<(64-shift) | ma>>(shift-64)
	ph, pl := bits.Mul64(w, mh)
	dl, borrow := bits.Sub64(lo, pl, 0)
	dh, borrow := bits.Sub64(hi, ph, borrow)
	if borrow == 0 && dh == 0 && dl < mh {
		return 0, false // equal digits
	}
	return int64(1 - borrow), true
}

// mantissa returns m and e with x = m·2^(e-1075), for finite x >= 0.
func mantissa(x float64) (m, e uint64) {
	b := math.Float64bits(x)
	e = b >> 52
	normal := -e >> 63 // 1 unless x is subnormal or 0
	return b&(1<<52-1) | normal<<52, e + 1 - normal
}
