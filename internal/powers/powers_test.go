// SPDX-License-Identifier: Apache-2.0

package powers

import (
	"math"
	"testing"
)

// TestOf: values are in the bin of the powers of two that they are between.
func TestOf(t *testing.T) {
	for v, want := range map[float64]int{
		0: Zero, 0x1p-32: Zero, -0x1p-32: Zero, 0x1.8p-33: Zero, 0x1p-1074: Zero, math.Nextafter(0x1p-32, 1): Zero + 1, 0x1p-31: Zero + 1,
		1: Zero + 32, math.Nextafter(1, 2): Zero + 33, 2: Zero + 33, -1: Zero - 32, -1.5: Zero - 33, Largest: Bins - 1, -Largest: 0,
	} {
		if got := Of(v); got != want {
			t.Errorf("%g is in bin %d, want %d", v, got, want)
		}
	}
}

// TestChoose: the rule on counts without noise.
func TestChoose(t *testing.T) {
	for name, c := range map[string]struct {
		counts       map[float64]float64 // by a value of the bin
		lower, upper float64
	}{
		"none":             {nil, 0, 0x1p-31},
		"too few":          {map[float64]float64{3: 20, 5: 30}, 0, 0x1p-31},
		"one bin":          {map[float64]float64{3: 1000}, 0, 4},
		"negative":         {map[float64]float64{-3: 1000}, -4, 0},
		"uniform to 100":   {map[float64]float64{0.6: 50, 1.5: 100, 3: 200, 6: 400, 12: 800, 24: 1600, 48: 3200, 96: 3600}, 0, 128},
		"both sides":       {map[float64]float64{0.6: 5000, -0.6: 4000, 1.5: 200, -1.5: 3000, 0: 100}, -2, 2},
		"falls fast":       {map[float64]float64{1: 5000, 1.5: 3000, 3: 900, 6: 120, 12: 6}, 0, 16},
		"one row far away": {map[float64]float64{1: 5000, 1.5: 3000, 3: 900, 1e9: 1}, 0, 4},
	} {
		counts := make([]float64, Bins)
		for v, n := range c.counts {
			counts[Of(v)] = n
		}
		lower, upper := Choose(counts, 0.2, math.Sqrt2/0.8)
		if low, high := -Power(Zero-lower), Power(upper-Zero); low != c.lower || high != c.upper {
			t.Errorf("%s: from %g to %g, want %g to %g", name, low, high, c.lower, c.upper)
		}
	}
}
