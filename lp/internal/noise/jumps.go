// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"context"
	"math"
	"slices"

	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// Where a loss jumps the best noise is nearly a staircase with steps there, and what a grid misses is in
// proportion to how far the jumps are off it, whatever its width: for the lower program to the next
// node outwards, for the upper one to the nearest edge. So grids are the coarsest
// with little of that, and not ever finer ones.

// meetJumps solves programs on such grids until they meet to the gap. It returns nil if they
// do, and also if they do no more.
func (d *designer) meetJumps(ctx context.Context) error {
	const (
		share  = 0.4 // of the gap, for each side
		finest = 1.0 / 16
		longer = 1.15 // reach of the next programs if these gained too little
	)
	c := d.Constraints
	c.Symmetric, c.Monotone, c.Unbiased = false, false, false
	if len(d.jumps) == 0 || !d.isSteps() || !d.edgesAllowed() || !c.None() || d.Options.Generate {
		return nil
	}
	d.lower.bound.(*lower).kind = betweenNodes
	stretch := 1.0
	for part := share; ; part = max(part, share*finest) {
		aim := d.Aim()
		d.refinePoints()
		var turn []*side
		later := false
		for _, s := range d.sides() {
			k, reach := d.jumpCells(s, part*aim), max(s.reach, s.bound.reach(aim))*stretch
			switch {
			case k == s.grid.k && s.missed <= worthless*d.remaining(): // a wider support gains nothing
				later = true
			case k > 0 && d.inTime(s.bound.extent(k, reach)):
				s.grid.k, s.reach = k, reach
				turn = append(turn, s)
			}
		}
		if len(turn) == 0 {
			if !later || part == share*finest {
				return nil
			}
			part /= 2
			continue
		}
		if err := d.advanceAll(ctx, turn); err != nil {
			return err
		}
		d.Report(max(d.upper.grid.k, d.lower.grid.k))
		switch {
		case d.Gap() <= d.Options.Gap:
			return nil
		case ctx.Err() != nil:
			return meet.ErrLimit
		case d.Aim() < aim:
			part = share
		default:
			part /= 2
			stretch = longer
		}
	}
}

// jumpBits is pointsBits for what it costs if edges would lie at jumps, but for that cells are wider than they should be.
func (m *model) jumpBits(gap float64) (bits int) {
	const little, most = 0.1, 36
	for _, x := range m.jumps {
		miss := 2 * math.Abs(x) / m.Sensitivity * math.Expm1(m.Epsilon)
		bits = max(bits, int(math.Ceil(math.Log2(miss/(little*gap)))))
	}
	return min(bits, most)
}

// isSteps reports whether the loss is constant between its jumps. Where it is not, as in a sum with another
// loss, grids have to become fine for what is between them, too.
func (d *designer) isSteps() bool {
	x := slices.Clone(loss.Of(d.Loss).Kinks())
	slices.Sort(x)
	last := x[len(x)-1] + d.Sensitivity
	for i, from := range x {
		to := last
		if i+1 < len(x) {
			to = x[i+1]
		}
		if width := to - from; d.Loss.At(from+0.3*width) != d.Loss.At(from+0.9*width) {
			return false
		}
	}
	return true
}

// perProduct is seconds for a multiplication of an iteration, of all of them.
const perProduct = 4e-9

// inTime reports whether a program is expected to take at most half of the time that is left.
func (d *designer) inTime(g grid) bool {
	return d.fits(g) && (d.Options.TimeLimit == 0 || perProduct*d.work(g) < d.Left().Seconds()/2)
}

// jumpCells returns the least number of cells per sensitivity on which the jumps cost a side no more than a
// share of the loss; 0: none.
func (d *designer) jumpCells(s *side, share float64) int {
	const most = 512
	for k := 1; k <= most; k++ {
		if d.jumpsMiss(s, k) <= share {
			return k
		}
	}
	return 0
}

// jumpsMiss returns which share of the loss a side misses because jumps are off the nodes or edges of K cells
// per sensitivity.
func (d *designer) jumpsMiss(s *side, k int) float64 {
	offsets := []float64{0, 0.5}
	switch {
	case s == &d.lower:
		offsets = offsets[:1]
	case d.Constraints.Symmetric || d.Constraints.Unbiased:
		offsets = offsets[1:]
	}
	least := math.Inf(1)
	for _, offset := range offsets {
		var missed float64
		for _, x := range d.jumps {
			missed = max(missed, d.jumpMiss(s, math.Abs(x), k, offset))
		}
		least = min(least, missed)
	}
	return least
}

// byJumps reports whether grids are chosen by where the jumps of the loss lie on them.
func (d *designer) byJumps() bool {
	return len(d.jumps) > 0 && d.lower.bound.(*lower).kind == betweenNodes
}

// jumpSpan is how many times more cells than are wanted are looked at where a loss jumps.
const jumpSpan = 2

// nextCells returns a good number of cells per sensitivity for the next program of a side, at least want, and at most span
// times as many where a loss jumps.
func (d *designer) nextCells(s *side, want int, span float64) int {
	if !d.byJumps() {
		return aligned(s.bound, want)
	}
	const patience = 0.3 // of the gap, for twice as many
	best, least := want, math.Inf(1)
	for k := want; float64(k) <= span*float64(want); k++ {
		if miss := d.jumpsMiss(s, k) + patience*d.Aim()*float64(k-want)/float64(want); miss < least {
			best, least = k, miss
		}
	}
	return best
}

// jumpMiss returns which share of the loss a side misses because a jump is off the nodes or edges that have
// the offset. The best noise is about a staircase, with steps at the jump and whole sensitivities further in: of what it weighs,
// nearly all is between the innermost ones if e^ε times that is much. A core that ends before the jump, or is thought to end
// beyond it, weighs as much more, or less, there; one that does end beyond it weighs e^ε times as much outside.
func (d *designer) jumpMiss(s *side, x float64, k int, offset float64) float64 {
	at := x / d.Sensitivity
	inner, rise := at-math.Floor(at), math.Expm1(d.Epsilon)
	wide := max(max(2, 1/at)*-math.Expm1(-d.Epsilon), rise/(1+inner*rise))
	if s == &d.lower {
		return d.beyond(x, k) / float64(k) * wide
	}
	cells := at*float64(k) - offset
	if d.points == 0 { // cells are somewhat wider
		cells = x/realWidth(d.Sensitivity, k, d.bits) - offset
	}
	before, after := cells-math.Floor(cells), math.Ceil(cells)-cells
	miss := after * rise
	if cells >= 0 {
		miss = min(miss, before*wide)
	}
	return miss / float64(k)
}
