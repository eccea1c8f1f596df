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
	for i, j := range s.Norm.Cells(len(s.Weights)) {
		if o := s.Norm.Index(i, j); o == len(s.Weights) || mass > 0.999 && i > rings {
			break
		}
		rings = i
		mass += math.Ldexp(float64(s.Weights[s.Norm.Index(i, j)]), -64) * float64(s.Norm.Images(i, j))
	}
	width := math.Ldexp(float64(s.Grid.PointsPerCell), s.Grid.GranularityExponent)
	every := 1 + rings/5 // labels
	for j := rings; j >= -rings; j-- {
		label := ""
		if j%every == 0 {
			label = strconv.FormatFloat(float64(j)*width, 'g', 4, 64)
		}
		h.Y = append(h.Y, label)
		for i := -rings; i <= rings; i++ {
			h.Cells = append(h.Cells, HeatCell{Value: float64(s.Weights[s.Norm.Index(i, j)])})
		}
	}
	for i := range h.Y {
		h.X = append(h.X, h.Y[len(h.Y)-1-i])
	}
	return h
}
