// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"cmp"
	"context"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

func ratOf(n int) *big.Rat { return new(big.Rat).SetInt64(int64(n)) }

// layout describes a discretized design problem with one law P_C over the bins
// -half … half for each cell C:
//
//	minimize   Σ_C weight_C·Σ_j cost[j]·P_C(j)
//	subject to Σ_j P_C(j) = 1,  P ≥ 0
//	           Σ_j (P_C(j) − ratio·P_D(j+k))₊ ≤ δ    for every limit (C, D, k)
//	           Σ_j capped[j]·P_C(j) ≤ 1              for every cell, if there is a cap
//
// In a lower program the outer bins stand for all beyond, too, so that a shift compares
// all bins from somewhere on together: variables of their own, at j = ±(half+i), are the
// mass of the outer bin and the next i.
type layout struct {
	weight       []float64
	cost, capped []float64 // of bin j at j+half
	half         int
	sums         int // of outer bins, on either side; 0: there is no noise beyond them
	limits       []cells.Pair
	// mirrored: P_C(j) and P_{n−1−C}(−j) share a variable; of limits that are mirror
	// images of each other one stands for both.
	mirrored            bool
	ratio, delta, decay float64 // decay is ε per bin, to scale by
}

// program is a layout, and what is known once it was solved.
type program struct {
	layout
	engine.Laws
	rows [][]int // the variables of each cell, from bin -half-sums on
	*engine.Solution
}

// solve solves a layout with k bins per sensitivity. The hint are the laws of another one.
func (l *layout) solve(ctx context.Context, o *meet.Options, k int, hint binLaws, want engine.Want) (*program, solver.Status, error) {
	p := &program{layout: *l, Laws: engine.Laws{Inputs: len(l.weight), Answers: 2*(l.half+l.sums) + 1, Mirrored: l.mirrored}}
	p.rows = p.Variables()
	if l.mirrored {
		p.limits = p.folded()
	}
	of := engine.OfLaws(p.problem())
	const startRate = 0.7 // how slowly masses to start from fall, in units of ε: with some slack
	of.Total = p.total()
	of.Start = p.masses(func(_, j int) float64 {
		return max(math.Exp(-startRate*p.decay*math.Abs(float64(j))), p.delta/1000)
	})
	of.Generation.Expect = func() (mass []float64, limits []int, slack float64) {
		for i := range p.limits {
			limits = append(limits, i)
		}
		return p.masses(func(cell, j int) float64 {
			if len(hint.laws) == len(p.weight) {
				return hint.mass(cell, j, k) + engine.HintFloor
			}
			return math.Exp(-p.decay * math.Abs(float64(j))) // of noise like that of Laplace
		}), limits, engine.HintSlack
	}
	var status solver.Status
	var err error
	p.Solution, status, err = engine.Solve(ctx, o, of, want)
	return p, status, err
}

// folded returns one limit for each and its mirror image. Edges that are mirror images up to
// rounding may have a limit without its own: a lower program, whose multipliers stand for
// both, leaves it out.
func (p *program) folded() []cells.Pair {
	given := make(map[cells.Pair]bool, len(p.limits))
	for _, a := range p.limits {
		given[a] = true
	}
	return slices.DeleteFunc(slices.Clone(p.limits), func(a cells.Pair) bool {
		image := p.mirror(a)
		return given[image] && later(a, image) || !given[image] && p.sums > 0
	})
}

func (p *program) mirror(a cells.Pair) cells.Pair {
	n := len(p.weight)
	return cells.Pair{Gain: n - 1 - a.Gain, Lose: n - 1 - a.Lose, Shift: -a.Shift}
}

func later(a, b cells.Pair) bool {
	return cmp.Or(cmp.Compare(a.Gain, b.Gain), cmp.Compare(a.Lose, b.Lose), cmp.Compare(a.Shift, b.Shift)) > 0
}

// variable returns the variable of bin j of a cell, or of a sum of bins.
func (p *program) variable(cell, j int) int { return p.rows[cell][j+p.half+p.sums] }

// problem states the layout in variables. The rows are the total masses of the cells, after
// them their caps, and what the sums of outer bins are.
func (p *program) problem() cuts.Problem {
	out := cuts.Problem{Ratio: p.ratio, Delta: p.delta}
	out.Cost, out.Scale = make([]float64, p.Count()), make([]float64, p.Count())
	var caps, sums []cuts.Row
	for cell, w := range p.weight {
		total := cuts.Row{Lower: 1, Upper: 1}
		limit := cuts.Row{Lower: math.Inf(-1), Upper: 1}
		for j := -p.half; j <= p.half; j++ {
			v := p.variable(cell, j)
			out.Cost[v] += w * p.cost[j+p.half]
			out.Scale[v] = p.scale(j)
			total.Index, total.Value = append(total.Index, v), append(total.Value, 1)
			if p.capped != nil {
				limit.Index, limit.Value = append(limit.Index, v), append(limit.Value, p.capped[j+p.half])
			}
		}
		if cell < p.Own() {
			out.Rows, caps = append(out.Rows, total), append(caps, limit)
			sums = append(sums, p.sumRows(cell, out.Scale)...)
		}
	}
	if p.capped != nil {
		out.Rows = append(out.Rows, caps...)
	}
	out.Rows = append(out.Rows, sums...)
	for _, a := range p.limits {
		out.Limits = append(out.Limits, p.limit(a))
	}
	return out
}

// total are weights of the rows with which they sum up to an equation with a positive
// coefficient of every variable: the totals, and of the rows that say what sums are, which are
// positive in the sum alone, ever less outwards.
func (p *program) total() []float64 {
	weights := slices.Repeat([]float64{1}, p.Own())
	if p.capped != nil {
		weights = append(weights, make([]float64, p.Own())...)
	}
	for cell := range p.Own() {
		for range p.sides(cell) {
			for i := range p.sums {
				weights = append(weights, 0.5*(1-float64(i)/float64(p.sums)))
			}
		}
	}
	return weights
}

func (p *program) sides(cell int) []int {
	if p.mirrored && 2*cell == len(p.weight)-1 {
		return []int{-1} // the other side is its mirror image
	}
	return []int{-1, 1}
}

func (p *program) scale(j int) float64 {
	return max(math.Exp(-p.decay*math.Abs(float64(j))), p.delta/10)
}

// sumRows says that the i-th sum is the one before it and the i-th bin inwards from the
// outer one, on either side.
func (p *program) sumRows(cell int, scale []float64) []cuts.Row {
	var rows []cuts.Row
	for _, side := range p.sides(cell) {
		for i := 1; i <= p.sums; i++ {
			at := p.variable(cell, side*(p.half+i))
			scale[at] = p.scale(p.half - i)
			rows = append(rows, cuts.Row{
				Index: []int{at, p.variable(cell, side*(p.half+i-1)), p.variable(cell, side*(p.half-i))},
				Value: []float64{1, -1, -1}, Scale: scale[at],
			})
		}
	}
	return rows
}

// inner returns the first and the last bin of a lower program that a shift compares by
// itself: those beyond, or their partners, are among the outer bins.
func (p *program) inner(shift int) (first, last int) {
	return 1 - p.half - min(shift, 0), p.half - 1 - max(shift, 0)
}

// limit states a limit in variables. Its terms are those of all bins, or, with sums, of all
// bins before the inner ones, of those, and of all after.
func (p *program) limit(a cells.Pair) cuts.Limit {
	var l cuts.Limit
	term := func(gain, lose int) {
		l.Gain = append(l.Gain, p.variable(a.Gain, gain))
		if lose < -p.half-p.sums || lose > p.half+p.sums {
			l.Lose = append(l.Lose, -1)
		} else {
			l.Lose = append(l.Lose, p.variable(a.Lose, lose))
		}
	}
	shift := int(a.Shift)
	if p.sums == 0 {
		for j := -p.half; j <= p.half; j++ {
			term(j, j+shift)
		}
		return l
	}
	up, down := max(shift, 0), max(-shift, 0)
	term(-p.half-down, -p.half-up)
	first, last := p.inner(shift)
	for j := first; j <= last; j++ {
		term(j, j+shift)
	}
	term(p.half+up, p.half+down)
	return l
}

// binLaws are laws of cells on bins around 0, so many per sensitivity.
type binLaws struct {
	k    int
	laws [][]float64
}

// mass is about that of bin j, of k per sensitivity, in a cell.
func (b binLaws) mass(cell, j, k int) float64 {
	law := b.laws[cell]
	half := len(law) / 2
	share := float64(b.k) / float64(k)
	at := float64(j) * share
	low := math.Floor(at)
	own := func(i int) float64 {
		if i < -half || i > half {
			return 0
		}
		return law[i+half]
	}
	t := at - low
	return ((1-t)*own(int(low)) + t*own(int(low)+1)) * share
}

// masses returns those of all variables, given those of the bins.
func (p *program) masses(of func(cell, j int) float64) []float64 {
	mass := make([]float64, p.Count())
	for cell := range p.weight {
		for j := -p.half; j <= p.half; j++ {
			mass[p.variable(cell, j)] = of(cell, j)
		}
		for i := 1; i <= p.sums; i++ {
			for _, side := range []int{-1, 1} {
				mass[p.variable(cell, side*(p.half+i))] = mass[p.variable(cell, side*(p.half+i-1))] + mass[p.variable(cell, side*(p.half-i))]
			}
		}
	}
	return mass
}

func (p *program) laws() [][]float64 {
	laws := p.Of(p.Masses())
	for cell, law := range laws {
		laws[cell] = law[p.sums : len(law)-p.sums]
	}
	return laws
}

// dual reads the multipliers of a lower program, in units of the loss (unit is what the
// costs were divided by, and instanceCap what those of the cap were). Whatever the
// solver's errors, the result proves a true bound.
func (p *program) dual(nodes int, unit, instanceCap float64) *cells.Dual {
	d := &cells.Dual{NodesPerSensitivity: nodes}
	var some bool
	if d.Exponent, d.Caps, some = p.Caps(p.Solution, len(p.limits), unit, instanceCap); !some {
		return d
	}
	scale := math.Ldexp(unit*p.Share(), -d.Exponent)
	for i, a := range p.limits {
		first, last := p.inner(int(a.Shift))
		y := make([]int64, last-first+3)
		for j := range y {
			y[j] = int64(p.Multiplier(i, j) * scale)
		}
		addShift(d, a, y, first)
		if p.mirrored {
			slices.Reverse(y)
			addShift(d, p.mirror(a), y, -last)
		}
	}
	return d
}

// addShift adds the multipliers of a limit, if there are any: that of all nodes before
// first, those from it on, and that of all nodes after.
func addShift(d *cells.Dual, a cells.Pair, y []int64, first int) {
	n := len(y) - 1
	below, multipliers, above := y[0], slices.Clone(y[1:n]), y[n]
	for below == 0 && len(multipliers) > 0 && multipliers[0] == 0 {
		multipliers, first = multipliers[1:], first+1
	}
	if above == 0 {
		multipliers = meet.Trimmed(multipliers)
	}
	if below != 0 || above != 0 || len(multipliers) > 0 {
		d.Add(a, first, below, multipliers, above)
	}
}

// upperLayout lays out the program whose solutions are kernels on the bins.
func upperLayout(p Problem, g cells.Grid, k, half int, epsilon, delta, unit, limit float64) layout {
	l := baseLayout(p, k, half, epsilon, delta)
	l.limits = (&cells.Spec{Edges: p.Edges, Privacy: p.Privacy}).Shifts(k, true)
	step, _ := g.Step().Float64()
	width := float64(g.PointsPerBin) * step
	l.charge(p, unit, limit, func(of loss.Loss, j int) float64 { return of.CellMean(float64(j)*width, width) })
	return l
}

// lowerLayout lays out the program of which all private noise is a solution.
func lowerLayout(p Problem, k, half int, unit float64) layout {
	l := baseLayout(p, k, half, p.Epsilon, p.Delta)
	l.sums = k
	l.limits = (&cells.Spec{Edges: p.Edges, Privacy: p.Privacy}).Shifts(k, false)
	step := ratOf(k)
	step.Quo(new(big.Rat).SetFloat64(p.Sensitivity), step)
	l.charge(p, unit, p.InstanceCap, func(of loss.Loss, j int) float64 {
		c, _ := of.LowerNode(int64(j), step).Float64()
		return c
	})
	return l
}

// charge sets what bins cost, divided by unit, and, if there is a cap, what it charges, divided
// by limit.
func (l *layout) charge(p Problem, unit, limit float64, at func(of loss.Loss, j int) float64) {
	for j := -l.half; j <= l.half; j++ {
		l.cost = append(l.cost, at(p.Loss, j)/unit)
		if p.InstanceCap > 0 {
			l.capped = append(l.capped, at(p.capped(), j)/limit)
		}
	}
}

func baseLayout(p Problem, k, half int, epsilon, delta float64) layout {
	l := layout{
		half: half, mirrored: p.symmetric(), ratio: math.Exp(epsilon), delta: delta,
		decay: p.Epsilon / float64(k), weight: slices.Clone(p.weight()),
	}
	sum := meet.Total(l.weight)
	for i := range l.weight {
		l.weight[i] /= sum
	}
	return l
}
