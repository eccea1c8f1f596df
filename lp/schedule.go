package lp

import (
	"math"

	"github.com/noisewright/noisewright/dp"
)

// alignFrom is the epsilon from which grids are aligned to the staircase step.
const alignFrom = 2

// supportBound returns the half-width, in sensitivities, of truncated Laplace
// noise: noise with this support exists.
func supportBound(p dp.Problem) float64 {
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

// firstCells estimates the number of cells per sensitivity at which the two
// bounds meet to the relative gap: for l1 the bounds differ by about β/4 on
// the mass of the middle cell, and generally by the loss's curvature over a
// cell, so the gap falls with 1/K².
func (m *model) firstCells(gap float64) int {
	// The difference of the two programs' costs at K = 1, weighted by a
	// Laplace-like law, over its loss.
	scale := 1 / max(m.Epsilon, 1e-3)
	if m.Delta > 0 {
		scale = min(scale, (supportBound(m.Problem)+0.5)/3)
	}
	var diff, loss float64
	const fine = 64
	for i := -8 * fine; i <= 8*fine; i++ {
		x := float64(i) / fine * scale
		w := math.Exp(-math.Abs(x) / scale)
		loss += w * m.Loss.At(x*m.Sensitivity)
		diff += w * m.curvature(x)
	}
	if loss <= 0 || diff <= 0 {
		return 4
	}
	k := math.Sqrt(diff / loss / gap)
	return int(min(max(math.Ceil(k), 1), 256))
}

// curvature is the difference of the two programs' costs at x for cells of one
// sensitivity of a real query, scaled up from cells of an eighth of one, where
// it is smoother.
func (m *model) curvature(x float64) float64 {
	const k = 8
	plain := &model{Problem: m.Problem}
	above, below := upper{plain}, &lower{model: plain}
	g := above.cells(k)
	g.first = int(math.Round(x * k))
	return max(0, above.cost(&g, m.Loss, 0)-below.cost(&g, m.Loss, 0)) * k * k
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

// largeStart is the number of cells per sensitivity from which a program is too
// slow without a hint from a coarser one.
const largeStart = 60

// smallPoints is the number of points on either side of a problem on points from
// which it starts with coarser cells.
const smallPoints = 100
