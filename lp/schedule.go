package lp

import (
	"math"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
)

// alignFrom is the epsilon from which grids are aligned to the staircase step.
const alignFrom = 2

// stairStep returns γ, where the optimal density has a step near γΔ, if there is one
// worth aligning to.
func stairStep(p dp.Problem) (gamma float64, ok bool) {
	if p.Epsilon < alignFrom {
		return 0, false
	}
	return noise.StaircaseStep(p.Epsilon, p.Loss)
}

// aligned returns a good number of cells per sensitivity that is at least want
// and not much more. For large epsilon the optimal density has a step near γΔ,
// γ the step of the staircase mechanism, and a loss or a constraint may have
// kinks, jumps and ends of its own: the upper program wants a cell edge there,
// (n+½)/K ≈ γ, the lower program a node, n/K ≈ γ. Elsewhere any K is good.
func (f *frame) aligned(b bound, want int) int {
	if f.points > 0 {
		return f.fit(b, min(want, int(f.points)))
	}
	marks := f.marks()
	if len(marks) == 0 {
		return want
	}
	best, least := want, math.Inf(1)
	// One step of n is 1/γ cells, so a good K is never further away.
	for k := want; k <= want+int(1/marks[0])+1; k++ {
		penalty := f.misses(marks, k, f.markOffset(marks, b, k), b)
		if penalty += alignPatience * float64(k-want) / float64(k); penalty < least {
			best, least = k, penalty
		}
	}
	return best
}

// misses sums how far the marks are off the cells' edges or nodes at n+offset, in
// cells and relative to the step.
func (f *frame) misses(marks []float64, k int, offset float64, b bound) float64 {
	var sum float64
	for _, gamma := range marks {
		n := math.Round(float64(k)*gamma - offset)
		if n < 0 || (b == lower && n < 1) {
			sum++
			continue
		}
		sum += math.Abs(float64(k)*gamma-offset-n) * (1 + 1/(float64(k)*gamma))
	}
	return sum
}

// markOffset returns where marks are best, in cells from a multiple of the cell
// width: at a node or at an edge.
func (f *frame) markOffset(marks []float64, b bound, k int) float64 {
	if b == lower || f.anchored() || f.edgeCells(marks, k) {
		return 0
	}
	return 0.5
}

// edgeCells reports whether the upper program should have cells with an edge at
// 0 instead of one around it, because a jump of the loss or a quantile then falls
// on an edge. A table of such cells is symmetric up to half a grid point only.
func (f *frame) edgeCells(marks []float64, k int) bool {
	if f.points > 0 || f.anchored() || f.Constraints.Symmetric || f.Constraints.Unbiased || !f.jumping {
		return false
	}
	return f.misses(marks, k, 0, upper) < f.misses(marks, k, 0.5, upper)
}

// jumps reports whether the loss, or what a quantile bounds, jumps.
func (f *frame) jumps() bool {
	if len(f.Constraints.Quantiles) > 0 {
		return true
	}
	const near = 1e-9
	for _, x := range loss.Kinks(f.Loss) {
		below, above := f.Loss.At(x-near*math.Abs(x)), f.Loss.At(x+near*math.Abs(x))
		if math.Abs(above-below) > 1e-6*max(above, below) {
			return true
		}
	}
	return false
}

// anchored reports whether the upper program's cells begin at an end of the
// support.
func (f *frame) anchored() bool {
	s := f.Constraints.Support
	return s != nil && !f.folded && !f.Constraints.Unbiased
}

// maxMarks bounds the number of points that grids are aligned to.
const maxMarks = 4

// marks lists what grids are aligned to, in sensitivities from 0, the least
// first.
func (f *frame) marks() []float64 {
	var marks []float64
	add := func(x float64) {
		if x = math.Abs(x) / f.Sensitivity; x > 1e-3 && x < 1e3 && len(marks) < maxMarks {
			marks = append(marks, x)
		}
	}
	for _, x := range f.steps {
		add(x * f.Sensitivity)
	}
	if gamma, ok := stairStep(f.Problem); ok && len(marks) == 0 {
		marks = append(marks, gamma)
	}
	for _, x := range loss.Kinks(f.Loss) {
		add(x)
	}
	for _, m := range f.Constraints.Quantiles {
		add(m.Magnitude)
	}
	if s := f.Constraints.Support; s != nil {
		add(s.Lower)
		add(s.Upper)
	}
	slices.Sort(marks)
	return slices.Compact(marks)
}

// alignPatience weighs a finer grid against a better aligned one.
const alignPatience = 0.3

// firstCells estimates the number of cells per sensitivity at which the two
// bounds meet to the relative gap: for l1 the bounds differ by about β/4 on
// the mass of the middle cell, and generally by the loss's curvature over a
// cell, so the gap falls with 1/K².
func (f *frame) firstCells(gap float64) int {
	p := f.Problem
	// The difference of the two programs' costs at K = 1, weighted by a
	// Laplace-like law, over its loss.
	scale := 1 / max(p.Epsilon, 1e-3)
	if p.Delta > 0 {
		scale = min(scale, (supportBound(p)+0.5)/3)
	}
	var diff, loss float64
	const fine = 64
	for i := -8 * fine; i <= 8*fine; i++ {
		x := float64(i) / fine * scale
		w := math.Exp(-math.Abs(x) / scale)
		loss += w * p.Loss.At(x*p.Sensitivity)
		diff += w * f.curvature(x)
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
func (f *frame) curvature(x float64) float64 {
	const k = 8
	plain := &frame{Problem: f.Problem}
	g := plain.cells(upper, k)
	g.first = int(math.Round(x * k))
	return max(0, plain.cost(upper, &g, f.Loss, 0)-plain.cost(lower, &g, f.Loss, 0)) * k * k
}

// lowerReach returns the half-width, in sensitivities, of the events of the
// lower program. Constraints further out hardly move the bound: the loss there
// is a small part of the gap if the density falls like e^(−ε|x|). Too small a
// reach weakens the bound, which stays true.
func (f *frame) lowerReach(gap float64) float64 {
	p := f.Problem
	a := supportBound(p)
	if s := p.Constraints.Support; s != nil && p.Constraints.Monotone && (s.Lower == 0 || s.Upper == 0) {
		return 1/p.Delta + 2
	}
	if p.Epsilon == 0 {
		return 2.5*a + 1
	}
	if f.jumping {
		// Far out a loss that jumps may not grow, and all mass there is as
		// good as on cells without constraints.
		return tailReach(p, gap/4) + 1
	}
	r := min(2.5*a, a+3/p.Epsilon) + 1
	return min(r, tailReach(p, gap/2)+1)
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

// upperReach returns the half-width, in sensitivities, of the support of the
// upper program.
func upperReach(p dp.Problem) float64 {
	a := supportBound(p)
	if d := p.Constraints.MaxDistinguishing; d > 0 && d < p.Delta {
		a = supportFor(p, d)
	}
	if s := p.Constraints.Support; s != nil && p.Constraints.Monotone && (s.Lower == 0 || s.Upper == 0) {
		// Each sensitivity from 0 on weighs no more than the first, and that
		// no more than δ.
		return 1/p.Delta + 2
	}
	if p.Epsilon == 0 {
		return 1.5*a + 1
	}
	return a + min(0.6*a, 1/p.Epsilon) + 1
}

// largeStart is the number of cells per sensitivity from which a program is too
// slow without a hint from a coarser one.
const largeStart = 60

// startCells returns the number of cells per sensitivity of the first program:
// a fraction of those expected to be needed, or, where grids are aligned, the
// coarsest aligned one, which is often all the upper program needs.
func (f *frame) startCells(b bound, gap float64) int {
	p := f.Problem
	if f.points > 0 {
		if float64(f.points)*(supportBound(f.Problem)+1) < smallPoints {
			return int(f.points)
		}
		return f.fit(b, min(int(f.points), max(1, f.firstCells(gap)/firstShare)))
	}
	if k := f.aligned(b, 1); p.Epsilon >= alignFrom {
		if k > largeStart {
			return k / 2 // its bound is poor, but it tells where to look
		}
		return k
	}
	return f.aligned(b, max(1, f.firstCells(gap)/firstShare))
}

// smallPoints is the number of points on either side of a problem on points from
// which it starts with coarser cells.
const smallPoints = 100
