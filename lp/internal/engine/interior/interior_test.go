// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package interior

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
)

// random asks for masses with a given total, with limits whose terms are pairs of
// variables, some with weights, one variable in all limits, some terms that lose nothing, and now and
// then another equation and rows with bounds on either side.
func random(r *rand.Rand) cuts.Problem {
	n := 3 + r.IntN(6)
	p := cuts.Problem{Ratio: 1 + 3*r.Float64(), Delta: 0.05 + 0.5*r.Float64(), Common: []int{0}}
	total := cuts.Row{Lower: 1, Upper: 1}
	for v := range n {
		p.Cost = append(p.Cost, r.Float64())
		p.Scale = append(p.Scale, math.Exp(-3*r.Float64()))
		total.Index = append(total.Index, v)
		total.Value = append(total.Value, 1+float64(r.IntN(2)))
	}
	p.Cost[0] = 2
	p.Rows = []cuts.Row{total}
	some := func(lower, upper float64) cuts.Row {
		row := cuts.Row{Lower: lower, Upper: upper}
		for range 3 {
			row.Index = append(row.Index, r.IntN(n)) // the same twice adds up
			row.Value = append(row.Value, r.Float64())
		}
		return row
	}
	if r.IntN(3) == 0 {
		p.Rows = append(p.Rows, some(0.3, 0.3))
	}
	if r.IntN(2) == 0 {
		p.Rows = append(p.Rows, some(math.Inf(-1), 0.5), some(0.2, math.Inf(1)))
	}
	for range 1 + r.IntN(6) {
		var l cuts.Limit
		for range 1 + r.IntN(5) {
			l.Gain = append(l.Gain, r.IntN(n))
			l.Lose = append(l.Lose, r.IntN(n+1)-1)
		}
		if r.IntN(2) == 0 {
			for range l.Gain {
				l.Weight = append(l.Weight, math.Exp(2*r.Float64()-1))
			}
		}
		p.Limits = append(p.Limits, l)
	}
	return p
}

// events solves a problem by HiGHS, with one row for each event of each limit.
func events(t *testing.T, p cuts.Problem) (solver.Status, float64) {
	t.Helper()
	s, err := highs.New()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var masses, rows solver.Vectors
	for range p.Cost {
		masses.Add(0, math.Inf(1))
	}
	add := func(lower, upper float64, value []float64) {
		rows.Add(lower, upper)
		for v, x := range value {
			if x != 0 {
				rows.Entry(v, x)
			}
		}
	}
	for _, r := range p.Rows {
		value := make([]float64, len(p.Cost))
		for i, v := range r.Index {
			value[v] += r.Value[i]
		}
		add(r.Lower, r.Upper, value)
	}
	for _, l := range p.Limits {
		for event := range 1 << len(l.Gain) {
			value := make([]float64, len(p.Cost))
			for _, v := range p.Common {
				value[v]++
			}
			for j, u := range l.Gain {
				if event>>j&1 == 0 {
					continue
				}
				value[u] += l.Factor(j)
				if v := l.Lose[j]; v >= 0 {
					value[v] -= p.Ratio * l.Factor(j)
				}
			}
			add(math.Inf(-1), p.Delta, value)
		}
	}
	if err := errors.Join(s.AddColumns(p.Cost, masses), s.AddRows(rows)); err != nil {
		t.Fatal(err)
	}
	sol, err := s.Solve(t.Context(), solver.Options{Method: solver.MethodDualSimplex})
	if err != nil {
		t.Fatal(err)
	}
	return sol.Status, sol.Objective
}

// ones are masses to start from.
func ones(p cuts.Problem) []float64 {
	start := make([]float64, len(p.Cost))
	for v := range start {
		start[v] = 1
	}
	return start
}

// TestAgainstSimplex compares optima with those of the simplex method on all events, and
// checks that masses keep all limits and rows and that the multipliers prove the optimum.
func TestAgainstSimplex(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	solved, refused := 0, 0
	for k := range 2000 {
		p := random(r)
		status, want := events(t, p)
		prog := New(p, Options{Start: ones(p)})
		got, err := prog.Solve(t.Context(), 1e-8, 1e-9)
		if status == solver.StatusInfeasible {
			if refused++; err == nil && got != solver.StatusInfeasible || err != nil && !errors.Is(err, ErrFailed) {
				t.Errorf("program %d has no solution; status %d, error %v", k, got, err)
			}
			continue
		}
		if status != solver.StatusOptimal {
			continue
		}
		if err != nil || got != solver.StatusOptimal {
			t.Errorf("program %d: status %d, error %v", k, got, err)
			continue
		}
		solved++
		if math.Abs(prog.Value()-want) > 1e-6 {
			t.Errorf("program %d: optimum %.9g, want %.9g", k, prog.Value(), want)
		}
		check(t, k, p, prog, want)
	}
	if solved < 1000 || refused < 200 {
		t.Errorf("%d programs solved and %d refused", solved, refused)
	}
}

// check checks masses and multipliers of a program that is solved.
func check(t *testing.T, k int, p cuts.Problem, prog *Program, want float64) {
	t.Helper()
	mass, proved := prog.Masses(), 0.0
	slack := append([]float64(nil), p.Cost...)
	for i, r := range p.Rows {
		sum, price := 0.0, prog.Dual(i)
		for j, v := range r.Index {
			sum += r.Value[j] * mass[v]
			slack[v] -= r.Value[j] * price
		}
		if sum < r.Lower-1e-8 || sum > r.Upper+1e-8 {
			t.Errorf("program %d: row %d has %g, want %g to %g", k, i, sum, r.Lower, r.Upper)
		}
		if bound := r.Lower; price > 0 && !math.IsInf(bound, 0) || r.Lower == r.Upper {
			proved += price * bound
		} else if !math.IsInf(r.Upper, 0) {
			proved += price * r.Upper
		}
	}
	for i, l := range p.Limits {
		price, sum := prog.Price(i), mass[0]
		proved -= price * p.Delta
		slack[0] += price
		for j, u := range l.Gain {
			y, g := prog.Multiplier(i, j), mass[u]
			if y < 0 || y > price {
				t.Errorf("program %d: multiplier %g, the limit's price is %g", k, y, price)
			}
			slack[u] += l.Factor(j) * y
			if v := l.Lose[j]; v >= 0 {
				g -= p.Ratio * mass[v]
				slack[v] -= l.Factor(j) * p.Ratio * y
			}
			sum += l.Factor(j) * max(g, 0)
		}
		if sum > p.Delta*(1+1e-8) {
			t.Errorf("program %d: limit %d has %g, want at most %g", k, i, sum, p.Delta)
		}
	}
	for v, s := range slack {
		if s < -1e-6 {
			t.Errorf("program %d: variable %d has reduced cost %g", k, v, s)
		}
	}
	if math.Abs(proved-want) > 1e-6 {
		t.Errorf("program %d: multipliers prove %g of %g", k, proved, want)
	}
}

// TestSkip: terms that are skipped wrongly are found, and the program is solved with them.
func TestSkip(t *testing.T) {
	p := cuts.Problem{
		Cost: []float64{1, 2}, Ratio: 2, Delta: 0.1,
		Rows:   []cuts.Row{{Lower: 1, Upper: 1, Index: []int{0, 1}, Value: []float64{1, 1}}},
		Limits: []cuts.Limit{{Gain: []int{0, 1}, Lose: []int{1, 0}}},
	}
	prog := New(p, Options{Start: ones(p), Skip: func(_, term int) bool { return term == 0 }})
	status, err := prog.Solve(t.Context(), 1e-9, 1e-9)
	// p₀ − 2p₁ ≤ 0.1 and p₀ + p₁ = 1.
	if want := 1.3; err != nil || status != solver.StatusOptimal || prog.Rounds() != 2 || math.Abs(prog.Value()-want) > 1e-7 {
		t.Errorf("status %d, error %v, %d programs, optimum %g, want %g", status, err, prog.Rounds(), prog.Value(), want)
	}
}

// TestEnds: a context that ends stops the method between two iterations.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := random(rand.New(rand.NewPCG(5, 6)))
	steps := 0
	prog := New(p, Options{Start: ones(p), Step: func(work float64) {
		if steps++; !(work > 0) {
			t.Errorf("work %g", work)
		}
		cancel()
	}})
	if status, err := prog.Solve(ctx, 1e-9, 1e-9); status != solver.StatusLimit || err != nil || steps != 1 {
		t.Errorf("status %d, error %v after %d steps", status, err, steps)
	}
}

// late is a context that ends after its first question.
type late struct {
	context.Context
	asked atomic.Int64
}

func (l *late) Err() error {
	if l.asked.Add(1) > 1 {
		return context.Canceled
	}
	return nil
}

// TestEndsWithin: a context that ends stops the method within an iteration, which can take
// minutes.
func TestEndsWithin(t *testing.T) {
	p := random(rand.New(rand.NewPCG(5, 6)))
	steps := 0
	prog := New(p, Options{Start: ones(p), Step: func(float64) { steps++ }})
	status, err := prog.Solve(&late{Context: t.Context()}, 1e-9, 1e-9)
	if status != solver.StatusLimit || err != nil || steps != 0 {
		t.Errorf("status %d, error %v after %d steps", status, err, steps)
	}
}
