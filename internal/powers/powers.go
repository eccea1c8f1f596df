// SPDX-License-Identifier: Apache-2.0

// Package powers has bounds of values from how many of them are between powers of two.
package powers

import "math"

// Values are counted by the powers of two that they are between: 0, of magnitudes up to 2^least, and on
// either side (2^(e-1), 2^e] for the e above that up to most, beyond which values are clipped to Largest.
const (
	least   = -32
	most    = 64
	Largest = 0x1p64
	Zero    = most - least // the bin of 0
	Bins    = 2*Zero + 1   // in ascending order of their values
)

// Of returns the bin of a value of at most Largest in magnitude.
func Of(v float64) int {
	f, e := math.Frexp(math.Abs(v))
	if f == 0.5 { // a power of two
		e--
	}
	if v == 0 || e <= least {
		return Zero
	}
	if v < 0 {
		return Zero - (e - least)
	}
	return Zero + e - least
}

// Power is the end of a bin so many beyond that of 0, which is 0.
func Power(bins int) float64 {
	if bins == 0 {
		return 0
	}
	return math.Ldexp(1, least+bins)
}

// Choose returns the bins whose outer ends are the bounds, from counts with Laplace noise of a rate. noise is the
// standard deviation of the noise on a sum, by its bound.
//
// It is a rule for a small error, on which no promise rests. On either side of 0: a bin is sure if its count is above
// all noise but for a probability of 1e-6. Beyond the outermost sure one counts are those that the last three sure ones
// let expect, if their ratios go on falling as they do, but those found in bins next to them that are above noise but for one of
// 1e-3, and none from a bin on that has fewer than expected by more than such noise. The bound is the power of two of the least
// expected square of what is clipped and of the noise together.
func Choose(counts []float64, rate, noise float64) (lower, upper int) {
	side := func(bin func(i int) float64) int {
		return bestPower(expected(bin, math.Log(1e6*Bins)/rate, math.Log(1000)/rate), noise)
	}
	upper = Zero + side(func(i int) float64 { return counts[Zero+i] })
	lower = Zero - side(func(i int) float64 { return counts[Zero-i] })
	if lower == upper {
		upper++
	}
	return lower, upper
}

// expected returns the counts of the bins beyond 0 that are expected, from those found.
func expected(found func(i int) float64, sure, noise float64) []float64 {
	counts := make([]float64, Zero+1)
	last := 0
	for i := 1; i <= Zero; i++ {
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
	for i := last + 1; i <= Zero; i++ {
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
		bound := Power(i)
		bias, square := 0.0, noise*noise*bound*bound
		for j := i + 1; j < len(counts); j++ {
			off := 0.75*Power(j) - bound // a value in the middle of its bin
			bias += counts[j] * off
			square += counts[j] * off * off
		}
		if square += bias * bias; square < least {
			best, least = i, square
		}
	}
	return best
}
