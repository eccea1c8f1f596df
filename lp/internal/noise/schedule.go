// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"

	"github.com/noisewright/noisewright/dp"
)

// alignFrom is the epsilon from which grids are aligned to the staircase step.
const alignFrom = 2

// SupportBound returns the half-width, in sensitivities, of truncated Laplace
// noise: noise with this support exists.
func SupportBound(p dp.Problem) float64 {
	if p.Epsilon == 0 {
		return 1 / (2 * p.Delta)
	}
	return math.Log1p(math.Expm1(p.Epsilon)/(2*p.Delta)) / p.Epsilon
}

// fromZero reports whether the density cannot increase and begins at 0. Each
// sensitivity from 0 on then weighs no more than the first, and that no more than δ.
func fromZero(p dp.Problem) bool {
	s := p.Constraints.Support
	return s != nil && p.Constraints.Monotone && (s.Lower == 0 || s.Upper == 0)
}

// firstCells estimates the number of cells per sensitivity at which the two bounds meet to the
// relative gap: for l1 the bounds differ by about β/4 on the mass of the middle cell, and generally
// by the loss's curvature over a cell, so the gap falls with 1/K².
func (m *model) firstCells(gap float64) int {
	if m.curvature == 0 {
		m.curvature = m.findCurvature()
	}
	if m.curvature < 0 {
		return 4
	}
	k := math.Sqrt(m.curvature / gap)
	return int(min(max(math.Ceil(k), 1), 256))
}

// findCurvature returns the difference of the two programs' costs for cells of one
// sensitivity of a real query, weighted by a Laplace-like law, over its loss; −1 if there
// is none. It is scaled up from cells of an eighth of a sensitivity, where it is smoother.
func (m *model) findCurvature() float64 {
	scale := 1 / max(m.Epsilon, 1e-3)
	if m.Delta > 0 {
		scale = min(scale, (SupportBound(m.Problem)+0.5)/3)
	}
	const fine, k = 64, 8
	plain := &model{Problem: m.Problem, bits: minPointsBits}
	above, below := upper{plain}, &lower{model: plain}
	g := above.cells(k)
	from := -8 * fine
	if m.Loss.Symmetric() {
		from = 0
	}
	var diff, loss float64
	for i := from; i <= 8*fine; i++ {
		x := float64(i) / fine * scale
		w := math.Exp(-math.Abs(x) / scale)
		if from == 0 && i > 0 {
			w *= 2 // for −x
		}
		g.first = int(math.Round(x * k))
		loss += w * m.Loss.At(x*m.Sensitivity)
		diff += w * max(0, above.cost(&g, m.Loss, 0)-below.cost(&g, m.Loss, 0)) * k * k
	}
	if loss <= 0 || diff <= 0 {
		return -1
	}
	return diff / loss
}

// tailReach returns the least x, in sensitivities, beyond which the two-sided
// exponential law e^(−ε|x|) has no more than the given share of its loss.
func tailReach(p dp.Problem, share float64) float64 {
	const step, most = 0.05, 200 // in units of 1/ε
	var tail []float64
	for u := step / 2; u < most; u += step {
		x := u / p.Epsilon * p.Sensitivity
		tail = append(tail, math.Exp(-u)*(p.Loss.At(x)+p.Loss.At(-x)))
	}
	for i := len(tail) - 2; i >= 0; i-- {
		tail[i] += tail[i+1]
	}
	i := 0
	for i < len(tail) && tail[i] > share*tail[0] {
		i++
	}
	return float64(i) * step / p.Epsilon
}

// largeStart is the number of cells per sensitivity from which a program is too slow to begin with.
const largeStart = 60
