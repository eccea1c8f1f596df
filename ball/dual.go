// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
)

// Limits of a dual.
const (
	maxKnots = 512
	maxParts = 64
	maxMoves = 16
)

// Dual proves a lower bound on the loss of all noise of two or three coordinates that keeps the promise, of any law. It
// holds multipliers of weak duality for pairs of knots of the distance from two points that are a shift apart, and is
// bilinear in the squares of the distances between. Units are those of the loss, times 2^Exponent.
//
// Any non-negative multipliers give a true bound; good ones give a good bound.
type Dual struct {
	Exponent int `json:"exponent"`
	// Parts of which each interval between knots is looked at by itself: more of them give a better bound.
	Parts int `json:"parts"`
	// Radii are the knots, in steps, from 0.
	Radii  []int64     `json:"radii"`
	Shifts []dualShift `json:"shifts"`
}

// dualShift holds the multipliers of the shifts of a length, in steps.
type dualShift struct {
	Length int64     `json:"length"`
	Rows   []dualRow `json:"rows"`
}

// dualRow holds those of the knots number Knot of the one distance and First, First+1, … of the other; all others are 0.
type dualRow struct {
	Knot        int     `json:"knot"`
	First       int     `json:"first"`
	Multipliers []int64 `json:"multipliers,string"`
}

// Add adds the multipliers of shifts of a length, in steps, for the knot number knot of the one distance and those from first
// on of the other. Those of one length are added together.
func (d *Dual) Add(length int64, knot, first int, multipliers []int64) {
	last := len(d.Shifts) - 1
	if last < 0 || d.Shifts[last].Length != length {
		d.Shifts = append(d.Shifts, dualShift{Length: length})
		last++
	}
	s := &d.Shifts[last]
	s.Rows = append(s.Rows, dualRow{knot, first, multipliers})
}

func (s *Spec) validateDual() error {
	d := s.Dual
	if d == nil {
		return nil
	}
	r := formfile.InDual("ball")
	p, _ := s.Power()
	r.Want(s.Dimension <= 3, "radii", "such", "no dual for more than three coordinates")
	r.Want(p <= 2 && p == float64(int(p)), "radii", "such", "no dual for a loss other than l1 and l2")
	r.Exponent(d.Exponent)
	r.Want(d.Parts >= 1 && d.Parts <= maxParts, "parts", d.Parts, "1 to %d", maxParts)
	n := len(d.Radii)
	if !r.Want(n >= 2 && n <= maxKnots && d.Radii[0] == 0, "radii", "such", "2 to %d numbers of steps from 0", maxKnots) {
		return r.Err()
	}
	for i, x := range d.Radii[1:] {
		r.Want(x > d.Radii[i] && x <= maxRadius, "radii", x, "ascending numbers of steps to %d", maxRadius)
	}
	r.Want(len(d.Shifts) <= maxMoves, "shifts", len(d.Shifts), "at most %d", maxMoves)
	reach := exact.Rational(s.Sensitivity)
	longest := exact.Floor(reach.Quo(reach, s.step())).Int64() // less than 2^31, see validate
	before := int64(0)
	for i := range d.Shifts {
		shift := &d.Shifts[i]
		r.Want(shift.Length > before && shift.Length <= longest, "length", shift.Length, "ascending numbers of steps to %d, the sensitivity", longest)
		before = shift.Length
		var all []int64
		for k, row := range shift.Rows {
			r.Want(k == 0 || row.Knot > shift.Rows[k-1].Knot, "knot", row.Knot, "rows in ascending order of the knot")
			r.Want(row.Knot >= 0 && row.Knot < n, "knot", row.Knot, "0 to %d", n-1)
			r.Want(row.First >= 0 && row.First <= n-len(row.Multipliers), "first", row.First, "knots from 0 to %d", n-1)
			if !r.Count(len(row.Multipliers)) {
				return r.Err()
			}
			all = append(all, row.Multipliers...)
		}
		if !r.Prices("shift", all...) {
			return r.Err()
		}
	}
	return r.Err()
}

// dense returns all multipliers of a shift for so many knots, and the largest.
func (s *dualShift) dense(knots int) (y [][]int64, most int64) {
	y = make([][]int64, knots)
	for i := range y {
		y[i] = make([]int64, knots)
	}
	for _, row := range s.Rows {
		copy(y[row.Knot][row.First:], row.Multipliers)
		most = max(most, formfile.Largest(row.Multipliers))
	}
	return y, most
}
