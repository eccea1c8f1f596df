// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"math"
	"slices"
	"sort"
)

// roundoff is half a unit in the last place of 1. math.Exp, Log and Log1p are good to an ulp or two.
const roundoff = 0x1p-53

// Interval returns bounds on the share of a category among n people, of which count answered with
// a set that has it. Each bound fails with a probability of at most alpha, for any data; with
// alpha = (1−level)/(2k) for all k categories, all bounds hold with the probability level.
//
// The count is a sum of independent events, of m people with probability p and the others with q.
// The bounds are the least and the largest m that its tails do not refute. If alpha <= 1/4 and the mean
// is from 1 to n−1 these are within those of Clopper and Pearson for a binomial variable of the same mean
// (Hoeffding 1956), which are taken where they are about as close. All is rounded outwards
// (docs/proofs/shares.md).
func (s *Selection) Interval(count, n int64, alpha float64) (lower, upper float64) {
	return cut(s.Uncut(count, n, alpha))
}

// cut returns bounds on a share that are shares themselves.
func cut(lower, upper float64) (least, most float64) {
	return min(max(lower, 0), 1), max(min(upper, 1), 0)
}

// Sampled is Interval for the share among all people of whom the n who answered are a sample, all samples of n
// being equally likely. The count then has the law of a sum of n independent events of unknown
// probabilities, and the bounds are those of Clopper and Pearson for 1−e^−alpha, or 1/4 if that is
// less (docs/proofs/shares.md).
func (s *Selection) Sampled(count, n int64, alpha float64) (lower, upper float64) {
	p, q, _, _ := s.floats()
	return cut(mapped(count, n, sampledAlpha(alpha), p, q))
}

// sampledAlpha returns 1−e^−alpha, rounded down, or 1/4 if that is less.
func sampledAlpha(alpha float64) float64 { return min(-math.Expm1(-alpha)*(1-8*roundoff), 0.25) }

// mapped returns bounds of Clopper and Pearson on the mean of a count as those on a share.
func mapped(count, n int64, alpha, p, q float64) (lower, upper float64) {
	low, high := binomialLower(count, n, alpha), 1-binomialLower(n-count, n, alpha)*(1-4*roundoff)
	rounding := func(x float64) float64 { return 16 * roundoff * (1 + math.Abs(x)) / (p - q) }
	lower, upper = (low-q)/(p-q), (high-q)/(p-q)
	return lower - rounding(lower), upper + rounding(upper)
}

// enough is the part of the variance of a binomial variable by which that of the sum may be less
// where the bounds are those of the former: they are wider by half of it.
const enough = 0.04

// Uncut is Interval before it is cut to the numbers from 0 to 1, for who compares widths.
func (s *Selection) Uncut(count, n int64, alpha float64) (lower, upper float64) {
	p, q, notP, notQ := s.floats()
	alpha *= 1 - 8*roundoff
	people, from, to := float64(n), int64(0), n
	if alpha <= 0.25 && people*q*(1-8*roundoff) >= 1 && people*notP*(1-8*roundoff) >= 1 {
		lower, upper = mapped(count, n, alpha, p, q)
		mean := float64(count) / people
		share := min(max((mean-q)/(p-q), 0), 1)
		if share*(1-share)*(p-q)*(p-q) <= enough*mean*(1-mean) {
			return lower, upper
		}
		// Below and above these no m is to be looked at.
		lower, upper = cut(lower, upper)
		from, to = int64(lower*people*(1-2*roundoff)), n-int64((1-upper)*people*(1-2*roundoff))
	}
	// The sums grow with m.
	least := from + int64(sort.Search(int(n-from), func(i int) bool {
		return sumTail(count, from+int64(i), n, [2]float64{p, notP}, [2]float64{q, notQ}) > alpha
	}))
	most := to - int64(sort.Search(int(to), func(i int) bool {
		return sumTail(n-count, n-to+int64(i), n, [2]float64{notQ, q}, [2]float64{notP, p}) > alpha
	}))
	return float64(least) / people * (1 - 2*roundoff), float64(most) / people * (1 + 2*roundoff)
}

// binomialLower returns a lower bound on the probability of an event that came count times of n,
// that fails with a probability of at most alpha: one with P(Bin(n, θ) >= count) <= alpha, but
// for 2^-34 of it the largest below count/n.
func binomialLower(count, n int64, alpha float64) float64 {
	low, high := 0.0, float64(count)/float64(n)*(1-2*roundoff)
	for high-low > 0x1p-34*high {
		if theta := low + (high-low)/2; binomialTail(count, n, theta) <= alpha {
			low = theta
		} else {
			high = theta
		}
	}
	return low
}

// binomialTail bounds P(Bin(n, θ) >= c) from above, for 0 < θ < c/n: the terms fall from the first
// on, by factors that fall.
func binomialTail(c, n int64, theta float64) float64 {
	sum, term, terms := 1.0, 1.0, 1.0
	odds := theta / (1 - theta)
	for i := c; i < n; i++ {
		ratio := float64(n-i) / float64(i+1) * odds
		term *= ratio
		sum += term
		terms++
		if term < 0x1p-60*sum && ratio < 1-0x1p-20 {
			sum += term * ratio / (1 - ratio) * (1 + 0x1p-20) // all that follows is less
			break
		}
	}
	return massUpper(c, n, theta, 1-theta) * sum * (1 + 8*roundoff*(terms+16))
}

// massUpper bounds P(Bin(n, θ) = c) from above (Loader 2000): the exponent is −n times the
// divergence of c/n from θ, and what Stirling's formula lacks. Rest is 1 − θ; both are right to a
// roundoff, and not 0.
func massUpper(c, n int64, theta, rest float64) float64 {
	x, y, people := float64(c), float64(n-c), float64(n)
	own, other, e, factor := 0.0, 0.0, 0.0, 1.0
	if c > 0 {
		own = x * math.Log(x/(people*theta))
	}
	if c < n {
		other = y * math.Log(y/(people*rest))
	}
	if c > 0 && c < n {
		e, factor = stirling(n)-stirling(c)-stirling(n-c), math.Sqrt(people/(2*math.Pi*x*y))
	}
	// Each logarithm is of a number right to 4 roundoffs, and is right to 4 itself.
	slack := 8*roundoff*(people+math.Abs(own)+math.Abs(other)) + 0x1p-40
	return math.Exp(e-own-other+slack) * factor * (1 + 16*roundoff)
}

// stirling returns log(n!) − (n + 1/2)·log n + n − log(2π)/2, right to 2^-43.
func stirling(n int64) float64 {
	x := float64(n)
	if n < 16 { // n! is a float64
		factorial := 1.0
		for i := 2.0; i <= x; i++ {
			factorial *= i
		}
		return math.Log(factorial) - (x+0.5)*math.Log(x) + x - 0.5*math.Log(2*math.Pi)
	}
	// The error is below the first term that is left out, 1/(1188·n^9).
	z := 1 / (x * x)
	return (1./12 - z*(1./360-z*(1./1260-z/1680))) / x
}

// negligible is a probability that is left out where masses of a sum are smaller, and added again as a whole.
const negligible = 0x1p-90

// sumTail bounds P(X + Y >= c) from above, for independent X of m events with the probability p and
// Y of n−m with q; each is a probability and its complement.
func sumTail(c, m, n int64, p, q [2]float64) float64 {
	fromX, x := masses(m, p[0], p[1])
	fromY, y := masses(n-m, q[0], q[1])
	// The tails of Y, from the largest value on.
	for i := len(y) - 2; i >= 0; i-- {
		y[i] += y[i+1]
	}
	sum := 0.0
	for i, mass := range x {
		if need := c - fromX - int64(i) - fromY; need < int64(len(y)) {
			sum += mass * y[max(need, 0)]
		}
	}
	return sum*(1+32*roundoff*float64(len(x)+len(y)+16)) + 2*negligible*float64(n+1)
}

// masses returns those of Bin(n, θ) from a number on, without those below negligible: from the most
// probable one on they fall. They are at least what they stand for but for 8 roundoffs for each in the list.
func masses(n int64, theta, rest float64) (from int64, list []float64) {
	mode := min(int64(float64(n+1)*theta), n)
	top, odds := massUpper(mode, n, theta, rest), theta/rest
	from = mode
	for mass := top; from > 0; from-- {
		if mass *= float64(from) / float64(n-from+1) / odds; mass < negligible {
			break
		}
		list = append(list, mass)
	}
	slices.Reverse(list)
	list = append(list, top)
	for i, mass := mode, top; i < n; i++ {
		if mass *= float64(n-i) / float64(i+1) * odds; mass < negligible {
			break
		}
		list = append(list, mass)
	}
	return from, list
}
