// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// With delta > 0 the randomizers of the upper program are not all there are: their laws
// have a common least measure. The lower program is about all: it limits the hockey-stick
// divergence of every ordered pair of laws, for few nodes, as there are many pairs.

const (
	// pairNodes is how many nodes (cells, for the mean of real values) the lower program has at
	// most, and pairAnswers how many answers from one end to the other for each time the reach.
	pairNodes   = 12
	pairAnswers = 40
	// pairReach is how far the answers go, in reaches. Unbiased ones that are far out with
	// a probability of delta make a smaller loss, so prices are needed there.
	pairReach         = 2
	pairReachUnbiased = 4
)

// pairProgram is that program. In a mirrored problem the probability of answer j to node
// i and that of their images are one variable.
type pairProgram struct {
	*model
	nodes    []float64 // of mean values, where they stand for cells
	edges    []float64 // of cells
	answers  []float64
	variable [][]int
	limits   [][2]int
	engine.Laws
	*engine.Solution
}

// belowPairs solves the lower program of pairs and keeps what it proves.
func (d *designer) belowPairs(ctx, whole context.Context, intervals int) (err error) {
	p := d.newPairs(min(intervals, pairNodes), d.pairsAt())
	if len(p.nodes) > 2*pairNodes {
		return nil // too many pairs; nothing is proved
	}
	stall := meet.StallShare * min(d.Aim(), meet.LargestMargin)
	// The first few rounds may raise the optimum by nothing, so none is taken for the last.
	want := engine.Want{Gap: stall, Excess: meet.LowerTolerance}
	var status solver.Status
	if p.Solution, status, err = engine.Solve(ctx, &d.Options, p.program(d.Best/d.unit), want); err != nil {
		return err
	}
	d.rounds += p.Rounds()
	switch {
	case status == solver.StatusFailed, status == solver.StatusInfeasible:
		return nil
	case p.Rounds() == 0:
		return meet.ErrLimit
	}
	return d.prove(whole, p.dual())
}

// pairsAt lists the answers of the lower program: evenly spaced, as prices are linear
// between them, and far enough that the losses rule beyond.
func (m *model) pairsAt() []float64 {
	if all := m.allAnswers(); all != nil {
		return all
	}
	reaches := pairReach
	if m.Demands.Unbiased {
		reaches = pairReachUnbiased
	}
	return m.merged(nil, evenly(reaches*pairAnswers+1, float64(reaches)*m.reach()))
}

func (m *model) newPairs(intervals int, answers []float64) *pairProgram {
	p := &pairProgram{model: m, answers: answers}
	p.nodes = m.nodes(intervals)
	if m.averaged() {
		p.edges = p.nodes
		p.nodes = nil
		for i := range len(p.edges) - 1 {
			_, x := m.cell(p.edges[i], p.edges[i+1])
			p.nodes = append(p.nodes, x)
		}
	}
	return p
}

// cell returns the weight of an interval and the mean of its values.
func (m *model) cell(a, b float64) (weight, mean float64) {
	var first float64
	for _, w := range m.density {
		if from, to := max(a, w.from), min(b, w.to); from < to {
			weight += w.density * (to - from)
			first += w.density * (to*to - from*from) / 2
		}
	}
	if weight == 0 {
		return 0, (a + b) / 2
	}
	return weight, first / weight
}

func (p *pairProgram) charge(i int, y float64) (weight, cost float64) {
	if p.edges == nil {
		return p.shareOf(i), p.cost(y, []at{{p.nodes[i], 1}})
	}
	a, b := p.edges[i], p.edges[i+1]
	weight, mean := p.cell(a, b)
	if p.Demands.Unbiased && p.Loss.Name() == "l2" {
		return weight, p.cost(y, []at{{mean, 1}})
	}
	return weight, min(p.cost(y, []at{{min(max(y, a), b), 1}}), p.cost(y, []at{{a, 1}}), p.cost(y, []at{{b, 1}}))
}

func (p *pairProgram) shareOf(i int) float64 {
	if p.Objective == local.Worst {
		return 1
	}
	return p.share(i)
}

// program is problem as the engine takes it. The worst loss is known to be at most so much.
func (p *pairProgram) program(most float64) *engine.Program {
	out := engine.OfLaws(p.problem())
	out.Total = slices.Repeat([]float64{1}, p.Own())
	if p.Objective == local.Worst {
		out.Most = most
	}
	return out
}

// problem states the program. The rows are totals, means, and losses.
func (p *pairProgram) problem() cuts.Problem {
	n, m := len(p.nodes), len(p.answers)
	out := cuts.Problem{Ratio: math.Exp(p.Epsilon), Delta: p.Delta}
	p.Laws = engine.Laws{Inputs: n, Answers: m, Mirrored: p.mirrored}
	p.variable = p.Variables()
	out.Cost, out.Scale = make([]float64, p.Count()), slices.Repeat([]float64{1 / float64(m)}, p.Count())
	for i, row := range p.variable {
		for j, v := range row {
			if weight, cost := p.charge(i, p.answers[j]); p.Objective != local.Worst {
				out.Cost[v] += weight * cost
			}
		}
	}
	top := len(out.Cost) // T
	if p.Objective == local.Worst {
		out.Cost, out.Scale = append(out.Cost, 1), append(out.Scale, 0.1)
	}
	row := func(i int, lower, upper float64, value func(y float64) float64) cuts.Row {
		r := cuts.Row{Lower: lower, Upper: upper}
		for j, y := range p.answers {
			r.Index, r.Value = append(r.Index, p.variable[i][j]), append(r.Value, value(y))
		}
		return r
	}
	for i := range p.Own() {
		out.Rows = append(out.Rows, row(i, 1, 1, func(float64) float64 { return 1 }))
	}
	if p.Demands.Unbiased {
		for i := range p.Own() {
			x := p.nodes[i] / p.reach()
			out.Rows = append(out.Rows, row(i, x, x, func(y float64) float64 { return y / p.reach() }))
		}
	}
	for i := range p.Own() {
		r := row(i, math.Inf(-1), 0, func(y float64) float64 { _, c := p.charge(i, y); return c })
		if p.Objective == local.Worst {
			r.Index, r.Value = append(r.Index, top), append(r.Value, -1)
		} else if r.Upper = p.Demands.Cap / p.unit; r.Upper == 0 {
			break
		}
		out.Rows = append(out.Rows, r)
	}
	for i := range n {
		for k := range n {
			if i == k || p.mirrored && (n-1-i < i || n-1-i == i && n-1-k < k) {
				continue
			}
			p.limits = append(p.limits, [2]int{i, k})
			out.Limits = append(out.Limits, cuts.Limit{Gain: p.variable[i], Lose: p.variable[k]})
		}
	}
	return out
}

func (p *pairProgram) dual() *local.Dual {
	n, reps := len(p.nodes), p.Own()
	d := &local.Dual{Totals: make([]float64, n)}
	if p.Loss != nil {
		d.Answers, d.Nodes = p.valuesOf(p.answers), p.spread(p.nodes)
	}
	if p.edges != nil {
		d.Nodes = p.spread(p.edges)
	}
	first := reps
	if p.Demands.Unbiased {
		d.Means, first = make([]float64, n), 2*reps
	}
	losses := make([]float64, n)
	for i := range n {
		rep, share, sign := p.image(i, n)
		d.Totals[i] = p.Dual(rep) * share
		if d.Means != nil {
			d.Means[i] = sign * p.Dual(reps+rep) * share / (p.half * p.reach())
			d.Totals[i] -= d.Means[i] * p.mid
		}
		if p.Objective == local.Worst || p.Demands.Cap > 0 {
			losses[i] = max(0, -p.Dual(first+rep)) * share / p.unit
		}
	}
	switch {
	case p.Objective == local.Worst:
		d.Weights = losses
	case p.Demands.Cap > 0:
		d.Caps = losses
	}
	p.pairs(d)
	return d
}

func (p *pairProgram) pairs(d *local.Dual) {
	n, m := len(p.nodes), len(p.answers)
	for l, pair := range p.limits {
		z := make([]float64, m)
		for j := range z {
			z[j] = p.Multiplier(l, j) * p.unit * p.Share()
		}
		if !slices.ContainsFunc(z, func(y float64) bool { return y > 0 }) {
			continue
		}
		d.Add(pair[0], pair[1], z)
		if p.mirrored {
			image := slices.Clone(z)
			slices.Reverse(image)
			d.Add(n-1-pair[0], n-1-pair[1], image)
		}
	}
}
