// SPDX-License-Identifier: Apache-2.0

package cells

import "math"

// interval is the points from first to last, or shifts.
type interval struct{ first, last int64 }

// beyond stands for the end of a cell that has none: more than all values and noise together.
const beyond = 1 << 60

// points returns the cells as points of the lattice. An edge is rounded as values are;
// rounding keeps the order, so a value is in the cell between the rounded edges or, if it
// is rounded to the upper one, in the next.
func (s *Spec) points() []interval {
	n := len(s.Edges) - 1
	at := func(i int) int64 { return s.Grid.round(s.Edges[i]).Int64() }
	cells := make([]interval, n)
	for k := range cells {
		cells[k] = interval{-beyond, beyond}
		if !math.IsInf(s.Edges[k], -1) {
			cells[k].first = at(k)
		}
		if !math.IsInf(s.Edges[k+1], 1) {
			cells[k].last = at(k + 1)
			if k+1 < n {
				cells[k].last--
			}
		}
	}
	return cells
}

// Shifts returns the least and the largest difference of a value in the cell gain from one
// in the cell lose, in steps of the grid, both rounded to it and within the sensitivity; ok
// is false if there are none. All whole numbers between are such differences.
func (k *Kernel) Shifts(gain, lose int) (first, last int64, ok bool) {
	s, ok := shifts(k.cells[gain], k.cells[lose], k.spec.reach().Int64())
	return s.first, s.last, ok
}

// shifts returns the differences n − n′ of points n of cell c and n′ of cell d that are at
// most reach apart; ok is false if there are none.
func shifts(c, d interval, reach int64) (s interval, ok bool) {
	s = interval{max(c.first-d.last, -reach), min(c.last-d.first, reach)}
	return s, s.first <= s.last
}
