// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"context"
	"math"

	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/engine"
)

// bound is one of the two programs of a problem, upper or lower, and what its solutions
// are good for. Each is described, alone, in a file of its own.
type bound interface {
	// of returns the problem.
	of() *model

	// cells returns the grid of K cells per sensitivity, without its extent.
	cells(k int) grid
	// extent returns it with the cells within reach sensitivities of the peak, on the support.
	extent(k int, reach float64) grid
	// coarse returns the number of cells per sensitivity of a query on points if each
	// has the given number of them, and whether it may.
	coarse(points int64) (k int64, ok bool)
	// align returns where marks are best on the grid of K cells per sensitivity, in
	// cells from a multiple of the cell width, and the first multiple that counts.
	align(marks []float64, k int) (offset, first float64)
	// reach returns the half-width to begin with, in sensitivities.
	reach(gap float64) float64
	// order is the assumed order r of convergence, an error of e/K^r.
	order() float64
	// goal is the share of the gap that may be left to this program.
	goal() float64

	// cost returns what one unit of mass in the i-th cell costs under a loss, nil
	// standing for the identity.
	cost(g *grid, l loss.Loss, i int) float64
	// privacy returns epsilon and delta of the program on a grid. The upper program
	// keeps a share margin inside all constraints.
	privacy(g grid, margin float64) (epsilon, delta float64)
	// layout lays out the program on a grid, costs divided by unit.
	layout(g grid, unit, margin float64) layout
	// effort says when a program is solved, but for the gap.
	effort(gap, margin float64) engine.Want

	// solve solves the program on a grid, keeps in d what is the best so far, and
	// returns the value achieved, or 0 if there is none.
	solve(ctx context.Context, d *designer, g grid) (float64, error)
	// certify keeps in d what a solved program gives, and returns its value. If the program is not
	// complete, its solution violates constraints, and its duals are as good as any.
	certify(d *designer, p *program, g grid, unit float64, complete bool) (float64, error)
}

// fit returns a possible number of cells per sensitivity, at least want and not
// much more: any for real queries; for others cells hold whole points. Of those
// it takes one whose cells make up the sensitivity best: the upper program protects
// what is over, and the lower one forgoes what is missing.
func fit(b bound, want int) int {
	const (
		// mostStrides bounds how many numbers of points per cell are compared. Where there
		// are more, as many cells make up the sensitivity well.
		mostStrides = 1 << 12
		patience    = 2e-3 // weighs more cells against waste
	)
	points := b.of().points
	if points == 0 {
		return want
	}
	if int64(want) >= points {
		return int(points)
	}
	best, least := int(min(points, limits.TableCells)), math.Inf(1)
	largest := points / int64(want)
	for s := largest; s >= max(1, points/int64(3*want), largest-mostStrides); s-- {
		k, ok := b.coarse(s)
		if !ok {
			continue
		}
		waste := math.Abs(float64(k*s-points)) / float64(points)
		if penalty := waste + patience*float64(k)/float64(want); penalty < least {
			best, least = int(k), penalty
		}
	}
	return best
}

// aligned returns a good number of cells per sensitivity that is at least want and not much more.
// For large epsilon the optimal density has a step near γΔ, γ the step of the staircase mechanism,
// and a loss or a constraint may have kinks, jumps and ends of its own: the upper program wants a
// cell edge there, (n+½)/K ≈ γ, the lower program a node, n/K ≈ γ. Elsewhere any K is good.
func aligned(b bound, want int) int {
	m := b.of()
	if m.points > 0 {
		return fit(b, min(want, int(m.points)))
	}
	marks := m.marks()
	if len(marks) == 0 {
		return want
	}
	const patience = 0.3 // weighs a finer grid against a better aligned one
	best, least := want, math.Inf(1)
	// One step of n is 1/γ cells, so a good K is never further away; and with γ next to a whole number, K more move n by as
	// little as γ is off it, which is worth somewhat more cells.
	steps := 1 / marks[0]
	if off := math.Abs(marks[0] - math.Round(marks[0])); marks[0] > 0.5 {
		const share = 0.25 // of the cells
		steps = max(steps, min(1/max(off, 1e-9), share*float64(want)))
	}
	for k := want; k <= want+int(steps)+1; k++ {
		offset, first := b.align(marks, k)
		penalty := misses(marks, k, offset, first)
		if penalty += patience * float64(k-want) / float64(k); penalty < least {
			best, least = k, penalty
		}
	}
	return best
}

// misses sums how far the marks are off n+offset, in cells and relative to the step,
// the least n being first.
func misses(marks []float64, k int, offset, first float64) float64 {
	var sum float64
	for _, gamma := range marks {
		n := math.Round(float64(k)*gamma - offset)
		if n < first {
			sum++
			continue
		}
		sum += math.Abs(float64(k)*gamma-offset-n) * (1 + 1/(float64(k)*gamma))
	}
	return sum
}

// startCells returns the number of cells per sensitivity of the first program: a fraction of
// those expected to be needed, or, where grids are aligned, the coarsest aligned one.
func startCells(b bound, gap float64) int {
	m := b.of()
	if m.points > 0 {
		const few = 100 // points on either side, which need no coarser cells first
		if float64(m.points)*(SupportBound(m.Problem)+1) < few {
			return int(m.points)
		}
		return fit(b, min(int(m.points), max(1, m.firstCells(gap)/firstShare)))
	}
	if k := aligned(b, 1); m.Epsilon >= alignFrom {
		if k > largeStart {
			return k / 2 // its bound is poor, but it tells where to look
		}
		return k
	}
	return aligned(b, max(1, m.firstCells(gap)/firstShare))
}

// baseLayout lays out what both programs have alike (docs/how-it-works.md): cells and
// their variables, shifts, and the rows of moments.
func baseLayout(b bound, g grid, unit, margin float64) layout {
	m, n := b.of(), g.n
	epsilon, delta := b.privacy(g, margin)
	l := layout{
		variable: make([]int, n), first: g.first,
		ratio: math.Exp(epsilon),
		delta: delta,
	}
	const startRate = 0.7 // how slowly masses to start from fall, in units of ε: with some slack
	l.eventLo, l.eventHi = g.events()
	for i := range n {
		if mirror := n - 1 - i; m.folded && mirror < i {
			l.variable[i] = l.variable[mirror]
			continue
		}
		l.variable[i] = len(l.cost)
		l.cost = append(l.cost, foldedCost(b, &g, m.Loss, i)/unit)
		// The expected fall: e^(−ε) per sensitivity, down to the order of δ.
		x := g.center(i)/float64(g.k) - m.peak
		l.scale = append(l.scale, max(math.Exp(-epsilon*math.Abs(x)), delta/10))
		l.start = append(l.start, max(math.Exp(-startRate*epsilon*math.Abs(x)), delta/1000))
	}
	for k := 1; k <= g.k; k++ {
		l.shifts = append(l.shifts, k)
		if !m.folded {
			l.shifts = append(l.shifts, -k)
		}
	}
	for _, one := range m.moments {
		l.moments = append(l.moments, newMomentRow(b, &g, &l, one, margin))
	}
	return l
}

func foldedCost(b bound, g *grid, l loss.Loss, i int) float64 {
	c := b.cost(g, l, i)
	if b.of().folded && (l == nil || !l.Symmetric()) {
		c = (c + b.cost(g, l, g.n-1-i)) / 2
	}
	return c
}

// newMomentRow is the row of one moment, divided by its limit or, for the mean, by
// a typical magnitude.
func newMomentRow(b bound, g *grid, l *layout, one moment, margin float64) momentRow {
	m := b.of()
	r := momentRow{kind: one.kind, lower: math.Inf(-1), upper: 1 - margin, scale: one.limit, coefficient: make([]float64, len(l.cost))}
	if one.loss == nil {
		r.lower, r.upper = 0, 0
		r.scale = m.Sensitivity * (1 + math.Abs(m.peak))
	}
	for i, v := range l.variable {
		if !m.folded || i <= g.n/2 {
			r.coefficient[v] = foldedCost(b, g, one.loss, i) / r.scale
		}
	}
	return r
}

// distinguish bounds the masses of the first and of the last K cells by limit, where they
// are at an end of the support: some shift moves them to where no mass was.
func (l *layout) distinguish(folded bool, ends [2]bool, k int, limit float64) {
	n := len(l.variable)
	for side := range 2 {
		if !ends[side] {
			continue
		}
		r := momentRow{lower: math.Inf(-1), upper: 1, scale: limit, coefficient: make([]float64, len(l.cost)), atom: 1 / limit}
		for i := range min(k, n) {
			j := i
			if side == 1 {
				j = n - 1 - i
			}
			r.coefficient[l.variable[j]] = 1 / limit
			if folded && j != n-1-j {
				r.coefficient[l.variable[j]] = 0.5 / limit // it stands for two cells
			}
		}
		l.moments = append(l.moments, r)
		if folded {
			return
		}
	}
}

// monotonePairs lists neighbors of which the one nearer to 0 has to weigh at least as
// much, but for those whose nearer one is less than from cells off 0.
func (m *model) monotonePairs(g *grid, variable []int, from int) [][2]int {
	if !m.Constraints.Monotone {
		return nil
	}
	var pairs [][2]int
	for i := 0; i+1 < g.n; i++ {
		inner, outer := i, i+1
		edge := g.center(i) + 0.5 // between the two
		if edge < 1e-9 {
			inner, outer = outer, inner
		}
		if max(g.first+inner, -g.first-inner) < from {
			continue
		}
		if variable[inner] == variable[outer] || (m.folded && i >= g.n/2) {
			continue // the mirror image says the same
		}
		pairs = append(pairs, [2]int{variable[inner], variable[outer]})
	}
	return pairs
}
