// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
)

// maxDualIndex bounds |cell| and |shift| of a Dual.
const maxDualIndex = 1 << 30

// Dual proves a lower bound on the expected loss of every additive noise that is (epsilon,
// delta)-differentially private, of any shape and support: the multipliers y of weak duality, on a
// grid of its own with CellsPerSensitivity cells per sensitivity. The multiplier of shift k at cell
// j is Multipliers[j-FirstCell]·2^Exponent, in units of the loss; all others are 0.
//
// Any non-negative multipliers give a true bound; good ones give a good bound.
type Dual struct {
	CellsPerSensitivity int `json:"cells_per_sensitivity"`
	Exponent            int `json:"exponent"`
	// Mirrored: each multiplier of (k, j) also stands at (-k, -j), or at (-k, -1-j) if Edges.
	Mirrored bool `json:"mirrored"`
	// Edges: cell j reaches from node j to node j+1 and does not move, and noise has atoms at 0
	// only, which is enough for a loss that does not decrease away from 0.
	Edges bool `json:"edges,omitempty"`
	// Spread: the nodes of an integer or lattice query divide its sensitivity, and are about noise
	// that is spread over the distance of its points.
	Spread bool        `json:"spread,omitempty"`
	Shifts []dualShift `json:"shifts"`
	// MonotoneRight and MonotoneLeft are the multipliers of the demand of monotone noise that cell
	// j weighs at least as much as the next one outwards, by |j| to the right and to the left of 0,
	// in the same unit. If Mirrored, the right ones stand on both sides.
	MonotoneRight *DualRun `json:"monotone_right,omitempty"`
	MonotoneLeft  *DualRun `json:"monotone_left,omitempty"`
	// Mean, Variance and Quantiles are the multipliers of E X = 0 (any sign; loss per query unit),
	// of E X² <= MaxVariance (loss per query unit squared) and of the quantiles (loss).
	Mean      float64   `json:"mean,omitempty"`
	Variance  float64   `json:"variance,omitempty"`
	Quantiles []float64 `json:"quantiles,omitempty"`
}

// dualShift holds the multipliers of one shift.
type dualShift struct {
	Shift       int     `json:"shift"` // in cells, 1 <= |Shift| <= CellsPerSensitivity
	FirstCell   int     `json:"first_cell"`
	Multipliers []int64 `json:"multipliers,string"`
}

// Add adds the multipliers of a shift, in cells, for the cells from first on.
func (d *Dual) Add(shift, first int, multipliers []int64) {
	d.Shifts = append(d.Shifts, dualShift{shift, first, multipliers})
}

// DualRun is a run of multipliers.
type DualRun struct {
	FirstCell   int     `json:"first_cell"` // >= 0
	Multipliers []int64 `json:"multipliers,string"`
}

func (d *Dual) validate() error {
	if d == nil {
		return nil
	}
	r := formfile.InDual("tables")
	k := d.CellsPerSensitivity
	r.Want(k >= 1 && k <= limits.TableCells, "cells_per_sensitivity", k, "1 to %d", limits.TableCells)
	r.Exponent(d.Exponent)
	seen := make(map[int]bool)
	for i := range d.Shifts {
		s := &d.Shifts[i]
		r.Count(len(s.Multipliers))
		r.Want(s.Shift != 0 && s.Shift >= -k && s.Shift <= k, "shift", s.Shift, "1 to %d in absolute value", k)
		r.Want(!seen[s.Shift] && !(d.Mirrored && seen[-s.Shift]), "shift", s.Shift, "each shift once")
		r.Want(s.FirstCell >= -maxDualIndex && s.FirstCell <= maxDualIndex, "first_cell", s.FirstCell, "at most %d in absolute value", maxDualIndex)
		if !r.Prices("shift", s.Multipliers...) {
			return r.Err()
		}
		seen[s.Shift] = true
	}
	d.MonotoneRight.validate(r)
	d.MonotoneLeft.validate(r)
	d.validateMoments(r)
	return r.Err()
}

func (r *DualRun) validate(rules *formfile.Dual) {
	if r == nil {
		return
	}
	rules.Want(r.FirstCell >= 0 && r.FirstCell <= maxDualIndex, "monotone.first_cell", r.FirstCell, "0 to %d", maxDualIndex)
	rules.Count(len(r.Multipliers))
	for _, y := range r.Multipliers {
		if y < 0 || y > 1<<61 {
			rules.Want(false, "monotone.multipliers", y, "numbers from 0 to 2^61")
		}
	}
}

func (d *Dual) validateMoments(r *formfile.Dual) {
	monotone := d.MonotoneRight != nil || d.MonotoneLeft != nil
	r.Want(!d.Edges || !monotone && d.Mean == 0, "edges", true, "false with multipliers of monotony or of the mean")
	r.Want(!d.Spread || !monotone, "spread", true, "false with multipliers of monotony")
	r.Want(!d.Mirrored || d.MonotoneLeft == nil && d.Mean == 0, "mirrored", true, "false with multipliers that have no mirror image")
	r.Want(check.Finite(d.Mean), "mean", d.Mean, "a finite number")
	for _, v := range append([]float64{d.Variance}, d.Quantiles...) {
		r.Want(v >= 0 && check.Finite(v), "moment multiplier", v, "a finite number >= 0")
	}
	r.Want(len(d.Quantiles) <= limits.Quantiles, "quantiles", len(d.Quantiles), "at most %d", limits.Quantiles)
}
