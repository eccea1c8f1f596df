// SPDX-License-Identifier: Apache-2.0

package ratio

import (
	"math"

	"github.com/noisewright/noisewright/internal/check"
)

// Sum is p·X + q·Y, for independent noise X and Y of two laws in query units. It is immutable and safe for concurrent use.
type Sum struct{ x, y side }

// NewSum returns p·X + q·Y; not both of the coefficients are 0.
func NewSum(p float64, x *Law, q float64, y *Law) *Sum {
	first, second := side{x, p * x.unit, p * x.unit}, side{y, q * y.unit, q * y.unit}
	if first.at0*first.at0*x.square > second.at0*second.at0*y.square {
		first, second = second, first
	}
	return &Sum{first, second} // the law is summed over the first, whose part is smaller
}

// MeanError returns E|p·X + q·Y|, an estimate good to some 1e-3.
func (s *Sum) MeanError() float64 { return (&Method{a: s.x, b: s.y}).absolute(0) }

// Radius returns a number such that |p·X + q·Y| is below it with at least the probability level, where p and q may each be off by
// two roundings. It is the least such number but for a part of 2^-20. The error wraps dp.ErrInvalid unless 0 < level <= 0.9999.
func (s *Sum) Radius(level float64) (float64, error) {
	if !(level > 0 && level <= 0.9999) {
		return 0, check.Field("ratio", "level", level, "a number above 0 and at most 0.9999")
	}
	p, q := s.x.at0, s.y.at0
	within := func(radius float64) bool {
		radius -= s.x.error(0) + s.y.error(0)
		return radius > 0 && likely(level, s.x.law, [2]float64{p, p}, s.y.law, [2]float64{q, q}, radius)
	}
	high := math.Abs(q) * (1 + math.Sqrt(s.y.law.square))
	for !within(high) {
		if high *= 2; math.IsInf(high, 1) {
			return 0, check.Field("ratio", "level", level, "one that the laws have up to their cuts")
		}
	}
	low := 0.0
	for high-low > high*0x1p-20 {
		if middle := low + (high-low)/2; within(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}
