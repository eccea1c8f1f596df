// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package ratio

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/highs"
)

// random is a program whose laws are those of few values, with totals, means, losses up to
// T, and masses of their own.
func random(r *rand.Rand) Program {
	laws, n := 2+r.IntN(3), 6+r.IntN(5)
	p := Program{Ratio: 1.5 + 4*r.Float64(), Laws: laws}
	answers := make([]float64, n)
	ones := make([]float64, n)
	for j := range answers {
		answers[j] = 12 * (float64(j)/float64(n-1) - 0.5)
		ones[j] = 1
		p.Group = append(p.Group, min(j, n-1-j))
	}
	if r.IntN(2) == 0 {
		for j := range p.Group {
			p.Group[j] = j
		}
	}
	both := func(i int, value []float64) []Term {
		terms := []Term{{i, value}}
		if p.Free > 0 {
			terms = append(terms, Term{laws + i, value})
		}
		return terms
	}
	if r.IntN(2) == 0 {
		p.Free = laws
	}
	worst := r.IntN(2) == 0
	for i := range laws {
		x := 2*float64(i)/float64(laws-1) - 1
		cost := make([]float64, n)
		for j, y := range answers {
			cost[j] = (y - x) * (y - x)
		}
		p.Rows = append(p.Rows, Row{Terms: both(i, ones), Bound: 1}, Row{Terms: both(i, answers), Bound: x / 4})
		if worst {
			p.Rows = append(p.Rows, Row{Terms: both(i, cost), Kind: AtMostT})
		} else {
			p.Cost = append(p.Cost, cost)
		}
		if p.Free > 0 {
			p.Rows = append(p.Rows, Row{Terms: []Term{{laws + i, ones}}, Bound: 0.1 * r.Float64(), Kind: AtMost})
		}
	}
	if !worst && p.Free > 0 {
		p.Cost = append(p.Cost, p.Cost...)
	}
	return p
}

// brute solves a program as it is stated.
func brute(t *testing.T, p Program) (solver.Status, float64) {
	t.Helper()
	s, err := highs.New()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	n := len(p.Group)
	all := (p.Laws+p.Free)*n + n + 1 // masses, least masses, T
	cost := make([]float64, all)
	var columns solver.Vectors
	for range all {
		columns.Add(0, math.Inf(1))
	}
	for i, row := range p.Cost {
		copy(cost[i*n:], row)
	}
	least, top := (p.Laws+p.Free)*n, all-1
	cost[top] = 1
	if err := s.AddColumns(cost, columns); err != nil {
		t.Fatal(err)
	}
	var rows solver.Vectors
	for i := range p.Laws {
		for j, g := range p.Group {
			rows.Add(0, math.Inf(1))
			rows.Entry(i*n+j, 1)
			rows.Entry(least+g, -1)
			rows.Add(math.Inf(-1), 0)
			rows.Entry(i*n+j, 1)
			rows.Entry(least+g, -p.Ratio)
		}
	}
	for _, r := range p.Rows {
		lower, upper := math.Inf(-1), r.Bound
		if r.Kind == Equal {
			lower = r.Bound
		}
		rows.Add(lower, upper)
		for _, term := range r.Terms {
			for j, v := range term.Value {
				rows.Entry(term.Law*n+j, v)
			}
		}
		if r.Kind == AtMostT {
			rows.Entry(top, -1)
		}
	}
	if err := s.AddRows(rows); err != nil {
		t.Fatal(err)
	}
	sol, err := s.Solve(t.Context(), solver.Options{Presolve: true})
	if err != nil {
		t.Fatal(err)
	}
	return sol.Status, sol.Objective
}

// TestSolveAgainstSimplex compares optima, and what the prices prove.
func TestSolveAgainstSimplex(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	solved := 0
	for k := range 150 {
		p := random(r)
		status, want := brute(t, p)
		got, err := Solve(t.Context(), p, 1e-8)
		if status != solver.StatusOptimal {
			if !errors.Is(err, ErrFailed) {
				t.Errorf("program %d has no solution, and error %v", k, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("program %d: %v", k, err)
			continue
		}
		solved++
		if math.Abs(got.Value-want) > 1e-6*(1+want) {
			t.Errorf("program %d: optimum %g, want %g", k, got.Value, want)
		}
		var dual float64
		for i, row := range p.Rows {
			dual += got.Prices[i] * row.Bound
			var sum float64
			for _, term := range row.Terms {
				for j, v := range term.Value {
					sum += v * got.Laws[term.Law][j]
				}
			}
			if row.Kind == Equal && math.Abs(sum-row.Bound) > 1e-12 {
				t.Errorf("program %d: row %d misses %g", k, i, sum-row.Bound)
			}
		}
		if math.Abs(dual-want) > 1e-6*(1+want) {
			t.Errorf("program %d: the prices prove %g, want %g", k, dual, want)
		}
	}
	if solved < 50 {
		t.Errorf("only %d programs have a solution", solved)
	}
}

func TestSolveEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Solve(ctx, random(rand.New(rand.NewPCG(5, 6))), 1e-6); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
