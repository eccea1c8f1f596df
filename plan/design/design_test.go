// SPDX-License-Identifier: Apache-2.0

package design

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/plan"
)

func workload(tb testing.TB, text string) plan.Workload {
	tb.Helper()
	w, err := plan.ParseWorkload(text)
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

func problem(tb testing.TB, text string, epsilon, delta float64) Problem {
	tb.Helper()
	return Problem{Budget: dp.Budget{Epsilon: epsilon, Delta: delta}, Neighbors: dp.AddRemove, MaxPerPerson: 1, Workload: workload(tb, text)}
}

var designs = Options{Noise: lp.Designer(lp.Options{})}

// adult are the columns of a census with so many values each.
const adult = "marginals:age=85,workclass=9,fnlwgt=100,education=16,education-num=16,marital=7,occupation=15,relationship=6," +
	"race=5,sex=2,gain=100,loss=100,hours=99,country=42,income=2:2"

// TestAcceptance: the proved errors are at most those that another program found, and Gaussian noise is chosen
// where it is better.
func TestAcceptance(t *testing.T) {
	studies := map[string]*study{}
	for _, c := range []struct {
		workload, strategy string
		epsilon, delta     float64
		most               float64
		slow               bool
	}{
		{"prefix:12", "", 1, 1e-6, 11.3, false},
		{"prefix:12", "identity", 3, 1e-6, 0.72, false},
		{"prefix:12", "identity", 5, 1e-6, 0.089, false},
		{"prefix:24", "", 1, 1e-6, 17.0, false},
		{"prefix:24", "", 3, 1e-6, 1.39, false},
		{"prefix:24", "", 5, 1e-6, 0.172, false},
		{"prefix:52", "p-identity", 1, 1e-6, 25.6, true},
		{"prefix:52", "cells and blocks of 21", 3, 1e-6, 2.75, true},
		{"prefix:52", "identity", 5, 1e-6, 0.363, true},
		{"ranges:100", "p-identity", 1, 1e-6, 39.7, true},
		{"ranges:100", "", 3, 1e-6, 3.76, true},
		{"ranges:100", "", 5, 1e-6, 0.465, true},
		{"prefix:100", "", 1, 1e-6, 35.6, true},
		{"prefix:100", "", 3, 1e-6, 3.95, true},
		{"prefix:100", "", 5, 1e-6, 0.694, true},
		{"prefix:365", "p-identity", 1, 1e-6, 62.8, true},
		{"prefix:365", "p-identity", 3, 1e-6, 7.0, true},
		{"prefix:365", "cells and blocks of 49", 5, 1e-6, 2.10, true},
		{"prefix:365", "gaussian", 1, 1e-3, 46.5, true},
		{"marginals:sex=2,race=5,workclass=9:2", "identity", 1, 1e-6, 11.4, false},
		{"marginals:sex=2,race=5,workclass=9:2", "identity", 3, 1e-6, 0.69, false},
		{"marginals:sex=2,race=5,workclass=9:2", "identity", 5, 1e-6, 0.084, false},
		{adult, "gaussian", 5, 1e-6, 46.5, false},
	} {
		if c.slow && testing.Short() {
			continue
		}
		if studies[c.workload] == nil {
			s, err := newStudy(t.Context(), problem(t, c.workload, 1, 0), designs)
			if err != nil {
				t.Fatal(c.workload, err)
			}
			studies[c.workload] = s
		}
		r, err := studies[c.workload].at(t.Context(), dp.Budget{Epsilon: c.epsilon, Delta: c.delta})
		if err != nil {
			t.Fatal(c.workload, err)
		}
		got, _ := r.Plan.Certificate().MeanSquaredError.Float64()
		if got > c.most || c.strategy != "" && r.Strategy != c.strategy {
			t.Errorf("%s at %g, %g: %s with an error of %g, want %s with %g", check.Shortened(c.workload), c.epsilon, c.delta, r.Strategy, got, c.strategy, c.most)
		}
		for _, other := range r.Candidates {
			if other.MeanSquaredError < got || other.Bound > other.MeanSquaredError || other.Bound > 0 && other.Bound < 0.99*other.MeanSquaredError {
				t.Errorf("%s: the candidate %+v beside %g", check.Shortened(c.workload), other, got)
			}
		}
		if r.NumberByNumber < got {
			t.Errorf("%s: one by one %g, together %g", check.Shortened(c.workload), r.NumberByNumber, got)
		}
	}
}

// TestEstimates: what is estimated of each candidate is what is proved of it once it is made, to 1 %, of
// tables that help each other at least.
func TestEstimates(t *testing.T) {
	for _, text := range []string{"prefix:10", "ranges:9", "identity:4", "marginals:a=2,b=3,c=4:2"} {
		for _, neighbors := range []string{dp.AddRemove, dp.Replace} {
			for _, most := range []int{1, 2} {
				for _, b := range []dp.Budget{{Epsilon: 1, Delta: 1e-6}, {Epsilon: 0.01}, {Epsilon: 4, Delta: 1e-3}} {
					p := problem(t, text, b.Epsilon, b.Delta)
					p.Neighbors, p.MaxPerPerson = neighbors, most
					s, err := newStudy(t.Context(), p, Options{Gap: 1e-3})
					if err != nil {
						t.Fatal(err)
					}
					list, err := s.candidates(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for _, c := range list {
						v, err := s.prove(t.Context(), &c)
						if err != nil {
							t.Errorf("%s, %s, %d, %+v: %s: %v", text, neighbors, most, b, c.Name, err)
							continue
						}
						got, _ := v.Certificate().MeanSquaredError.Float64()
						least := 0.98
						if c.Name == "the workload's tables" {
							least = 0.3
						}
						if got > c.MeanSquaredError*1.02 || got < c.MeanSquaredError*least {
							t.Errorf("%s, %s, %d, %+v: %s has %g, estimated %g", text, neighbors, most, b, c.Name, got, c.MeanSquaredError)
						}
					}
				}
			}
		}
	}
}

// TestSlope: the slope of p-identity matrices is that of differences, and the error that of the definition.
func TestSlope(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	w := workload(t, "ranges:6")
	o := newPIdentity(denseOf(w.Gram()), 2)
	at := make([]float64, 12)
	for i := range at {
		at[i] = 0.2 + r.Float64()
	}
	o.evaluate(at)
	slope, value := o.slope, o.value
	rows := o.strategy().rows
	var gram, inverse, product mat.Dense
	gram.Mul(rows.T(), rows)
	if err := inverse.Inverse(&gram); err != nil {
		t.Fatal(err)
	}
	product.Mul(denseOf(w.Gram()), &inverse)
	if want := mat.Trace(&product); math.Abs(value/want-1) > 1e-10 {
		t.Errorf("the error is %g, want %g", value, want)
	}
	for j := range 6 {
		if sum := mat.Sum(rows.ColView(j)); math.Abs(sum-1) > 1e-12 {
			t.Errorf("column %d sums to %g", j, sum)
		}
	}
	const step = 1e-6
	for i := range at {
		moved := append([]float64{}, at...)
		moved[i] += step
		o.evaluate(moved)
		up := o.value
		moved[i] -= 2 * step
		o.evaluate(moved)
		if d := (up - o.value) / (2 * step); math.Abs(d-slope[i]) > 1e-4*(1+math.Abs(d)) {
			t.Errorf("the slope at %d is %g, want %g", i, slope[i], d)
		}
	}
}

// TestGaussian: the value of the factorization is that of its definition, and no matrix at random is below the
// bound.
func TestGaussian(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	w := workload(t, "prefix:8")
	g := denseOf(w.Gram())
	value := func(rows mat.Matrix) float64 { // with columns of norm at most 1
		var x, inverse, product mat.Dense
		x.Mul(rows.T(), rows)
		most := 0.0
		for i := range 8 {
			most = max(most, x.At(i, i))
		}
		if inverse.Inverse(&x) != nil {
			return math.Inf(1)
		}
		product.Mul(g, &inverse)
		return mat.Trace(&product) * most
	}
	found := gaussian(t.Context(), w.Gram(), 1e-6)
	if got := value(found.rows); math.Abs(got/found.total-1) > 1e-9 || found.bound > got || found.bound < got*(1-1e-5) {
		t.Errorf("the value is %g, stated as %g with the bound %g", got, found.total, found.bound)
	}
	for range 200 {
		rows := mat.DenseCopyOf(found.rows)
		for i := range 8 {
			for j := range 8 {
				rows.Set(i, j, rows.At(i, j)+r.NormFloat64()*math.Pow(10, -1-3*r.Float64()))
			}
		}
		if v := value(rows); v < found.bound {
			t.Errorf("a matrix has %g, below the bound %g", v, found.bound)
		}
	}
}

// TestLimit: a context that has ended leaves a plan that is proved.
func TestLimit(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := Design(ctx, problem(t, "prefix:40", 1, 1e-6), Options{})
	if err != nil || r.Plan.Mechanism() == nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestForError: the least epsilon, and a bit less is not enough.
func TestForError(t *testing.T) {
	p := problem(t, "prefix:12", 0, 1e-6)
	good := func(most int64) func(v *plan.Verified) bool {
		return func(v *plan.Verified) bool { return v.Certificate().MaxSquaredError.Cmp(big.NewRat(most, 1)) <= 0 }
	}
	r, err := ForError(t.Context(), p, good(2), Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Epsilon = r.Plan.Mechanism().Privacy().Epsilon
	if !good(2)(r.Plan) || math.Abs(p.Epsilon-2.6339) > 0.004 {
		t.Errorf("epsilon %g", p.Epsilon)
	}
	if _, err := ForError(t.Context(), p, func(*plan.Verified) bool { return false }, Options{}); !errors.Is(err, dp.ErrInvalid) {
		t.Error(err)
	}
}

// TestBadProblems: one sentence each.
func TestBadProblems(t *testing.T) {
	for want, change := range map[string]func(p *Problem){
		"neighbors":           func(p *Problem) { p.Neighbors = "other" },
		"max-per-person":      func(p *Problem) { p.MaxPerPerson = 0 },
		"epsilon":             func(p *Problem) { p.Epsilon = 0 },
		"delta":               func(p *Problem) { p.Delta = 1 },
		"workload.cells":      func(p *Problem) { p.Workload.Cells = 0 },
		"no query of cell 2,": func(p *Problem) { p.Workload = plan.Workload{Kind: plan.Matrix, Cells: 2, Rows: [][]int64{{1, 0}}} },
	} {
		p := problem(t, "prefix:3", 1, 0)
		change(&p)
		if _, err := Design(t.Context(), p, Options{}); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(fmt.Sprint(err), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want a sentence about %s", err, want)
		}
	}
}
