// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// rankError is how many rows are between a value and the quantiles of sorted rows.
func rankError(rows []float64, v, p float64) (between int) {
	n := float64(len(rows))
	low, high := rows[max(int(math.Ceil(n*p))-1, 0)], rows[min(int(math.Floor(n*p)), len(rows)-1)]
	for _, x := range rows {
		if v < x && x < low || high < x && x < v {
			between++
		}
	}
	return between
}

// TestArrange: sorted answers to quantiles ascend, and none is more rows off than the worst of them was.
func TestArrange(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	moved := 0
	for range 3000 {
		rows := make([]float64, 1+r.IntN(12))
		for i := range rows {
			rows[i] = float64(r.IntN(10))
		}
		slices.Sort(rows)
		m := 2 + r.IntN(3)
		probabilities, answers, o := make([]float64, m), make([]*Answer, m), order{rankError: 77}
		for i := range m {
			probabilities[i] = r.Float64()
			o.of = append(o.of, i)
		}
		slices.Sort(probabilities)
		worst := 0
		var before []float64
		for i, p := range probabilities {
			v := float64(r.IntN(10))
			before = append(before, v)
			answers[i] = &Answer{Kind: Quantile, Answers: []Estimate{{Value: v, RankError: 3}}}
			worst = max(worst, rankError(rows, v, p))
		}
		original := slices.Clone(answers)
		o.arrange(answers)
		for i, p := range probabilities {
			e := answers[i].Answers[0]
			if got := rankError(rows, e.Value, p); got > worst || e.RankError != 77 || i > 0 && e.Value < answers[i-1].Answers[0].Value {
				t.Fatalf("rows %v, %v for %v: %v is %d rows off, and the worst was %d", rows, before, probabilities, e, got, worst)
			}
			if original[i].Answers[0].Value != before[i] {
				t.Fatal("what was released is changed")
			}
			if e.Value != before[i] {
				moved++
			}
		}
	}
	if moved < 1000 {
		t.Errorf("%d moved", moved)
	}
}

// TestFamilies: statistics of the same rows are one query, others their own, and each has its answer.
func TestFamilies(t *testing.T) {
	of := func(kind Kind, change func(*Query)) Statistic {
		q := Query{Kind: kind, Column: "age", Upper: 10, Neighbors: dp.AddRemove}
		if kind == Count {
			q.Upper = 0
		}
		if change != nil {
			change(&q)
		}
		return Statistic{Name: string(kind), Query: q}
	}
	none, far := func(*Query) {}, func(q *Query) { q.Lower, q.Upper = 1000, 1100 }
	for name, c := range map[string]struct {
		list []Statistic
		want string
	}{
		"all":               {[]Statistic{of(Sum, none), of(Mean, none), of(Count, none), of(Variance, none)}, "[[0 1 2 3]] variance [count mean sum]"},
		"no mean":           {[]Statistic{of(Sum, none), of(Count, none)}, "[[0 1]] mean [count sum]"},
		"one":               {[]Statistic{of(Count, none), of(Count, func(q *Query) { q.Where = "age > 3" })}, "[[0] [1]] count []"},
		"other rows":        {[]Statistic{of(Mean, none), of(Count, func(q *Query) { q.Column = "" }), of(Sum, func(q *Query) { q.Where = "age > 3" })}, "[[0] [1] [2]] mean []"},
		"other bounds":      {[]Statistic{of(Mean, none), of(Sum, func(q *Query) { q.Upper = 11 })}, "[[0] [1]] mean []"},
		"other groups":      {[]Statistic{of(Mean, none), of(Sum, func(q *Query) { q.By, q.Keys = "city", []string{"a"} })}, "[[0] [1]] mean []"},
		"other people":      {[]Statistic{of(Mean, none), of(Sum, func(q *Query) { q.Person, q.MaxPerPerson = "id", 1 })}, "[[0] [1]] mean []"},
		"worse":             {[]Statistic{{Query: of(Sum, far).Query, Weight: 100}, of(Mean, far)}, "[[0] [1]] sum []"},
		"missing":           {[]Statistic{of(Mean, func(q *Query) { q.Missing = middleMissing }), of(Sum, none)}, "[[0] [1]] mean []"},
		"twice":             {[]Statistic{of(Mean, none), of(Sum, none), of(Sum, none)}, "[[0 1] [2]] mean [sum]"},
		"private":           {[]Statistic{of(Mean, func(q *Query) { q.Upper, q.Bounds = 0, privateBounds }), of(Sum, func(q *Query) { q.Upper, q.Bounds = 0, privateBounds }), of(Count, none)}, "[[0 1 2]] mean [count sum]"},
		"private and given": {[]Statistic{of(Mean, func(q *Query) { q.Upper, q.Bounds = 0, privateBounds }), of(Sum, none)}, "[[0] [1]] mean []"},
	} {
		if testing.Short() && name != "no mean" && name != "twice" {
			continue // slow
		}
		s, err := Split(t.Context(), dp.Budget{Epsilon: 0.6}, true, c.list, laplaceSource)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := fmt.Sprint(s.Of, " ", s.Queries[0].Kind, " ", s.Queries[0].Also); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		total := 0.0
		var released []*Answer
		for _, q := range s.Queries {
			total += q.Epsilon
			a, err := Release(t.Context(), nil, &records{columns: testColumns, rows: [][]string{{"1", "a", "4"}, {"2", "a", "6"}}}, q, laplaceSource)
			if err != nil {
				t.Fatal(err)
			}
			released = append(released, a)
		}
		if math.Abs(total-0.6) > 1e-12 {
			t.Errorf("%s: epsilon %v together, want 0.6", name, total)
		}
		answers, err := s.Answers(released)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			if a.Kind != c.list[i].Kind || len(a.Answers) != 1 || a.Answers[0].Also != nil && len(s.Of[0]) > 1 {
				t.Errorf("%s: answer %d is %+v", name, i, a)
			}
			if bounded := a.Kind != Count && c.list[i].Bounds != ""; (a.Answers[0].Clipped != nil) != bounded {
				t.Errorf("%s: answer %d says that it was clipped: %v", name, i, a.Answers[0].Clipped)
			}
		}
		for _, wrong := range [][]*Answer{nil, append([]*Answer{nil}, released[1:]...), append([]*Answer{{Kind: Top}}, released[1:]...)} {
			if _, err := s.Answers(wrong); !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%s: answers of others: %v", name, err)
			}
		}
	}
}

// TestOrders: quantiles of the same rows with equal parts are an order, whose rank error, or the error that is wanted, is of all together.
func TestOrders(t *testing.T) {
	of := func(p float64, weight float64, text string) Statistic {
		return Statistic{Query: Query{Kind: Quantile, Column: "age", Upper: 10, Probability: p, Neighbors: dp.AddRemove}, Weight: weight, Error: text}
	}
	list := []Statistic{of(0.9, 0, ""), of(0.5, 2, ""), of(0.1, 1, ""), of(0.2, 0, "300@0.9"), of(0.3, 0, "300@0.9"), of(0.4, 2, "")}
	s, err := Split(t.Context(), dp.Budget{Epsilon: 1}, true, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.orders[0].of, s.orders[1].of, s.orders[2].of); len(s.orders) != 3 || got != "[2 0] [5 1] [3 4]" {
		t.Fatalf("orders %+v", s.orders)
	}
	for _, o := range s.orders {
		want := 0.0
		for _, i := range o.of {
			p, err := NewPlan(t.Context(), s.Queries[i], nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.mechanism.radius(0.975)
			if err != nil {
				t.Fatal(err)
			}
			if want = max(want, math.Ceil(r)); list[i].Error != "" {
				if r, err := p.mechanism.radius(0.95); err != nil || r > 300 {
					t.Errorf("%v rows are wanted of two with 0.9, so of each with 0.95, and it is %v, %v", list[i].Error, r, err)
				}
			}
		}
		if float64(o.rankError) != want {
			t.Errorf("%v: a rank error of %d, want %v", o.of, o.rankError, want)
		}
	}
}

// TestPriorOfSum: of a family with a prior the bias of a sum is that of the mean times the rows.
func TestPriorOfSum(t *testing.T) {
	q := Query{Kind: Mean, Also: []Kind{Sum}, Column: "age", Bounds: "prior:lognormal,0,1", Rows: 200, Epsilon: 1, Neighbors: dp.AddRemove}
	a, err := Release(t.Context(), nil, &records{columns: testColumns, rows: [][]string{{"1", "a", "4"}}}, q, laplaceSource)
	if err != nil {
		t.Fatal(err)
	}
	mean, sum := *a.part(Mean).Answers[0].Clipped.Bias, *a.part(Sum).Answers[0].Clipped.Bias
	if mean >= 0 || sum != 200*mean {
		t.Errorf("biases %v and %v", mean, sum)
	}
}

// TestTogetherDocs holds the table of docs/release.md, with noise that is designed to 5 %, of which a hundredth is seen here.
func TestTogetherDocs(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	text, err := os.ReadFile("../docs/release.md")
	if err != nil {
		t.Fatal(err)
	}
	plans := &planner{designed(t), map[string]*Plan{}}
	b := batches()[1]
	shares, err := Split(t.Context(), b.total, false, b.own(), plans.source)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range b.own() {
		line := regexp.MustCompile(`(?m)^\| ` + string(s.Kind) + ` \| ([0-9.]+) \| ([0-9.]+) \|$`).FindSubmatch(text)
		if line == nil {
			t.Fatalf("no line of a %s", s.Kind)
		}
		equal := s.Query
		equal.Epsilon, equal.Delta = b.total.Epsilon/4, b.total.Delta/4
		for i, got := range []float64{plans.errorFor(t, shares.Queries[0], s.Kind), plans.errorFor(t, equal, s.Kind)} {
			if said, _ := strconv.ParseFloat(string(line[i+1]), 64); math.Abs(said-got) > 0.02*got {
				t.Errorf("%s: docs/release.md says %v, it is %.4g", s.Kind, said, got)
			}
		}
	}
}
