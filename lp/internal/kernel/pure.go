// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// pureProgram asks for the best kernel with delta = 0:
//
//	minimize   Σ_k Σ_j cost[k][j]·q_k(j)
//	subject to Σ_j q_k(j) = 1  and  0 ≤ q_k(j) ≤ ratio·q_m(j) for first[k] ≤ m ≤ last[k].
//
// The answers are coupled by the sums alone. The masses of one answer form a cone, of
// which the program needs few rays: they are found by pricing, a ray at a time.
type pureProgram struct {
	engine.Laws
	cost        [][]float64
	first, last []int // the cells protected from cell k, which is one of them; both ascend
	ratio       float64
}

func newPureProgram(l layout) *pureProgram {
	p := &pureProgram{Laws: l.laws(), cost: l.cost, ratio: l.ratio}
	for k := range l.cost {
		p.first, p.last = append(p.first, k), append(p.last, k)
	}
	return p
}

// protect protects two cells from each other, and those between them from both.
func (p *pureProgram) protect(k, m int) {
	p.last[k], p.first[m] = max(p.last[k], m), min(p.first[m], k)
}

// ray is a direction in the cone of an answer's masses: 1 in an interval of cells,
// ratio times less in those that are protected from one of it, and so on.
type ray struct{ answer, from, to int }

func (p *pureProgram) masses(r ray) []float64 {
	q := make([]float64, len(p.cost))
	from, to := r.from, r.to
	for level := 1.0; ; level /= p.ratio {
		step := level - level/p.ratio
		nearer, further := p.first[from], p.last[to]
		if nearer == from && further == to {
			step = level
		}
		for k := from; k <= to; k++ {
			q[k] += step
		}
		if nearer == from && further == to {
			return q
		}
		from, to = nearer, further
	}
}

// price returns Σ_k g_k·q_k over the masses q of a ray; sums are those of g up to each cell.
func (p *pureProgram) price(sums []float64, from, to int) float64 {
	var total float64
	for level := 1.0; ; level /= p.ratio {
		inside := sums[to+1] - sums[from]
		nearer, further := p.first[from], p.last[to]
		if nearer == from && further == to {
			return total + level*inside
		}
		total += (level - level/p.ratio) * inside
		from, to = nearer, further
	}
}

// cheap returns the rays of an answer whose reduced costs are below −least and no larger
// than those of the intervals that start or end one cell off.
func (p *pureProgram) cheap(answer int, prices []float64, least float64) []ray {
	n := len(prices)
	sums := make([]float64, n+1)
	for k, price := range prices {
		sums[k+1] = sums[k] + p.cost[k][answer] - price
	}
	reduced := meet.Matrix(n, n) // by from and to
	for from := range reduced {
		for to := from; to < n; to++ {
			reduced[from][to] = p.price(sums, from, to)
		}
	}
	at := func(from, to int) float64 {
		if from < 0 || to >= n || from > to {
			return math.Inf(1)
		}
		return reduced[from][to]
	}
	var rays []ray
	for from := range n {
		for to := from; to < n; to++ {
			x := at(from, to)
			if x < -least && x <= min(at(from-1, to), at(from+1, to), at(from, to-1), at(from, to+1)) {
				rays = append(rays, ray{answer, from, to})
			}
		}
	}
	return rays
}

// pureSolution is an optimum of a pureProgram, up to pureTolerance.
type pureSolution struct {
	laws   [][]float64
	prices []float64 // by how much the optimum rises per unit of mass of each cell
	rounds int       // how often the program was solved
}

// Tuning of the pure program; any values give correct results.
const (
	pureTolerance = 1e-5 // the share of the optimum that pricing may miss
	pureRounds    = 60   // enough by far
	// evenness is the weight of Σ|prices[k] − prices[k+1]|, which the dual of a smooth
	// program subtracts from what it maximizes: in the program itself, what it costs to pass
	// mass on from a cell to the next.
	evenness = 0.01
)

// solve generates rays until hardly one is left that would lower the optimum. The prices of a
// smooth program vary as little from cell to cell as a value close to the optimum lets
// them; its laws do not sum to 1.
func (p *pureProgram) solve(ctx context.Context, newSolver solver.Factory, smooth bool) (out *pureSolution, err error) {
	s, err := newSolver()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := p.begin(s, smooth); err != nil {
		return nil, err
	}
	n, passed := len(p.cost), 0
	if smooth {
		passed = 2 * (p.Own() - 1)
	}
	known := make(map[ray]bool)
	var all, rays []ray
	for j := range p.Own() {
		rays = append(rays, ray{j, 0, n - 1}, ray{j, j, j})
	}
	for round := 0; ; round++ {
		if err := p.add(s, rays); err != nil {
			return nil, err
		}
		all = append(all, rays...)
		for _, r := range rays {
			known[r] = true
		}
		sol, err := solvePure(ctx, s)
		if err != nil {
			return nil, err
		}
		prices := p.prices(sol.RowDual)
		rays = rays[:0]
		for j := range p.Own() {
			for _, r := range p.cheap(j, prices, pureTolerance*math.Abs(sol.Objective)/float64(n)) {
				if !known[r] {
					rays = append(rays, r)
				}
			}
		}
		if len(rays) == 0 || round == pureRounds-1 {
			return &pureSolution{laws: p.laws(all, sol.Primal[passed:]), prices: prices, rounds: round + 1}, nil
		}
	}
}

// begin makes a row of each cell's sum and, in a smooth program, columns that pass mass on.
func (p *pureProgram) begin(s solver.Solver, smooth bool) error {
	var sums, passed solver.Vectors
	for range p.Own() {
		sums.Add(1, 1)
	}
	if err := s.AddRows(sums); err != nil || !smooth {
		return err
	}
	for k := range p.Own() - 1 {
		for _, sign := range []float64{1, -1} {
			passed.Add(0, evenness)
			passed.Entry(k, sign)
			passed.Entry(k+1, -sign)
		}
	}
	return s.AddColumns(make([]float64, len(passed.Lower)), passed)
}

// solvePure solves the program as it is, from the last corner if it can.
func solvePure(ctx context.Context, s solver.Solver) (sol solver.Solution, err error) {
	for i, method := range []solver.Method{solver.MethodPrimalSimplex, solver.MethodDualSimplex, solver.MethodInteriorPoint} {
		if i > 0 {
			if err := s.Reset(); err != nil {
				return sol, err
			}
		}
		sol, err = s.Solve(ctx, solver.Options{Method: method, Tolerance: 1e-9})
		switch {
		case err != nil:
			return sol, err
		case ctx.Err() != nil:
			return sol, meet.ErrLimit
		case sol.Status == solver.StatusOptimal && check.Finite(sol.Primal...) && check.Finite(sol.RowDual...):
			return sol, nil
		}
	}
	return sol, cuts.ErrFailed
}

// add appends columns of rays. A mirrored program averages each ray with its mirror image: as
// many cells have a row, and as many answers rays, as inputs are its Own.
func (p *pureProgram) add(s solver.Solver, rays []ray) error {
	n := len(p.cost)
	var costs []float64
	var columns solver.Vectors
	for _, r := range rays {
		q := p.masses(r)
		var cost float64
		for k, x := range q {
			cost += x * p.cost[k][r.answer]
		}
		costs = append(costs, cost)
		columns.Add(0, math.Inf(1))
		for k := range p.Own() {
			x := q[k]
			if p.Mirrored {
				x = (x + q[n-1-k]) / 2
			}
			columns.Entry(k, x)
		}
	}
	return s.AddColumns(costs, columns)
}

func (p *pureProgram) prices(duals []float64) []float64 {
	if !p.Mirrored {
		return slices.Clone(duals)
	}
	n := len(p.cost)
	prices := make([]float64, n)
	for k, y := range duals[:p.Own()] {
		prices[k] += y / 2
		prices[n-1-k] += y / 2
	}
	return prices
}

func (p *pureProgram) laws(rays []ray, amounts []float64) [][]float64 {
	n := len(p.cost)
	laws := meet.Matrix(n, n)
	for i, r := range rays {
		if amounts[i] <= 0 {
			continue
		}
		for k, x := range p.masses(r) {
			part := amounts[i] * p.Share() * x
			laws[k][r.answer] += part
			if p.Mirrored {
				laws[n-1-k][n-1-r.answer] += part
			}
		}
	}
	return laws
}
