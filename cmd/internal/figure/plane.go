// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"math"
	"strconv"

	"github.com/noisewright/noisewright/plane"
)

// Plane is the heat map of the probabilities of the cells of noise in the plane, the first coordinate to the
// right and the second upwards, without the outer rings that hold less than 0.1 % together.
func Plane(n *plane.Noise) *HeatMap {
	s := n.Spec()
	h := &HeatMap{Title: privacyTitle(s.Privacy) + " (" + string(s.Norm) + ")", XLabel: "noise of the first number", YLabel: "noise of the second number"}
	if s.Norm == plane.L1 && s.Query == "real" {
		h.XLabel, h.YLabel = "noise of the sum", "noise of the difference"
	}
	rings, mass := 0, 0.0
	for ; plane.At(rings, rings) < len(s.Weights); rings++ {
		for j := range rings + 1 {
			mass += math.Ldexp(float64(s.Weights[plane.At(rings, j)]), -64) * float64(plane.Images(rings, j))
		}
		if mass > 0.999 {
			break
		}
	}
	rings = min(rings, int(math.Sqrt(2*float64(len(s.Weights))))-1)
	width := math.Ldexp(float64(s.Grid.PointsPerCell), s.Grid.GranularityExponent)
	every := 1 + rings/5 // labels
	for j := rings; j >= -rings; j-- {
		label := ""
		if j%every == 0 {
			label = strconv.FormatFloat(float64(j)*width, 'g', 4, 64)
		}
		h.Y = append(h.Y, label)
		for i := -rings; i <= rings; i++ {
			h.Cells = append(h.Cells, HeatCell{Value: float64(s.Weights[plane.At(i, j)])})
		}
	}
	for i := range h.Y {
		h.X = append(h.X, h.Y[len(h.Y)-1-i])
	}
	return h
}
