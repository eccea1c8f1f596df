// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// response is a program of two laws over two answers: randomized response.
func response() *Program {
	p := OfLaws(cuts.Problem{
		Cost: []float64{0, 1, 1, 0}, Scale: []float64{1, 1, 1, 1}, Ratio: 3, Delta: 0.1,
		Rows: []cuts.Row{
			{Lower: 1, Upper: 1, Index: []int{0, 1}, Value: []float64{1, 1}},
			{Lower: 1, Upper: 1, Index: []int{2, 3}, Value: []float64{1, 1}},
		},
		Limits: []cuts.Limit{{Gain: []int{0, 1}, Lose: []int{2, 3}}, {Gain: []int{2, 3}, Lose: []int{0, 1}}},
	})
	p.Total = []float64{1, 1}
	return p
}

// TestSolve: a program whose optimum is known, with and without a factory that has no solver.
// With the truth told with probability q it is 2(1 − q), and q − 3(1 − q) = 0.1.
func TestSolve(t *testing.T) {
	const want = 2 * (1 - 3.1/4)
	none := func() (solver.Solver, error) { return nil, fmt.Errorf("none here: %w", solver.ErrNone) }
	for _, newSolver := range []solver.Factory{nil, none} {
		for _, complete := range []bool{true, false} {
			p := response()
			p.Complete = complete
			s, status, err := Solve(t.Context(), &meet.Options{NewSolver: newSolver}, p, Want{Gap: 1e-7, Excess: 1e-7})
			if err != nil || status != solver.StatusOptimal || !s.Complete {
				t.Fatalf("status %v, error %v", status, err)
			}
			var cost, prices float64
			for v, m := range s.Masses() {
				cost += p.Cost[v] * m
			}
			for row := range p.Rows { // each of the two totals has a price, though one stands for both
				prices += s.Dual(row)
			}
			for i := range p.Limits {
				prices -= p.Delta * s.Price(i)
			}
			if math.Abs(cost-want) > 1e-6 || math.Abs(prices-want) > 1e-6 || math.Abs(s.Dual(0)-s.Dual(1)) > 1e-4 {
				t.Errorf("cost %.9g, prices %.9g of %g and %g, want %.9g", cost, prices, s.Dual(0), s.Dual(1), want)
			}
		}
	}
}

// TestBroken: rows that masses break are added until none is.
func TestBroken(t *testing.T) {
	p := response()
	p.Generation.Broken = func(mass []float64) []cuts.Row {
		if mass[0] <= 0.7+1e-6 {
			return nil
		}
		return []cuts.Row{{Lower: math.Inf(-1), Upper: 0.7, Index: []int{0}, Value: []float64{1}}}
	}
	s, status, err := Solve(t.Context(), &meet.Options{}, p, Want{Gap: 1e-7, Excess: 1e-7})
	if err != nil || status != solver.StatusOptimal || math.Abs(s.Masses()[0]-0.7) > 1e-5 {
		t.Errorf("status %v, error %v, masses %v", status, err, s.Masses())
	}
}

// TestTooLarge: without a solver, what is too large for the interior point method is refused.
func TestTooLarge(t *testing.T) {
	p := response()
	p.Cost = slices.Repeat([]float64{1}, MostMasses+1)
	if _, _, err := Solve(t.Context(), &meet.Options{}, p, Want{Gap: 1e-3}); !errors.Is(err, meet.ErrTooFine) || !errors.Is(err, meet.ErrLimit) {
		t.Errorf("error %v", err)
	}
}

// TestLaws: variables are numbered input by input, and images share one.
func TestLaws(t *testing.T) {
	for _, l := range []Laws{{3, 5, false}, {3, 5, true}, {4, 3, true}, {1, 5, true}, {3, 4, true}} {
		rows, seen := l.Variables(), 0
		for k, row := range rows {
			for j, v := range row {
				if seen = max(seen, v+1); l.Mirrored && v != rows[l.Inputs-1-k][l.Answers-1-j] {
					t.Errorf("%+v: %d, %d and its image differ", l, k, j)
				}
				if k < l.Own()-1 && v != k*l.Answers+j {
					t.Errorf("%+v: %d, %d is variable %d", l, k, j, v)
				}
			}
		}
		if seen != l.Count() {
			t.Errorf("%+v: %d variables, want %d", l, seen, l.Count())
		}
	}
}
