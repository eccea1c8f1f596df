// SPDX-License-Identifier: Apache-2.0

package ratio

import (
	"math"

	"github.com/noisewright/noisewright/internal/check"
)

// Method is a way to the mean m = lower + τ·(upper−lower): two sums A and B, in query
// units, with a(τ)·A + b(τ)·B = 0 at the mean. The coefficients are linear in τ and given
// for τ = 0 and τ = 1. It is immutable and safe for concurrent use.
type Method struct {
	lower, upper float64
	a, b         side
}

type side struct {
	law      *Law
	at0, at1 float64 // the coefficient, times the unit of the law
}

func (s side) at(tau float64) float64 { return s.at0*(1-tau) + s.at1*tau }

// error exceeds what float64s lose, at a sum of so many points and for all of its noise,
// where the coefficient is computed and multiplied.
func (s side) error(points float64) float64 {
	return 0x1p-48 * max(math.Abs(s.at0), math.Abs(s.at1)) * (math.Abs(points) + s.law.reach)
}

// Pair is the method with A = Σ(x−lower) and B = Σ(upper−x), with noise of the laws.
// lower < upper are finite.
func Pair(lower, upper float64, above, below *Law) *Method {
	return &Method{lower, upper, side{above, above.unit, 0}, side{below, 0, -below.unit}}
}

// Split is the method with A = Σ(x−center), center = (lower+upper)/2, and B the number of
// records, with noise of the laws. lower < upper are finite.
func Split(lower, upper float64, sum, count *Law) *Method {
	half := (upper/2 - lower/2) * count.unit
	return &Method{lower, upper, side{sum, sum.unit, sum.unit}, side{count, half, -half}}
}

// Raw is Split with the sum A = Σx itself.
func Raw(lower, upper float64, sum, count *Law) *Method {
	return &Method{lower, upper, side{sum, sum.unit, sum.unit}, side{count, -lower * count.unit, -upper * count.unit}}
}

// Estimate returns the mean for released sums of so many points: the zero of a(τ)·A + b(τ)·B,
// clipped to lower and upper, or their center if A and B say that there are no records.
func (m *Method) Estimate(a, b float64) float64 { return m.value(m.zero(a, b)) }

func (m *Method) zero(a, b float64) float64 {
	g0, g1 := m.form(0, a, b), m.form(1, a, b)
	if !(g0 > g1) {
		return 0.5
	}
	return min(max(g0/(g0-g1), 0), 1)
}

// form is a(τ)·A + b(τ)·B.
func (m *Method) form(tau, a, b float64) float64 { return m.a.at(tau)*a + m.b.at(tau)*b }

func (m *Method) value(tau float64) float64 {
	return min(max(m.lower*(1-tau)+m.upper*tau, m.lower), m.upper)
}

// Interval returns a confidence interval for the mean of at least one record, given the
// released points of the two sums, integers of at most 2^53.
//
// Guarantee (docs/proofs/mean.md): whatever the records, low <= mean <= high with at
// least the probability level over the noise of the tables. It includes the Estimate, and
// is [lower, upper] where the sums do not tell the mean from its bounds, or fit none.
//
// It is that of Fieller 1954 for the exact law of the noise: all m for which the form is within the
// quantile of its noise. It is longer than that by less than 1e-3 of its length for Laplace noise.
// The error wraps dp.ErrInvalid unless 0 < level <= 0.9999. Cost: some 10 ms.
func (m *Method) Interval(a, b, level float64) (low, high float64, err error) {
	if !(level > 0 && level <= 0.9999) {
		return 0, 0, check.Field("ratio", "level", level, "a number above 0 and at most 0.9999")
	}
	if !(math.Abs(a) <= 1<<53 && math.Abs(b) <= 1<<53) {
		return 0, 0, check.Field("ratio", "points", max(math.Abs(a), math.Abs(b)), "at most 2^53")
	}
	zero := m.zero(a, b)
	if m.excludes(zero, zero, a, b, level) {
		return m.lower, m.upper, nil
	}
	from := m.excluded(0, zero, func(x, y float64) bool { return m.excludes(x, y, a, b, level) })
	to := 1 - m.excluded(0, 1-zero, func(x, y float64) bool { return m.excludes(1-y, 1-x, a, b, level) })
	low, high = m.value(from), m.value(to)
	// value rounds a few times, and 1-y twice.
	slack := 0x1p-50 * max(math.Abs(m.lower), math.Abs(m.upper))
	return max(low-slack, m.lower), min(high+slack, m.upper), nil
}

// excluded returns a number from x to end such that everything from x to it is excluded.
func (m *Method) excluded(x, end float64, excludes func(x, y float64) bool) float64 {
	// To within a small part of the distance from the estimate, half the length of
	// the interval. The estimate itself is never excluded.
	const precision = 0x1p-10
	for step := end - x; x < end && step > precision*(end-x) && x+step > x; {
		if y := min(x+step, end); excludes(x, y) {
			x = y
		} else {
			step /= 2
		}
	}
	return x
}

// excludes reports whether the test of every τ from x to y refuses it: what is left of
// the form, after the rounding of the sums, is more than the noise is at the level.
func (m *Method) excludes(x, y, a, b, level float64) bool {
	at := [2]float64{x, y}
	left, other := math.Inf(1), 0.0
	var p, q [2]float64
	for i, tau := range at {
		p[i], q[i] = m.a.at(tau), m.b.at(tau)
		g := p[i]*a + q[i]*b
		if i == 1 && (g > 0) != (other > 0) {
			return false
		}
		other = g
		left = min(left, math.Abs(g))
	}
	// Half a point of either for its rounding, at the larger coefficients.
	left -= (max(math.Abs(p[0]), math.Abs(p[1])) + max(math.Abs(q[0]), math.Abs(q[1]))) / 2
	left -= m.a.error(a) + m.b.error(b)
	if !(left > 0) {
		return false
	}
	// The law is summed over the noise whose part in the form is smaller, and solved
	// for the other one.
	if least(p)*math.Sqrt(m.a.law.square) > least(q)*math.Sqrt(m.b.law.square) {
		return likely(level, m.b.law, q, m.a.law, p, left)
	}
	return least(q) > 0 && likely(level, m.a.law, p, m.b.law, q, left)
}

// least is the least magnitude of a coefficient between its values at two τ.
func least(p [2]float64) float64 {
	if p[0]*p[1] <= 0 {
		return 0
	}
	return min(math.Abs(p[0]), math.Abs(p[1]))
}

// likely reports whether |p_i·X + q_i·Y| < left for i = 0 and i = 1, and thus for all coefficients
// between, with at least the probability level: the sum, over the bins of X, of the probability of
// the Y that keep all points of the bin within is enough. The q_i are not 0 and have the same sign.
func likely(level float64, x *Law, p [2]float64, y *Law, q [2]float64, left float64) bool {
	// The bounds on Y move inwards by more than the rounding of the lines that follow.
	const hair = 0x1p-48
	s0, s1 := -p[0]/q[0], -p[1]/q[1]
	h0, h1 := (1-hair)*left/math.Abs(q[0]), (1-hair)*left/math.Abs(q[1])
	slope := hair * max(math.Abs(s0), math.Abs(s1))
	found, missed := 0.0, 0.0
	for _, b := range x.bins {
		u0, v0 := s0*b.low, s0*b.high
		u1, v1 := s1*b.low, s1*b.high
		in := slope * (math.Abs(b.low) + math.Abs(b.high))
		low := max(max(u0, v0)-h0, max(u1, v1)-h1) + in
		high := min(min(u0, v0)+h0, min(u1, v1)+h1) - in
		between := y.between(low, high)
		found += b.mass * between
		missed += b.mass * (1 - between)
		if missed > 1-level { // what is left cannot suffice
			return false
		}
		if found >= level+rounding {
			return true
		}
	}
	return false
}
