// SPDX-License-Identifier: Apache-2.0

package quadrature

// Minimum returns where a function that falls and then rises has its minimum between a and b, and
// the least value left of it, by golden-section search (Kiefer 1953). 30 rounds find the place to
// within 10^-6 of b-a. Of equal values, infinite ones too, the left one is taken for the lower.
func Minimum(f func(float64) float64, a, b float64, rounds int) (at, least float64) {
	const section = 0.6180339887498949 // (√5-1)/2
	x, y := b-section*(b-a), a+section*(b-a)
	fx, fy := f(x), f(y)
	for range rounds {
		if fx <= fy {
			b, y, fy = y, x, fx
			x = b - section*(b-a)
			fx = f(x)
		} else {
			a, x, fx = x, y, fy
			y = a + section*(b-a)
			fy = f(y)
		}
	}
	return (a + b) / 2, min(fx, fy)
}
