// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"math"
	"slices"
	"testing"
)

// TestToGrid holds the rounding to the grid against docs/bundle-format.md.
func TestToGrid(t *testing.T) {
	const step = 0.25
	for _, c := range []struct {
		name          string
		axes, u, want []float64
	}{
		{"the nearest point within the limits, which is in the ball", []float64{100, 10.65}, []float64{0.4, 10.64}, []float64{0.5, 10.5}},
		{"an axis below a step", []float64{100, 0.2}, []float64{-33.4, 0.19}, []float64{-33.5, 0}},
		{"an axis whose quotient with the step overflows", []float64{1, 5e-324}, []float64{0.6, 0}, []float64{0.5, 0}},
		{"halves go up", []float64{9, 9}, []float64{0.125, -0.125}, []float64{0.25, 0}},
		{"the nearest point is outside", []float64{1, 1}, []float64{0.7, 0.7}, []float64{0.5, 0.5}},
	} {
		if got := ballOf(step, c.axes).rounded(c.u); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v in %v is rounded to %v, want %v", c.name, c.u, c.axes, got, c.want)
		}
	}
}

// TestNothingIsFused has points where a processor that fuses the square with the sum
// would decide otherwise about the ball.
func TestNothingIsFused(t *testing.T) {
	const step = 0.25
	for _, c := range []struct {
		axes, u []float64
		inside  bool
	}{
		{[]float64{25.875, 11.593586775927841}, []float64{56 * step, 39 * step}, true},
		{[]float64{45.5, 5.80588294730691}, []float64{115 * step, 18 * step}, true},
		{[]float64{42.375, 8.390723543845809}, []float64{76 * step, 30 * step}, false},
	} {
		b := ballOf(step, c.axes)
		fused := 0.0
		for i, part := range b.parts {
			r := c.u[i] / step * part
			fused = math.FMA(r, r, fused)
		}
		if (fused <= b.member) == c.inside {
			t.Errorf("%v in %v: fusing changes nothing, which tests nothing", c.u, c.axes)
		}
		if got := b.rounded(c.u); slices.Equal(got, c.u) != c.inside {
			t.Errorf("%v in %v is rounded to %v, want itself: %v", c.u, c.axes, got, c.inside)
		}
	}
}

// ballOf returns the body of joint noise in a ball.
func ballOf(step float64, axes []float64) *body {
	b := newJointBody(Ball, axes, step)
	return &b
}

// rounded returns what toGrid makes of u.
func (b *body) rounded(u []float64) []float64 {
	u = slices.Clone(u)
	b.toGrid(u)
	return u
}
