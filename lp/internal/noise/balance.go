// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"sync"
)

// Programs for the interior point method take a time that is known in advance, about like
// K³, and what they miss falls like K^(−r). So two or three coarse programs of both bounds
// tell the grids on which the bounds meet with the least work. Any tuning gives correct results.
const (
	spared      = 0.9 // of the gap: estimates are off by some tenths
	sureGrowth  = 3.5 // of K, up to which they are trusted; from further away
	leastGrowth = 1.1
	halfWay     = 2.5 // times fewer cells are next, which tell better
	stuck       = 0.9 // of what was left
	fairShare   = 0.1 // of what both sides miss: no side is known to be better
	shares      = 16  // of the gap that are compared
)

func (d *designer) sides() [2]*side { return [2]*side{&d.upper, &d.lower} }

// expected returns what the last program misses, by the last two; 0: unknown.
func (s *side) expected() float64 {
	if s.value > 0 && s.missed > 0 && !math.IsInf(s.missed, 1) {
		return s.missed
	}
	return 0
}

// errors estimates the optimum and what the last programs of both sides miss of it. Both
// together miss what is between them, so both are scaled to that; but where there is a better
// table or bound from elsewhere, it is the other side that may be far from it.
func (d *designer) errors() (missed [2]float64, optimum float64, ok bool) {
	u, l := d.upper.value, d.lower.value
	upper, lower := d.upper.expected(), d.lower.expected()
	switch {
	case l <= 0 || u <= l:
		return missed, 0, false
	case d.Best < u && lower > 0:
		optimum = l + lower
	case d.Best < u && d.Bound > l:
		optimum = (d.Best + d.Bound) / 2
	case d.Best < u:
		optimum = d.Best
	case d.Bound > l && upper > 0:
		optimum = u - upper
	case d.Bound > l:
		optimum = d.Bound
	default:
		switch {
		case upper == 0 && lower == 0:
			upper, lower = 1/math.Pow(float64(d.upper.grid.k), 2), 2/math.Pow(float64(d.lower.grid.k), 2)
		case upper == 0:
			upper = max(u-l-lower, 0)
		case lower == 0:
			lower = max(u-l-upper, 0)
		}
		share := min(max(lower/(upper+lower), fairShare), 1-fairShare)
		optimum = l + share*(u-l)
	}
	optimum = min(max(optimum, d.Bound), d.Best)
	return [2]float64{u - optimum, optimum - l}, optimum, true
}

// balance refines the grids of the sides whose next programs are expected to close the gap with the
// least work, and returns these sides; none if there are no estimates, or no time for it.
func (d *designer) balance() []*side {
	if d.Options.Generate || d.points > 0 {
		return nil
	}
	missed, optimum, ok := d.errors()
	if !ok {
		return nil
	}
	// A bound that is still behind the one in closed form says nothing of what finer grids give.
	behind := d.last == &d.lower && d.lower.value < d.Bound
	if d.before > 0 && d.remaining() > stuck*d.before && !behind {
		// The side that was refined alone has no more to give, whatever was expected.
		if optimum = d.Bound; d.last == &d.upper {
			optimum = d.Best
		}
		missed = [2]float64{d.upper.value - optimum, optimum - d.lower.value}
	}
	optimum = min(max(optimum, d.Bound), d.Best)
	goal := spared * d.Aim() * optimum
	growth := d.cheapest(missed, optimum, goal)
	if max(growth[0], growth[1]) > sureGrowth {
		for i, g := range growth {
			if g > 0 {
				growth[i] = max(g/halfWay, leastGrowth)
			}
		}
	}
	var turn []*side
	var took float64
	before := [2]side{d.upper, d.lower}
	for i, s := range d.sides() {
		if growth[i] > 0 && s.closed == nil {
			d.finer(s, growth[i], jumpSpan)
			grown := max(growth[i], float64(s.grid.k)/float64(before[i].grid.k))
			took += float64(s.took) * grown * grown * grown
			turn = append(turn, s)
		}
	}
	if !d.affords(took) {
		d.upper, d.lower = before[0], before[1]
		return nil
	}
	return turn
}

// cheapest returns by how much the grids of both sides have to grow, 0 for not at all, so
// that they miss no more than goal with the least work.
func (d *designer) cheapest(missed [2]float64, optimum, goal float64) (best [2]float64) {
	kept := [2]float64{d.Best - optimum, optimum - d.Bound}
	var work [2]float64
	for i, s := range d.sides() {
		work[i] = d.workOf(s, d.extent(s, s.grid.k))
	}
	least := math.Inf(1)
	for i := 1; i < shares; i++ {
		lower := goal * float64(i) / shares
		var growth [2]float64
		cost := 0.0
		for j, allowed := range [2]float64{goal - lower, lower} {
			if kept[j] <= allowed {
				continue
			}
			growth[j] = max(math.Pow(missed[j]/allowed, 1/d.sides()[j].bound.order()), leastGrowth)
			cost += work[j] * growth[j] * growth[j] * growth[j]
		}
		if cost < least {
			best, least = growth, cost
		}
	}
	return best
}

// affords reports whether programs that are expected to take so long take at most half of the time left.
func (d *designer) affords(took float64) bool {
	return d.Options.TimeLimit == 0 || took <= float64(d.Left()-max(d.closing(&d.upper), d.closing(&d.lower)))/2
}

// advanceAll advances sides, both at once where there are two processors: one of them on a
// copy of the design, so that what they find does not depend on it.
func (d *designer) advanceAll(ctx context.Context, turn []*side) error {
	d.before = 0
	d.refinePoints()
	switch len(turn) {
	case 0: // begin has done all that the first programs do
		return nil
	case 1:
		d.last, d.before = turn[0], d.remaining()
		return d.advance(ctx, turn[0])
	}
	d.last = &d.lower
	c := *d
	var below error
	var wait sync.WaitGroup
	wait.Go(func() { below = c.advance(ctx, &c.lower) })
	if runtime.GOMAXPROCS(0) < 2 || d.Options.Clock != nil {
		wait.Wait()
	}
	rounds := d.rounds
	above := d.advance(ctx, &d.upper)
	wait.Wait()
	d.lower, d.rounds = c.lower, d.rounds+c.rounds-rounds
	if d.ends, d.endsFrom = c.ends, c.endsFrom; d.endless || c.endless {
		d.unend()
	}
	if c.Bound > d.Bound {
		d.dual, d.Bound = c.dual, c.Bound
	}
	return cmp.Or(above, below)
}
