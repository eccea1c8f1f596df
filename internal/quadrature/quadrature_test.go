// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"math"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
)

// TestIntegrate: integrals with known values, smooth, singular, with a kink, with
// a jump and with a narrow peak, within the error stated.
func TestIntegrate(t *testing.T) {
	for _, c := range []struct {
		name   string
		f      func(float64) float64
		panels []float64
		want   float64
		worst  float64 // largest acceptable relative error bound
	}{
		{"polynomial", func(x float64) float64 { return 1 + x*x*x }, []float64{0, 2}, 6, 1e-13},
		{"exponential", func(x float64) float64 { return math.Exp(-x) }, []float64{0, 1, 300}, 1, 1e-13},
		{"root", math.Sqrt, []float64{0, 1}, 2.0 / 3, 1e-13},
		{"inverse root", func(x float64) float64 { return 1 / math.Sqrt(x) }, []float64{0, 1}, 2, 1e-6},
		{"kink", func(x float64) float64 { return math.Abs(x - 0.3) }, []float64{0, 1}, (0.09 + 0.49) / 2, 1e-13},
		{"jump", func(x float64) float64 { return math.Ceil(x - 0.3) }, []float64{0, 1}, 0.7, 1e-13},
		{"peak", func(x float64) float64 { return 1e-6 / (x*x + 1e-12) }, []float64{-1, 0, 1}, 2 * math.Atan(1e6), 1e-13},
		{"zero", func(float64) float64 { return 0 }, []float64{0, 1}, 0, 1e-13},
	} {
		got, bound := Integrate(c.f, c.panels)
		if !(math.Abs(got-c.want) <= bound) || bound > c.worst*c.want {
			t.Errorf("%s: %.17g ± %.3g, want %.17g", c.name, got, bound, c.want)
		}
	}
	for name, f := range map[string]func(float64) float64{
		"NaN": func(float64) float64 { return math.NaN() },
		"Inf": func(float64) float64 { return math.Inf(1) },
		"Inf somewhere": func(x float64) float64 {
			if x > 0.7 {
				return math.Inf(1)
			}
			return 1
		},
	} {
		if got, bound := Integrate(f, []float64{0, 1}); !math.IsNaN(got+bound) && !math.IsInf(got+bound, 0) {
			t.Errorf("%s: %g ± %g, want something that cannot be taken for a value", name, got, bound)
		}
	}
}

// TestCompensated: a sum that plain addition loses.
func TestCompensated(t *testing.T) {
	var s exact.Sum
	s.Add(1)
	for range 1 << 20 {
		s.Add(0x1p-60)
	}
	s.Add(-1)
	if got := s.Value(); got != 0x1p-40 {
		t.Errorf("sum %g, want 2^-40", got)
	}
}

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s = %.17g, want %.17g (relative error %.3g, tolerance %.3g)", what, got, want, got/want-1, relative)
	}
}
