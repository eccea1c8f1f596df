// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package highs

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/internal/solver"
)

// program is a dense linear program for the oracle.
type program struct {
	cost, lower, upper []float64
	matrix             [][]float64 // by row
	rowLower, rowUpper []float64
}

func open(t *testing.T, newSolver solver.Factory) solver.Solver {
	t.Helper()
	s, err := newSolver()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// load puts the program in by columns without entries, then by rows.
func (p program) load(t *testing.T, s solver.Solver) {
	t.Helper()
	if err := s.AddColumns(p.cost, solver.Vectors{Lower: p.lower, Upper: p.upper, Start: make([]int, len(p.cost))}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddRows(p.rows(0, len(p.matrix))); err != nil {
		t.Fatal(err)
	}
}

// rows is the batch of rows from to to, without the entries that are 0.
func (p program) rows(from, to int) solver.Vectors {
	r := solver.Vectors{Lower: p.rowLower[from:to], Upper: p.rowUpper[from:to]}
	for _, row := range p.matrix[from:to] {
		r.Start = append(r.Start, len(r.Index))
		for j, v := range row {
			if v != 0 {
				r.Index, r.Value = append(r.Index, j), append(r.Value, v)
			}
		}
	}
	return r
}

func solve(t *testing.T, s solver.Solver, o solver.Options) solver.Solution {
	t.Helper()
	got, err := s.Solve(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func near(a, b float64) bool { return math.Abs(a-b) <= tolerance*(1+math.Abs(b)) }

// check tests an optimal solution against the program alone: feasibility, the
// objective, the sign of each dual, and strong duality in the form of the
// package's documentation.
func (p program) check(t *testing.T, got solver.Solution) {
	t.Helper()
	if got.Status != solver.StatusOptimal || len(got.Primal) != len(p.cost) || len(got.RowDual) != len(p.matrix) {
		t.Fatalf("status %d with %d values and %d duals, want optimal with %d and %d",
			got.Status, len(got.Primal), len(got.RowDual), len(p.cost), len(p.matrix))
	}
	primal, reduced := 0.0, make([]float64, len(p.cost))
	for j, x := range got.Primal {
		primal += p.cost[j] * x
		reduced[j] = p.cost[j]
		if x < p.lower[j]-tolerance || x > p.upper[j]+tolerance {
			t.Errorf("x[%d] = %g outside %g to %g", j, x, p.lower[j], p.upper[j])
		}
	}
	if !near(got.Objective, primal) {
		t.Errorf("objective %g, want cost·x = %g", got.Objective, primal)
	}
	dual := 0.0
	for i, y := range got.RowDual {
		activity := 0.0
		for j, v := range p.matrix[i] {
			activity += v * got.Primal[j]
			reduced[j] -= v * y
		}
		if activity < p.rowLower[i]-tolerance || activity > p.rowUpper[i]+tolerance {
			t.Errorf("row %d = %g outside %g to %g", i, activity, p.rowLower[i], p.rowUpper[i])
		}
		dual += boundTerm(t, y, p.rowLower[i], p.rowUpper[i])
	}
	for j, d := range reduced {
		dual += boundTerm(t, d, p.lower[j], p.upper[j])
	}
	if !near(dual, primal) {
		t.Errorf("dual objective %g, want the primal's %g", dual, primal)
	}
}

// boundTerm is a multiplier times the bound its sign points at; a multiplier
// that points at an infinite bound has to be 0.
func boundTerm(t *testing.T, y, lower, upper float64) float64 {
	t.Helper()
	bound := upper
	if y > 0 {
		bound = lower
	}
	if !math.IsInf(bound, 0) {
		return y * bound
	}
	if math.Abs(y) > tolerance {
		t.Errorf("multiplier %g at the bound %g", y, bound)
	}
	return 0
}

// bruteForce is the least cost over the vertices of a program whose columns
// are all bounded: every choice of as many bounds as columns, made tight. It
// is +Inf if no vertex is feasible; then nothing is, as the program is bounded.
func (p program) bruteForce() float64 {
	n := len(p.cost)
	type plane struct {
		normal []float64
		at     float64
	}
	var planes []plane
	add := func(normal []float64, bounds ...float64) {
		for _, b := range bounds {
			if !math.IsInf(b, 0) {
				planes = append(planes, plane{normal, b})
			}
		}
	}
	for j := range n {
		unit := make([]float64, n)
		unit[j] = 1
		add(unit, p.lower[j], p.upper[j])
	}
	for i, row := range p.matrix {
		add(row, p.rowLower[i], p.rowUpper[i])
	}
	best := inf
	chosen := make([]int, 0, n)
	var choose func(int)
	choose = func(from int) {
		if len(chosen) == n {
			matrix, at := make([][]float64, n), make([]float64, n)
			for k, c := range chosen {
				matrix[k], at[k] = append([]float64(nil), planes[c].normal...), planes[c].at
			}
			if x := gauss(matrix, at); x != nil && p.feasible(x) {
				value := 0.0
				for j := range x {
					value += p.cost[j] * x[j]
				}
				best = min(best, value)
			}
			return
		}
		for c := from; c < len(planes); c++ {
			chosen = append(chosen, c)
			choose(c + 1)
			chosen = chosen[:len(chosen)-1]
		}
	}
	choose(0)
	return best
}

func (p program) feasible(x []float64) bool {
	const slack = 1e-9 // the vertices are exact to about 1e-14
	for j := range x {
		if x[j] < p.lower[j]-slack || x[j] > p.upper[j]+slack {
			return false
		}
	}
	for i, row := range p.matrix {
		activity := 0.0
		for j, v := range row {
			activity += v * x[j]
		}
		if activity < p.rowLower[i]-slack || activity > p.rowUpper[i]+slack {
			return false
		}
	}
	return true
}

// gauss solves a square system in place, or returns nil if it is singular.
func gauss(a [][]float64, b []float64) []float64 {
	n := len(b)
	for k := range n {
		pivot := k
		for i := k + 1; i < n; i++ {
			if math.Abs(a[i][k]) > math.Abs(a[pivot][k]) {
				pivot = i
			}
		}
		if math.Abs(a[pivot][k]) < 1e-9 {
			return nil
		}
		a[k], a[pivot], b[k], b[pivot] = a[pivot], a[k], b[pivot], b[k]
		for i := range n {
			if i == k {
				continue
			}
			f := a[i][k] / a[k][k]
			for j := k; j < n; j++ {
				a[i][j] -= f * a[k][j]
			}
			b[i] -= f * b[k]
		}
	}
	for k := range n {
		b[k] /= a[k][k]
	}
	return b
}

// small is a random program with small integers, so that ties, redundant rows
// and degenerate vertices are common. Its columns are bounded.
func small(r *rand.Rand) program {
	n, m := 1+r.IntN(4), r.IntN(5)
	var p program
	for range n {
		l := float64(r.IntN(7) - 4)
		p.cost = append(p.cost, float64(r.IntN(9)-4))
		p.lower, p.upper = append(p.lower, l), append(p.upper, l+float64(r.IntN(6)))
	}
	for range m {
		row := make([]float64, n)
		for j := range row {
			row[j] = float64(r.IntN(7) - 3)
		}
		l := float64(r.IntN(13) - 6)
		u := l + float64(r.IntN(5))
		switch r.IntN(3) {
		case 0:
			l = -inf
		case 1:
			u = inf
		}
		p.matrix = append(p.matrix, row)
		p.rowLower, p.rowUpper = append(p.rowLower, l), append(p.rowUpper, u)
	}
	return p
}

// large is a random dense program with m covering rows and n columns:
// minimize cost·x, A·x ≥ 1, x ≥ 0, feasible and bounded.
func large(r *rand.Rand, m, n int) program {
	p := program{cost: make([]float64, n), lower: make([]float64, n), upper: make([]float64, n)}
	for j := range n {
		p.cost[j], p.upper[j] = 1+r.Float64(), inf
	}
	for range m {
		row := make([]float64, n)
		for j := range row {
			row[j] = r.Float64()
		}
		p.matrix = append(p.matrix, row)
		p.rowLower, p.rowUpper = append(p.rowLower, 1), append(p.rowUpper, inf)
	}
	return p
}
