// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot/plotter"
)

// TestLogarithms: a curve that falls below a logarithmic axis ends there, and does not run
// along it.
func TestLogarithms(t *testing.T) {
	for _, c := range []struct{ densities, want []float64 }{
		{[]float64{0, 0, 1e-9, 0.1, 1, 1e-4, 0, 1e-12}, []float64{-3, -1, 0, -3}},
		{[]float64{0.1, 1, 0.1}, []float64{-1, 0, -1}},
		{[]float64{1e-9, 0.1, 0, 0, 0.1}, []float64{-3, -1, -3, -3, -1}}, // a gap stays
		{[]float64{0, 0}, []float64{-3, -3}},
	} {
		var points plotter.XYs
		for i, y := range c.densities {
			points = append(points, plotter.XY{X: float64(i), Y: y})
		}
		var got []float64
		for _, p := range logarithms(points, -3) {
			got = append(got, math.Round(p.Y))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("densities %v became %v, want %v", c.densities, got, c.want)
		}
	}
}
