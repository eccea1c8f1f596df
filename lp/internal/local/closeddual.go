// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"math"
	"slices"

	"github.com/noisewright/noisewright/local"
)

// A design has a lower bound before any program is solved, from multipliers in closed form: those of
// telling two values apart. If an answer costs c ≤ c' at two values of the same weight, and either law
// may be e^ε times the other, the two costs are together at least 2(e^ε·c + c')/(1 + e^ε), for the answer
// where that is least. With delta > 0 the law of the value with the smaller cost gains up to the total,
// a price that delta takes off.

const (
	// begunCells are the cells of the mean of real values; values of two of them that are half of the
	// range apart are told apart.
	begunCells = 8
	// begunAnswers are the answers that multipliers in closed form are made of.
	begunAnswers = 129
	// begunPlaces is for how many values they are certified whatever the time: some 0.4 s.
	begunPlaces = 512
	// begunIntervals are between the nodes of the first lower program for real values.
	begunIntervals = 4
)

// beginBelow proves a lower bound by multipliers in closed form. Those of a density take as long to be certified as
// a small program does to be solved, and are for a search that ends without a bound. With delta > 0 multipliers of
// delta = 0 prove more, with prices that are products: in closed form, or, as these are weak for real values, of a
// program for few nodes, which is solved at once, and certified where a search ends without such a bound.
func (d *designer) beginBelow(ctx context.Context, last bool) error {
	switch {
	case d.best == nil:
		return nil
	case last && d.begun != nil && d.Gap() > d.Options.Gap && (d.dual == nil || !d.dual.Product):
		return d.proveBegun(ctx, d.begun)
	case d.Bound > 0 || last != (d.averaged() && d.Delta == 0):
		return nil
	}
	err := d.proveBegun(ctx, d.newPairs(d.begunAt(), d.begunAnswers()).closedDual())
	if d.Delta == 0 || err != nil {
		return err
	}
	pure := *d.model
	pure.Delta = 0
	if d.Values.Kind != local.Real {
		dual := pure.newPairs(1, pure.begunAnswers()).closedDual()
		pure.product(dual, d.Delta)
		return d.proveBegun(ctx, dual)
	}
	below, err := d.below(ctx, &pure, begunIntervals)
	d.rounds, d.shape.lower = pure.rounds, nil
	if err == nil { // otherwise the rounds that follow say why
		d.begun = pure.dual(ctx, below)
		pure.product(d.begun, d.Delta)
	}
	return nil
}

// begunAt is the number of cells of multipliers in closed form.
func (m *model) begunAt() int {
	if m.averaged() {
		return begunCells
	}
	return 1
}

// proveBegun certifies multipliers, those of few places whatever the time.
func (d *designer) proveBegun(ctx context.Context, dual *local.Dual) error {
	if len(dual.Totals) <= begunPlaces {
		ctx = context.WithoutCancel(ctx)
	}
	if err := d.prove(ctx, dual); ctx.Err() == nil {
		return err
	}
	return nil // no bound in time
}

// begunAnswers lists all answers, if they are few, or some across the range, its ends and the edges of cells.
func (m *model) begunAnswers() []float64 {
	if all := m.allAnswers(); all != nil {
		return all
	}
	return m.merged(evenly(begunCells+1, 1), evenly(begunAnswers, m.reach()))
}

// closedDual returns the multipliers.
func (p *pairProgram) closedDual() *local.Dual {
	n := len(p.nodes)
	d := &local.Dual{Totals: make([]float64, n)}
	if p.Loss != nil {
		d.Nodes = p.spread(p.nodes)
	}
	weights := make([]float64, n)
	costs := make([][]float64, n)
	for i := range n {
		costs[i] = make([]float64, len(p.answers))
		for j, y := range p.answers {
			weights[i], costs[i][j] = p.charge(i, y)
		}
		if p.Loss != nil {
			costs[i] = leastAround(costs[i])
		}
	}
	if p.Objective == local.Worst {
		weights = make([]float64, n)
		weights[0], weights[n-1] = 0.5, 0.5
		if p.Loss == nil {
			weights = slices.Repeat([]float64{1 / float64(n)}, n)
		}
		d.Weights = weights
	}
	if p.Delta > 0 {
		p.apart(d, weights, costs)
		return d
	}
	u := p.together(weights, costs)
	for i, w := range weights {
		d.Totals[i] = w * u
	}
	if p.averaged() { // densities, of which one that is the same everywhere will do
		d.Nodes = []float64{p.Values.Lower, p.Values.Upper}
		d.Totals = slices.Repeat([]float64{u / (2 * p.half)}, 2)
	}
	return d
}

// leastAround returns the least of each number and those beside it.
func leastAround(x []float64) []float64 {
	out := make([]float64, len(x))
	for j := range x {
		out[j] = slices.Min(x[max(j-1, 0):min(j+2, len(x))])
	}
	return out
}

// together returns the largest u, about, for which Σ w·φ(c − u) is at least 0 for all answers.
func (p *pairProgram) together(weights []float64, costs [][]float64) float64 {
	e, low, high := math.Exp(p.Epsilon), 0.0, 1.0
	enough := func(u float64) bool {
		for j := range p.answers {
			var sum float64
			for i, w := range weights {
				a := w * (costs[i][j] - u)
				if p.averaged() {
					a = w*costs[i][j] - u/float64(len(weights))
				}
				if a < 0 {
					a *= e
				}
				sum += a
			}
			if sum < 0 {
				return false
			}
		}
		return true
	}
	for range 50 {
		if u := (low + high) / 2; enough(u) {
			low = u
		} else {
			high = u
		}
	}
	return low * p.unit
}

// apart gives totals and prices to pairs of values that are half of them all apart.
func (p *pairProgram) apart(d *local.Dual, weights []float64, costs [][]float64) {
	n, e := len(p.nodes), math.Exp(p.Epsilon)
	if p.Loss != nil {
		d.Answers = p.valuesOf(p.answers)
	}
	if p.edges != nil {
		d.Nodes = p.spread(p.edges)
	}
	for i := range n / 2 {
		k := i + (n+1)/2
		if d.Weights != nil && p.Loss != nil { // of which the first and the last have weight
			if i > 0 {
				break
			}
			k = n - 1
		}
		u := math.Inf(1)
		for j := range p.answers {
			a, b := weights[i]*costs[i][j], weights[k]*costs[k][j]
			u = min(u, (e*min(a, b)+max(a, b))/(1+e))
		}
		if !(u > 0) {
			continue
		}
		d.Totals[i], d.Totals[k] = u*p.unit, u*p.unit
		for _, pair := range [][2]int{{i, k}, {k, i}} {
			z := make([]float64, len(p.answers))
			for j := range z {
				z[j] = max(0, u-weights[pair[0]]*costs[pair[0]][j]) * p.unit
			}
			d.Add(pair[0], pair[1], z)
		}
	}
}
