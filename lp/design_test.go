// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package lp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

var bothLosses = []loss.Loss{loss.L1, loss.L2}

// design runs Design and fails the test unless the table verifies from its
// file, that is, from nothing but its bytes.
func design(t *testing.T, p dp.Problem, gap float64) *lp.Result[tables.Verified] {
	t.Helper()
	r, err := lp.Design(t.Context(), p, lp.Options{Gap: gap, NewSolver: highs.New, TimeLimit: time.Minute})
	if err != nil && !errors.Is(err, lp.ErrLimit) {
		t.Fatalf("%s ε=%g δ=%g Δ=%g: %v", p.Loss.Name(), p.Epsilon, p.Delta, p.Sensitivity, err)
	}
	if r.Optimal != (err == nil) || r.Optimal != (r.Gap <= gap) {
		t.Errorf("ε=%g δ=%g: optimal = %v with gap %g and error %v", p.Epsilon, p.Delta, r.Optimal, r.Gap, err)
	}
	if err := fromFile(r.Verified); err != nil {
		t.Fatalf("%s ε=%g δ=%g Δ=%g: %v", p.Loss.Name(), p.Epsilon, p.Delta, p.Sensitivity, err)
	}
	if got := r.Verified.Mechanism().Privacy(); got != p.Privacy {
		t.Errorf("the table promises %+v for %+v", got, p)
	}
	return r
}

func losses(r *lp.Result[tables.Verified]) (loss, bound float64) {
	loss, _ = r.Verified.Certificate().ExpectedLoss.Float64()
	bound, _ = r.Verified.Certificate().LowerBound.Float64()
	return loss, bound
}

// TestEveryRegimeVerifies designs coarsely over the whole range of parameters;
// docs/benchmarks.md has the same at the default gap.
func TestEveryRegimeVerifies(t *testing.T) {
	for _, loss := range bothLosses {
		for _, epsilon := range []float64{0.005, 0.1, 1, 3, 5, 10} {
			for _, delta := range []float64{1e-9, 1e-6, 1e-3, 0.1, 0.5} {
				gap := 0.02
				if epsilon >= 10 {
					gap = 0.06
				}
				if r := design(t, dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, Loss: loss}, gap); !r.Optimal {
					t.Errorf("%s ε=%g δ=%g: gap %g, want %g", loss.Name(), epsilon, delta, r.Gap, gap)
				}
			}
		}
	}
}

// TestEdgesOfTheRange takes the corners of what a Problem may be.
func TestEdgesOfTheRange(t *testing.T) {
	cases := []struct {
		p   dp.Problem
		gap float64
	}{
		{dp.Problem{Privacy: dp.Privacy{Epsilon: 0.001, Delta: 1e-6, Sensitivity: 1}, Loss: loss.L1}, 0.05},
		{dp.Problem{Privacy: dp.Privacy{Epsilon: 0.001, Delta: 0.9, Sensitivity: 1e-6}, Loss: loss.L1}, 0.02},
		{dp.Problem{Privacy: dp.Privacy{Epsilon: 2, Delta: 1e-12, Sensitivity: 7}, Loss: loss.L1}, 0.02},
		{dp.Problem{Privacy: dp.Privacy{Epsilon: 0, Delta: 0.01, Sensitivity: 1}, Loss: loss.L1}, 0.02},
		{dp.Problem{Privacy: dp.Privacy{Epsilon: 0, Delta: 0.9, Sensitivity: 1}, Loss: loss.L2}, 0.05},
	}
	for _, c := range cases {
		if r := design(t, c.p, c.gap); !r.Optimal {
			t.Errorf("%+v: gap %g, want %g", c.p, r.Gap, c.gap)
		}
	}
}

// TestLargestEpsilon: at ε = 20 staircases with an atom and bounds in closed form nearly
// meet.
func TestLargestEpsilon(t *testing.T) {
	for _, loss := range bothLosses {
		for _, delta := range []float64{0.9, 1e-3, 1e-12} {
			p := dp.Problem{Privacy: dp.Privacy{Epsilon: 20, Delta: delta, Sensitivity: 0.3}, Loss: loss}
			r, err := lp.Design(t.Context(), p, lp.Options{Gap: 0.05})
			if err != nil {
				t.Fatalf("%s δ=%g: %v", loss.Name(), delta, err)
			}
			if err := fromFile(r.Verified); err != nil {
				t.Errorf("%s δ=%g: %v", loss.Name(), delta, err)
			}
			stairs := staircaseLoss(t, dp.Privacy{Epsilon: 20, Sensitivity: 0.3}, loss)
			if upper, _ := losses(r); upper > 1.01*stairs*(1-delta) {
				t.Errorf("%s δ=%g: loss %g, the staircase has %g", loss.Name(), delta, upper, stairs*(1-delta))
			}
		}
	}
}

// TestBrackets compares with certified brackets of an independent program: our
// loss is at least their lower bound, our bound at most their upper one.
func TestBrackets(t *testing.T) {
	type bracket struct {
		Epsilon, Delta float64
		Loss           string
		Lower, Upper   float64
	}
	brackets := []bracket{
		{0.3, 1e-5, "l1", 3.3186503, 3.3190292},
		{0.3, 1e-5, "l2", 22.063318, 22.0666661},
		{1, 1e-6, "l1", 0.959472, 0.9595527},
		{1, 1e-6, "l2", 1.9176651, 1.9178739},
		{3, 0.3, "l1", 0.1625789, 0.1630606},
		{0.5, 0.75, "l1", 0.20744, 0.20771},
		{5, 0.25, "l1", 0.06183, 0.06252},
	}
	var file struct{ Brackets []bracket }
	if readReference(t, "brackets.json", &file) {
		brackets = file.Brackets
	}
	for _, b := range brackets {
		loss, err := loss.Parse(b.Loss)
		if err != nil {
			t.Fatal(err)
		}
		r := design(t, dp.Problem{Privacy: dp.Privacy{Epsilon: b.Epsilon, Delta: b.Delta, Sensitivity: 1}, Loss: loss}, 2e-3)
		upper, lower := losses(r)
		if upper < b.Lower || lower > b.Upper {
			t.Errorf("%+v: [%g, %g] does not meet it", b, lower, upper)
		}
		if !r.Optimal {
			t.Errorf("%+v: gap %g", b, r.Gap)
		}
	}
}

// TestAgainstClosedForms compares with what is known exactly: the staircase
// mechanism as δ → 0 (Geng & Viswanath 2014), additive noise at ε = 0 where the
// monotone optimum is the optimum, and the lower bound of every noise.
func TestAgainstClosedForms(t *testing.T) {
	const gap = 2e-3
	holds := func(p dp.Problem, want float64, what string) {
		t.Helper()
		r := design(t, p, gap)
		upper, lower := losses(r)
		if upper < want*(1-1e-9) || lower > want*(1+1e-9) || upper > want*(1+2*gap) {
			t.Errorf("%s ε=%g δ=%g: [%.9g, %.9g], want to enclose %.9g", what, p.Epsilon, p.Delta, lower, upper, want)
		}
	}
	for _, loss := range bothLosses {
		for _, epsilon := range []float64{1, 2, 5} {
			p := dp.Privacy{Epsilon: epsilon, Sensitivity: 1}
			want := staircaseLoss(t, p, loss)
			// The loss at δ is below the staircase's by less than
			// 1e-9·1e3: closer than the tolerance of the comparison
			// needs, so widen it by that.
			problem := dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: 1e-12, Sensitivity: 1}, Loss: loss}
			r := design(t, problem, gap)
			upper, lower := losses(r)
			if lower > want || upper < want*(1-1e-6) || upper > want*(1+2*gap) {
				t.Errorf("staircase %s ε=%g: [%.9g, %.9g], want to enclose %.9g", loss.Name(), epsilon, lower, upper, want)
			}
		}
	}
	// ε = 0, 1/(2δ) an integer.
	for _, delta := range []float64{0.5, 0.25, 0.1, 0.05} {
		holds(dp.Problem{Privacy: dp.Privacy{Delta: delta, Sensitivity: 1}, Loss: loss.L1}, 1/(4*delta), "additive l1")
	}
	// For l2 that closed form, 1/(12δ²), is the optimum among monotone
	// densities only: the bracket lies strictly below it.
	for _, delta := range []float64{0.5, 0.25} {
		monotone := 1 / (12 * delta * delta)
		r := design(t, dp.Problem{Privacy: dp.Privacy{Delta: delta, Sensitivity: 1}, Loss: loss.L2}, gap)
		if upper, _ := losses(r); upper > 0.997*monotone {
			t.Errorf("additive l2 δ=%g: loss %g, want below the monotone %g", delta, upper, monotone)
		}
	}
	holds(dp.Problem{Privacy: dp.Privacy{Delta: 0.7, Sensitivity: 1}, Loss: loss.L1}, 1-0.7, "additive l1")
	for _, loss := range bothLosses {
		for _, epsilon := range []float64{0.1, 1, 5} {
			for _, delta := range []float64{0.005, 0.2} {
				// Noise on the real line, cut into cells of one sensitivity at a random
				// place, is integer noise, with a loss that at k is that of a lower node.
				node, _ := loss.LowerNode(0, big.NewRat(1, 1)).Float64() // 0, -1/4
				known := integerLoss(t, epsilon, delta, loss) + node
				r := design(t, dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, Loss: loss}, 5e-3)
				if upper, _ := losses(r); upper < known {
					t.Errorf("%s ε=%g δ=%g: loss %g below the known bound %g", loss.Name(), epsilon, delta, upper, known)
				}
			}
		}
	}
	// ε = 0 away from those points: a law that is not monotone is better.
	r := design(t, dp.Problem{Privacy: dp.Privacy{Delta: 0.3, Sensitivity: 1}, Loss: loss.L1}, gap)
	if upper, lower := losses(r); lower > 0.827577 || upper > 0.8295 {
		t.Errorf("ε=0 δ=0.3: [%g, %g], want to hold a loss of at most 0.827577, below the monotone 0.8333", lower, upper)
	}
}

// integerLoss returns the least loss of integer noise for sensitivity 1.
func integerLoss(t *testing.T, epsilon, delta float64, l loss.Loss) float64 {
	t.Helper()
	m, err := noise.New("discrete-canonical", dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, l)
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := m.ExpectedLoss(l)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestScalesWithSensitivity: the bracket of the problem with sensitivity s is
// that of sensitivity 1 times s (l1) or s² (l2).
func TestScalesWithSensitivity(t *testing.T) {
	for _, loss := range bothLosses {
		base := design(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 1}, Loss: loss}, 5e-3)
		upper, lower := losses(base)
		for _, s := range []float64{1e-6, 0.36, 1.0 / 3, 1e9} {
			r := design(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: s}, Loss: loss}, 5e-3)
			u, l := losses(r)
			f := loss.At(s)
			if u < lower*f || l > upper*f || u > upper*f*(1+1e-2) {
				t.Errorf("%s Δ=%g: [%g, %g], at 1 [%g, %g]", loss.Name(), s, l, u, lower, upper)
			}
		}
	}
}

// TestMonotoneInPrivacy: more privacy costs more. Brackets are compared, so a
// wrong bound on either side shows.
func TestMonotoneInPrivacy(t *testing.T) {
	const gap = 5e-3
	var previous float64
	for i, delta := range []float64{0.5, 0.2, 0.05, 1e-3} {
		upper, lower := losses(design(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: delta, Sensitivity: 1}, Loss: loss.L1}, gap))
		if i > 0 && upper < previous {
			t.Errorf("δ=%g: loss %g below the bound %g at a larger δ", delta, upper, previous)
		}
		previous = lower
	}
	for i, epsilon := range []float64{5, 2, 0.5, 0.1} {
		upper, lower := losses(design(t, dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: 0.05, Sensitivity: 1}, Loss: loss.L2}, gap))
		if i > 0 && upper < previous {
			t.Errorf("ε=%g: loss %g below the bound %g at a larger ε", epsilon, upper, previous)
		}
		previous = lower
	}
}

// TestTablesAreSymmetric: a symmetric loss gives a symmetric table.
func TestTablesAreSymmetric(t *testing.T) {
	r := design(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.2, Sensitivity: 1}, Loss: loss.L1}, 5e-3)
	n := r.Verified.Mechanism().Cells()
	if r.Verified.Mechanism().Grid().FirstCell != -(n-1)/2 || n%2 == 0 {
		t.Fatalf("%d cells from %d", n, r.Verified.Mechanism().Grid().FirstCell)
	}
	for i := range n {
		if r.Verified.Mechanism().Weight(i) != r.Verified.Mechanism().Weight(n-1-i) {
			t.Errorf("weights %d and %d differ", i, n-1-i)
		}
	}
}

// TestLimits: whatever stops a Design, what it returns is proven.
func TestLimits(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 5, Delta: 0.25, Sensitivity: 1}, Loss: loss.L1}
	check := func(name string, r *lp.Result[tables.Verified], err error) {
		t.Helper()
		if !errors.Is(err, lp.ErrLimit) || r == nil {
			t.Fatalf("%s: result %v, error %v", name, r, err)
		}
		if err := fromFile(r.Verified); err != nil || r.Optimal {
			t.Errorf("%s: optimal %v, verify %v", name, r.Optimal, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := lp.Design(ctx, p, lp.Options{NewSolver: highs.New})
	check("cancelled", r, err)
	r, err = lp.Design(t.Context(), p, lp.Options{NewSolver: highs.New, TimeLimit: time.Nanosecond})
	check("no time", r, err)
	r, err = lp.Design(t.Context(), p, lp.Options{NewSolver: highs.New, Gap: 1e-6, TimeLimit: 300 * time.Millisecond})
	check("little time", r, err)
	if r.Gap > 1 {
		t.Errorf("little time: gap %g, want what coarse grids give", r.Gap)
	}
	if r.Elapsed > 20*time.Second {
		t.Errorf("little time: took %s", r.Elapsed)
	}
	r, err = lp.Design(t.Context(), p, lp.Options{NewSolver: highs.New, MaxCells: 101})
	check("few cells", r, err)
	if r.Verified.Mechanism().Cells() > 101 {
		t.Errorf("few cells: %d", r.Verified.Mechanism().Cells())
	}
	// Too few for any noise: an error without a result.
	r, err = lp.Design(t.Context(), dp.Problem{Privacy: dp.Privacy{Epsilon: 0.01, Delta: 1e-9, Sensitivity: 1}, Loss: loss.L1},
		lp.Options{NewSolver: highs.New, MaxCells: 101})
	if r != nil || !errors.Is(err, lp.ErrLimit) || !strings.Contains(err.Error(), "101") {
		t.Errorf("far too few cells: %v, %v", r, err)
	}
}

func TestBadProblems(t *testing.T) {
	good := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: loss.L1}
	for field, change := range map[string]func(*dp.Problem, *lp.Options){
		"epsilon = NaN":      func(p *dp.Problem, _ *lp.Options) { p.Epsilon = math.NaN() },
		"epsilon = -1":       func(p *dp.Problem, _ *lp.Options) { p.Epsilon = -1 },
		"epsilon = 21":       func(p *dp.Problem, _ *lp.Options) { p.Epsilon = 21 },
		"epsilon = 0.0001":   func(p *dp.Problem, _ *lp.Options) { p.Epsilon = 0.0001 },
		"delta = 0":          func(p *dp.Problem, _ *lp.Options) { p.Epsilon, p.Delta = 0, 0 },
		"delta = 1":          func(p *dp.Problem, _ *lp.Options) { p.Delta = 1 },
		"delta = 1e-13":      func(p *dp.Problem, _ *lp.Options) { p.Delta = 1e-13 },
		"delta = NaN":        func(p *dp.Problem, _ *lp.Options) { p.Delta = math.NaN() },
		"sensitivity = 0":    func(p *dp.Problem, _ *lp.Options) { p.Sensitivity = 0 },
		"sensitivity = +Inf": func(p *dp.Problem, _ *lp.Options) { p.Sensitivity = math.Inf(1) },
		"loss = none":        func(p *dp.Problem, _ *lp.Options) { p.Loss = nil },
		"gap = NaN":          func(_ *dp.Problem, o *lp.Options) { o.Gap = math.NaN() },
		"gap = 2":            func(_ *dp.Problem, o *lp.Options) { o.Gap = 2 },
		"max-cells = -1":     func(_ *dp.Problem, o *lp.Options) { o.MaxCells = -1 },
		"time-limit = -1s":   func(_ *dp.Problem, o *lp.Options) { o.TimeLimit = -time.Second },
	} {
		p, o := good, lp.Options{NewSolver: highs.New}
		change(&p, &o)
		r, err := lp.Design(t.Context(), p, o)
		if r != nil || !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: result %v, error %v", field, r, err)
		}
	}
	_, err := lp.Design(t.Context(), dp.Problem{Privacy: dp.Privacy{Epsilon: -1, Delta: 2}}, lp.Options{})
	for _, field := range []string{"epsilon", "delta", "sensitivity", "loss"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error %v does not name %s", err, field)
		}
	}
}

// TestProgress: the bounds reported only ever improve, and end at the result's.
func TestProgress(t *testing.T) {
	var seen []lp.Progress
	r, err := lp.Design(t.Context(), dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: loss.L1},
		lp.Options{NewSolver: highs.New, Progress: func(p lp.Progress) { seen = append(seen, p) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) < 2 {
		t.Fatalf("%d reports", len(seen))
	}
	for i := 1; i < len(seen); i++ {
		if seen[i].ExpectedLoss > seen[i-1].ExpectedLoss || seen[i].LowerBound < seen[i-1].LowerBound {
			t.Errorf("report %d got worse: %+v after %+v", i, seen[i], seen[i-1])
		}
	}
	if last := seen[len(seen)-1]; math.Abs(last.Gap-r.Gap) > 1e-9 {
		t.Errorf("last gap %g, result %g", last.Gap, r.Gap)
	}
}

// faulty wraps a solver and spoils what it says.
type faulty struct {
	solver.Solver
	spoil func(call int, s solver.Solution) solver.Solution
	calls int
}

func (f *faulty) Solve(ctx context.Context, o solver.Options) (solver.Solution, error) {
	s, err := f.Solver.Solve(ctx, o)
	f.calls++
	return f.spoil(f.calls, s), err
}

// TestFaultySolvers: a solver that fails is asked again, and one that lies is
// never believed; every table and bound returned is true.
func TestFaultySolvers(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: loss.L1}
	const best, worst = 0.69069, 0.69086 // a certified bracket of the optimum
	scaled := func(v []float64, by float64) []float64 {
		out := append([]float64(nil), v...)
		for i := range out {
			out[i] *= by
		}
		return out
	}
	for name, spoil := range map[string]func(int, solver.Solution) solver.Solution{
		"every other call fails": func(call int, s solver.Solution) solver.Solution {
			if call%2 == 1 {
				return solver.Solution{Status: solver.StatusFailed}
			}
			return s
		},
		"always fails": func(int, solver.Solution) solver.Solution { return solver.Solution{Status: solver.StatusFailed} },
		"duals too large": func(_ int, s solver.Solution) solver.Solution {
			s.RowDual = scaled(s.RowDual, 1.5)
			return s
		},
		"duals of the wrong sign": func(_ int, s solver.Solution) solver.Solution {
			s.RowDual = scaled(s.RowDual, -1)
			return s
		},
		"not a number": func(call int, s solver.Solution) solver.Solution {
			if call%3 == 0 {
				s.Primal, s.RowDual = scaled(s.Primal, math.NaN()), scaled(s.RowDual, math.Inf(1))
			}
			return s
		},
		"masses all in the middle": func(_ int, s solver.Solution) solver.Solution {
			out := append([]float64(nil), s.Primal...)
			for i := range out {
				if i > 0 {
					out[i] *= 0.9
				}
			}
			s.Primal = out
			return s
		},
	} {
		r, err := lp.Design(t.Context(), p, lp.Options{
			TimeLimit: 2 * time.Second,
			NewSolver: func() (solver.Solver, error) {
				s, err := highs.New()
				return &faulty{Solver: s, spoil: spoil}, err
			},
		})
		if err != nil && !errors.Is(err, lp.ErrLimit) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := fromFile(r.Verified); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		upper, lower := losses(r)
		if upper < best || lower > worst {
			t.Errorf("%s: [%g, %g] excludes the optimum", name, lower, upper)
		}
		if name == "every other call fails" && !r.Optimal {
			t.Errorf("%s: gap %g", name, r.Gap)
		}
	}
}

// readReference reads a file of the reference folder beside the repository and
// reports whether it is there.
func readReference(t *testing.T, name string, into any) bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "shared", "reference", name))
	if errors.Is(err, os.ErrNotExist) {
		t.Logf("%s is not beside the repository; testing the committed part", name)
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
	return true
}

func ExampleDesign() {
	r, err := lp.Design(context.Background(), dp.Problem{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: loss.L1,
	}, lp.Options{NewSolver: highs.New})
	if err != nil {
		fmt.Println(err)
		return
	}
	laplace := new(big.Rat).SetInt64(1) // sensitivity/epsilon
	saved := new(big.Rat).Sub(laplace, r.Verified.Certificate().ExpectedLoss)
	fmt.Println("expected loss at most", exact.DecimalUp(r.Verified.Certificate().ExpectedLoss, 2))
	fmt.Println("no noise can do better than", exact.DecimalDown(r.Verified.Certificate().LowerBound, 2))
	fmt.Println("against Laplace noise, a saving of", exact.DecimalDown(saved, 1))
	// Output:
	// expected loss at most 0.7
	// no noise can do better than 0.69
	// against Laplace noise, a saving of 0.3
}

func benchmarkDesign(b *testing.B, p dp.Problem) {
	b.Helper()
	var r *lp.Result[tables.Verified]
	for b.Loop() {
		var err error
		if r, err = lp.Design(context.Background(), p, lp.Options{NewSolver: highs.New, TimeLimit: time.Minute}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*r.Gap, "%gap")
	b.ReportMetric(float64(r.Rounds), "rounds")
}

func BenchmarkDesign(b *testing.B) {
	for _, c := range []dp.Problem{
		{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: loss.L1},
		{Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-9, Sensitivity: 1}, Loss: loss.L1},
		{Privacy: dp.Privacy{Epsilon: 0.1, Delta: 1e-6, Sensitivity: 1}, Loss: loss.L2},
		{Privacy: dp.Privacy{Epsilon: 3, Delta: 1e-3, Sensitivity: 1}, Loss: loss.L1},
	} {
		b.Run(fmt.Sprintf("%s/eps=%g/delta=%g", c.Loss.Name(), c.Epsilon, c.Delta), func(b *testing.B) { benchmarkDesign(b, c) })
	}
}
