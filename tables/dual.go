package tables

import (
	"fmt"
	"math/big"
	"sort"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/noise"
)

// Limits of a Dual.
const (
	maxDualIndex    = 1 << 30 // |cell| and |shift|
	maxDualExponent = 2000
	maxMultipliers  = 1 << 21 // of all shifts together
)

// Dual proves a lower bound on the expected loss of every additive noise that
// is (epsilon, delta)-differentially private, of any shape and support: the
// multipliers y of weak duality, on a grid of its own with CellsPerSensitivity
// cells per sensitivity. The multiplier of shift k at cell j is
// Multipliers[j-FirstCell]·2^Exponent, in units of the loss; all others are 0.
//
// Any non-negative multipliers give a true bound; good ones give a good bound.
type Dual struct {
	CellsPerSensitivity int
	Exponent            int
	// Mirrored: each multiplier of (k, j) also stands at (-k, -j).
	Mirrored bool
	Shifts   []DualShift
}

// DualShift holds the multipliers of one shift.
type DualShift struct {
	Shift       int // in cells, 1 <= |Shift| <= CellsPerSensitivity
	FirstCell   int
	Multipliers []int64
}

func (d *Dual) clone() *Dual {
	if d == nil {
		return nil
	}
	c := *d
	c.Shifts = make([]DualShift, len(d.Shifts))
	for i, s := range d.Shifts {
		s.Multipliers = append([]int64(nil), s.Multipliers...)
		c.Shifts[i] = s
	}
	return &c
}

func (d *Dual) validate() error {
	if d == nil {
		return nil
	}
	bad := func(field string, value any, rule string) error {
		return fmt.Errorf("tables: dual.%s = %v, want %s: %w", field, value, rule, ErrInvalid)
	}
	if d.CellsPerSensitivity < 1 || d.CellsPerSensitivity > MaxCells {
		return bad("cells_per_sensitivity", d.CellsPerSensitivity, fmt.Sprintf("1 to %d", MaxCells))
	}
	if d.Exponent < -maxDualExponent || d.Exponent > maxDualExponent {
		return bad("exponent", d.Exponent, fmt.Sprintf("an integer from %d to %d", -maxDualExponent, maxDualExponent))
	}
	// The sums over shifts must stay within an int64; see coefficients.
	const limit = 1 << 62
	var sum int64
	seen := make(map[int]bool)
	left := maxMultipliers
	for _, s := range d.Shifts {
		if left -= len(s.Multipliers); left < 0 {
			return bad("multipliers", "too many", fmt.Sprintf("at most %d in all", maxMultipliers))
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

// coefficient is what the multipliers add to one cell: Σ_k y_{k,j} and
// Σ_k y_{k,j+k}.
type coefficient struct {
	cell      int64
	own, from int64
}

// coefficients collects the cells with a non-zero coefficient, sorted. Its
// size is at most four times the number of multipliers.
func (d *Dual) coefficients() []coefficient {
	var all []coefficient
	add := func(k, j, y int64) {
		if y != 0 {
			all = append(all, coefficient{cell: j, own: y}, coefficient{cell: j - k, from: y})
		}
	}
	for _, s := range d.Shifts {
		for i, y := range s.Multipliers {
			j := int64(s.FirstCell) + int64(i)
			add(int64(s.Shift), j, y)
			if d.Mirrored {
				add(-int64(s.Shift), -j, y)
			}
		}
	}
	sort.Slice(all, func(a, b int) bool { return all[a].cell < all[b].cell })
	merged := all[:0]
	for _, c := range all {
		if n := len(merged); n > 0 && merged[n-1].cell == c.cell {
			merged[n-1].own += c.own
			merged[n-1].from += c.from
			continue
		}
		merged = append(merged, c)
	}
	return merged
}

// LowerBound returns the bound the multipliers prove on E c(X) for every noise X
// that is (epsilon, delta)-differentially private at every real shift up to the
// given sensitivity (docs/proofs/lower-bound.md):
//
//	min_j [ l_j + Σ_k ( y_{k,j} − e^ε·y_{k,j+k} ) ] − δ·Σ_k max_j y_{k,j}
//
// with l_j = loss.LowerNode(j, sensitivity/K) rounded down and e^ε rounded up, in
// integers otherwise. It is never below 0, which bounds every loss. A nil Dual proves 0.
func (d *Dual) LowerBound(p Privacy, loss noise.Loss) *big.Rat {
	zero := new(big.Rat)
	if d == nil {
		return zero
	}
	step := new(big.Rat).SetFloat64(p.Sensitivity)
	step.Quo(step, new(big.Rat).SetInt64(int64(d.CellsPerSensitivity)))
	up := exact.ExpUp(p.Epsilon, ratioBits)
	// Everything is in units of 2^(x−96), x the exponent of the multipliers:
	// the added part of cell j is own·2^96 − up·from, and l_j is rounded
	// down to a whole unit, which only lowers the bound.
	coeffs := d.coefficients()
	var lowest *big.Int
	consider := func(j int64, own, from int64) {
		l := loss.LowerNode(j, step)
		c := new(big.Int)
		if s := ratioBits - d.Exponent; s >= 0 {
			c.Lsh(l.Num(), uint(s))
			c.Div(c, l.Denom())
		} else {
			c.Div(l.Num(), new(big.Int).Lsh(l.Denom(), uint(-s)))
		}
		part := big.NewInt(own)
		c.Add(c, part.Lsh(part, ratioBits))
		part.SetInt64(from)
		c.Sub(c, part.Mul(part, up))
		if lowest == nil || c.Cmp(lowest) < 0 {
			lowest = c
		}
	}
	for _, c := range coeffs {
		consider(c.cell, c.own, c.from)
	}
	// Cells without multipliers have l_j alone, which does not decrease away
	// from 0: the nearest such cell on either side stands for all of them.
	touched := func(j int64) bool {
		i := sort.Search(len(coeffs), func(i int) bool { return coeffs[i].cell >= j })
		return i < len(coeffs) && coeffs[i].cell == j
	}
	if !touched(0) {
		consider(0, 0, 0)
	}
	for _, side := range []int64{1, -1} {
		j := side
		for touched(j) {
			j += side
		}
		consider(j, 0, 0)
	}
	bound := new(big.Rat).SetInt(lowest)
	bound.Mul(bound, powerOfTwo(d.Exponent-ratioBits))

	price := new(big.Int)
	for i := range d.Shifts {
		price.Add(price, big.NewInt(d.Shifts[i].largest()))
	}
	if d.Mirrored {
		price.Lsh(price, 1)
	}
	cost := new(big.Rat).SetInt(price)
	cost.Mul(cost, powerOfTwo(d.Exponent))
	cost.Mul(cost, new(big.Rat).SetFloat64(p.Delta))
	if bound.Sub(bound, cost); bound.Sign() < 0 {
		return zero
	}
	return bound
}
