// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"context"
	"math"
	"slices"

	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/lp/solver"
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

// solve solves a layout, which resembles the one of the hint, if there is one. It takes the
// number of rows from which a solver's interior point method is tried first; 0: never.
func (l *layout) solve(ctx context.Context, o *meet.Options, g grid, h *hint, want engine.Want, rows int) (*program, solver.Status, error) {
	n := len(l.variable)
	p := &engine.Program{
		Problem: l.problem(), Complete: prefersComplete(len(l.cost), len(l.shifts), g), Start: l.start,
		Generation: cuts.Options{
			Batch: shiftBatch, Interior: rows, Settle: l.settle,
			Expect: func() (mass []float64, limits []int, slack float64) { return l.expected(g, h) },
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

// prefersComplete reports whether a program with all shifts is solved complete even where
// there is a solver: constraint generation is faster where iterations take many
// multiplications and shifts are few, and so rows sparse.
func prefersComplete(masses, shifts int, g grid) bool {
	const (
		maxProduct = 5e9
		fewShifts  = 1.0 / 40 // of the cells
	)
	return work(masses, shifts) < maxProduct || float64(g.k) > fewShifts*float64(g.n)
}

// expected returns the masses and the shifts that are expected to matter. Without a hint the
// expected shape is the scale of the variables, and the shifts by a whole sensitivity matter,
// or all if the density falls by much within one.
func (l *layout) expected(g grid, h *hint) (mass []float64, shifts []int, slack float64) {
	const steep = 7 // the e^ε from which most shifts bind
	mass = slices.Clone(l.scale)
	if h != nil {
		for j, v := range l.variable {
			mass[v] = max(h.at(g.center(j)/float64(g.k)), 1e-3*l.scale[v])
		}
	}
	for i, k := range l.shifts {
		if k == g.k || k == -g.k || (h != nil && h.expects(k, g)) || (h == nil && l.ratio > steep) {
			shifts = append(shifts, i)
		}
	}
	return mass, shifts, cuts.TermSlack
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

// hint is what a solved program teaches the next, finer one: which shifts mattered, and the shape
// of the optimal density, which tells the terms that will be positive.
type hint struct {
	grid    grid
	active  map[int]bool // shifts with a price
	density []float64    // mass per sensitivity, by cell
}

func (p *program) hint(g grid) *hint {
	h := &hint{grid: g, active: make(map[int]bool)}
	var top float64
	for i := range p.shifts {
		top = max(top, p.Price(i))
	}
	for i, k := range p.shifts {
		h.active[k] = p.Price(i) > 1e-9*top
	}
	for _, m := range p.masses() {
		h.density = append(h.density, m*float64(g.k))
	}
	return h
}

// at interpolates the density at x sensitivities.
func (h *hint) at(x float64) float64 {
	pos := x*float64(h.grid.k) - h.grid.center(0)
	i := int(math.Floor(pos))
	if i < 0 || i+1 >= len(h.density) {
		return 0
	}
	t := pos - float64(i)
	return (1-t)*h.density[i] + t*h.density[i+1]
}

// expects reports whether the shift of the hint's own grid nearest to k mattered.
func (h *hint) expects(k int, g grid) bool {
	return h.active[int(math.Round(float64(k)*float64(h.grid.k)/float64(g.k)))]
}
