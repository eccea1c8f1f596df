// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"context"
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// layout describes a discretized design problem: cells in a row, the linear
// program's variables they share, and the shifts that are constrained.
//
// With masses p over the cells it stands for
//
//	minimize   Σ_j cost_j p_j  (+ 0·a)
//	subject to Σ_j p_j + a = 1,  p ≥ 0, a ≥ 0
//	           a + Σ_{j in events} (p_j − e^ε p_{j−k})₊ ≤ δ   for every shift k
//
// with p = 0 outside the cells and a the atom at 0, if there is one.
type layout struct {
	// variable maps each cell to its variable; cells that mirror each other share one.
	variable []int
	// cost per variable, of one cell's mass.
	cost []float64
	// scale per variable: the expected order of magnitude of its mass. start is a mass
	// that keeps most limits with some slack.
	scale, start []float64
	// eventLo, eventHi bound the cells [lo, hi) whose gain counts.
	eventLo, eventHi int
	// shifts in cells; with mirrored variables the positive ones suffice.
	shifts []int
	atom   bool
	// first is the number of the first cell on the program's grid.
	first int
	// tail: the outer tail cells on either side stand for those beyond too, whose masses fall by e^ε from
	// each to the one so many cells further out, and which cost as much; 0: they do not.
	tail int
	// outside, if not nil, returns what one unit of mass costs in the i-th cell, beyond the ends: multipliers
	// there follow from those inside.
	outside func(i int) float64
	// decreasing lists pairs (inner, outer) of variables: p_inner ≥ p_outer.
	decreasing [][2]int
	// moments are further linear constraints.
	moments []momentRow

	ratio float64 // e^ε
	delta float64
}

// momentRow demands lower ≤ Σ_j coefficient_j p_j + atom·a ≤ upper; coefficients
// are those of a moment divided by scale, per variable, of one cell's mass.
type momentRow struct {
	kind                      momentKind
	lower, upper, scale, atom float64
	coefficient               []float64
}

// problem states a layout in variables: the masses of one cell each, and that of the
// atom after them, which is of the order of δ. The rows are the total mass, the
// decreasing pairs and the moments.
func (l *layout) problem() cuts.Problem {
	p := cuts.Problem{Ratio: l.ratio, Delta: l.delta, Scale: slices.Clone(l.scale)}
	cells := l.cells()
	total := cuts.Row{Lower: 1, Upper: 1, Index: slices.Clone(l.variable)}
	p.Cost = make([]float64, len(l.cost))
	for i, v := range l.variable {
		total.Value = append(total.Value, l.weight(i))
		p.Cost[v] += l.cost[v] * l.weight(i)
	}
	if l.atom {
		p.Common = []int{len(p.Cost)}
		p.Cost = append(p.Cost, 0)
		p.Scale = append(p.Scale, l.delta)
		total.Index = append(total.Index, p.Common[0])
		total.Value = append(total.Value, 1)
	}
	p.Rows = []cuts.Row{total}
	for _, d := range l.decreasing {
		p.Rows = append(p.Rows, cuts.Row{Upper: math.Inf(1), Index: d[:], Value: []float64{1, -1}, Scale: l.scale[d[1]]})
	}
	for _, m := range l.moments {
		r := cuts.Row{Lower: m.lower, Upper: m.upper}
		for v, c := range m.coefficient {
			if c != 0 {
				r.Index = append(r.Index, v)
				r.Value = append(r.Value, c*float64(cells[v]))
			}
		}
		if l.atom && m.atom != 0 {
			r.Index = append(r.Index, p.Common[0])
			r.Value = append(r.Value, m.atom)
		}
		p.Rows = append(p.Rows, r)
	}
	p.Limits = l.limits()
	return p
}

func (l *layout) cells() []int {
	cells := make([]int, len(l.cost))
	for _, v := range l.variable {
		cells[v]++
	}
	return cells
}

// weight is the mass that one of the i-th cell stands for.
func (l *layout) weight(i int) float64 {
	if min(i, len(l.variable)-1-i) < l.tail {
		return l.ratio / (l.ratio - 1)
	}
	return 1
}

// limits lists the terms of each shift k, from the cell eventLo on: cell j gains on
// cell j−k, or on nothing if there is no such cell.
func (l *layout) limits() []cuts.Limit {
	reach := 0
	for _, k := range l.shifts {
		reach = max(reach, k, -k)
	}
	none := slices.Repeat([]int{-1}, reach)
	padded := slices.Concat(none, l.variable, none)
	limits := make([]cuts.Limit, len(l.shifts))
	for i, k := range l.shifts {
		from, to := reach+l.eventLo, reach+l.eventHi
		limits[i] = cuts.Limit{Place: k, Gain: padded[from:to], Lose: padded[from-k : to-k]}
	}
	return limits
}

type program struct {
	layout
	*engine.Solution
}

// Tuning of the constraint generation; any values give correct results: at most 1/8
// of the shifts a round, and at least 2, that are not close neighbors of one another.
var shiftBatch = cuts.Batch{Least: 2, Share: 8, Worst: 0.2, Spread: true}

// solve solves a layout on a grid.
func (l *layout) solve(ctx context.Context, o *meet.Options, g grid, want engine.Want) (*program, solver.Status, error) {
	n := len(l.variable)
	p := &engine.Program{
		Problem: l.problem(), Complete: true, Start: l.start,
		Generation: cuts.Options{
			Batch: shiftBatch, Settle: l.settle,
			Expect: func() (mass []float64, limits []int, slack float64) { return l.expected(g.k) },
		},
	}
	if l.atom {
		p.Start = append(slices.Clone(l.start), l.delta)
	}
	// From some e^ε on a cell of symmetric noise hardly ever gains on one no further from 0.
	const fewTerms = 20
	if l.ratio >= fewTerms && l.variable[0] == l.variable[n-1] {
		distance := func(i int) int { return max(2*i+1-n, n-1-2*i) } // from 0, in half cells
		p.Skip = func(limit, term int) bool {
			i := l.eventLo + term
			return distance(i-l.shifts[limit]) <= distance(i)
		}
	}
	solution, status, err := engine.Solve(ctx, o, p, want)
	if solution == nil {
		return nil, status, err
	}
	return &program{*l, solution}, status, err
}

// expected returns the masses and the shifts that are expected to matter: the scale of the variables, and the shifts by a
// whole sensitivity, or all if the density falls by much within one.
func (l *layout) expected(k int) (mass []float64, shifts []int, slack float64) {
	const steep = 7 // the e^ε from which most shifts bind
	for i, shift := range l.shifts {
		if shift == k || shift == -k || l.ratio > steep {
			shifts = append(shifts, i)
		}
	}
	return slices.Clone(l.scale), shifts, cuts.TermSlack
}

// settle makes those terms that the optimum leaves tied, p_j = e^ε p_{j−k}, exactly so, from the
// inside outwards, by raising the outer mass. It reports whether the masses sum to about 1: HiGHS
// sometimes calls an infeasible program optimal after a change of scaling.
//
// The solver keeps such a row to its absolute tolerance, which near the middle can be more than all
// of δ. The raise is a relative one of at most tieWidth, and only lowers the divergences in which
// the raised cell is the divisor; those in which it gains are settled in their turn.
func (l *layout) settle(mass []float64) bool {
	const tieWidth = 1e-6 // the relative distance from a tie within which one is meant
	n := len(l.variable)
	for _, j := range slices.Backward(l.fromOutside()) {
		for _, k := range l.shifts {
			if j-k < 0 || j-k >= n {
				continue
			}
			outer := &mass[l.variable[j-k]]
			want := mass[l.variable[j]] / l.ratio
			if *outer < want && *outer > want*(1-tieWidth) {
				*outer = want * (1 + 0x1p-50)
			}
		}
	}
	const tolerance = 1e-3 // what the ties may have raised
	total := l.atomOf(mass)
	for i, v := range l.variable {
		total += mass[v] * l.weight(i)
	}
	return math.Abs(total-1) < tolerance
}

// fromOutside lists the cells from both ends inwards to the heaviest expected.
func (l *layout) fromOutside() []int {
	n, peak := len(l.variable), 0
	for i, v := range l.variable {
		if l.scale[v] > l.scale[l.variable[peak]] {
			peak = i
		}
	}
	order := make([]int, 0, n)
	for i, j := 0, n-1; i <= j; {
		if peak-i >= j-peak {
			order = append(order, i)
			i++
		} else {
			order = append(order, j)
			j--
		}
	}
	return order
}

func (p *program) masses() []float64 {
	of := p.Masses()
	m := make([]float64, len(p.variable))
	for j, v := range p.variable {
		m[j] = of[v]
	}
	return m
}

// atomOf returns the mass of the atom of those of all variables.
func (l *layout) atomOf(mass []float64) float64 {
	if !l.atom {
		return 0
	}
	return mass[len(l.cost)]
}

// descent returns the multiplier of the i-th demand that masses decrease, in the
// program's cost units.
func (p *program) descent(i int) float64 { return max(0, p.Dual(1+i)) }

// momentPrice returns by how much the optimum grows per unit of the i-th
// moment's limit, of either sign; at most 0 for an upper limit.
func (p *program) momentPrice(i int) float64 {
	m := &p.moments[i]
	price := p.Dual(1+len(p.decreasing)+i) / m.scale
	if math.IsInf(m.lower, -1) {
		price = min(price, 0)
	}
	return price
}
