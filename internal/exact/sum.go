// SPDX-License-Identifier: Apache-2.0

package exact

import "math"

// Sum is a sum of float64s with Neumaier's correction: the error does not grow with their number.
type Sum struct{ sum, lost float64 }

// Add adds x.
func (s *Sum) Add(x float64) {
	t := s.sum + x
	if math.Abs(s.sum) >= math.Abs(x) {
		s.lost += (s.sum - t) + x
	} else {
		s.lost += (x - t) + s.sum
	}
	s.sum = t
}

// Value returns the sum.
func (s *Sum) Value() float64 { return s.sum + s.lost }
