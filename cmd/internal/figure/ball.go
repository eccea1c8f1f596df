// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/plotter"

	"github.com/noisewright/noisewright/ball"
)

// Ball is the chart of the density of noise on balls by its norm, and of spherical noise with the same epsilon and
// delta 0.
func Ball(m *ball.Noise, log bool) *Chart {
	s := m.Spec()
	c := &Chart{
		Title: fmt.Sprintf("%s, %d coordinates", privacyTitle(s.Privacy), s.Dimension),
		X:     "norm of the noise, in units of the values", Y: fmt.Sprintf("density in %d dimensions", s.Dimension), log: log,
	}
	d := float64(s.Dimension)
	gamma, _ := math.Lgamma(d/2 + 1)
	unit := math.Exp(d/2*math.Log(math.Pi) - gamma) // volume of the unit ball
	var steps plotter.XYs
	f := 0.0
	for j := len(s.Radii) - 1; j >= 0; j-- {
		r := math.Ldexp(float64(s.Radii[j]), s.StepExponent)
		steps = append(steps, plotter.XY{X: r, Y: f})
		if r > 0 {
			f += float64(s.Weights[j]) * 0x1p-64 / (unit * math.Pow(r, d))
			steps = append(steps, plotter.XY{X: r, Y: f})
		}
	}
	steps = append(steps, plotter.XY{X: 0, Y: f})
	if log {
		steps = steps[1:] // without the fall to 0 at the end
	}
	c.Right = steps[0].X
	loss, _ := m.Certify().ExpectedLoss.Float64()
	c.Curves = append(c.Curves, Curve{fmt.Sprintf("noise on %d balls, expected loss %.4g", len(s.Radii), loss), steps, Solid(Blue, 2)})
	if e := s.Epsilon / s.Sensitivity; e > 0 {
		power, _ := s.Power()
		up, _ := math.Lgamma(d + power)
		down, _ := math.Lgamma(d)
		// ∫ exp(−e·‖x‖) dx = d·unit·Γ(d)/e^d.
		top := math.Exp(d*math.Log(e)-down) / (d * unit)
		var curve plotter.XYs
		const points = 400
		for i := range points + 1 {
			r := c.Right * float64(i) / points
			curve = append(curve, plotter.XY{X: r, Y: top * math.Exp(-e*r)})
		}
		c.Curves = append(c.Curves, Curve{fmt.Sprintf("spherical noise, delta 0, expected loss %.4g", math.Exp(up-down)*math.Pow(e, -power)), curve, Dashed(Palette[1], 1.4)})
	}
	return c
}
