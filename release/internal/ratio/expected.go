// SPDX-License-Identifier: Apache-2.0

package ratio

import "math"

// panels is the number of panels for averages over means.
const panels = 16

// Errors returns the mean absolute error of the estimate times the number of records, to
// first order for many records, in query units: averaged over all means from lower to
// upper, and at the worst of the two bounds and the center. They do not depend on the
// data, so methods may be chosen by them. Estimates, good to some 1e-3.
func (m *Method) Errors() (average, worst float64) {
	for i := range panels + 1 { // Simpson's rule
		weight := 4.0
		switch {
		case i == 0 || i == panels:
			weight = 1
		case i%2 == 0:
			weight = 2
		}
		e := m.absolute(float64(i) / panels)
		average += weight * e / (3 * panels)
		worst = max(worst, e)
	}
	return average, worst
}

// RootSquares is Errors for the root of the mean square error; the average is the root of
// that of squares.
func (m *Method) RootSquares() (average, worst float64) {
	square := func(tau float64) float64 {
		p, q := m.a.at(tau), m.b.at(tau)
		return p*p*m.a.law.square + 2*p*q*m.a.law.mean*m.b.law.mean + q*q*m.b.law.square
	}
	// A quadratic polynomial in τ.
	average = (square(0) + 4*square(0.5) + square(1)) / 6
	return math.Sqrt(average), math.Sqrt(max(square(0), square(0.5), square(1)))
}

// absolute returns E|a(τ)·X + b(τ)·Y|.
func (m *Method) absolute(tau float64) float64 {
	x, p, y, q := m.a.law, m.a.at(tau), m.b.law, m.b.at(tau)
	if math.Abs(p)*math.Sqrt(x.square) > math.Abs(q)*math.Sqrt(y.square) {
		x, p, y, q = y, q, x, p
	}
	sum := 0.0
	for _, b := range x.bins {
		t := -p / q * (b.low + b.high) / 2
		moment, below := y.momentBelow(t)
		sum += b.mass * (2*(t*below-moment) + y.mean - t)
	}
	return math.Abs(q) * sum
}
