// SPDX-License-Identifier: Apache-2.0

// Package cuts solves linear programs with many hockey-stick limits by constraint
// generation. It is stated a problem in masses and limits, and keeps to itself what
// the solver sees of it: columns, rows, scales.
//
// One reformulation is one file, with the way to the solver and the ways back, of
// the solution and of the duals, side by side: hockeystick.go.
package cuts

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/solver"
)

// Problem asks for masses p ≥ 0, one of each variable:
//
//	minimize   Σ_v Cost_v·p_v
//	subject to the Rows and, for every limit,
//	           Σ_{v in Common} p_v + Σ_j Weight_j·(p_gain(j) − Ratio·p_lose(j))₊ ≤ Delta.
type Problem struct {
	Cost []float64 // of each variable
	// Scale is the expected order of magnitude of each variable's mass, above 0.
	// With δ = 1e-9 masses span ten orders of magnitude, and the solver's
	// tolerances are absolute: what it sees are masses divided by their scale.
	Scale  []float64
	Rows   []Row
	Limits []Limit
	Common []int // variables that count in every limit
	Ratio  float64
	Delta  float64
}

// Row is the constraint Lower ≤ Σ_i Value_i·p_{Index_i} ≤ Upper.
type Row struct {
	Lower, Upper float64
	Index        []int
	Value        []float64
	// Scale is what the solver sees the row divided by; 0 means 1.
	Scale float64
}

// Limit is a limit on a hockey-stick divergence. Its j-th term compares the
// variables Gain[j] and Lose[j]; one that loses nothing has Lose[j] < 0.
type Limit struct {
	Gain, Lose []int
	// Weight, if not nil, has a factor above 0 for each term. Only the interior point method takes them.
	Weight []float64
	// Place tells which limits resemble one another, see Batch.
	Place int
}

// Factor returns the weight of a term.
func (l *Limit) Factor(term int) float64 {
	if l.Weight == nil {
		return 1
	}
	return l.Weight[term]
}

// Options say how to solve a Problem. None of them changes its optimum.
type Options struct {
	NewSolver solver.Factory
	// Interior is the number of rows from which a relaxation is given to the interior point method
	// first, without crossover to a corner of the optimal face; 0: never.
	Interior int
	Batch    Batch
	// Settle, if not nil, is shown the masses of every relaxation and may change
	// them. If it returns false they solve nothing, whatever the solver says, and
	// the problem counts as infeasible.
	Settle func(mass []float64) bool
	// Broken, if not nil, returns further rows that masses break.
	Broken func(mass []float64) []Row
	// Expect, if not nil, returns what the first relaxation has; see Program.Expect.
	Expect func() (mass []float64, limits []int, slack float64)
}

// Batch says which of the violated limits to lift in a round: the worst ones, up to
// one of Share of all and at least Least, of those violated at least as much as the
// Worst share of the worst of them.
type Batch struct {
	Least, Share int
	Worst        float64
	// Spread leaves out limits whose place is close to that of a worse one.
	Spread bool
}

// Program is a relaxation of a Problem that grows until nothing of importance is
// violated. Leaving limits and terms out only relaxes it: duals are valid at any
// time, masses when no violation is left.
type Program struct {
	Problem
	options Options
	solver  solver.Solver

	rows, columns int
	lifted        []lifted  // by limit
	mass          []float64 // of the last relaxation, by variable
	duals         []float64 // of its rows
	value         float64
	rounds        int
}

// New passes the variables and the Rows to a new solver; no limit is lifted yet.
func New(problem Problem, options Options) (*Program, error) {
	if slices.ContainsFunc(problem.Limits, func(l Limit) bool { return l.Weight != nil }) {
		return nil, check.Errorf("cuts", nil, "terms have weights, which are for the interior point method")
	}
	s, err := options.NewSolver()
	if err != nil {
		return nil, err
	}
	p := &Program{
		Problem: problem, options: options, solver: s,
		lifted: make([]lifted, len(problem.Limits)), mass: make([]float64, len(problem.Cost)),
	}
	var cost []float64
	var masses solver.Vectors
	for v, c := range p.Cost {
		cost = append(cost, c*p.Scale[v])
		masses.Add(0, math.Inf(1))
	}
	if err = p.addColumns(cost, masses); err == nil {
		err = p.add(p.Rows...)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return p, nil
}

// Close frees the solver.
func (p *Program) Close() error { return p.solver.Close() }

func (p *Program) addColumns(cost []float64, columns solver.Vectors) error {
	p.columns += len(cost)
	return p.solver.AddColumns(cost, columns)
}

func (p *Program) add(all ...Row) error {
	var batch solver.Vectors
	for _, r := range all {
		scale := cmp.Or(r.Scale, 1)
		batch.Add(r.Lower/scale, r.Upper/scale)
		index, value := r.Merged()
		for i, v := range index {
			batch.Entry(v, value[i]*(p.Scale[v]/scale))
		}
	}
	p.rows += len(batch.Lower)
	return p.solver.AddRows(batch)
}

// Merged returns a row's entries, one of those with the same index.
func (r Row) Merged() (index []int, value []float64) {
	place := make(map[int]int, len(r.Index))
	for i, v := range r.Index {
		at, ok := place[v]
		if !ok {
			place[v] = len(index)
			index, value = append(index, v), append(value, r.Value[i])
			continue
		}
		value[at] += r.Value[i]
	}
	return index, value
}

// Expect lifts the listed limits, with the terms that the expected masses make positive or nearly
// so: see lift for slack. Without it the first relaxation has no limits.
func (p *Program) Expect(mass []float64, limits []int, slack float64) error {
	copy(p.mass, mass)
	for _, i := range limits {
		if _, err := p.lift(i, slack); err != nil {
			return err
		}
	}
	return nil
}

// Solve adds violated constraints until every limit is kept up to δ·(1+tolerance), or a round
// raised the optimum by no more than the relative stall (0: never mind), or the context ends. In
// the latter case it returns StatusLimit with the last relaxation in place.
func (p *Program) Solve(ctx context.Context, tolerance, stall float64) (solver.Status, error) {
	if p.options.Expect != nil && p.rounds == 0 {
		if err := p.Expect(p.options.Expect()); err != nil {
			return solver.StatusFailed, err
		}
	}
	for {
		before := p.value
		status, err := p.resolve(ctx)
		if err != nil || status != solver.StatusOptimal {
			return status, err
		}
		p.rounds++
		if stall > 0 && p.rounds > 1 && p.value-before < stall*p.value {
			return solver.StatusOptimal, nil
		}
		added, err := p.separate(tolerance)
		if err != nil {
			return solver.StatusFailed, err
		}
		if !added {
			return solver.StatusOptimal, nil
		}
	}
}

func (p *Program) resolve(ctx context.Context) (solver.Status, error) {
	sol, err := climb(ctx, p.solver, p.attempts(), p.rows, p.columns)
	if err != nil || sol.Status != solver.StatusOptimal {
		return sol.Status, err
	}
	// Masses a hair below 0 are within the solver's tolerance and become 0.
	for v := range p.mass {
		p.mass[v] = max(0, sol.Primal[v]) * p.Scale[v]
	}
	p.duals = append(p.duals[:0], sol.RowDual...)
	p.value = sol.Objective
	if p.options.Settle != nil && !p.options.Settle(p.mass) {
		return solver.StatusInfeasible, nil
	}
	return solver.StatusOptimal, nil
}

// separate adds what the masses violate most and reports whether there was anything.
func (p *Program) separate(tolerance float64) (bool, error) {
	added, err := p.liftWorst(tolerance)
	if err != nil || p.options.Broken == nil {
		return added, err
	}
	broken := p.options.Broken(p.mass)
	return added || len(broken) > 0, p.add(broken...)
}

func (p *Program) liftWorst(tolerance float64) (bool, error) {
	type violation struct {
		index  int
		excess float64
	}
	var bad []violation
	for i := range p.Limits {
		if e := p.Divergence(i, p.mass); e > p.Delta*(1+tolerance) {
			bad = append(bad, violation{i, e})
		}
	}
	sort.Slice(bad, func(a, b int) bool { return bad[a].excess > bad[b].excess })
	batch := p.options.Batch
	most := max(batch.Least, len(p.Limits)/batch.Share)
	apart := 0
	if batch.Spread {
		apart = max(1, len(p.Limits)/(2*most))
	}
	var taken []int // their places
	worst := 0.0    // of what was lifted
	for _, b := range bad {
		if len(taken) >= most || b.excess-p.Delta < batch.Worst*worst {
			break
		}
		place := p.Limits[b.index].Place
		if slices.ContainsFunc(taken, func(t int) bool { return place-t < apart && t-place < apart }) {
			continue
		}
		added, err := p.lift(b.index, TermSlack)
		if err != nil {
			return false, err
		}
		if !added {
			// All its terms are in the program: this violation is the solver's
			// residual, and no further row can remove it.
			continue
		}
		worst = max(worst, b.excess-p.Delta)
		taken = append(taken, place)
	}
	return len(taken) > 0, nil
}

// Masses returns those of the last relaxation, by variable. They are valid until the next Solve.
func (p *Program) Masses() []float64 { return p.mass }

// Value returns the optimum of the last relaxation.
func (p *Program) Value() float64 { return p.value }

// Rounds returns how many relaxations were solved.
func (p *Program) Rounds() int { return p.rounds }

// Dual returns the derivative of the optimum in the bound of one of the Rows.
func (p *Program) Dual(row int) float64 { return p.duals[row] / cmp.Or(p.Rows[row].Scale, 1) }
