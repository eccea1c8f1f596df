// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"context"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// upper is the program whose solutions are noise that can be drawn: the masses are those of a noise
// that is uniform inside each cell, costs are cell averages of the loss, and there is an atom at 0.
// For an integer or lattice query noise is on its points.
type upper struct{ *model }

func (u upper) cells(k int) grid {
	g := grid{k: k}
	if u.points == 0 {
		g.table = realCells(u.Sensitivity, k, u.bits)
		return g
	}
	s := (u.points + int64(k) - 1) / int64(k)
	g.table = u.pointCells(s + 1 - s%2)
	g.table.CellsPerSensitivity = k
	return g
}

// coarse: a cell holds an odd number of points.
func (u upper) coarse(points int64) (k int64, ok bool) {
	return (u.points + points - 1) / points, points%2 == 1
}

func (u upper) extent(k int, reach float64) grid {
	g := u.cells(k)
	from, to := u.around(k, reach)
	first, last := math.Floor(from), math.Ceil(to)
	if g.table.PointsPerCell > 1 && u.edgeCells(u.marks(), k) {
		g.table.Offset = (g.table.PointsPerCell + 1) / 2
		if u.Constraints.Monotone && u.risesRight() {
			g.table.Offset--
		}
		last--
	}
	lo, hi := math.Inf(-1), math.Inf(1)
	if s := u.Constraints.Support; s != nil {
		lo, hi = u.supported(&g, *s)
	}
	return g.between(first, last, lo, hi)
}

// supported returns the first and the last cell that the support holds, and for one end
// moves the cells so that it is an edge.
func (u upper) supported(g *grid, s dp.Interval) (lo, hi float64) {
	step := g.table.Step()
	size, half := g.table.PointsPerCell, (g.table.PointsPerCell-1)/2
	lo, hi = math.Inf(-1), math.Inf(1)
	point := func(x float64, up bool) int64 {
		r := exact.Rational(x)
		return int64(floorFloat(r.Quo(r, step), up))
	}
	switch {
	case u.folded && !math.IsInf(s.Upper, 0) && g.table.Offset > 0: // edge cells
		hi = float64(exact.FloorDiv(point(s.Upper, false), size)) - 1
		return -hi - 1, hi
	case u.folded && !math.IsInf(s.Upper, 0):
		hi = float64(exact.FloorDiv(point(s.Upper, false)-half, size))
		return -hi, hi
	case !math.IsInf(s.Lower, 0):
		start := point(s.Lower, true) // of cell lo
		lo = float64(exact.FloorDiv(start+half, size))
		g.table.Offset = start + half - int64(lo)*size
		if !math.IsInf(s.Upper, 0) {
			hi = float64(exact.FloorDiv(point(s.Upper, false)-half-g.table.Offset, size))
		}
	case !math.IsInf(s.Upper, 0):
		end := point(s.Upper, false)
		hi = float64(exact.FloorDiv(end-half+size-1, size))
		g.table.Offset = end - half - int64(hi)*size
	}
	if u.Constraints.Unbiased && g.table.Offset != 0 {
		// Only cells centered on multiples of their size have a mean that whole weights can make 0.
		g.table.Offset = 0
		if !math.IsInf(lo, 0) {
			lo++
		}
	}
	return lo, hi
}

// anchored reports whether the cells begin at an end of the support.
func (u upper) anchored() bool {
	s := u.Constraints.Support
	return s != nil && !u.folded && !u.Constraints.Unbiased
}

// edgeCells reports whether the program should have cells with an edge at 0 instead
// of one around it, because a jump of the loss or a quantile then falls on an edge. A
// table of such cells is symmetric up to half a grid point only.
func (u upper) edgeCells(marks []float64, k int) bool {
	if u.Constraints.Monotone && !u.folded && !u.anchored() && !u.Constraints.Unbiased {
		return true // its density may jump at 0
	}
	if u.points > 0 || u.anchored() || u.Constraints.Symmetric || u.Constraints.Unbiased || !u.jumping {
		return false
	}
	return misses(marks, k, 0, 0) < misses(marks, k, 0.5, 0)
}

// risesRight reports whether noise above 0 costs less than below: a monotone density then jumps up there, and the
// point 0 belongs to the cell above it.
func (u upper) risesRight() bool {
	const off = 0.1 // sensitivities
	reach := SupportBound(u.Problem)
	return u.shifted(off, reach) < u.shifted(-off, reach)
}

// align: marks are best at an edge.
func (u upper) align(marks []float64, k int) (offset, first float64) {
	if u.anchored() || u.edgeCells(marks, k) {
		return 0, 0
	}
	return 0.5, 0
}

func (u upper) reach(gap float64) float64 {
	if fromZero(u.Problem) {
		return 1/u.Delta + 2
	}
	p := u.Problem
	if d := u.Constraints.MaxDistinguishing; d > 0 {
		p.Delta = min(p.Delta, d)
	}
	a := SupportBound(p)
	if u.Epsilon == 0 {
		return 1.5*a + 1
	}
	if _, ok := u.flat(); ok && u.Delta > largeDelta { // mass far out costs no more
		a = max(a, tailReach(p, gap/4))
	}
	return a + min(0.6*a, 1/u.Epsilon) + 1
}

// order: for large epsilon some steps of the optimal density are off the grid.
func (u upper) order() float64 {
	if u.Epsilon >= alignFrom {
		return 1.5
	}
	return 2
}

// goal is small, as this program is the cheaper one.
func (u upper) goal() float64 { return 0.25 }

func (u upper) cost(g *grid, l loss.Loss, i int) float64 {
	cells := g.table
	cells.FirstCell = g.first
	step, _ := cells.Step().Float64()
	width := float64(cells.PointsPerCell) * step
	center := g.center(i) * width
	switch {
	case l == nil:
		return center
	case u.points > 0:
		v, _ := l.GridMeanUp(cells.FirstPoint(i), cells.PointsPerCell, cells.Step()).Float64()
		return v
	default:
		return l.CellMean(center, width)
	}
}

// privacy takes a unit of 2^-63 per cell for rounding.
func (u upper) privacy(g grid, margin float64) (epsilon, delta float64) {
	return meet.Inside(u.Privacy, margin, float64(g.n)*0x1p-63)
}

func (u upper) effort(_, margin float64) engine.Want {
	return engine.Want{Excess: meet.ResidualShare * margin}
}

func (u upper) layout(g grid, unit, margin float64) layout {
	l := baseLayout(u, g, unit, margin)
	l.atom = g.table.PointsPerCell > 1 && u.Constraints.Holds(0)
	l.decreasing = u.monotonePairs(&g, l.variable, 0)
	if p := u.Constraints.MaxDistinguishing; p > 0 {
		// The table has some mass in all cells.
		l.distinguish(u.folded, [2]bool{true, true}, g.k, p*(1-margin)-float64(g.n)*0x1p-63)
	}
	return l
}

// solve designs a table on the grid, keeps it if it is the best, and returns its loss, or 0 if there
// is none; the next grid may give one.
func (u upper) solve(ctx context.Context, d *designer, g grid) (loss float64, err error) {
	err = meet.Margins(d.Aim(), func(margin float64) (err error) {
		loss, _, err = d.solveEnded(ctx, &d.upper, g, margin)
		return err
	})
	return loss, err
}

// certify makes a table of the masses and keeps it if it is the best. If the program is not
// complete there is none on this support; the support of the next one is wider.
func (u upper) certify(d *designer, p *program, g grid, _ float64, complete bool) (float64, error) {
	if !complete {
		return 0, nil
	}
	atom := p.atomOf(p.Masses())
	if d.upper.again = false; p.root != nil {
		const little = 0.1 // of the gap
		_, short := p.repaired(&g)
		d.upper.again = short > little*d.Aim()*p.Dual(0)
	}
	if d.upper.again {
		d.upper.untie(p, &g)
	} else {
		d.upper.shape, d.upper.untied = &shape{g, p.masses()}, nil
	}
	if masses, ok := u.dropCostly(p); ok {
		if t, err := u.makeTable(g, masses, atom); err == nil {
			return d.keepTable(t), nil
		}
	}
	t, err := u.makeTable(g, u.trimTails(p), atom)
	if err != nil {
		return 0, err
	}
	return d.keepTable(t), nil
}

// trimTails returns the masses of a program without the ends that weigh next to nothing, as an
// interior point method leaves them.
func (u upper) trimTails(p *program) []float64 {
	masses := p.masses()
	if !p.Complete || !u.Constraints.None() {
		return masses
	}
	spare := u.negligible(p)
	for i := 0; 2*i+1 < len(masses); i++ {
		mirror := len(masses) - 1 - i
		if spare -= masses[i] + masses[mirror]; spare < 0 {
			break
		}
		masses[i], masses[mirror] = 0, 0
	}
	return masses
}

// negligible is the mass that can go: what others gain by that is a small share of the margin.
func (u upper) negligible(p *program) float64 {
	const share = 0.1
	return share * (u.Delta - p.delta) / p.ratio
}

// dropCostly returns the masses of a program without those that cost anything, which an interior
// point method leaves even where the best noise is free, and whether these may go.
func (u upper) dropCostly(p *program) ([]float64, bool) {
	if !p.Complete {
		return nil, false
	}
	masses, spare := p.masses(), u.negligible(p)
	for i, v := range p.variable {
		if p.cost[v] > 0 {
			spare -= masses[i]
			masses[i] = 0
		}
	}
	return masses, spare >= 0
}
