// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/lp/internal/noise/staircase"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// With delta = 0 noise has no bounded support, and for a loss that has one valley, so
// that it does not decrease away from some point, the best is a staircase (Geng &
// Viswanath 2016 for symmetric losses): a density that falls by e^ε at both ends of a
// core, and at every whole sensitivity from there. Both bounds are then known
// without a linear program:
//
//   - a staircase whose core is made of cells is a table of these cells and one
//     period of K equal cells on either side, which repeat as a tail (shapes.Staircase);
//   - the lower program's optimum is a staircase on its nodes, and the multipliers that
//     prove it follow one another from cell to cell outwards (stairsDual).

func designPure(ctx context.Context, p dp.Problem, s *meet.Search) (*tables.Verified, meet.Outcome, error) {
	if i := p.Constraints.Support; i != nil && !(math.IsInf(i.Lower, -1) && math.IsInf(i.Upper, 1)) {
		return nil, meet.Outcome{}, check.Errorf("lp", meet.ErrInfeasible, "support = %g,%g with delta = 0, want none: where some noise is impossible so is, a sensitivity further, all of it", i.Lower, i.Upper)
	}
	if loss.Of(p.Loss).TailParts() == nil {
		return nil, meet.Outcome{}, check.Errorf("lp", dp.ErrInvalid, "loss = %s is not supported with delta = 0, want one whose growth far from 0 is known", p.Loss.Name())
	}
	p.Constraints.Support = nil
	d, err := newDesigner(p, s)
	if err != nil {
		return nil, meet.Outcome{}, err
	}
	loss, c, ok := d.searchStairs(ctx)
	if !ok && d.folded && !p.Constraints.Symmetric {
		// The valleys of the loss lie off 0: the best noise, too, may be as good
		// as its mirror image and not symmetric.
		d.folded = false
		loss, c, ok = d.searchStairs(ctx)
	}
	if !ok {
		return nil, meet.Outcome{}, check.Errorf("lp", dp.ErrInvalid, "loss = %s is not supported with delta = 0, want one with a single valley, such as l1 or pinball:0.9", p.Loss.Name())
	}
	d.steps = []float64{math.Abs(c.From), math.Abs(c.From + c.Width)}
	if err := d.stairsAbove(c); err != nil {
		return nil, meet.Outcome{}, err
	}
	return d.result(d.stairsBelow(ctx, c, loss))
}

// searchStairs finds the core of the best staircase for the loss, or for the loss made
// symmetric, if folded. It takes at most a share of the time.
func (d *designer) searchStairs(ctx context.Context) (l loss.Loss, c staircase.Core, ok bool) {
	if d.Options.TimeLimit > 0 && d.Options.Clock == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.Left()/4)
		defer cancel()
	}
	m, p := d.model, d.Problem
	p.Loss = m.even()
	s := staircase.Problem{Loss: p.Loss, Epsilon: m.Epsilon, Sensitivity: m.Sensitivity, Points: m.points, Symmetric: m.folded}
	if m.points > 0 {
		s.Unit, _ = m.unit.Float64()
	}
	s.Periods = int(math.Ceil(tailReach(p, staircase.Negligible)+math.Abs(m.peak))) + 3
	c, ok = staircase.Search(ctx, s)
	return p.Loss, c, ok
}

// stairsAbove makes a staircase table next to the best core: of one point per cell for integer
// and lattice queries, unless these are too many.
func (d *designer) stairsAbove(c staircase.Core) error {
	const shift, longest = 3 * time.Nanosecond, 300 * time.Millisecond // certifying a cell at a shift takes about so long
	certified := longest
	if d.Options.TimeLimit > 0 {
		certified = min(certified, d.Options.TimeLimit/16)
	}
	work := int(certified / shift)
	d.start = &c
	g, n := d.coreGrid(math.Sqrt(stepMatch*d.Options.Gap), work, d.Options.MaxCells)
	if points := int(d.points); d.points > 0 {
		cells, first, wide, _, _ := d.coreCells(c, points)
		if all := shapes.StaircaseCells(cells, wide); all <= d.Options.MaxCells && all <= work/points {
			g, n = grid{k: points, table: cells, first: first}, wide
		}
	}
	return d.tryStairs(g.table, g.first, n)
}

// coreCells returns the grid of K cells per sensitivity, at least, on which n cells from the first on are next to
// the core, by how much they are off, relative, and the share of what they protect that is more than the sensitivity.
func (m *model) coreCells(c staircase.Core, k int) (cells tables.Grid, first, n int, off, waste float64) {
	cells, per := upper{m}.cells(k).table, float64(k)
	if m.points > 0 {
		per = float64(m.points) / float64(cells.PointsPerCell)
	}
	// The core is never wider than two sensitivities: a higher level inside would gain.
	n = min(max(1, int(math.Round(c.Width*per))), 2*k)
	if m.folded { // 0 is in the middle of a cell
		n = 2*min(max(0, int(math.Round((c.Width*per-1)/2))), k-1) + 1
	}
	off, waste = math.Abs(float64(n)/per/c.Width-1), float64(k)/per-1
	if first = -(n - 1) / 2; !m.folded {
		cells, first = startAt(cells, (c.From+c.Width/2)*per-float64(n)/2)
	}
	return cells, first, n, off, waste
}

// startAt moves the cells of a grid so that one begins next to x, in cells from 0; it returns that.
func startAt(cells tables.Grid, x float64) (tables.Grid, int) {
	if cells.PointsPerCell == 1 {
		return cells, int(math.Round(x + 0.5))
	}
	whole := math.Floor(x)
	// Cell j begins half a cell before its middle, Offset + jS.
	cells.Offset = int64(math.Round((x - whole + 0.5) * float64(cells.PointsPerCell)))
	return cells, int(whole)
}

const (
	// stepMatch is how close to the best core is close enough: the square of the relative distance,
	// in gaps, as the relative excess of the loss is at most about that square.
	stepMatch = 0.1
	// improvement is how much closer a finer grid has to come to be tried.
	improvement = 0.7
)

func (d *designer) tryStairs(cells tables.Grid, first, n int) error {
	cells.FirstCell = first
	if shapes.StaircaseCells(cells, n) > d.Options.MaxCells {
		return tooManyCells(d.Options.MaxCells)
	}
	start := d.Elapsed()
	t, err := shapes.Staircase(d.Problem, n, cells)
	switch {
	case errors.Is(err, proof.ErrFalseClaim):
		return check.Errorf("lp", dp.ErrInvalid, "constraints are not supported with delta = 0 where the best noise without them breaks them, as here: %w", err)
	case errors.Is(err, dp.ErrInvalid):
		return check.Errorf("lp", meet.ErrLimit, "%d cells per sensitivity at epsilon = %g are more than integer weights can tell apart", cells.CellsPerSensitivity, d.Epsilon)
	case err != nil:
		return check.Errorf("lp", nil, "%w", err)
	}
	d.upper.certify = d.Elapsed() - start
	d.keepTable(t)
	d.rounds++
	return nil
}

// stairsBelow proves bounds on finer and finer nodes until the gap is reached. The
// loss is that of the problem, made symmetric if folded.
func (d *designer) stairsBelow(ctx context.Context, c staircase.Core, loss loss.Loss) error {
	sides := 2
	if d.folded {
		sides = 1
	}
	const (
		fewMultipliers = 1 << 14 // of a proof: too few to save on
		mostIdle       = 4       // grids without a better bound, and three times that without any
	)
	idle, last := 0, 0
	for k := 1; ; k += max(1, k/2) {
		before := d.Bound
		least, most := d.periodsBelow(c, loss)
		nodes := d.affordableNodes(loss, least)
		finest := max(1, min(d.Options.MaxCells/(least*sides), nodes/least))
		if d.points > 0 {
			k = d.stridedNodes(finest)
		} else {
			k = min(aligned(d.lower.bound, k), finest)
		}
		switch {
		case k <= last && finest == nodes/least:
			return check.Errorf("lp", meet.ErrLimit, "finer grids would not be done in time")
		case k <= last:
			return check.Errorf("lp", meet.ErrLimit, "more than %d cells per sensitivity are needed, max-cells = %d", k, d.Options.MaxCells)
		}
		d.proveStairs(c, loss, k, max(1, min(max(least, fewMultipliers/k), most, nodes/k)))
		last = k
		if idle++; d.Bound > before*(1+d.Options.Gap/100) {
			idle = 0
		}
		d.Report(k)
		switch {
		case d.Gap() <= d.Options.Gap:
			return nil
		case ctx.Err() != nil:
			return meet.ErrLimit
		case int64(k) == d.points:
			return check.Errorf("lp", meet.ErrLimit, "nodes on all points do not prove the gap, which happens for losses with several valleys and for high powers")
		case idle >= mostIdle && d.Bound > 0, idle >= 3*mostIdle:
			return check.Errorf("lp", meet.ErrLimit, "finer grids no longer raise the lower bound, at %d cells per sensitivity, which happens for losses with several valleys and for high powers", k)
		}
	}
}

// proveStairs proves a bound on K nodes per sensitivity and so many periods on either
// side of the core, and keeps it if it is the best.
func (d *designer) proveStairs(c staircase.Core, loss loss.Loss, k, periods int) {
	start := d.Elapsed()
	if dual := d.stairsDual(c, loss, k, k*periods); dual != nil {
		found := d.Elapsed()
		d.keepDual(dual)
		d.lower.certify = d.Elapsed() - found
	}
	d.lower.took = d.Elapsed() - start
	d.lower.grid.n = k * periods
	d.rounds++
}

// affordableNodes returns for how many nodes on either side of the core a bound can be
// found and then certified twice, here and with the result, in the time that is left. It
// takes time like their number; before the first bound, some three times that of a node.
func (d *designer) affordableNodes(loss loss.Loss, periods int) int {
	if d.Options.TimeLimit == 0 {
		return math.MaxInt
	}
	const sample, times, tries = 32, 3, 4
	took, n := float64(d.lower.took+d.lower.certify), float64(d.lower.grid.n)
	if took == 0 {
		l := &lower{model: d.model}
		g := l.cells(1)
		least := time.Duration(math.MaxInt64) // the first try warms up, others are interrupted
		for range tries {
			start := d.Elapsed()
			for i := range sample {
				l.node(&g, loss, max(periods, sample)*i/sample)
			}
			least = min(least, d.Elapsed()-start)
		}
		took, n = times*float64(least), sample
	}
	const share = 0.7 // times vary
	return int(min(share*n*float64(d.Left())/max(took, 1), math.MaxInt32))
}

// periodsBelow returns the least and the most periods on either side of the core that the proofs on
// nodes take. Beyond the least lies e^-12 of a gap; more of them gain a little where nodes are few.
// But for a loss that grows steeply fewer are better: the multipliers grow with it, and all are
// multiples of some 2^-60 of the largest, which the bound misses e^ε times.
func (d *designer) periodsBelow(c staircase.Core, loss loss.Loss) (least, most int) {
	p := d.Problem
	p.Loss = loss
	middle := c.From + c.Width/2
	coarse := func(periods int) float64 { // what the bound misses, relative
		far := float64(periods) * d.Sensitivity
		top := max(loss.At(middle*d.Sensitivity-far), loss.At(middle*d.Sensitivity+far))
		return math.Ldexp(math.Exp(d.Epsilon)*top/d.Best, 3-meet.DualBits)
	}
	share := math.Exp(-12) * d.Aim()
	for ; share < 1; share *= 2 {
		least = int(math.Ceil(tailReach(p, share)+math.Abs(d.peak))) + 3
		if coarse(least) <= share {
			break
		}
	}
	most = 2 * least
	for most > least && coarse(most) > share/8 {
		most--
	}
	return least, most
}

// stridedNodes returns a number of nodes per sensitivity, up to most, at a distance
// of whole points: one that leaves little of the sensitivity uncovered, whose share of
// the bound is lost, and is large, as the bound loses some (ε/k)² of itself.
func (m *model) stridedNodes(most int) int {
	points := int(m.points)
	best, score := 1, math.Inf(-1)
	for k := 1; k <= min(most, points); k++ {
		s := float64(k*(points/k)) / float64(points)
		if k < points {
			s -= math.Pow(m.Epsilon/float64(k), 2)
		}
		if s >= score {
			best, score = k, s
		}
	}
	return best
}

// stairsDual returns multipliers that prove nearly the optimum of the lower program with
// K nodes per sensitivity, by events within n nodes of the middle of the core.
func (d *designer) stairsDual(c staircase.Core, loss loss.Loss, k, n int) *tables.Dual {
	scale := float64(k)
	if d.points > 0 {
		scale = float64(d.points) / float64(d.points/int64(k))
	}
	nodes := staircase.Nodes{K: k, N: n}
	if !d.folded {
		nodes.Middle = int(math.Round((c.From + c.Width/2) * scale))
	}
	program := &lower{model: d.model}
	g := program.cells(k)
	nodes.At = func(j int) float64 {
		v, _ := program.node(&g, loss, j).Float64()
		return v
	}
	return shiftsDual(k, staircase.Dual(nodes, d.Epsilon, d.Best, d.folded), d.folded)
}

// shiftsDual rounds multipliers to a dual, which doubles them if mirrored.
func shiftsDual(k int, y staircase.Multipliers, mirrored bool) *tables.Dual {
	var total float64
	for _, r := range y {
		total += slices.Max(r.Y)
	}
	if !(total > 0) {
		return nil
	}
	_, exp := math.Frexp(2 * total)
	d := &tables.Dual{CellsPerSensitivity: k, Exponent: exp - meet.DualBits, Mirrored: mirrored}
	for _, shift := range slices.Sorted(maps.Keys(y)) {
		r := y[shift]
		if first, m := meet.Integers(r.Y, math.Ldexp(1, -d.Exponent)); m != nil {
			d.Add(shift, r.First+first, meet.Trimmed(m))
		}
	}
	return d
}
