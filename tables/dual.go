package tables

import (
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
)

// maxDualIndex bounds |cell| and |shift| of a Dual.
const maxDualIndex = 1 << 30

// Dual proves a lower bound on the expected loss of every additive noise that
// is (epsilon, delta)-differentially private, of any shape and support: the
// multipliers y of weak duality, on a grid of its own with CellsPerSensitivity
// cells per sensitivity. The multiplier of shift k at cell j is
// Multipliers[j-FirstCell]·2^Exponent, in units of the loss; all others are 0.
//
// Any non-negative multipliers give a true bound; good ones give a good bound.
type Dual struct {
	CellsPerSensitivity int `json:"cells_per_sensitivity"`
	Exponent            int `json:"exponent"`
	// Mirrored: each multiplier of (k, j) also stands at (-k, -j), or at
	// (-k, -1-j) if Edges.
	Mirrored bool `json:"mirrored"`
	// Edges: cell j reaches from node j to node j+1 and does not move, and
	// noise has atoms at 0 only, which is enough for a loss that does not
	// decrease away from 0.
	Edges  bool        `json:"edges,omitempty"`
	Shifts []DualShift `json:"shifts"`
	// MonotoneRight and MonotoneLeft are the multipliers of the demand of
	// monotone noise that cell j weighs at least as much as the next one
	// outwards, by |j| to the right and to the left of 0, in the same unit. If
	// Mirrored, the right ones stand on both sides.
	MonotoneRight *DualRun `json:"monotone_right,omitempty"`
	MonotoneLeft  *DualRun `json:"monotone_left,omitempty"`
	// Mean, Variance and Quantiles are the multipliers of E X = 0 (any sign;
	// loss per query unit), of E X² <= MaxVariance (loss per query unit
	// squared) and of the quantiles (loss).
	Mean      float64   `json:"mean,omitempty"`
	Variance  float64   `json:"variance,omitempty"`
	Quantiles []float64 `json:"quantiles,omitempty"`
}

// DualRun is a run of multipliers.
type DualRun struct {
	FirstCell   int     `json:"first_cell"` // >= 0
	Multipliers []int64 `json:"multipliers,string"`
}

// DualShift holds the multipliers of one shift.
type DualShift struct {
	Shift       int     `json:"shift"` // in cells, 1 <= |Shift| <= CellsPerSensitivity
	FirstCell   int     `json:"first_cell"`
	Multipliers []int64 `json:"multipliers,string"`
}

func (d *Dual) clone() *Dual {
	if d == nil {
		return nil
	}
	c := *d
	c.Shifts = slices.Clone(d.Shifts)
	for i, s := range d.Shifts {
		c.Shifts[i].Multipliers = slices.Clone(s.Multipliers)
	}
	c.MonotoneRight, c.MonotoneLeft = d.MonotoneRight.clone(), d.MonotoneLeft.clone()
	c.Quantiles = slices.Clone(d.Quantiles)
	return &c
}

func (r *DualRun) clone() *DualRun {
	if r == nil {
		return nil
	}
	return &DualRun{FirstCell: r.FirstCell, Multipliers: slices.Clone(r.Multipliers)}
}

func (d *Dual) validate() error {
	if d == nil {
		return nil
	}
	bad := func(field string, value any, rule string) error {
		return check.Errorf("tables", dp.ErrInvalid, "dual.%s = %v, want %s", field, value, rule)
	}
	if d.CellsPerSensitivity < 1 || d.CellsPerSensitivity > MaxCells {
		return bad("cells_per_sensitivity", d.CellsPerSensitivity, fmt.Sprintf("1 to %d", MaxCells))
	}
	if d.Exponent < -proof.MaxExponent || d.Exponent > proof.MaxExponent {
		return bad("exponent", d.Exponent, fmt.Sprintf("an integer from %d to %d", -proof.MaxExponent, proof.MaxExponent))
	}
	// The sums over shifts must stay within an int64; see coefficients.
	const limit = 1 << 62
	var sum int64
	seen := make(map[int]bool)
	left := proof.MaxMultipliers
	for _, s := range d.Shifts {
		if left -= len(s.Multipliers); left < 0 {
			return bad("multipliers", "too many", fmt.Sprintf("at most %d in all", proof.MaxMultipliers))
		}
		if s.Shift == 0 || s.Shift < -d.CellsPerSensitivity || s.Shift > d.CellsPerSensitivity {
			return bad("shift", s.Shift, fmt.Sprintf("1 to %d in absolute value", d.CellsPerSensitivity))
		}
		if seen[s.Shift] || (d.Mirrored && seen[-s.Shift]) {
			return bad("shift", s.Shift, "each shift once")
		}
		seen[s.Shift] = true
		if s.FirstCell < -maxDualIndex || s.FirstCell > maxDualIndex {
			return bad("first_cell", s.FirstCell, fmt.Sprintf("at most %d in absolute value", maxDualIndex))
		}
		for _, y := range s.Multipliers {
			if y < 0 {
				return bad("multipliers", y, "non-negative numbers")
			}
		}
		sum += s.largest()
		if sum < 0 || sum > limit>>1 {
			return bad("multipliers", "too large", "the largest of each shift to sum to at most 2^61")
		}
	}
	for _, r := range []*DualRun{d.MonotoneRight, d.MonotoneLeft} {
		if r == nil {
			continue
		}
		if r.FirstCell < 0 || r.FirstCell > maxDualIndex {
			return bad("monotone.first_cell", r.FirstCell, fmt.Sprintf("0 to %d", maxDualIndex))
		}
		if left -= len(r.Multipliers); left < 0 {
			return bad("multipliers", "too many", fmt.Sprintf("at most %d in all", proof.MaxMultipliers))
		}
		for _, y := range r.Multipliers {
			if y < 0 || y > limit>>1 {
				return bad("monotone.multipliers", y, "numbers from 0 to 2^61")
			}
		}
	}
	if d.Edges && (d.MonotoneRight != nil || d.MonotoneLeft != nil || d.Mean != 0) {
		return bad("edges", true, "false with multipliers of monotony or of the mean")
	}
	if d.Mirrored && (d.MonotoneLeft != nil || d.Mean != 0) {
		return bad("mirrored", true, "false with multipliers that have no mirror image")
	}
	if !check.Finite(d.Mean) {
		return bad("mean", d.Mean, "a finite number")
	}
	for _, v := range append([]float64{d.Variance}, d.Quantiles...) {
		if !(v >= 0 && v <= math.MaxFloat64) {
			return bad("moment multiplier", v, "a finite number >= 0")
		}
	}
	if len(d.Quantiles) > dp.MaxQuantiles {
		return bad("quantiles", len(d.Quantiles), fmt.Sprintf("at most %d", dp.MaxQuantiles))
	}
	return nil
}

// largest returns the price η_k of the shift: its largest multiplier.
func (s *DualShift) largest() int64 {
	var m int64
	for _, y := range s.Multipliers {
		m = max(m, y)
	}
	return m
}
