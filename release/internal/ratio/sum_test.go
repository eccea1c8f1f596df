// SPDX-License-Identifier: Apache-2.0

package ratio

import (
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestSum compares radii and mean errors with all pairs of points.
func TestSum(t *testing.T) {
	const reach = 90
	first, second := masses(crooked(t), reach), masses(tall(t), reach)
	for _, c := range [][2]float64{{1, 1}, {0.5, -2}, {-3, 0.25}, {0, 1}, {2, 0}} {
		s := NewSum(c[0], newLaw(t, crooked(t), 0.5), c[1], newLaw(t, tall(t), 3))
		mean := 0.0
		for x, p := range first {
			for y, q := range second {
				mean += p * q * math.Abs(c[0]*0.5*float64(x)+c[1]*3*float64(y))
			}
		}
		if got := s.MeanError(); math.Abs(got-mean) > 0.03*mean {
			t.Errorf("%v: a mean error of %v, want %v", c, got, mean)
		}
		for _, level := range []float64{0.5, 0.9, 0.95, 0.999} {
			radius, err := s.Radius(level)
			if err != nil {
				t.Fatal(err)
			}
			within, less := 0.0, 0.0
			for x, p := range first {
				for y, q := range second {
					off := math.Abs(c[0]*0.5*float64(x) + c[1]*3*float64(y))
					if off < radius {
						within += p * q
					}
					if off < radius*(1-1e-4) {
						less += p * q
					}
				}
			}
			if within < level || less >= level+1e-7 {
				t.Errorf("%v at %v: within %v with probability %v, and %v a little closer", c, level, radius, within, less)
			}
		}
	}
	// Of two Laplace laws of scale 1: P(|X + Y| > t) = (1 + t/2)e^-t, and E|X + Y| = 3/2.
	v, points := pairNoise(t, 1)
	l := newLaw(t, v, 1/points)
	s := NewSum(1, l, 1, l)
	if got := s.MeanError(); math.Abs(got-1.5) > 2e-3 {
		t.Errorf("a mean error of %v, want 1.5", got)
	}
	radius, err := s.Radius(0.95)
	if tail := (1 + radius/2) * math.Exp(-radius); err != nil || tail > 0.05+1e-4 || tail < 0.0495 {
		t.Errorf("a radius of %v has a tail of %v, want 0.05, %v", radius, tail, err)
	}
	for _, level := range []float64{0, -1, 0.99999, math.NaN()} {
		if _, err := s.Radius(level); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("level %v: %v", level, err)
		}
	}
	if got, want := l.Square(), 2.0; math.Abs(got-want) > 5e-3 {
		t.Errorf("a square of %v, want %v", got, want)
	}
}

// TestRaw: the estimate of a sum and a number of rows is their quotient.
func TestRaw(t *testing.T) {
	l := newLaw(t, tall(t), 1)
	for _, m := range []*Method{Raw(-2, 7, l, l), Raw(3, 4, l, l)} {
		for tau := 0.0; tau <= 1; tau += 0.125 {
			mean := m.value(tau)
			if got := m.Estimate(800*mean, 800); math.Abs(got-mean) > 1e-12 {
				t.Errorf("an estimate of %v, want %v", got, mean)
			}
			low, high, err := m.Interval(800*mean, 800, 0.95)
			if err != nil || low > mean || high < mean {
				t.Errorf("from %v to %v, want around %v, %v", low, high, mean, err)
			}
		}
	}
}
