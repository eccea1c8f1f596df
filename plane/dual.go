// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"fmt"
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/proof"
)

// maxNode bounds the nodes with a multiplier along each axis, either way.
const maxNode = 255

// Dual proves a lower bound on the loss of all noise that keeps the promise, of any law. It holds
// multipliers of weak duality at the nodes (i, j), which stand for multiples of a sensitivity over
// CellsPerSensitivity along both axes; of whole numbers, of as many whole numbers as fit. Units are those of the loss, times 2^Exponent.
//
// Any non-negative multipliers give a true bound; good ones give a good bound.
type Dual struct {
	CellsPerSensitivity int         `json:"cells_per_sensitivity"`
	Exponent            int         `json:"exponent"`
	Shifts              []dualShift `json:"shifts"`
}

// dualRow holds those of the nodes (X, First), (X, First+1), …; all others are 0.
type dualRow struct {
	X           int     `json:"x"`
	First       int     `json:"first"`
	Multipliers []int64 `json:"multipliers,string"`
}

// dualShift holds the multipliers of the shift by (X, Y) nodes, one of Norm.Cells.
type dualShift struct {
	X    int       `json:"x"`
	Y    int       `json:"y"`
	Rows []dualRow `json:"rows"`
}

// Add adds the multiplier of a shift at a node. The shifts, one of Norm.Cells each, and the nodes of each are added together,
// the nodes line by line and with ascending second coordinates.
func (d *Dual) Add(shift, node [2]int, multiplier int64) {
	last := len(d.Shifts) - 1
	if last < 0 || d.Shifts[last].X != shift[0] || d.Shifts[last].Y != shift[1] {
		d.Shifts = append(d.Shifts, dualShift{X: shift[0], Y: shift[1]})
		last++
	}
	s := &d.Shifts[last]
	if last = len(s.Rows) - 1; last < 0 || s.Rows[last].X != node[0] {
		s.Rows = append(s.Rows, dualRow{X: node[0], First: node[1]})
		last++
	}
	r := &s.Rows[last]
	for r.First+len(r.Multipliers) < node[1] {
		r.Multipliers = append(r.Multipliers, 0)
	}
	r.Multipliers = append(r.Multipliers, multiplier)
}

func (d *Dual) validate(p *Problem) error {
	if d == nil {
		return nil
	}
	r := formfile.InDual("plane")
	k := d.CellsPerSensitivity
	r.Want(k >= 1 && k <= limits.PlaneCells, "cells_per_sensitivity", k, "1 to %d", limits.PlaneCells)
	if p.Query == dp.IntegerQuery {
		r.Want(float64(k) <= p.Sensitivity, "cells_per_sensitivity", k, "at most the sensitivity of %g for whole numbers", p.Sensitivity)
	}
	r.Exponent(d.Exponent)
	allowed := make(map[[2]int]bool)
	if r.Err() == nil {
		p.Shifts(k, func(k, l, _ int) { allowed[[2]int{k, l}] = true })
	}
	for i := range d.Shifts {
		s := &d.Shifts[i]
		key := [2]int{s.X, s.Y}
		if !r.Want(allowed[key], "shifts", fmt.Sprintf("(%d, %d)", s.X, s.Y), "shifts within the sensitivity, with 0 <= y <= x (-x <= y <= x for the norm span) and each once") {
			return r.Err()
		}
		allowed[key] = false
		var all []int64
		for n, row := range s.Rows {
			r.Want(n == 0 || row.X > s.Rows[n-1].X, "rows", row.X, "rows in ascending order of x")
			r.Want(row.X >= -maxNode && row.X <= maxNode, "x", row.X, "nodes from %d to %d", -maxNode, maxNode)
			r.Want(row.First >= -maxNode && row.First+len(row.Multipliers)-1 <= maxNode, "first", row.First, "nodes from %d to %d", -maxNode, maxNode)
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

// each calls a function with the nodes that have a multiplier.
func (s *dualShift) each(do func(i, j int, y int64)) {
	for _, row := range s.Rows {
		for n, y := range row.Multipliers {
			if y > 0 {
				do(row.X, row.First+n, y)
			}
		}
	}
}

// LowerBound is what the Dual proves (docs/proofs/plane.md), for the Problem of the Spec, whose
// weights do not matter:
//
//	min over the nodes x = (i, j) of [ l_i + l_j + the mean over the images of x of
//	Σ_s ( y_{s,x} − e^ε·y_{s,x+s} ) ]  −  δ·Σ_s max_x y_{s,x}
//
// It is never below 0. A nil Dual proves 0. It does not count if the meter says stop; the nil Meter has no limit.
//
// The Spec must be one that New accepts, but for its weights.
func (s *Spec) LowerBound(m *proof.Meter) *big.Rat {
	d := s.Dual
	if d == nil {
		return new(big.Rat)
	}
	// extent is how far multipliers reach. No bracket beyond is less than all of these.
	extent, count := 0, int64(0)
	for i := range d.Shifts {
		d.Shifts[i].each(func(x, y int, _ int64) {
			dx, dy := x-d.Shifts[i].X, y-d.Shifts[i].Y
			extent = max(extent, x, -dx, y, -y, dy, -dy) // shifts have X > 0
			count++
		})
	}
	nodes := int64(s.Norm.size(extent))
	if !m.Spend(10*count + nodes*6*exact.RationalWork(2*exact.Bits(exact.Rational(s.Sensitivity))+2*exact.RatioBits+200)) {
		return new(big.Rat)
	}
	own, from := make([]big.Int, nodes), make([]big.Int, nodes)
	price := new(big.Int)
	for i := range d.Shifts {
		shift, most := &d.Shifts[i], int64(0)
		shift.each(func(x, y int, v int64) {
			b := big.NewInt(v)
			gain, lose := &own[s.Norm.Index(x, y)], &from[s.Norm.Index(x-shift.X, y-shift.Y)]
			gain.Add(gain, b)
			lose.Add(lose, b)
			most = max(most, v)
		})
		price.Add(price, big.NewInt(most))
	}
	unit := exact.PowerOfTwo(d.Exponent)
	up := new(big.Rat).SetFrac(exact.ExpUp(s.Epsilon, exact.RatioBits), new(big.Int).Lsh(big.NewInt(1), exact.RatioBits))
	values := s.Nodes(extent)
	var least *big.Rat
	for i, j := range s.Norm.Cells(extent) {
		n := s.Norm.Index(i, j)
		c := new(big.Rat).SetInt(&from[n])
		c.Sub(new(big.Rat).SetInt(&own[n]), c.Mul(c, up))
		c.Mul(c, unit).Quo(c, new(big.Rat).SetInt64(s.Norm.Images(i, j)))
		if c.Add(c, values[i]).Add(c, values[max(j, -j)]); least == nil || c.Cmp(least) < 0 {
			least = c
		}
	}
	cost := new(big.Rat).SetInt(price)
	least.Sub(least, cost.Mul(cost, unit).Mul(cost, exact.Rational(s.Delta)))
	if least.Sign() < 0 {
		return new(big.Rat)
	}
	return s.halved(least)
}

// Nodes returns the l_i of one coordinate for i from 0 to last, which do not decrease.
func (s *Spec) Nodes(last int) []*big.Rat {
	step := exact.Rational(s.Sensitivity)
	k := new(big.Rat).SetInt64(int64(s.Dual.CellsPerSensitivity))
	step.Quo(step, k)
	exactly := false // noise is on the nodes alone
	if s.Query == dp.IntegerQuery {
		stride := exact.Floor(step)
		step.SetInt(stride)
		exactly = stride.IsInt64() && stride.Int64() == 1
	}
	values := make([]*big.Rat, last+1)
	for i := range values {
		if exactly {
			values[i] = s.Loss.AtDown(new(big.Rat).SetInt64(int64(i)))
		} else {
			values[i] = s.Loss.LowerNode(int64(i), step)
		}
	}
	return values
}
