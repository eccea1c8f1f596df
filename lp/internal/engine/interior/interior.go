// SPDX-License-Identifier: Apache-2.0

// Package interior solves the linear programs of package cuts complete, with all limits and all
// terms at once, by an interior point method (Mehrotra 1992, with the correctors of Gondzio 1996).
//
// A general method would factor one row for each term of a limit, some 10,000 to 100,000 of them.
// Here Newton's equations are reduced to one unknown for each mass, a few hundred, and factored
// densely: see newton.go. Nothing here is trusted: what it finds is certified as any other noise.
package interior

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
)

// ErrFailed marks a program on which the method made no progress: it may have no
// solution, or its numbers are too far apart.
var ErrFailed = errors.New("the interior point method gave up")

// Program is a cuts.Problem whose first row is the total of all variables,
// an equation with positive coefficients.
type Program struct {
	cuts.Problem
	Options
	tied
	full   cuts.Problem // before ties
	runs   [][]run      // of each limit
	terms  int          // of all limits
	place  [][]int32
	weight []float64 // of terms; nil: 1
	alone  [][]entry // of each limit: what counts as it is
	equal  []row     // the equations
	least  []row     // the demands for at least something
	state  *state
	rounds int
}

// Options say how to solve a Program. None of them but ties changes its optimum.
type Options struct {
	// Start holds masses to start from, above 0, up to a common factor. They are best
	// where they keep all limits with some slack.
	Start []float64
	// Skip, if not nil, selects terms of a limit that are never positive at an optimum.
	// They are left out; if masses break limits then, the program is solved again with
	// all terms. Multipliers prove a bound in any case.
	Skip func(limit, term int) bool
	// Root and Fall, if not nil, tie variables, but for those after them: v is to be Ratio^−Fall[v] times
	// Root[v], which is its own root. That may raise the optimum, and leaves out terms of tied masses.
	Root, Fall []int
	// Step, if not nil, is called with the multiplications of every iteration.
	Step func(work float64)
}

// entry is a coefficient of a variable.
type entry struct {
	index int
	value float64
}

// row is Σ entries·p = bound, or ≥ bound; it is one of the Rows, or its negative.
type row struct {
	entries []entry
	bound   float64
	of      int
	sign    float64
}

// New states a program.
func New(p cuts.Problem, o Options) *Program {
	out := &Program{Problem: p, Options: o}
	out.reduce()
	for i, r := range out.Rows {
		merged := merge(r)
		if r.Lower == r.Upper {
			if r.Lower == 0 && !slices.ContainsFunc(merged, func(e entry) bool { return e.value != 0 }) {
				continue // 0 = 0, of which Newton's equations would be singular
			}
			out.equal = append(out.equal, row{merged, r.Lower, i, 1})
			continue
		}
		if !math.IsInf(r.Lower, -1) {
			out.least = append(out.least, row{merged, r.Lower, i, 1})
		}
		if !math.IsInf(r.Upper, 1) {
			negative := slices.Clone(merged)
			for j := range negative {
				negative[j].value *= -1
			}
			out.least = append(out.least, row{negative, -r.Upper, i, -1})
		}
	}
	out.lay(o.Skip)
	return out
}

func merge(r cuts.Row) (out []entry) {
	index, value := r.Merged()
	for i, v := range index {
		out = append(out, entry{v, value[i]})
	}
	return out
}

// lay lays out the terms of all limits but those to skip or never positive.
func (p *Program) lay(skip func(limit, term int) bool) {
	n := len(p.Cost)
	p.terms, p.runs, p.alone, p.place = 0, make([][]run, len(p.Limits)), nil, make([][]int32, len(p.Limits))
	p.weight = nil
	for k, l := range p.Limits {
		alone := cuts.Row{Index: slices.Clone(p.Common), Value: slices.Repeat([]float64{1}, len(p.Common))}
		p.place[k] = make([]int32, len(l.Gain))
		if p.root != nil {
			p.alone = append(p.alone, merge(p.layTied(k, skip)))
			continue
		}
		for j, u := range l.Gain {
			v := l.Lose[j]
			p.place[k][j] = never
			switch {
			case v < 0:
				alone.Index, alone.Value = append(alone.Index, u), append(alone.Value, l.Factor(j))
			case u == v || skip != nil && skip(k, j):
			default:
				p.place[k][j] = int32(p.terms)
				p.append(k, term{u, v, l.Factor(j), p.Ratio}, n)
			}
		}
		p.alone = append(p.alone, merge(alone))
	}
}

// append appends a term to those of a limit.
func (p *Program) append(k int, t term, n int) {
	if t.weight != 1 || p.weight != nil {
		p.weight = append(p.weight, slices.Repeat([]float64{1}, p.terms-len(p.weight))...)
		p.weight = append(p.weight, t.weight)
	}
	p.runs[k] = extend(p.runs[k], p.terms, t, n)
	p.terms++
}

// Work returns about the multiplications of an iteration.
func (p *Program) Work() float64 {
	n := float64(len(p.Cost))
	const perTerm = 100 // in all passes
	return n*n*(float64(len(p.Limits))/2+n/6) + perTerm*float64(p.terms)
}

// Solve solves the program, up to a relative gap between what the masses cost and what the
// multipliers prove, and a relative excess of the masses over Delta in all limits; +Inf: only
// the multipliers matter. If the context ends first it returns StatusLimit; the
// multipliers prove something even then. Infeasible programs are recognized by
// multipliers that prove more than any masses cost. Other failures are ErrFailed.
func (p *Program) Solve(ctx context.Context, gap, excess float64) (solver.Status, error) {
	status, err := p.solve(ctx, gap, excess)
	if err == nil && status == solver.StatusOptimal && p.Skip != nil && p.broken(gap, excess) {
		p.lay(nil)
		status, err = p.solve(ctx, gap, excess)
	}
	return status, err
}

func (p *Program) solve(ctx context.Context, gap, excess float64) (solver.Status, error) {
	s := newState(p)
	p.state = s
	p.rounds++
	s.start()
	best, stalled := math.Inf(1), 0
	for range mostIterations {
		s.residuals()
		switch {
		case math.IsNaN(s.primal + s.dual):
			return solver.StatusFailed, ErrFailed
		case s.done(gap, excess):
			return solver.StatusOptimal, nil
		case s.dual > s.dearest*(1+1e-6):
			return solver.StatusInfeasible, nil
		case ctx.Err() != nil:
			return solver.StatusLimit, nil
		}
		if stalled++; s.miss() < 0.9*best {
			best, stalled = s.miss(), 0
		}
		if stalled > patience || !s.iterate(ctx) {
			break
		}
		if p.Step != nil {
			p.Step(p.Work())
		}
	}
	switch {
	case s.done(gap*slack, excess):
		return solver.StatusOptimal, nil
	case ctx.Err() != nil:
		return solver.StatusLimit, nil
	}
	return solver.StatusFailed, ErrFailed
}

const (
	mostIterations = 200
	patience       = 40 // iterations without progress; the first ones may only make it later
	// slack is by how much the gap may be missed where the method stalls.
	slack = 30
	// totalTolerance is the most that equations may miss, relative to their bound.
	totalTolerance = 1e-9
)

// broken reports whether the masses break limits, with all their terms, by more than is
// wanted, at the prices of the limits or relative to Delta.
func (p *Program) broken(gap, excess float64) bool {
	cost, masses := 0.0, p.Masses()
	for k := range p.Limits {
		sum := p.full.Divergence(k, masses)
		if sum > p.Delta*(1+excess) {
			return true
		}
		cost += p.Price(k) * max(sum-p.Delta, 0)
	}
	return cost > gap*math.Abs(p.Value())
}

// Masses returns those of the last iteration, by variable.
func (p *Program) Masses() []float64 { return p.expanded(p.state.p) }

// Value returns what they cost.
func (p *Program) Value() float64 { return p.state.primal }

// Rounds returns how many programs were solved.
func (p *Program) Rounds() int { return p.rounds }

// Dual returns the derivative of the optimum in the bound of one of the Rows.
func (p *Program) Dual(of int) float64 {
	var sum float64
	for i, r := range p.equal {
		if r.of == of {
			sum += p.state.lambda[i]
		}
	}
	for i, r := range p.least {
		if r.of == of {
			sum += r.sign * p.state.price[i]
		}
	}
	return sum
}

// Price returns by how much the optimum would fall per unit of Delta in a limit.
func (p *Program) Price(limit int) float64 { return p.state.eta[limit] }

// Multiplier returns by how much the optimum would fall per unit of slack in a term of a
// limit, from 0 to the limit's price.
func (p *Program) Multiplier(limit, j int) float64 {
	i := p.place[limit][j]
	switch {
	case p.Limits[limit].Lose[j] < 0 || i == always:
		return p.Price(limit)
	case i == never:
		return 0
	}
	return min(p.state.y[i], p.Price(limit))
}
