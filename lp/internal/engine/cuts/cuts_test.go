// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package cuts

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/highs"
)

// randomProblem asks for masses that sum to 1, with limits whose terms are pairs of
// variables, one variable in all limits, and some terms that lose nothing.
func randomProblem(r *rand.Rand) Problem {
	n := 3 + r.IntN(5)
	p := Problem{Ratio: 1 + 3*r.Float64(), Delta: 0.05 + 0.5*r.Float64(), Common: []int{0}}
	total := Row{Lower: 1, Upper: 1}
	for v := range n {
		p.Cost = append(p.Cost, r.Float64())
		p.Scale = append(p.Scale, math.Exp(-3*r.Float64()))
		total.Index = append(total.Index, v)
		total.Value = append(total.Value, 1+float64(r.IntN(2)))
	}
	p.Cost[0] = 2
	p.Rows = []Row{total}
	for range 1 + r.IntN(6) {
		var l Limit
		for range 1 + r.IntN(5) {
			l.Gain = append(l.Gain, r.IntN(n))
			l.Lose = append(l.Lose, r.IntN(n+1)-1)
		}
		p.Limits = append(p.Limits, l)
	}
	return p
}

// events solves the problem with one row per event of each limit.
func events(t *testing.T, p Problem) (solver.Status, float64) {
	t.Helper()
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
				value[u]++
				if v := l.Lose[j]; v >= 0 {
					value[v] -= p.Ratio
				}
			}
			r := Row{Lower: math.Inf(-1), Upper: p.Delta}
			for v, x := range value {
				if x != 0 {
					r.Index = append(r.Index, v)
					r.Value = append(r.Value, x)
				}
			}
			p.Rows = append(p.Rows, r)
		}
	}
	p.Limits, p.Common = nil, nil
	return solve(t, p, Options{}, nil)
}

// solve solves a problem and calls check, if there is a solution.
func solve(t *testing.T, p Problem, o Options, check func(*Program)) (solver.Status, float64) {
	t.Helper()
	o.NewSolver = highs.New
	if o.Settle == nil { // HiGHS sometimes calls an infeasible program optimal
		o.Settle = func(mass []float64) bool {
			total := 0.0
			for i, v := range p.Rows[0].Index {
				total += mass[v] * p.Rows[0].Value[i]
			}
			return math.Abs(total-1) < 1e-6
		}
	}
	if o.Batch.Share == 0 {
		o.Batch = Batch{Least: 1, Share: 8}
	}
	prog, err := New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	status, err := prog.Solve(t.Context(), 1e-9, 0)
	if err != nil {
		t.Fatal(err)
	}
	if status == solver.StatusOptimal && check != nil {
		check(prog)
	}
	return status, prog.Value()
}

// TestLimitsAreTheirEvents compares the generation with the complete program of all
// events, checks that masses keep the limits, and that the multipliers prove the
// optimum by weak duality.
func TestLimitsAreTheirEvents(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	solved := 0
	for range 200 {
		p := randomProblem(r)
		want, optimum := events(t, p)
		status, value := solve(t, p, Options{Batch: Batch{Least: 1, Share: 8, Worst: 0.5, Spread: r.IntN(2) == 0}}, func(prog *Program) {
			solved++
			weak := prog.Dual(0)
			slack := append([]float64(nil), p.Cost...)
			for v, x := range p.Rows[0].Value {
				slack[v] -= prog.Dual(0) * x
			}
			for i, l := range p.Limits {
				if e := prog.Divergence(i, prog.mass); e > p.Delta*(1+1e-8) {
					t.Errorf("limit %d has %g, want at most %g", i, e, p.Delta)
				}
				weak -= prog.Price(i) * p.Delta
				slack[0] += prog.Price(i)
				for j, u := range l.Gain {
					y := prog.Multiplier(i, j)
					slack[u] += y
					if v := l.Lose[j]; v >= 0 {
						slack[v] -= p.Ratio * y
					}
				}
			}
			for v, s := range slack {
				if s < -1e-7 {
					t.Errorf("variable %d: reduced cost %g", v, s)
				}
			}
			if math.Abs(weak-prog.Value()) > 1e-7 {
				t.Errorf("multipliers prove %g of %g", weak, prog.Value())
			}
		})
		if status != want || want == solver.StatusOptimal && math.Abs(value-optimum) > 1e-7 {
			t.Errorf("status %d, optimum %.9g; want %d, %.9g: %+v", status, value, want, optimum, p)
		}
	}
	if solved < 50 {
		t.Errorf("only %d of the problems have a solution", solved)
	}
}

// TestHooks: rows that solutions break are added, and masses refused are no solution.
func TestHooks(t *testing.T) {
	p := Problem{
		Cost: []float64{1, 2}, Scale: []float64{1, 0.1}, Ratio: 1, Delta: 1,
		Rows: []Row{{Lower: 1, Upper: 1, Index: []int{0, 1}, Value: []float64{1, 1}}},
	}
	status, value := solve(t, p, Options{Broken: func(mass []float64) []Row {
		if mass[0] <= 0.25+1e-9 {
			return nil
		}
		return []Row{{Lower: math.Inf(-1), Upper: 0.25, Index: []int{0}, Value: []float64{1}}}
	}}, nil)
	if status != solver.StatusOptimal || math.Abs(value-1.75) > 1e-9 {
		t.Errorf("status %d, optimum %g; want 1.75", status, value)
	}
	if status, _ := solve(t, p, Options{Settle: func([]float64) bool { return false }}, nil); status != solver.StatusInfeasible {
		t.Errorf("status %d for masses refused", status)
	}
}
