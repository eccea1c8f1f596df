// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/highs"
)

// gridProgram is one of the two linear programs that bracket the optimum in Selvi, Liu
// & Wiesemann, on equal cells [i/k, (i+1)/k), for l1 and a sensitivity of 1: the least
// Σ_i c_i p_i under the limits of privacy
//
//	Σ_{-n ≤ i < n} max(p_i − e^ε p_{i+s}, 0) ≤ δ
//
// for shifts by s = 1 … k cells. In the upper program c_i is the mean of |x| over the
// cell and there are no masses beyond ±n cells. In the lower program c_i is the least
// of |x|, and there are masses up to k cells further, which the limits see but for
// events of their own.
//
// The optimum is symmetric, as the program is: its variables are the masses of the
// cells i ≥ 0, and for each limit its summands.
type gridProgram struct {
	dp.Privacy
	k, n  int
	lower bool
}

// cells returns the number of masses.
func (g *gridProgram) cells() int {
	if g.lower {
		return g.n + g.k
	}
	return g.n
}

// cost is c_i for i >= 0.
func (g *gridProgram) cost(i int) float64 {
	if g.lower {
		return float64(i) / float64(g.k)
	}
	return (float64(i) + 0.5) / float64(g.k)
}

// solve returns the optimum, in floating-point arithmetic. Limits are added when they
// are broken, that of the full sensitivity first.
func (g *gridProgram) solve(ctx context.Context) (float64, error) {
	s, err := highs.New()
	if err != nil {
		return 0, err
	}
	defer s.Close() //nolint:errcheck // nothing is lost
	if err := g.masses(s); err != nil {
		return 0, err
	}
	columns, added := g.cells(), make([]bool, g.k+1)
	for shift := g.k; shift > 0; {
		if err := g.limit(s, shift, columns); err != nil {
			return 0, err
		}
		columns += 2 * g.n
		added[shift] = true
		solution, err := s.Solve(ctx, solver.Options{})
		if err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if solution.Status != solver.StatusOptimal {
			return 0, fmt.Errorf("the program for epsilon = %v, delta = %v ended with status %d", g.Epsilon, g.Delta, solution.Status)
		}
		if shift = g.broken(solution.Primal[:g.cells()], added); shift == 0 {
			return solution.Objective, nil
		}
	}
	return 0, nil
}

// masses adds the masses, whose sum is 1.
func (g *gridProgram) masses(s solver.Solver) error {
	var cost []float64
	var columns, sum solver.Vectors
	sum.Add(1, 1)
	for i := range g.cells() {
		cost = append(cost, 2*g.cost(i)) // of cell i and its mirror image
		columns.Add(0, 1)
		sum.Entry(i, 2)
	}
	if err := s.AddColumns(cost, columns); err != nil {
		return err
	}
	return s.AddRows(sum)
}

// limit adds the limit of a shift, with its summands, to a program of so many columns.
func (g *gridProgram) limit(s solver.Solver, shift, columns int) error {
	var summands, rows solver.Vectors
	row := func(upper float64, entries map[int]float64) {
		rows.Add(math.Inf(-1), upper)
		for j, v := range entries {
			rows.Entry(j, v)
		}
	}
	sum := map[int]float64{}
	for i := -g.n; i < g.n; i++ {
		at := columns + i + g.n
		summands.Add(0, math.Inf(1))
		sum[at] = 1
		entries := map[int]float64{at: -1}
		entries[mirrored(i)]++
		if j := mirrored(i + shift); j < g.cells() {
			entries[j] -= math.Exp(g.Epsilon)
		}
		row(0, entries)
	}
	row(g.Delta, sum)
	if err := s.AddColumns(make([]float64, 2*g.n), summands); err != nil {
		return err
	}
	return s.AddRows(rows)
}

// mirrored returns the cell i >= 0 that has the mass of cell i.
func mirrored(i int) int {
	if i < 0 {
		return -1 - i
	}
	return i
}

// broken returns the shift, of those not added yet, whose limit the masses break most;
// 0 if they break none.
func (g *gridProgram) broken(masses []float64, added []bool) (worst int) {
	most := 1e-7
	for shift := 1; shift <= g.k; shift++ {
		if added[shift] {
			continue
		}
		excess := -g.Delta
		for i := -g.n; i < g.n; i++ {
			other := 0.0
			if j := mirrored(i + shift); j < g.cells() {
				other = masses[j]
			}
			excess += max(masses[mirrored(i)]-math.Exp(g.Epsilon)*other, 0)
		}
		if excess > most {
			most, worst = excess, shift
		}
	}
	return worst
}
