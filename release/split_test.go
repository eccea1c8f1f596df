// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
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

// TestSplitBesideComposed: what is wanted may take more than the total by the sums, and less by exact composition, of which
// the others then have what is left: epsilons above 0 that fit, and no more would; or there is no room for them.
func TestSplitBesideComposed(t *testing.T) {
	var list []Statistic
	quantile := Query{Kind: Quantile, Column: "age", Upper: 10, Probability: 0.5, Neighbors: dp.AddRemove}
	for range 4 {
		list = append(list, Statistic{Query: quantile, Error: "20@0.9"})
	}
	list = append(list, Statistic{Query: quantile})
	s := &split{total: dp.Budget{Epsilon: 10}, source: splitSource, list: list[:1]}
	if err := s.validate(); err != nil {
		t.Fatal(err)
	}
	wanted, err := s.leastEpsilon(t.Context(), quantile, s.wanted[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		total dp.Budget
		room  bool
	}{{dp.Budget{Epsilon: 3.9 * wanted, Delta: 0.1}, true}, {dp.Budget{Epsilon: 4 * wanted, Delta: 0.1}, true}, {dp.Budget{Epsilon: 4 * wanted}, false}, {dp.Budget{Epsilon: 3.9 * wanted, Delta: 1e-9}, false}} {
		got, err := Split(t.Context(), c.total, false, list, splitSource)
		if !c.room {
			if !errors.Is(err, account.ErrExceeded) {
				t.Errorf("%+v: %v, %v, want no room for the others", c.total, got, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := account.NewBudget(c.total, false)
		if err != nil {
			t.Fatal(err)
		}
		rest := got.Queries[4].Epsilon
		b = b.With(account.Cost{Epsilon: wanted, Times: 4})
		ok, err := b.With(account.Cost{Epsilon: rest, Times: 1}).Fits(t.Context())
		more, other := b.With(account.Cost{Epsilon: rest + c.total.Epsilon/128, Times: 1}).Fits(t.Context())
		if got.Queries[0].Epsilon != wanted || !(rest > 0.1) || !ok || more || errors.Join(err, other) != nil {
			t.Errorf("%+v: the others have epsilon %v: fits %v, and with more %v, %v", c.total, rest, ok, more, errors.Join(err, other))
		}
	}
}

// TestSplitLeavesNothing: where what is wanted does not fit by itself, nothing is left to the others; and with a part of delta
// for themselves statistics may fit only if the other half is left to exact composition.
func TestSplitLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	total := dp.Budget{Epsilon: 1, Delta: 1e-3}
	b, err := account.NewBudget(total, false)
	if err != nil {
		t.Fatal(err)
	}
	count := Query{Kind: Count, Neighbors: dp.AddRemove}
	s := &split{total: total, list: []Statistic{{Query: count}}, wanted: make([]wanted, 1)}
	if scale, err := s.scale(t.Context(), b.With(account.Cost{Epsilon: 0.5, Times: 4}), big.NewRat(1, 1), []unit{{count, []int{0}}}, []Query{count}); !errors.Is(err, account.ErrExceeded) {
		t.Errorf("%v, %v", scale, err)
	}
	counts := slices.Repeat([]Statistic{{Query: count, Error: "5@0.9"}}, 4)
	alone, err := Split(t.Context(), dp.Budget{Epsilon: 10, Delta: 0.2}, true, counts, splitSource)
	if err != nil {
		t.Fatal(err)
	}
	total = dp.Budget{Epsilon: 3 * alone.Queries[0].Epsilon, Delta: 0.2}
	if got, err := Split(t.Context(), total, false, counts, splitSource); err != nil || got.Queries[3].Epsilon != alone.Queries[0].Epsilon || got.Queries[3].Delta != 0.025 {
		t.Errorf("%+v, %v, want four of epsilon %v", got, err, alone.Queries[0].Epsilon)
	}
}

// TestSplitBetter: a larger epsilon beside a smaller delta is better if its noise is no larger, or, where noise depends on
// the data, if it is larger by more than a tenth.
func TestSplitBetter(t *testing.T) {
	// Noise of which epsilon counts for a third below a delta of 1e-7.
	source := func(ctx context.Context, p dp.Problem, uses int) (*tables.Verified, error) {
		if p.Delta > 0 && p.Delta < 1e-7 {
			p.Epsilon /= 3
		}
		return splitSource(ctx, p, uses)
	}
	count, mean := Query{Kind: Count, Neighbors: dp.AddRemove}, Query{Kind: Mean, Column: "age", Upper: 10, Neighbors: dp.AddRemove}
	for _, c := range []struct {
		q              Query
		epsilon, delta float64
		want           bool
	}{{count, 1.2, 5e-7, true}, {count, 1.01, 5e-7, true}, {count, 1.2, 5e-8, false}, {count, 1, 5e-7, false}, {count, 0.9, 5e-7, false}, {mean, 1.05, 5e-7, false}, {mean, 1.2, 5e-7, true}, {mean, 0.9, 5e-7, false}} {
		s := &split{source: source, list: []Statistic{{Query: c.q}}, wanted: make([]wanted, 1), least: []float64{1}}
		a, b := c.q, c.q
		a.Epsilon, a.Delta, b.Epsilon, b.Delta = 2*c.epsilon, c.delta, 2, 1e-6
		if got, err := s.better(t.Context(), unit{c.q, []int{0}}, a, b); got != c.want || err != nil {
			t.Errorf("%s for (%v, %v) is better than for (2, 1e-6): %v, %v", c.q.Kind, a.Epsilon, a.Delta, got, err)
		}
		s.wanted[0].most = 0.5
		if got, err := s.better(t.Context(), unit{c.q, []int{0}}, a, b); !got || err != nil {
			t.Errorf("a %s that keeps its error: %v, %v", c.q.Kind, got, err)
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
	if testing.Short() {
		t.Skip("slow")
	}
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
		if larger := got.Queries[0].Epsilon > 0.05; larger == adaptive { // 0.037 with all of delta for the statistics
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
	if got, err := Split(t.Context(), total, false, []Statistic{{Query: list[2].Query, Error: "1e9@0.5"}}, splitSource); err != nil || got.Queries[0].Epsilon != leastEpsilon {
		t.Errorf("any error: %+v, %v, want the least epsilon", got, err)
	}
	for _, most := range []float64{17, 20, 25, 31, 38, 47, 60} { // each is the least of 3 digits
		got, err := Split(t.Context(), total, false, []Statistic{{Query: list[2].Query, Error: fmt.Sprint(most, "@0.9")}}, splitSource)
		if err != nil {
			t.Fatal(err)
		}
		less := got.Queries[0]
		less.Epsilon -= math.Pow(10, math.Floor(math.Log10(less.Epsilon))-2)
		p, err := NewPlan(t.Context(), less, splitSource)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := p.mechanism.radius(0.9); r <= most || err != nil {
			t.Errorf("an error of %v is kept at epsilon %v too, below %v: %v", most, less.Epsilon, got.Queries[0].Epsilon, err)
		}
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
	if !errors.Is(err, account.ErrExceeded) || !strings.Contains(err.Error(), "the errors that are wanted take epsilon 1.661 together") || !strings.Contains(err.Error(), "and the total is 0.25: 1.411 is missing") {
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
		{[]Statistic{{Query: count, Weight: math.Nextafter(1e6, 2e6)}}, "want a number from 1e-6 to 1e6"},
		{[]Statistic{{Query: count, Weight: math.Nextafter(1e-6, 0)}}, "want a number from 1e-6 to 1e6"},
		{[]Statistic{{Query: count, Weight: math.Inf(1)}}, "want a number from 1e-6 to 1e6"},
		{[]Statistic{{Query: count, Weight: math.NaN()}}, "want a number from 1e-6 to 1e6"},
		{[]Statistic{{Query: count, Weight: 2, Error: "1@0.9"}}, "weight of statistic 1 = 2, want either a weight or an error"},
		{[]Statistic{{Query: count, Error: "1"}}, "error of statistic 1 = 1, want an error and its probability, such as 2@0.95"},
		{[]Statistic{{Query: count, Error: "1@1"}}, "error of statistic 1 = 1@1,"},
		{[]Statistic{{Query: count, Error: "0@0.5"}}, "error of statistic 1 = 0@0.5,"},
		{[]Statistic{{Query: count, Error: "1@0"}}, "error of statistic 1 = 1@0,"},
		{[]Statistic{{Query: mean, Error: "1@0.9"}}, "error = 1@0.9, want a weight in its place: of a mean the error depends on the data, and of a count, a sum, a histogram or a quantile it does not"},
		{[]Statistic{{Query: count}, {Name: "pay", Query: mean, Error: "1@0.9"}}, "error of statistic pay = 1@0.9, want a weight in its place: of a mean"},
		{[]Statistic{{Query: count, Error: "1e-3@0.999999999999"}}, "error = 1e-3@0.999999999999, want one that an epsilon up to 20 keeps"},
		{[]Statistic{{Query: Query{Kind: Value, Sensitivity: 1, Neighbors: dp.AddRemove}}}, "kind of statistic 1 = value, want a statistic of the data"},
		{[]Statistic{{Query: Query{Kind: Histogram, By: "y", Keys: []string{"z"}, Neighbors: dp.AddRemove, Column: "x"}}}, "column = x, want none"},
	} {
		if _, err := Split(t.Context(), dp.Budget{Epsilon: 1}, false, c.list, splitSource); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if _, err := Split(t.Context(), dp.Budget{Epsilon: 1}, false, []Statistic{{Query: count, Weight: 1e-6}, {Query: count, Weight: 1e6}}, splitSource); err != nil {
		t.Error(err)
	}
	for n, ok := range map[int]bool{maxStatistics: true, maxStatistics + 1: false} {
		s := &split{total: dp.Budget{Epsilon: 1}, list: slices.Repeat([]Statistic{{Query: count}}, n)}
		if err := s.validate(); (err == nil) != ok {
			t.Errorf("%d statistics: %v", n, err)
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
