package noise

import (
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/quadrature"
	"github.com/noisewright/noisewright/loss"
)

// lossPanels returns the panels, in units of scale, for the integral over
// [0, end] of a density that decays on the scale 1 times c(x) + c(-x): the powers
// of two, since a loss may have a scale of its own, and the loss's kinks.
func lossPanels(l loss.Loss, scale, end float64) []float64 {
	// Below the first panel, 10^-6 of the scale, only a kink that was not
	// declared can hide.
	const first = 0x1p-20
	panels := quadrature.GeometricPanels([]float64{0}, first, end)
	for _, x := range loss.Kinks(l) {
		if y := math.Abs(x) / scale; y > 0 && y < end {
			panels = append(panels, y)
		}
	}
	slices.Sort(panels)
	return slices.Compact(panels)
}
