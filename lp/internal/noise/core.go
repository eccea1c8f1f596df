// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"cmp"
	"context"
	"iter"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/noise/staircase"
	"github.com/noisewright/noisewright/tables"
)

// For a large ε the best noise is nearly the best staircase with delta = 0, cut off where delta
// allows it, or with some of delta as an atom at 0. Its core is far narrower than a cell of
// any program. So designs start from such tables (start.go), from the multipliers that
// prove them nearly the best (staircase.Transport), and on grids on which its steps are edges.

const (
	// coreFrom is the epsilon from which the core is searched for.
	coreFrom = 0.5
	// closedFrom is the epsilon from which multipliers in closed form prove something.
	closedFrom = 4
)

// findCore finds the core of the best staircase with delta = 0, and lays grids by it.
func (d *designer) findCore() {
	if d.Constraints.Support != nil || d.Constraints.Unbiased && !d.folded || d.Epsilon < coreFrom {
		return
	}
	_, c, ok := d.searchStairs(context.Background())
	if !ok || !(c.Width > 0 && c.Width <= 1) {
		return
	}
	d.start = &c
	if d.Epsilon < alignFrom {
		return
	}
	d.core = &c
	if d.points == 0 {
		d.steps = []float64{math.Abs(c.From), math.Abs(c.From + c.Width)}
		if d.folded {
			d.steps = d.steps[:1]
		}
	}
	if !d.folded {
		d.peak = c.From + c.Width/2
	}
}

// coreTable returns the best of the truncated staircases with the core, or a core as wide as it is for a small
// epsilon, of several atoms, that has most cells at most and takes so much work.
func (d *designer) coreTable(work, most int) (t *tables.Verified, err error) {
	enough := 3e-2 // of what that of a small epsilon is off
	if d.start != nil {
		enough = 3e-3
	}
	if len(loss.Of(d.Loss).Kinks()) > 0 { // what is free ends with the core
		enough = min(enough, 2e-4)
	}
	g, n := d.coreGrid(enough, work, most)
	fall := func(away int) float64 { return d.Epsilon * math.Ceil(float64(away)/float64(g.k)) }
	var cuts []truncated
	for _, share := range []float64{0, 0.9, 0.999, 1 - 1e-6} { // of delta, for the atom
		if t := d.truncate(g, n, d.Options.MaxCells, share*d.Delta, fall); t.masses != nil {
			cuts = append(cuts, t)
		}
	}
	if t := d.gapped(g, n); t.masses != nil && !d.Constraints.Monotone {
		cuts = append(cuts, t)
	}
	slices.SortFunc(cuts, func(a, b truncated) int { return cmp.Compare(a.loss, b.loss) })
	err = tooManyCells(d.Options.MaxCells)
	for _, c := range cuts {
		if t, err = d.makeTable(c.grid, c.masses, c.atom); err == nil {
			return t, nil
		}
	}
	return nil, err
}

// coreGrid returns a grid that begins with the core, of n cells, whose width is next to the core's, with few cells:
// K times the sensitivities of the support are at most the given ones, and K² times them the work.
func (d *designer) coreGrid(enough float64, work, cells int) (g grid, n int) {
	c, matters := staircase.Core{From: d.peak - 0.5, Width: 1}, min(d.Epsilon, 1)
	if d.start != nil {
		c, matters = *d.start, 1
	}
	reach := 2 + c.Width
	if d.Delta > 0 {
		reach += 2 * (SupportBound(d.Problem) + 1)
	}
	least := max(1, int(math.Round(1/c.Width)))
	most := max(least, min(int(math.Sqrt(float64(work)/reach)), int(float64(cells)/reach)))
	if d.points > 0 {
		most = min(most, int(d.points))
	}
	// Beyond a jump all costs at once, and beyond what is free nearly so if e^−ε is little; and the cells of a grid protect
	// somewhat more than the sensitivity.
	const protected = 4e-5
	beyond := func(k, wide int) bool {
		return d.start != nil && (d.jumping || d.isFlat(c)) && int64(k) != d.points && float64(wide) > c.Width*(1-protected)*float64(k)
	}
	best := math.Inf(1)
	for k := min(least, most); k <= most && best > enough; k++ {
		table, first, wide, off, waste := d.coreCells(c, k)
		off = math.Sqrt(matters*matters*off*off+waste) * (1 + float64(k)/float64(most))
		if off > improvement*best || g.k > 0 && beyond(k, wide) {
			continue
		}
		best, n, g = off, wide, grid{k: k, table: table, first: first}
	}
	return g, n
}

// closed is the best multipliers in closed form so far.
type closed struct {
	*staircase.Transport
	grid  grid
	value float64
}

// closedDual certifies the best multipliers in closed form of several grids.
func (d *designer) closedDual() {
	const (
		halfway  = 0.5  // of the gap: finer grids are not worth their time
		share    = 0.25 // of the time, for all of them
		gaining  = 0.1  // of what is missed
		mostIdle = 2.5  // times as many nodes as when that was gained last
	)
	var best closed
	patience := d.Left() - time.Duration(share*float64(d.Options.TimeLimit))
	most := d.mostMultipliers()
	last := 0
	for g := range d.closedGrids(most) {
		before := best.value
		d.try(&best, g, most)
		if best.value == 0 || best.value-before > gaining*(d.Best-before) {
			last = g.k
		}
		if d.Best/best.value-1 < halfway*d.Options.Gap || d.Left() < patience || float64(g.k) > mostIdle*float64(last) {
			break
		}
	}
	if best.Transport == nil {
		return
	}
	y := best.Multipliers()
	if d.folded {
		y = y.Mirrored(best.grid.edges)
	}
	if dual := shiftsDual(best.grid.k, y, d.folded); dual != nil {
		dual.Edges = best.grid.edges
		d.keepDual(dual)
	}
}

// mostMultipliers returns how many there is time to find and to certify, here and with the result, beside the nodes.
func (d *designer) mostMultipliers() int {
	const (
		most  = 1 << 20 // in a dual
		each  = 400 * time.Nanosecond
		share = 0.5
	)
	all := most
	if d.folded {
		all *= 2
	}
	if d.Options.TimeLimit == 0 {
		return all
	}
	return min(all, int(share*float64(d.Left())/float64(each)))
}

// closedGrids yields grids for multipliers in closed form, ever finer ones.
func (d *designer) closedGrids(multipliers int) iter.Seq[grid] {
	const (
		mostNodes = 1 << 16
		share     = 3   // of the nodes there is time for: they reach two sensitivities out
		coarsest  = 1.9 // nodes of the core
		growth    = 1.7
	)
	most := min(mostNodes, d.affordableNodes(d.even(), 1)/share)
	for kinds := d.kinds(); most > 1 && d.closedSize(most, kinds[len(kinds)-1]) > multipliers; {
		most -= max(1, most/64)
	}
	most = max(most, min(mostNodes, int(growth*growth*coarsest/d.core.Width))) // a bound is worth some time too much
	if d.finest > 0 {
		most = min(most, d.finest)
	}
	cells := (&lower{model: d.model}).cells
	// Beside a kink or a jump cells between the nodes can prove more.
	kinds := []bool{false}
	near := func(x float64) bool { return math.Abs(x/d.Sensitivity-d.core.From-d.core.Width/2) < d.core.Width }
	if d.edgesAllowed() && slices.ContainsFunc(loss.Of(d.Loss).Kinks(), near) {
		kinds = []bool{false, true}
	}
	return func(yield func(grid) bool) {
		last := 0
		for least := coarsest / d.core.Width; least < float64(most) || last == 0; least *= growth {
			for _, edges := range kinds {
				k := d.closedNodes(least, min(least*growth, float64(most)), edges)
				if k == 0 || k == last && !edges {
					continue
				}
				g := cells(k)
				if g.edges, last = edges, k; !yield(g) {
					return
				}
			}
			if last == 0 {
				return
			}
		}
	}
}

// closedSize returns about how many multipliers there are on K nodes per sensitivity.
func (d *designer) closedSize(k int, kind staircase.Kind) int {
	core, served := d.core.Width*float64(k), 1.0
	if !kind.Whole {
		served = kind.Served(core)
	} else { // but the helpers that make up no whole train serve all of the core
		served += math.Mod(float64(k), core) * d.core.Width
	}
	return int(2 * float64(k) * served)
}

// closedNodes returns the number of nodes per sensitivity in a range on which the ends of the core, the kinks
// inside it, or the jumps at them, are best. A kink in the middle between nodes lowers the nodes beside it, and an
// end there makes a sum over nodes larger than the integral.
func (d *designer) closedNodes(from, to float64, edges bool) (best int) {
	miss, least := d.nodesMiss, math.Inf(1)
	if d.points > 0 {
		return d.stridedNodes(int(max(to, 1)))
	}
	if edges {
		miss = d.edgesMiss
	}
	for k := int(math.Ceil(from)); float64(k) < to; k++ {
		if off := miss(k); off < least {
			best, least = k, off
		}
	}
	return best
}

func (d *designer) nodesMiss(k int) float64 {
	ends := []float64{d.core.From, d.core.From + d.core.Width}
	between := func(x float64) float64 {
		x *= float64(k)
		return (x - math.Floor(x)) * (math.Ceil(x) - x)
	}
	off := 0.02 + between(ends[0]) + between(ends[1]) // and what any grid misses
	for _, x := range loss.Of(d.Loss).Kinks() {
		if at := x / d.Sensitivity; at > ends[0] && at < ends[1] {
			off += 4 * between(at)
		}
	}
	return off / (float64(k) * float64(k))
}

// edgesMiss: the cell that holds a kink needs all that those of the core do, and the next one
// what the loss has not grown by then; the helpers have the least loss of their cells.
func (d *designer) edgesMiss(k int) float64 {
	off := 1.0
	for _, x := range loss.Of(d.Loss).Kinks() {
		part := d.beyond(x, k)
		next := x + math.Copysign(part/float64(k)*d.Sensitivity, x)
		off += (part + max(0, 1-d.Loss.At(next)/d.Best)) / d.core.Width
	}
	return off / float64(k)
}

// beyond returns how far the next node outwards from x, or at it, is, in cells.
func (m *model) beyond(x float64, k int) float64 {
	x = math.Abs(x)
	at := x / m.Sensitivity * float64(k)
	next := math.Ceil(at)
	if near := math.Round(at); math.Abs(at-near) < 1e-6 { // only exact arithmetic tells
		next = near
		node := exact.Rational(m.Sensitivity)
		if node.Mul(node, big.NewRat(int64(near), int64(k))).Cmp(exact.Rational(x)) < 0 {
			next++
		}
	}
	return max(next-at, 0)
}

// isFlat reports whether the loss is the same on nearly all of a core: less, and nodes at its ends need less than others.
func (d *designer) isFlat(c staircase.Core) bool {
	const nearly = 0.995
	middle, half := c.From+c.Width/2, nearly*c.Width/2
	if d.points > 0 { // that of cells around points
		half = (c.Width - 1/float64(d.points)) / 2
	}
	at := func(x float64) float64 { return d.Loss.At(x * d.Sensitivity) }
	return at(middle-half) == at(middle) && at(middle+half) == at(middle)
}

// kinds returns those of multipliers that are tried, the one that proves most on a fine grid at last.
func (d *designer) kinds() []staircase.Kind {
	const cheapFrom = 2e-4 // the delta from which prices are worth saving
	switch {
	case d.isFlat(*d.core) && d.Delta >= cheapFrom:
		return []staircase.Kind{{Cheap: true, Whole: true, Far: true}, {Cheap: true, Whole: true}}
	case d.isFlat(*d.core):
		return []staircase.Kind{{}, {Sparse: true}, {Cheap: true, Whole: true}}
	case d.Delta >= cheapFrom:
		return []staircase.Kind{{Sparse: true}, {}, {Cheap: true}}
	}
	return []staircase.Kind{{}, {Sparse: true}}
}

// try keeps the multipliers on a grid if they are the best.
func (d *designer) try(best *closed, g grid, most int) {
	for _, kind := range d.kinds() {
		if best.Transport != nil && d.closedSize(g.k, kind) > most {
			continue
		}
		t := d.transport(g, kind)
		if t == nil {
			continue
		}
		if v := t.Value(d.Delta); v > best.value {
			*best = closed{t, g, v}
		}
	}
}

// transport returns multipliers in closed form on a grid, or nil.
func (d *designer) transport(g grid, kind staircase.Kind) *staircase.Transport {
	l := &lower{model: d.model}
	scale := float64(g.k)
	if d.points > 0 {
		scale = float64(d.points) / float64(g.table.PointsPerCell)
	}
	n := 2*int(d.core.Width*scale) + 8
	nodes := staircase.Nodes{K: g.k, N: n}
	if !d.folded {
		nodes.Middle = int(math.Round((d.core.From + d.core.Width/2) * scale))
	}
	nodes.At = d.quickNodes(l, &g, nodes.Middle, n)
	const above = 1.2 // the level may be, as its price is subtracted
	return staircase.NewTransport(nodes, d.Epsilon, above*d.Best/(1-d.Delta), kind)
}

// quickNodes returns the nodes of the loss, or somewhat less, exactly only within n of the middle and near kinks: they
// are many, and exact ones take microseconds.
func (d *designer) quickNodes(l *lower, g *grid, middle, n int) func(j int) float64 {
	even, step := d.even(), ratFloat(l.nodeStep(g))
	kinks := loss.Of(even).Kinks()
	return func(j int) float64 {
		x := float64(j) * step
		exactly := j-middle <= n && middle-j <= n
		for _, k := range kinks {
			exactly = exactly || math.Abs(x-k) <= 2*step
		}
		switch {
		case exactly:
			return ratFloat(l.node(g, even, j))
		case g.edges && j < 0:
			return even.At(x + step)
		case g.edges || l.exactNodes(g):
			return even.At(x)
		}
		at := even.At(x)
		return at - math.Abs((even.At(x-step)+even.At(x+step))/2-at)
	}
}

func ratFloat(r *big.Rat) float64 {
	v, _ := r.Float64()
	return v
}

// even is the loss, made symmetric if a symmetric noise is among the best.
func (m *model) even() loss.Loss {
	if m.folded {
		return loss.Of(m.Loss).Symmetrized()
	}
	return m.Loss
}
