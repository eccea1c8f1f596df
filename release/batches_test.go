// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/selection"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/tables"
)

// batch is a file of statistics about made-up people, with a total.
type batch struct {
	name      string
	total     dp.Budget
	neighbors string
	most      int // rows of a person, 0 for rows by themselves
	list      []Statistic
}

var cities = []string{"Jena", "Ulm", "Bonn", "Kiel", "Hof"}

// batches are ten files.
func batches() []batch {
	hours := Query{Column: "hours", Upper: 60}
	pay := Query{Column: "pay", Lower: 1000, Upper: 9000}
	steps := Query{Column: "steps", Lower: -5, Upper: 25}
	of := func(q Query, kind Kind) Statistic {
		if q.Kind = kind; kind == Count {
			q.Lower, q.Upper = 0, 0
		}
		return Statistic{Name: fmt.Sprintf("%s of %s", kind, q.Column), Query: q}
	}
	quantile := func(q Query, p float64) Statistic {
		q.Probability, q.Candidates = p, 61
		s := of(q, Quantile)
		s.Name += fmt.Sprintf(" at %g", p)
		return s
	}
	by := func(q Query) Query {
		q.By, q.Keys = "city", cities
		return q
	}
	wanted := func(s Statistic, text string) Statistic {
		s.Error = text
		return s
	}
	rows := Statistic{Name: "rows", Query: Query{Kind: Count}}
	old := Statistic{Name: "old", Query: Query{Kind: Count, Where: "age >= 65"}}
	histogram := Statistic{Name: "cities", Query: Query{Kind: Histogram, By: "city", Keys: cities}}
	pages := Statistic{Name: "pages", Query: Query{Kind: Top, By: "page", Keys: []string{"0", "1", "2", "3", "4", "5"}, K: 2}}
	different := Statistic{Name: "pages seen", Query: Query{Kind: Distinct, Column: "page"}}
	return []batch{
		{"count, mean and three quantiles", dp.Budget{Epsilon: 1, Delta: 1e-6}, dp.AddRemove, 0, []Statistic{of(hours, Count), of(hours, Mean), quantile(hours, 0.25), quantile(hours, 0.5), quantile(hours, 0.75)}},
		{"count, sum, mean and variance", dp.Budget{Epsilon: 1, Delta: 1e-6}, dp.AddRemove, 0, []Statistic{of(hours, Count), of(hours, Sum), of(hours, Mean), of(hours, Variance)}},
		{"the same without delta, far from 0", dp.Budget{Epsilon: 0.5}, dp.AddRemove, 0, []Statistic{of(pay, Count), of(pay, Sum), of(pay, Mean), of(pay, Variance)}},
		{"a sum, a mean and a variance, replaced", dp.Budget{Epsilon: 2, Delta: 1e-6}, dp.Replace, 0, []Statistic{of(hours, Sum), of(hours, Mean), of(hours, Variance), rows}},
		{"by city", dp.Budget{Epsilon: 2, Delta: 1e-6}, dp.AddRemove, 0, []Statistic{of(by(hours), Count), of(by(hours), Sum), of(by(hours), Mean), histogram}},
		{"persons", dp.Budget{Epsilon: 3, Delta: 1e-6}, dp.AddRemove, 2, []Statistic{of(hours, Count), of(hours, Mean), different, pages}},
		{"a large epsilon", dp.Budget{Epsilon: 8, Delta: 1e-6}, dp.AddRemove, 0, []Statistic{of(steps, Count), of(steps, Mean), of(hours, Sum), of(hours, Mean)}},
		{"persons by city, replaced", dp.Budget{Epsilon: 1}, dp.Replace, 1, []Statistic{of(by(steps), Count), of(by(steps), Sum), of(by(steps), Mean), old}},
		{"many", dp.Budget{Epsilon: 1, Delta: 1e-5}, dp.AddRemove, 0, []Statistic{rows, old, histogram, pages, different, of(hours, Sum), of(hours, Mean), of(pay, Mean), of(pay, Variance), of(steps, Count), of(steps, Sum), of(steps, Mean), of(steps, Variance), quantile(hours, 0.5), quantile(hours, 0.9)}},
		{"errors that are wanted", dp.Budget{Epsilon: 2, Delta: 1e-6}, dp.AddRemove, 0, []Statistic{wanted(rows, "20@0.95"), wanted(of(hours, Sum), "900@0.9"), of(hours, Count), of(hours, Mean), wanted(quantile(hours, 0.5), "60@0.95"), wanted(quantile(hours, 0.9), "60@0.95")}},
	}
}

// people are made up: 3,000 rows of 2,000 persons, the first thousand with two each.
func people() [][]string {
	r := rand.New(rand.NewPCG(7, 11))
	var out [][]string
	for i := range 3000 {
		number := func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
		u := r.Float64()
		out = append(out, []string{
			strconv.Itoa(1 + i%2000), cities[r.IntN(len(cities))], strconv.Itoa(18 + r.IntN(60)), number(60 * r.Float64()),
			number(math.Exp(8 + 0.4*r.NormFloat64())), number(6 + 3*r.NormFloat64()), strconv.Itoa(int(20 * u * u)),
		})
		if r.IntN(40) == 0 {
			out[i][3+r.IntN(3)] = "" // not told
		}
	}
	return out
}

var peopleColumns = []string{"id", "city", "age", "hours", "pay", "steps", "page"}

// own are the statistics as they are asked of the people.
func (b batch) own() (list []Statistic) {
	for _, s := range b.list {
		s.Neighbors = b.neighbors
		if b.most > 0 {
			s.Person, s.MaxPerPerson = "id", b.most
		}
		list = append(list, s)
	}
	return list
}

// planner plans every query once.
type planner struct {
	source Source
	plans  map[string]*Plan
}

func (p *planner) plan(t *testing.T, q Query) *Plan {
	t.Helper()
	known := p.plans[q.Text()]
	if known == nil {
		var err error
		if known, err = NewPlan(t.Context(), q, p.source); err != nil {
			t.Fatalf("%s: %v", q.Text(), err)
		}
		p.plans[q.Text()] = known
	}
	return known
}

// errorFor is what is expected of an answer's error: of a quantile the rows that it may be off, of a top the count.
func (p *planner) errorFor(t *testing.T, q Query, kind Kind) float64 {
	t.Helper()
	of := p.plan(t, q)
	switch kind { //nolint:exhaustive // all others have a forecast
	case Quantile:
		r, err := of.mechanism.radius(level)
		if err != nil {
			t.Fatal(err)
		}
		return r
	case Top:
		epsilon, err := of.query.pureUse()
		if err != nil {
			t.Fatal(err)
		}
		s, err := selection.NewMost(selection.Most{Candidates: len(q.Keys), Choices: q.K, Epsilon: epsilon, Spread: q.spread()})
		if err != nil {
			t.Fatal(err)
		}
		most, err := s.CountErrorUpper(level)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := new(big.Float).SetInt(most).Float64()
		return x
	}
	return of.mechanism.forecast(kind).error
}

// designed has noise that is designed, to 5 %.
func designed(t *testing.T) Source {
	t.Helper()
	source, err := Tables{Design: lp.Designer(lp.Options{Gap: 0.05}), Directory: t.TempDir()}.Source()
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// TestTenBatches: of ten files of statistics none has a larger error than its own call with an equal share of epsilon and delta,
// by the laws of the noise alone, which is designed; errors that are wanted are met; all answers of one file fit into its total; and what
// belongs together does.
func TestTenBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	source := designed(t)
	data, plans := people(), &planner{source, map[string]*Plan{}}
	joint := 0
	for _, b := range batches() {
		list := b.own()
		shares, err := Split(t.Context(), b.total, false, list, source)
		if err != nil {
			t.Fatalf("%s: %v", b.name, err)
		}
		budget, err := account.NewBudget(b.total, false)
		if err != nil {
			t.Fatal(err)
		}
		var released []*Answer
		answers := make([]Query, len(list))
		for i, q := range shares.Queries {
			budget = budget.With(account.Cost{Epsilon: q.Epsilon, Delta: q.Delta, Times: 1})
			d, err := Read(&records{columns: peopleColumns, rows: data}, q)
			if err != nil {
				t.Fatalf("%s: %v", b.name, err)
			}
			text, err := plans.plan(t, q).record(d)
			if err != nil {
				t.Fatalf("%s: %v", b.name, err)
			}
			a := &Answer{}
			if err := json.Unmarshal(text, a); err != nil {
				t.Fatal(err)
			}
			released = append(released, a)
			for _, j := range shares.Of[i] {
				answers[j] = q
			}
			joint += len(shares.Of[i]) - 1
		}
		if ok, err := budget.Fits(t.Context()); !ok || err != nil {
			t.Errorf("%s: the parts do not fit, %v", b.name, err)
		}
		out, err := shares.Answers(released)
		if err != nil {
			t.Fatal(err)
		}
		k := float64(len(list))
		for i, s := range list {
			equal := s.Query
			if equal.Epsilon = b.total.Epsilon / k; !equal.pure() {
				equal.Delta = b.total.Delta / k
			}
			got, than := plans.errorFor(t, answers[i], s.Kind), plans.errorFor(t, equal, s.Kind)
			t.Logf("%s: %s: %.4g, by itself %.4g", b.name, s.Name, got, than)
			if s.Error == "" {
				if !(got <= than) {
					t.Errorf("%s: %s has an error of %v, and %v by a call with an equal share", b.name, s.Name, got, than)
				}
			} else {
				w, _ := parseWanted(s.Error)
				if r, err := plans.plan(t, answers[i]).mechanism.forecast(s.Kind).radius(w.level); err != nil || r > w.most {
					t.Errorf("%s: %s is within %v, want %s, %v", b.name, s.Name, r, s.Error, err)
				}
			}
			holdAnswer(t, b.name, s, out[i], got, data)
		}
		holdTogether(t, b.name, list, out)
	}
	if joint < 14 {
		t.Errorf("%d statistics share the noise of another one", joint)
	}
}

// holdAnswer holds an answer to what is exact, within 25 times the error expected: the noise falls like e^-x at least, and the
// probability of more is below 1e-10. Persons with several rows, of whom some are left out, are not held.
func holdAnswer(t *testing.T, name string, s Statistic, a *Answer, err float64, data [][]string) {
	t.Helper()
	if s.Kind == Top || s.Person != "" || s.Kind == Distinct {
		return
	}
	groups := s.groups()
	for i, e := range a.Answers {
		var values []float64
		rows := 0.0
		for _, row := range data {
			age, _ := strconv.Atoi(row[2])
			if s.By != "" && row[1] != groups[i] || s.Where != "" && age < 65 {
				continue
			}
			if s.Column != "" {
				x, err := strconv.ParseFloat(row[slices.Index(peopleColumns, s.Column)], 64)
				if err != nil {
					continue
				}
				values = append(values, min(max(x, s.Lower), s.Upper))
			}
			rows++
		}
		sum, squares := 0.0, 0.0
		for _, x := range values {
			sum += x
			squares += x * x
		}
		exactly, within := rows, 25*err
		switch s.Kind { //nolint:exhaustive // others count rows
		case Sum:
			exactly = sum
		case Mean:
			exactly, within = sum/rows, within/rows
		case Variance:
			exactly, within = squares/rows-sum*sum/rows/rows, within/rows
		case Quantile:
			sort.Float64s(values)
			exactly, within = s.Probability*rows, 4*err+60
			e.Value = float64(sort.SearchFloat64s(values, e.Value))
		}
		if math.Abs(e.Value-exactly) > within {
			t.Errorf("%s: %s is %v, exactly %v, want within %v", name, s.Name, e.Value, exactly, within)
		}
	}
}

// holdTogether holds answers of the same rows to each other.
func holdTogether(t *testing.T, name string, list []Statistic, out []*Answer) {
	t.Helper()
	same := func(i, j int) bool {
		a, _ := list[i].sameRows()
		b, _ := list[j].sameRows()
		return list[i].Column != "" && a.Text() == b.Text()
	}
	for i, s := range list {
		for j, x := range list {
			for k, y := range list {
				if s.Kind != Mean || x.Kind != Sum || y.Kind != Count || !same(i, j) || !same(i, k) {
					continue
				}
				for g, e := range out[i].Answers {
					want := min(max(out[j].Answers[g].Value/out[k].Answers[g].Value, s.Lower), s.Upper)
					if math.Abs(e.Value-want) > 1e-9*math.Abs(want) {
						t.Errorf("%s: %s is %v, but the sum by the count is %v", name, s.Name, e.Value, want)
					}
				}
			}
			if s.Kind != Quantile || x.Kind != Quantile || s.Column != x.Column || s.Probability >= x.Probability {
				continue
			}
			if a, b := out[i].Answers[0], out[j].Answers[0]; a.Value > b.Value || a.RankError != b.RankError {
				t.Errorf("%s: %s is %+v, and %s %+v", name, s.Name, a, x.Name, b)
			}
		}
	}
}

// TestBatchMissing: a total that is too small for the errors that are wanted is refused, and what is missing is said: with so much
// more, and a little for the others, it is enough.
func TestBatchMissing(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	b := batches()[9]
	splitSource := func(ctx context.Context, p dp.Problem, uses int) (*tables.Verified, error) {
		p.Epsilon = min(p.Epsilon, 6) // an error is looked for at 20 first
		return laplaceSource(ctx, p, uses)
	}
	_, err := Split(t.Context(), dp.Budget{Epsilon: 0.3}, false, b.own(), splitSource)
	if !errors.Is(err, account.ErrExceeded) {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(err.Error(), "the total is 0.3: ")
	missing, err := strconv.ParseFloat(strings.TrimSuffix(strings.Fields(text)[0], " is"), 64)
	if err != nil {
		t.Fatal(err)
	}
	for more, want := range map[float64]bool{1.01: true, 0.99: false} {
		_, err := Split(t.Context(), dp.Budget{Epsilon: 0.3 + missing*more}, false, b.own(), splitSource)
		if (err == nil) != want {
			t.Errorf("with %v more: %v", missing*more, err)
		}
	}
}
