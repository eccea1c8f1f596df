// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package kernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/proof"
)

// pureCases are problems with and without a mirror image, with ranges of less than one
// and of several sensitivities.
func pureCases(t *testing.T) map[string]Problem {
	t.Helper()
	pinball, err := loss.Parse("pinball:0.8")
	if err != nil {
		t.Fatal(err)
	}
	weight := []proof.Piece{{From: 0, Weight: 1}, {From: 1, Weight: 3}}
	cases := make(map[string]Problem)
	for _, c := range []struct {
		epsilon, delta, upper float64
		loss                  loss.Loss
		weight                []proof.Piece
	}{
		{5, 0.25, 4, loss.L1, nil},
		{1, 1e-3, 4, loss.L1, nil},
		{3, 0.01, 4, loss.L2, nil},
		{2, 0.1, 1.5, loss.L1, nil},
		{3, 0.1, 9, loss.L1, nil},
		{4, 0.1, 4, pinball, nil},
		{4, 0.1, 4, loss.L1, weight},
	} {
		name := fmt.Sprintf("%s, ε=%g, δ=%g, [0, %g], %d weights", c.loss.Name(), c.epsilon, c.delta, c.upper, len(c.weight))
		cases[name] = Problem{
			Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: 2}, Loss: c.loss,
			Queries: kernels.Queries{Upper: c.upper, Weight: c.weight},
		}
	}
	return cases
}

// lowerPureProgram is the program that lowerPure solves, with costs in units of the loss.
func lowerPureProgram(t *testing.T, p Problem, cells int) *pureProgram {
	t.Helper()
	l, ok := lowerLayout(p, cells, 1)
	if !ok {
		t.Fatal("no costs")
	}
	prog := newPureProgram(l)
	for _, pair := range l.limits {
		k, m := min(pair.gain, pair.lose), max(pair.gain, pair.lose)
		prog.protect(k, m)
		prog.protect(cells-1-m, cells-1-k) // if mirrored, one of the two is left out
	}
	return prog
}

// direct solves a pure program with all its constraints and no rays.
func direct(t *testing.T, p *pureProgram) float64 {
	t.Helper()
	s, err := highs.New()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := len(p.cost)
	var costs []float64
	var masses, rows solver.Vectors
	for k := range n {
		for j := range n {
			costs = append(costs, p.cost[k][j])
			masses.Add(0, math.Inf(1))
		}
	}
	for k := range n {
		rows.Add(1, 1)
		for j := range n {
			rows.Entry(k*n+j, 1)
		}
		for m := p.first[k]; m <= p.last[k]; m++ {
			for j := 0; j < n && m != k; j++ {
				rows.Add(math.Inf(-1), 0)
				rows.Entry(k*n+j, 1)
				rows.Entry(m*n+j, -p.ratio)
			}
		}
	}
	if err := s.AddColumns(costs, masses); err != nil {
		t.Fatal(err)
	}
	if err := s.AddRows(rows); err != nil {
		t.Fatal(err)
	}
	sol, err := s.Solve(t.Context(), solver.Options{Tolerance: 1e-9})
	if err != nil || sol.Status != solver.StatusOptimal {
		t.Fatalf("status %d, error %v", sol.Status, err)
	}
	return sol.Objective
}

// TestPureProgram compares rays with the whole program: the optimum, the laws that reach
// it, and prices that sum to it.
func TestPureProgram(t *testing.T) {
	for name, p := range pureCases(t) {
		for _, n := range []int{12, 9} {
			prog := lowerPureProgram(t, p, n)
			want := direct(t, prog)
			sol, err := prog.solve(t.Context(), highs.New, false)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var loss, prices float64
			for k, law := range sol.laws {
				var sum float64
				for j, q := range law {
					sum += q
					loss += q * prog.cost[k][j]
					for m := prog.first[k]; m <= prog.last[k]; m++ {
						if q > prog.ratio*sol.laws[m][j]*(1+1e-9) {
							t.Fatalf("%s: answer %d has %g in cell %d and %g in cell %d", name, j, q, k, sol.laws[m][j], m)
						}
					}
				}
				if math.Abs(sum-1) > 1e-7 {
					t.Errorf("%s: the law of cell %d sums to %g", name, k, sum)
				}
				prices += sol.prices[k]
			}
			if math.Abs(loss/want-1) > 1e-4 || math.Abs(prices/want-1) > 1e-4 {
				t.Errorf("%s, %d cells: loss %g, prices %g, want %g", name, n, loss, prices, want)
			}
		}
	}
}

// TestFlows: the multipliers prove what the flows say they do, in exact arithmetic; it is
// no more than the loss of the kernels of this kind, and for a large epsilon hardly less.
func TestFlows(t *testing.T) {
	for name, p := range pureCases(t) {
		for _, n := range []int{40, 33} {
			prog := lowerPureProgram(t, p, n)
			laws, err := prog.solve(t.Context(), highs.New, false)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var most float64
			for k, price := range laws.prices {
				most += (1-p.Delta)*price + p.Delta*prog.cost[k][k]
			}
			smooth, err := prog.solve(t.Context(), highs.New, true)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			f := newFlows(*prog, smooth.prices, p.Delta)
			proved := kernels.Spec{Privacy: p.Privacy, Queries: p.Queries, Loss: p.Loss, Dual: f.dual(1)}
			bound, _ := proved.LowerBound().Float64()
			if math.Abs(max(f.bound, 0)-bound) > 1e-9*most {
				t.Errorf("%s, %d cells: flows prove %g, their multipliers %g", name, n, f.bound, bound)
			}
			if bound > most*(1+1e-4) {
				t.Errorf("%s, %d cells: bound %g above the loss %g", name, n, bound, most)
			}
			if p.Epsilon >= 4 && bound < 0.985*most {
				t.Errorf("%s, %d cells: bound %g far below %g", name, n, bound, most)
			}
		}
	}
}
