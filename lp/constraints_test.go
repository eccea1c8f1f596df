// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package lp_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/tables"
)

func named(t *testing.T, name string) loss.Loss {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// bracket designs to the gap and returns the certified bounds of the optimum.
func bracket(t *testing.T, p dp.Problem, gap float64) (upper, lower float64, table *tables.Table) {
	t.Helper()
	r, err := lp.Design(t.Context(), p, lp.Options{Gap: gap, TimeLimit: time.Minute, NewSolver: highs.New})
	if err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	if err := fromFile(r.Verified); err != nil {
		t.Errorf("%+v: %v", p, err)
	}
	upper, lower = losses(r)
	if lower > upper {
		t.Errorf("%+v: bound %g above the loss %g", p, lower, upper)
	}
	return upper, lower, r.Verified.Mechanism()
}

// TestIntegerOptimum: at sensitivity 1 the optimum on the integers is known for
// every even loss that does not decrease away from 0 (Awan & Dong 2022).
func TestIntegerOptimum(t *testing.T) {
	for _, name := range []string{"l1", "l2", "huber:2", "deadzone:1", "exceed:2", "lp:1.5"} {
		for _, epsilon := range []float64{0.1, 1, 5} {
			for _, delta := range []float64{1e-6, 0.005, 0.2} {
				l := named(t, name)
				want := integerLoss(t, epsilon, delta, l)
				p := dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, Loss: l, Query: dp.IntegerQuery}
				upper, lower, _ := bracket(t, p, 1e-4)
				if lower > want*(1+1e-9) || upper < want*(1-1e-9) || upper > want*(1+1e-4)+1e-12 {
					t.Errorf("%s ε=%g δ=%g: [%.9g, %.9g], want %.9g inside", name, epsilon, delta, lower, upper, want)
				}
			}
		}
	}
}

// TestHugeIntegers: sensitivities that are no multiples of cells, up to the largest.
func TestHugeIntegers(t *testing.T) {
	for _, sensitivity := range []float64{12345, 1000003, lp.Limits.Sensitivity.Max} {
		for _, delta := range []float64{0, 1e-6} {
			p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: delta, Sensitivity: sensitivity}, Loss: loss.L1, Query: dp.IntegerQuery}
			upper, lower, table := bracket(t, p, 1e-2)
			if upper < 0.9*sensitivity || lower > sensitivity {
				t.Errorf("Δ=%g: [%g, %g]", sensitivity, lower, upper)
			}
			if g := table.Grid(); g.GranularityExponent != 0 || float64(g.PointsPerCell)*float64(g.CellsPerSensitivity) < sensitivity {
				t.Errorf("Δ=%g: grid %+v does not cover it with integers", sensitivity, g)
			}
		}
	}
}

// TestManyIntegers: cells hold several integers where single ones would be too
// many, for a prime sensitivity too.
func TestManyIntegers(t *testing.T) {
	for _, sensitivity := range []float64{211, 1000} {
		p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-3, Sensitivity: sensitivity}, Loss: loss.L1, Query: dp.IntegerQuery}
		upper, lower, table := bracket(t, p, 1e-2)
		// Between the optimum for real queries and that for integers in steps of
		// the sensitivity.
		if upper < 0.9*sensitivity || lower > 1*sensitivity {
			t.Errorf("Δ=%g: [%g, %g]", sensitivity, lower, upper)
		}
		if s := table.Grid().PointsPerCell * int64(table.Grid().CellsPerSensitivity); s < int64(sensitivity) {
			t.Errorf("Δ=%g: %d points covered", sensitivity, s)
		}
	}
}

// TestPadding: noise that may not be negative, for padding counts; the values
// are those of the complete linear program, to the digits given.
func TestPadding(t *testing.T) {
	for _, c := range []struct{ delta, want, digits float64 }{{1e-6, 13.07, 0.005}, {1e-3, 6.20, 0.005}} {
		p := dp.Problem{
			Privacy: dp.Privacy{Epsilon: 1, Delta: c.delta, Sensitivity: 1}, Loss: loss.L1, Query: dp.IntegerQuery,
			Constraints: dp.Constraints{Support: &dp.Interval{Lower: 0, Upper: math.Inf(1)}},
		}
		upper, lower, table := bracket(t, p, 1e-4)
		if math.Abs(upper-c.want) > c.digits || math.Abs(lower-c.want) > c.digits {
			t.Errorf("δ=%g: [%g, %g], want %g", c.delta, lower, upper, c.want)
		}
		if table.Grid().FirstPoint(0) < 0 {
			t.Errorf("δ=%g: noise from %d", c.delta, table.Grid().FirstPoint(0))
		}
	}
}

// TestMonotoneIsStrictlyWorse: the best noise is not monotone. The certified
// brackets of the two problems do not overlap.
func TestMonotoneIsStrictlyWorse(t *testing.T) {
	for _, c := range []struct{ epsilon, delta float64 }{{1, 0.4}, {1, 0.3}, {0.5, 0.4}} {
		p := dp.Problem{Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: 1}, Loss: loss.L1}
		free, _, _ := bracket(t, p, 1e-3)
		p.Constraints.Monotone = true
		_, monotone, table := bracket(t, p, 1e-3)
		if free >= monotone {
			t.Errorf("ε=%g δ=%g: %g without the constraint, at least %g with it; want a gap between them", c.epsilon, c.delta, free, monotone)
		}
		n := table.Cells()
		for i := 1; i < n; i++ {
			if i > n/2 && table.Weight(i) > table.Weight(i-1) || i <= n/2 && table.Weight(i) < table.Weight(i-1) {
				t.Errorf("ε=%g δ=%g: weights %d and %d rise away from 0", c.epsilon, c.delta, i-1, i)
			}
		}
	}
}

// TestAdditiveOptimum: at ε = 0 the best monotone noise is known (Geng, Ding, Guo &
// Kumar, "Optimal noise-adding mechanism in additive differential privacy", AISTATS
// 2019): uniform noise, above a threshold that for the threshold mixed with an atom
// at 0,
//
//	l1: Δ/(4δ)     for δ <= 1/2,  Δ(1-δ)       above
//	l2: Δ²/(12δ²)  for δ <= 2/3,  (9/16)Δ²(1-δ) above.
//
// Over all noise that is exact if 1/(2δ) is an integer, and for l1 with δ >= 1/2;
// elsewhere noise with a density that rises and falls is better.
func TestAdditiveOptimum(t *testing.T) {
	for _, delta := range []float64{0.1, 0.3, 0.75} {
		wants := []float64{1 / (4 * delta), 1 / (12 * delta * delta)}
		if delta > 2.0/3 {
			wants = []float64{1 - delta, 9.0 / 16 * (1 - delta)}
		}
		for i, want := range wants {
			l := bothLosses[i]
			upper, lower, _ := bracket(t, dp.Problem{Privacy: dp.Privacy{Delta: delta, Sensitivity: 1}, Loss: l, Constraints: dp.Constraints{Monotone: true}}, 1e-3)
			if lower > want*(1+1e-6) || upper < want*(1-1e-6) {
				t.Errorf("%s δ=%g: [%g, %g], want %g inside", l.Name(), delta, lower, upper, want)
			}
		}
	}
}

// TestPinballPutsTheQuantileAtZero: minimizing the pinball loss of τ over all
// translations puts the τ-quantile of the noise at 0.
func TestPinballPutsTheQuantileAtZero(t *testing.T) {
	for _, tau := range []string{"0.2", "0.5", "0.9"} {
		_, _, table := bracket(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 1}, Loss: named(t, "pinball:"+tau)}, 1e-3)
		pmf, atom := table.PMF()
		below, at := 0.0, atom
		for i, m := range pmf {
			switch first, last := table.Grid().FirstPoint(i), table.Grid().FirstPoint(i+1)-1; {
			case last < 0:
				below += m
			case first <= 0:
				at += m
			}
		}
		want := named(t, "pinball:"+tau).At(1) // the slope to the right of 0 is τ
		if below > want+1e-3 || below+at < want-1e-3 {
			t.Errorf("τ=%s: P(X<0) = %g and P(X in the cell of 0) = %g", tau, below, at)
		}
	}
}

// TestMirrorImages: mirroring the loss mirrors the optimum, and a symmetric
// constraint costs what averaging the loss with its mirror image does.
func TestMirrorImages(t *testing.T) {
	const gap = 2e-3
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.05, Sensitivity: 1}, Loss: named(t, "asymmetric:1,3")}
	upper, lower, _ := bracket(t, p, gap)
	p.Loss = named(t, "asymmetric:3,1")
	mirrorUpper, mirrorLower, _ := bracket(t, p, gap)
	if upper < mirrorLower || mirrorUpper < lower {
		t.Errorf("[%g, %g] and mirrored [%g, %g]", lower, upper, mirrorLower, mirrorUpper)
	}
	p.Constraints.Symmetric = true
	symmetricUpper, symmetricLower, table := bracket(t, p, gap)
	l1Upper, l1Lower, _ := bracket(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.05, Sensitivity: 1}, Loss: loss.L1}, gap)
	if symmetricUpper < 2*l1Lower || 2*l1Upper < symmetricLower {
		t.Errorf("symmetric [%g, %g], twice l1 [%g, %g]", symmetricLower, symmetricUpper, 2*l1Lower, 2*l1Upper)
	}
	if symmetricLower <= upper {
		t.Errorf("symmetric noise [%g, %g] is not worse than [%g, %g]", symmetricLower, symmetricUpper, lower, upper)
	}
	for i, n := 0, table.Cells(); i < n; i++ {
		if table.Weight(i) != table.Weight(n-1-i) {
			t.Errorf("weights %d and %d differ", i, n-1-i)
		}
	}
}

// TestBindingConstraints: a constraint that the free optimum breaks raises the
// certified bound above what the free optimum costs, and is kept; Verify checks
// that it is.
func TestBindingConstraints(t *testing.T) {
	const gap = 2e-3
	integer := func(l string) dp.Problem {
		return dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.05, Sensitivity: 3}, Loss: named(t, l), Query: dp.IntegerQuery}
	}
	realQuery := func(l string) dp.Problem {
		return dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.05, Sensitivity: 1}, Loss: named(t, l)}
	}
	for name, c := range map[string]struct {
		p dp.Problem
		c dp.Constraints
	}{
		"unbiased":          {realQuery("pinball:0.8"), dp.Constraints{Unbiased: true}},
		"unbiased integers": {integer("pinball:0.8"), dp.Constraints{Unbiased: true}},
		"support":           {realQuery("l1"), dp.Constraints{Support: &dp.Interval{Lower: -1.5, Upper: 6}}},
		"narrow support":    {realQuery("l2"), dp.Constraints{Support: &dp.Interval{Lower: -3.1, Upper: 3.1}, Symmetric: true}},
		"variance":          {realQuery("pinball:0.9"), dp.Constraints{MaxVariance: 1.3}},
		"quantile":          {integer("l1"), dp.Constraints{Quantiles: []dp.Quantile{{Probability: 0.93, Magnitude: 6}}}},
		"monotone":          {integer("asymmetric:1,2"), dp.Constraints{Monotone: true}},
	} {
		_, free, _ := bracket(t, c.p, gap)
		p := c.p
		p.Constraints = c.c
		r, err := lp.Design(t.Context(), p, lp.Options{Gap: gap, TimeLimit: 15 * time.Second, NewSolver: highs.New})
		if r == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := fromFile(r.Verified); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if upper, lower := losses(r); upper < free || lower > upper {
			t.Errorf("%s: [%g, %g], at least %g without", name, lower, upper, free)
		}
		if r.Verified.Mechanism().Problem().Constraints.None() {
			t.Errorf("%s: the table does not state it", name)
		}
	}
}

// TestDistinguishingIsCheap: bounding the probability of telling outputs costs
// next to nothing, since tails of next to no weight hide everything.
func TestDistinguishingIsCheap(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: loss.L1}
	_, free, _ := bracket(t, p, 1e-3)
	p.Constraints.MaxDistinguishing = 1e-5
	upper, _, table := bracket(t, p, 2e-3)
	if upper > free*1.005 {
		t.Errorf("loss %g, at least %g without", upper, free)
	}
	pmf, _ := table.PMF()
	var end float64
	for i := range table.Grid().CellsPerSensitivity {
		end += pmf[i]
	}
	if end > 1e-5 {
		t.Errorf("the first sensitivity of the noise weighs %g", end)
	}
}

// TestLattice: noise on the multiples of a step.
func TestLattice(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 1}, Loss: loss.L2, Query: dp.LatticeQuery, Step: 0.3}
	upper, _, table := bracket(t, p, 1e-4)
	// ⌈1/0.3⌉ = 4 steps have to be hidden.
	integers, lower, _ := bracket(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 4}, Loss: loss.L2, Query: dp.IntegerQuery}, 1e-4)
	if upper < 0.09*lower*(1-1e-9) || upper > 0.09*integers*(1+2e-4) {
		t.Errorf("loss %g, want 0.09 times one in [%g, %g]", upper, lower, integers)
	}
	if g := table.Grid(); g.Unit != 0.3 || g.CellsPerSensitivity != 4 || g.PointsPerCell != 1 {
		t.Errorf("grid %+v", g)
	}
}

// TestJumps: where the loss jumps the bounds meet too, with the jump on the grid
// or off it.
func TestJumps(t *testing.T) {
	for _, c := range []struct {
		name    string
		epsilon float64
	}{{"exceed:1", 1}, {"exceed:3", 1}, {"exceed:0.5", 3}} {
		_, _, table := bracket(t, dp.Problem{Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: 1e-3, Sensitivity: 1}, Loss: named(t, c.name)}, 1e-3)
		if d := table.Dual(); d == nil || !d.Edges {
			t.Errorf("%s: the bound is not that of cells between nodes", c.name)
		}
	}
}

func TestConflicts(t *testing.T) {
	half := &dp.Interval{Lower: 0, Upper: math.Inf(1)}
	for _, c := range []struct {
		name        string
		constraints dp.Constraints
		says, not   []string
	}{
		{"short", dp.Constraints{Support: &dp.Interval{Lower: -0.2, Upper: 0.2}, MaxVariance: 9}, []string{"support = -0.2,0.2"}, []string{"max-variance"}},
		{"one-sided and unbiased", dp.Constraints{Support: half, Unbiased: true, MaxVariance: 1e6}, []string{"support", "unbiased"}, []string{"max-variance"}},
		{"variance", dp.Constraints{MaxVariance: 0.5, Monotone: true}, []string{"max-variance = 0.5"}, []string{"monotone"}},
		{"quantile", dp.Constraints{Quantiles: []dp.Quantile{{Probability: 0.99, Magnitude: 0.5}, {Probability: 0.5, Magnitude: 3}}}, []string{"quantile = 0.99,0.5"}, []string{"quantile = 0.5,3"}},
		// There is noise on this support without the limit.
		{"distinguishing", dp.Constraints{Support: &dp.Interval{Lower: -2.2, Upper: 2.2}, MaxDistinguishing: 1e-6, MaxVariance: 9}, []string{"support = -2.2,2.2 and max-distinguishing = 1e-06"}, []string{"max-variance"}},
	} {
		p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: loss.L1, Constraints: c.constraints}
		r, err := lp.Design(t.Context(), p, lp.Options{NewSolver: highs.New, TimeLimit: 20 * time.Second})
		if r != nil || !errors.Is(err, lp.ErrInfeasible) {
			t.Errorf("%s: result %v, error %v", c.name, r, err)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v, want %q in it", c.name, err, s)
			}
		}
		for _, s := range c.not {
			if strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v, want no %q in it", c.name, err, s)
			}
		}
	}
}

func TestBadQueries(t *testing.T) {
	good := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 2}, Loss: loss.L1}
	for says, change := range map[string]func(*dp.Problem){
		"sensitivity = 1.5":   func(p *dp.Problem) { p.Query, p.Sensitivity = dp.IntegerQuery, 1.5 },
		"sensitivity = 2e+09": func(p *dp.Problem) { p.Query, p.Sensitivity = dp.IntegerQuery, 2e9 },
		"step = 0":            func(p *dp.Problem) { p.Query = dp.LatticeQuery },
		"step = NaN":          func(p *dp.Problem) { p.Query, p.Step = dp.LatticeQuery, math.NaN() },
		"step = 1e-10":        func(p *dp.Problem) { p.Query, p.Step = dp.LatticeQuery, 1e-10 },
		"query = \"odd\"":     func(p *dp.Problem) { p.Query = "odd" },
		"support = 1,2":       func(p *dp.Problem) { p.Constraints.Support = &dp.Interval{Lower: 1, Upper: 2} },
		"max-variance = -1":   func(p *dp.Problem) { p.Constraints.MaxVariance = -1 },
		"quantile = 1,2":      func(p *dp.Problem) { p.Constraints.Quantiles = []dp.Quantile{{Probability: 1, Magnitude: 2}} },
	} {
		p := good
		change(&p)
		r, err := lp.Design(t.Context(), p, lp.Options{NewSolver: highs.New})
		if r != nil || !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: result %v, error %v", says, r, err)
		}
	}
}
