// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/tables"
)

// splitSource has discrete Laplace noise of any epsilon, designed for nothing.
func splitSource(ctx context.Context, p dp.Problem, uses int) (*tables.Verified, error) {
	return pure(ctx, dp.Problem{Privacy: dp.Privacy{Epsilon: p.Epsilon / float64(uses) * (1 - 1e-12), Sensitivity: p.Sensitivity}, Query: p.Query, Loss: p.Loss}, 1e-3)
}

func splitQueries() []Statistic {
	count := Query{Kind: Count, Neighbors: dp.AddRemove}
	old := count
	old.Where = "age >= 2"
	return []Statistic{
		{Query: count},
		{Query: old, Weight: 3},
		{Query: Query{Kind: Quantile, Column: "age", Upper: 10, Probability: 0.5, Neighbors: dp.AddRemove}},
		{Query: Query{Kind: Sum, Column: "age", Upper: 10, Neighbors: dp.AddRemove}},
	}
}

// TestSplit: parts are in proportion to the weights, nothing is left of epsilon, delta goes in equal parts to those that
// take one; and one unit in the last place more of any part is beyond the total.
func TestSplit(t *testing.T) {
	for _, delta := range []float64{0, 1e-6} {
		total := dp.Budget{Epsilon: 0.7, Delta: delta}
		for _, adaptive := range []bool{true, false} {
			list := splitQueries()
			got, err := Split(t.Context(), total, adaptive, list, splitSource)
			if err != nil {
				t.Fatal(err)
			}
			budget, err := account.NewBudget(total, adaptive)
			if err != nil {
				t.Fatal(err)
			}
			var costs []account.Cost
			for i, q := range got.Queries {
				want, wantDelta := 0.7/6*list[i].weight(), delta/3
				if q.Kind == Quantile {
					wantDelta = 0
				}
				if math.Abs(q.Epsilon-want) > 1e-12 || math.Abs(q.Delta-wantDelta) > 1e-20 {
					t.Errorf("%v: statistic %d has epsilon %v, delta %v, want %v, %v", adaptive, i, q.Epsilon, q.Delta, want, wantDelta)
				}
				costs = append(costs, account.Cost{Epsilon: q.Epsilon, Delta: q.Delta, Times: 1})
			}
			if ok, err := budget.With(costs...).Fits(t.Context()); !ok || err != nil {
				t.Errorf("the parts do not fit: %v", err)
			}
			for i := range costs {
				more := append([]account.Cost{}, costs...)
				more[i].Epsilon *= 1 + 1e-12
				if ok, err := budget.With(more...).Fits(t.Context()); delta == 0 && ok || err != nil {
					t.Errorf("more of part %d fits: %v", i, err)
				}
			}
		}
	}
}

// weight is that of a Statistic by itself.
func (s Statistic) weight() float64 {
	if s.Weight == 0 {
		return 1
	}
	return s.Weight
}

// TestSplitMany: of many statistics exact composition leaves larger parts than sums, and they fit; an adaptive
// total keeps to the sums.
func TestSplitMany(t *testing.T) {
	var list []Statistic
	for range 40 {
		list = append(list, Statistic{Query: Query{Kind: Count, Neighbors: dp.AddRemove}})
	}
	total := dp.Budget{Epsilon: 1, Delta: 1e-3}
	for _, adaptive := range []bool{true, false} {
		got, err := Split(t.Context(), total, adaptive, list, splitSource)
		if err != nil {
			t.Fatal(err)
		}
		b, err := account.NewBudget(total, adaptive)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range got.Queries {
			b = b.With(account.Cost{Epsilon: q.Epsilon, Delta: q.Delta, Times: 1})
		}
		if ok, err := b.Fits(t.Context()); !ok || err != nil {
			t.Errorf("adaptive %v: not within the total, %v", adaptive, err)
		}
		if larger := got.Queries[0].Epsilon > 0.0251; larger == adaptive {
			t.Errorf("adaptive %v: epsilon %v each, of a sum of 1", adaptive, got.Queries[0].Epsilon)
		}
	}
}

// TestSplitErrors: who wants an error gets the least epsilon of 3 digits that keeps it, and the others what is left.
func TestSplitErrors(t *testing.T) {
	list := splitQueries()
	list[0].Error, list[2].Error = "12@0.9", "40@0.99"
	total := dp.Budget{Epsilon: 3}
	got, err := Split(t.Context(), total, false, list, splitSource)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range map[int]wanted{0: {most: 12, level: 0.9}, 2: {most: 40, level: 0.99}} {
		q := got.Queries[i]
		for _, step := range []float64{0, -1} { // one in the third digit less
			digit := math.Pow(10, math.Floor(math.Log10(q.Epsilon))-2)
			less := q
			less.Epsilon += step * digit
			p, err := NewPlan(t.Context(), less, splitSource)
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.mechanism.radius(w.level)
			if kept := r <= w.most; err != nil || kept != (step == 0) {
				t.Errorf("statistic %d: error %v at epsilon %v, want at most %v there and not below: %v", i, r, less.Epsilon, w.most, err)
			}
		}
	}
	rest := (3 - got.Queries[0].Epsilon - got.Queries[2].Epsilon) / 4
	if math.Abs(got.Queries[1].Epsilon-3*rest) > 1e-12 || math.Abs(got.Queries[3].Epsilon-rest) > 1e-12 {
		t.Errorf("%v and %v, want what is left", got.Queries[1].Epsilon, got.Queries[3].Epsilon)
	}
	// The answer is as far from the truth as its interval says, and the radius.
	p, err := NewPlan(t.Context(), got.Queries[0], splitSource)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.mechanism.radius(level)
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.Answer(read(t, got.Queries[0], [][]string{{"1", "a", "2"}}))
	if err != nil || a[0].Upper-a[0].Value > r || a[0].Value-a[0].Lower > r || a[0].Upper-a[0].Value < r && a[0].Value-a[0].Lower < r {
		t.Errorf("%+v, want a radius of %v, %v", a, r, err)
	}
	// More than the total, and just all of it.
	_, err = Split(t.Context(), dp.Budget{Epsilon: 0.25}, false, list[:1], splitSource)
	if err != nil {
		t.Errorf("%v", err)
	}
	list[0].Error = "1@0.9"
	_, err = Split(t.Context(), dp.Budget{Epsilon: 0.25}, false, list, splitSource)
	if !errors.Is(err, account.ErrExceeded) || !strings.Contains(err.Error(), "the errors that are wanted take epsilon 1.661 together") || !strings.Contains(err.Error(), "and the total is 0.25: ") {
		t.Error(err)
	}
}

// TestSplitRefuses: what is wrong is said of each statistic, by its name.
func TestSplitRefuses(t *testing.T) {
	count := Query{Kind: Count, Neighbors: dp.AddRemove}
	charged := count
	charged.Epsilon = 1
	mean := Query{Kind: Mean, Column: "age", Upper: 10, Neighbors: dp.AddRemove}
	for _, c := range []struct {
		list []Statistic
		want string
	}{
		{nil, "statistics = 0, want 1 to 1000"},
		{[]Statistic{{Query: charged}}, "epsilon of statistic 1 = 1, want none: it has a part of the total"},
		{[]Statistic{{Query: count}, {Name: "old", Query: count, Weight: -1}}, "weight of statistic old = -1, want a number from 1e-6 to 1e6"},
		{[]Statistic{{Query: count, Weight: 2, Error: "1@0.9"}}, "weight of statistic 1 = 2, want either a weight or an error"},
		{[]Statistic{{Query: count, Error: "1"}}, "error of statistic 1 = 1, want an error and its probability, such as 2@0.95"},
		{[]Statistic{{Query: count, Error: "1@1"}}, "error of statistic 1 = 1@1,"},
		{[]Statistic{{Query: count, Error: "0@0.5"}}, "error of statistic 1 = 0@0.5,"},
		{[]Statistic{{Query: mean, Error: "1@0.9"}}, "error = 1@0.9, want none of a mean, whose interval depends on the data"},
		{[]Statistic{{Query: count, Error: "1e-3@0.999999999999"}}, "error = 1e-3@0.999999999999, want one that an epsilon up to 20 keeps"},
		{[]Statistic{{Query: Query{Kind: Value, Sensitivity: 1, Neighbors: dp.AddRemove}}}, "kind of statistic 1 = value, want a statistic of the data"},
		{[]Statistic{{Query: Query{Kind: Histogram, By: "y", Keys: []string{"z"}, Neighbors: dp.AddRemove, Column: "x"}}}, "column = x, want none"},
	} {
		if _, err := Split(t.Context(), dp.Budget{Epsilon: 1}, false, c.list, splitSource); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if _, err := Split(t.Context(), dp.Budget{Epsilon: -1}, false, splitQueries(), splitSource); !errors.Is(err, dp.ErrInvalid) {
		t.Error(err)
	}
}

// TestSplitOfFound: keys that are found have a part of delta, which must be above 0, and bounds that are found allow no
// wanted error, as nothing is known of what they clip.
func TestSplitOfFound(t *testing.T) {
	source := func(ctx context.Context, p dp.Problem, uses int) (*tables.Verified, error) {
		p.Epsilon = min(p.Epsilon, 1) // an error is looked for at 20 first, for which integer weights are too coarse
		return laplaceSource(ctx, p, uses)
	}
	keys := Statistic{Query: Query{Kind: Count, By: "city", PrivateKeys: true, Neighbors: dp.AddRemove}}
	if got, err := Split(t.Context(), dp.Budget{Epsilon: 1, Delta: 1e-6}, true, []Statistic{keys}, source); err != nil || got.Queries[0].Delta != 1e-6 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Split(t.Context(), dp.Budget{Epsilon: 1}, true, []Statistic{keys}, source); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("keys without a delta: %v", err)
	}
	for _, bounds := range []Query{{Bounds: privateBounds}, {Bounds: "prior:lognormal,0,1", Rows: 100}} {
		bounds.Kind, bounds.Column, bounds.Neighbors = Sum, "age", dp.AddRemove
		_, err := Split(t.Context(), dp.Budget{Epsilon: 1}, true, []Statistic{{Query: bounds, Error: "5@0.9"}}, source)
		if !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "depends on the data") {
			t.Errorf("%s: %v", bounds.Bounds, err)
		}
	}
}
