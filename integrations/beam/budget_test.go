// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// TestBudget: what fits is charged, what does not is refused and costs nothing.
func TestBudget(t *testing.T) {
	b := newBudget(t, 1, 1e-6)
	half := account.Cost{Epsilon: 0.5, Delta: 5e-7, Times: 1}
	for range 2 {
		if err := b.Charge(half); err != nil {
			t.Fatal(err)
		}
	}
	err := b.Charge(account.Cost{Epsilon: 0.25, Times: 1})
	wantSentence(t, err, "this release would exceed the budget of epsilon 1, delta 1e-06: spent are 1, and with it 1.2")
	if !errors.Is(err, account.ErrExceeded) {
		t.Errorf("%v is not account.ErrExceeded", err)
	}
	if spent, err := b.Spent(); err != nil || spent > 1 || len(b.Costs()) != 1 || b.Costs()[0].Times != 2 {
		t.Errorf("spent %v, %v with %v after a refusal", spent, err, b.Costs())
	}
	wantSentence(t, b.Charge(account.Cost{Epsilon: 1, Times: 0}), "times = 0")
	wantSentence(t, b.Charge(account.Cost{Epsilon: -1, Times: 1}), "epsilon")
	for _, c := range []struct {
		epsilon, delta float64
		want           string
	}{{0, 0, "epsilon = 0"}, {math.Inf(1), 0, "epsilon = +Inf"}, {1, 1, "delta = 1"}, {1, math.NaN(), "delta = NaN"}} {
		_, err := NewBudget(c.epsilon, c.delta)
		wantSentence(t, err, c.want)
	}
}

// TestBudgetComposes: noise calibrated for several partitions by exact composition fits
// its total, and so does less noise than equal parts of epsilon allow.
func TestBudgetComposes(t *testing.T) {
	const m = 64
	c, err := account.Calibrate(context.Background(), account.Target{
		Problem:  dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-6, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L2},
		Releases: m,
	}, nil, account.CalibrateOptions{Exponents: []float64{2}})
	if err != nil {
		t.Fatal(err)
	}
	b := newBudget(t, 1, 1e-6)
	if err := b.Charge(account.Cost{Table: c.Table, Times: m}); err != nil {
		t.Fatal(err)
	}
	own, _ := c.Table.Mechanism().ExpectedLossOf(loss.L2).Float64()
	if laplace := 2.0 * m * m; own > laplace/2 {
		t.Errorf("variance %v, want less than half of the %v of Laplace noise of epsilon/%d", own, laplace, m)
	}
	if err := b.Charge(account.Cost{Table: c.Table, Times: 1}); !errors.Is(err, account.ErrExceeded) {
		t.Errorf("one use more: %v, want account.ErrExceeded", err)
	}
}

// TestRefusals: nothing unbounded, nothing without a proof, and nothing that exceeds the
// budget becomes part of a pipeline.
func TestRefusals(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	_ = p
	rows := beam.Create(s, Row{"a", "x", 1})
	good := Bounds{Partitions: 2, Values: 3, Lower: -1, Upper: 4}
	for want, b := range map[string]Bounds{
		"partitions = 0, want the most that a person counts in":           {Values: 1},
		"values = 0, want the most that count of a person":                {Partitions: 1},
		"unbounded values have no sensitivity":                            {1, 1, 0, math.Inf(1), 0},
		"lower and upper = 2, 1":                                          {1, 1, 2, 1, 0},
		"lower and upper = NaN, 1":                                        {1, 1, math.NaN(), 1, 0},
		"values times the larger of lower and upper = infinite, want a f": {1, 1000, 0, 1e306, 0},
	} {
		_, err := Bound(s, rows, b, newBudget(t, 1, 0))
		wantSentence(t, err, want)
		if !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v is not dp.ErrInvalid", err)
		}
	}
	_, err := Bound(s, rows, good, nil)
	wantSentence(t, err, "budget = none")

	budget := newBudget(t, 1, 0)
	people, err := Bound(s, rows, good, budget)
	if err != nil {
		t.Fatal(err)
	}
	_, err = people.Public(s, nil)
	wantSentence(t, err, "number of keys = 0")
	_, err = people.Public(s, []string{"x", "x"})
	wantSentence(t, err, "keys = x twice")
	_, err = people.Select(s, nil)
	wantSentence(t, err, "partitions of the selection = 0, want at least those of the bounds, 2")
	rule, err := NewSelection(2, 1e-6, 2)
	if err != nil {
		t.Fatal(err)
	}
	_, err = people.Select(s, rule)
	wantSentence(t, err, "exceed the budget of epsilon 1, delta 0")
	groups, err := people.Public(s, []string{"x"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = groups.Count(s, nil)
	wantSentence(t, err, "table = none, want a verified one")
	_, err = groups.Count(s, quiet(t, 2))
	wantSentence(t, err, "sensitivity of the table = 2, want at least 3, which is how far a person can move the number of rows")
	_, err = groups.Sum(s, quiet(t, 11))
	wantSentence(t, err, "want at least 12, which is how far a person can move the sum")
	_, err = groups.Mean(s, quiet(t, 7), quiet(t, 3))
	wantSentence(t, err, "want at least 7.5")
	_, err = groups.Mean(s, quiet(t, 8), quiet(t, 2))
	wantSentence(t, err, "want at least 3")
	_, err = groups.Count(s, quiet(t, 3))
	wantSentence(t, err, "exceed the budget")
	_, err = groups.Quantiles(s, QuantileOptions{Probabilities: []float64{0.5}, Epsilon: 0.6})
	wantSentence(t, err, "exceed the budget")
	_, err = groups.Quantiles(s, QuantileOptions{Epsilon: 0.6})
	wantSentence(t, err, "number of probabilities = 0")
	_, err = groups.Quantiles(s, QuantileOptions{Probabilities: []float64{2}, Epsilon: 0.1})
	wantSentence(t, err, "probability = 2")
	_, err = groups.Quantiles(s, QuantileOptions{Probabilities: []float64{0.5}, Epsilon: -1})
	wantSentence(t, err, "epsilon = -1")
	for _, epsilon := range []float64{math.NaN(), math.Inf(1)} {
		_, err = groups.Quantiles(s, QuantileOptions{Probabilities: []float64{0.5}, Epsilon: epsilon})
		wantSentence(t, err, "epsilon = ", "want a finite number above 0")
	}
	_, err = people.Public(s, []string{"x", "M\xfcller"})
	wantSentence(t, err, "keys = ", "UTF-8")

	counting, err := Bound(s, rows, Bounds{Partitions: 1, Values: 1}, newBudget(t, 100, 0))
	if err != nil {
		t.Fatal(err)
	}
	groups, err = counting.Public(s, []string{"x"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = groups.Sum(s, quiet(t, 1))
	wantSentence(t, err, "unbounded values have no sensitivity")
	if spent, err := budget.Spent(); spent != 0 || err != nil {
		t.Errorf("spent %v, %v by refusals, want nothing", spent, err)
	}
}

// TestColumnsRefused: the same of AddNoise and the functions for files.
func TestColumnsRefused(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	rows := beam.Create(s, Row{"a", "x", 1})
	v := quiet(t, 2)
	for want, c := range map[string]Column{
		"unbounded values have no sensitivity":                            {Name: "Value", Upper: math.Inf(1)},
		"upper - lower = 3, want at most the sensitivity of the table, 2": {Name: "Value", Lower: -1, Upper: 2},
		`column = Person, want an exported float64 field`:                 {Name: "Person", Upper: 1},
		`column = value`:                        {Name: "value", Upper: 1},
		`column = "", want the name of a field`: {Upper: 1},
	} {
		_, err := AddNoise(s, rows, v, c)
		wantSentence(t, err, want)
	}
	column := Column{Name: "Value", Upper: 1}
	_, err := AddNoise(s, rows, nil, column)
	wantSentence(t, err, "table = none")
	wantSentence(t, PrivatizeCSV(s, v, column, "", "out.csv"), "in = ")
	wantSentence(t, PrivatizeCSV(s, v, column, "in.csv", ""), "out = ")
	wantSentence(t, PrivatizeCSV(s, v, Column{Name: "x"}, "in.csv", "out.csv"), "lower and upper = 0, 0")
	_, err = ReadRows(s, Files{Pattern: "in.csv"}, "", "", "")
	wantSentence(t, err, "person = ", "partition = ")
}
