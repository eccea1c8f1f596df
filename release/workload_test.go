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
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/plan"
)

// planOf returns a plan of geometric noise on the cells, or on the tables of these attributes.
func planOf(tb testing.TB, w plan.Workload, epsilon float64, neighbors string, most int, tables ...[]int) *plan.Verified {
	tb.Helper()
	l, err := plan.Geometric(epsilon)
	if err != nil {
		tb.Fatal(err)
	}
	uses := float64(most * max(1, len(tables)))
	if neighbors == dp.Replace {
		uses *= 2
	}
	s := plan.Spec{
		Budget: dp.Budget{Epsilon: min(epsilon*uses*(1+1e-9), 100)}, Neighbors: neighbors, MaxPerPerson: most, Workload: w,
		Measurements: []plan.Measurement{{Kind: plan.Partition, Block: 1, Weight: 1, Noise: &l}},
	}
	for i, a := range tables {
		m := plan.Measurement{Kind: plan.Partition, Attributes: &a, Weight: 1, Noise: &l}
		s.Measurements = append(s.Measurements[:i:i], m)
	}
	p, err := plan.New(s)
	if err != nil {
		tb.Fatal(err)
	}
	v, err := p.Verify()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

var (
	byCity = Cells{Column: "city", Keys: []string{"a", "b", "c"}}
	byAge  = Cells{Column: "age", Edges: []float64{-1, 0, 3}}
	pairs  = plan.Workload{Kind: plan.Marginals, Attributes: []plan.Attribute{{Name: "age", Size: 2}, {Name: "city", Size: 3}}, Sets: [][]int{{0}, {1}}}
)

// TestWorkloadNeighbors: whatever a unit has, and whatever is beside it, cells differ in as many numbers
// as the plan counts on at most, each by 1, and tables of marginals are sums of such differences; and there are units
// that change as many. Of a person with more rows than count the sample is drawn anew each time.
func TestWorkloadNeighbors(t *testing.T) {
	for _, neighbors := range []string{dp.AddRemove, dp.Replace} {
		for _, most := range []int{1, 2} {
			for _, person := range []string{"", "id"} {
				for name, w := range map[string]Workload{
					"keys":      {Plan: planOf(t, plan.Workload{Kind: plan.Prefix, Cells: 3}, 1, neighbors, most), Cells: []Cells{byCity}},
					"edges":     {Plan: planOf(t, plan.Workload{Kind: plan.Ranges, Cells: 2}, 1, neighbors, most), Cells: []Cells{byAge}, Where: `city != "c"`},
					"marginals": {Plan: planOf(t, pairs, 1, neighbors, most, []int{0, 1}), Cells: []Cells{byCity, byAge}},
					"two bases": {Plan: planOf(t, pairs, 0.5, neighbors, most, []int{0}, []int{1}), Cells: []Cells{byAge, byCity}},
				} {
					w.Person = person
					testWorkloadNeighbors(t, fmt.Sprint(name, ", ", neighbors, ", ", most, ", ", person), w, most)
				}
			}
		}
	}
}

func testWorkloadNeighbors(t *testing.T, name string, w Workload, most int) {
	t.Helper()
	q, err := w.query()
	if err != nil {
		t.Fatal(err)
	}
	s := w.Plan.Mechanism().Spec()
	limit := most
	if w.Person == "" {
		limit = 1
	}
	if s.Neighbors == dp.Replace {
		limit *= 2
	}
	rest := [][]string{{"1", "a", "-0.5"}, {"1", "a", "2"}, {"2", "b", "0"}, {"3", "d", "0"}, {"2", "b"}}
	units := everyUnit(q, 2)
	if w.Person != "" {
		units = append(units, [][]string{{"9", "a", "0"}, {"9", "b", "2"}, {"9", "a", "-1"}, {"9", "c", "3"}, {"9", "a", "0"}})
	}
	units = append(units, [][]string{{"9", "a"}}, nil)
	bases, largest := len(w.Plan.Mechanism().Bases()), 0
	type outcome struct {
		cells []int64
		empty bool
	}
	var outcomes []outcome
	known := map[string]bool{}
	for _, unit := range units {
		for range max(1, 6*(len(unit)-most)) {
			// The others' samples are drawn too: they are the same for all who count once in each cell.
			d := read(t, q, append(slices.Clone(rest[2:]), unit...))
			cells := cellCounts(w.Plan.Mechanism(), d)
			o := outcome{cells, len(unit) == 0}
			if key := fmt.Sprint(o); !known[key] {
				known[key] = true
				outcomes = append(outcomes, o)
			}
		}
	}
	for _, x := range outcomes {
		for _, y := range outcomes {
			if !x.empty && !y.empty && s.Neighbors == dp.AddRemove {
				continue // not neighbors
			}
			sum := 0
			for i := range x.cells {
				change := int(max(x.cells[i]-y.cells[i], y.cells[i]-x.cells[i]))
				if change > limit || bases < 2 && s.Workload.Kind != plan.Marginals && change > 1 {
					t.Fatalf("%s: cell %d changes by %d", name, i, change)
				}
				sum += change
			}
			largest = max(largest, sum)
			if sum > limit*max(1, bases) {
				t.Fatalf("%s: cells %v and %v change by %d, want at most %d", name, x.cells, y.cells, sum, limit)
			}
		}
	}
	if want := limit * max(1, bases); largest < want && len(q.cells[0].Labels()) >= limit {
		t.Errorf("%s: no unit changes %d, only %d", name, want, largest)
	}
}

// TestWorkloadAnswers: with next to no noise answers are the counts, by their names; those of rows in no
// cell, of other values, without a number or malformed, count nowhere, in whatever order columns are said.
// Noise of ε = 40 is 0 but with a probability of 2e-17 for each of 30 numbers.
func TestWorkloadAnswers(t *testing.T) {
	rows := [][]string{
		{"1", "a", "-1"},
		{"1", "a", "0"},
		{"2", "b", "3"},
		{"3", "b", "2.5"},
		{"3", "b", "1"},
		{"4", "d", "0"},
		{"5", "c", "4"},
		{"6", "c", "x"},
		{"7", "c"},
	}
	for _, c := range []struct {
		w    Workload
		want string
	}{
		{Workload{Plan: planOf(t, plan.Workload{Kind: plan.Identity, Cells: 3}, 40, dp.AddRemove, 1), Cells: []Cells{byCity}}, "a 2, b 3, c 2"},
		{Workload{Plan: planOf(t, plan.Workload{Kind: plan.Prefix, Cells: 3}, 40, dp.AddRemove, 1), Cells: []Cells{byCity}}, "up to a 2, up to b 5, up to c 7"},
		{Workload{Plan: planOf(t, plan.Workload{Kind: plan.Ranges, Cells: 3}, 40, dp.AddRemove, 1), Cells: []Cells{byCity}, Person: "id"}, "a to a 1, a to b 3, a to c 5, b to b 2, b to c 4, c to c 2"},
		{Workload{Plan: planOf(t, plan.Workload{Kind: plan.Matrix, Cells: 2, Rows: [][]int64{{1, -2}, {0, 3}}}, 40, dp.AddRemove, 1), Cells: []Cells{byAge}}, "query 1 -9, query 2 15"},
		{Workload{Plan: planOf(t, pairs, 40, dp.AddRemove, 1, []int{0, 1}), Cells: []Cells{byCity, byAge}}, "[-1, 0)| 1, [0, 3]| 4, |a 2, |b 3, |c 0"},
		{Workload{Plan: planOf(t, pairs, 40, dp.AddRemove, 1, []int{0}, []int{1}), Cells: []Cells{byAge, byCity}, Where: "id == 3"}, "[-1, 0)| 0, [0, 3]| 2, |a 0, |b 2, |c 0"},
	} {
		// The file has columns that are said in another order.
		var file strings.Builder
		file.WriteString("id,city,age\n")
		for _, r := range rows {
			file.WriteString(strings.Join(r, ",") + "\n")
		}
		m, err := c.w.Release(t.Context(), nil, strings.NewReader(file.String()))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := m.Answers(0.95, false, func(a WorkloadAnswer) error {
			got = append(got, fmt.Sprintf("%s %g", strings.Join(a.Of, "|"), a.Value))
			if !(a.LowerOfAll <= a.Lower && a.Lower <= a.Value && a.Value <= a.Upper && a.Upper <= a.UpperOfAll && a.Variance > 0) {
				t.Errorf("%+v", a)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s, want %s", text, c.want)
		}
	}
}

// TestWorkloadClips: a count beyond what a plan takes is no error, which would tell of it.
func TestWorkloadClips(t *testing.T) {
	w := Workload{Plan: planOf(t, plan.Workload{Kind: plan.Prefix, Cells: 3}, 1, dp.AddRemove, 1), Cells: []Cells{byCity}}
	q, err := w.query()
	if err != nil {
		t.Fatal(err)
	}
	p := w.Plan.Mechanism()
	d := &Data{query: q, combinations: [][]int{{1}, {2}}, tallies: []tally{{n: 1 << 62}, {n: 3}}}
	if got, most := cellCounts(p, d), int64(p.Inputs().Upper); !slices.Equal(got, []int64{0, most, 3}) {
		t.Errorf("%v, want at most %d", got, most)
	}
	if _, err := w.record(q, "", d); err != nil {
		t.Error(err)
	}
	// Cells that are sums of several: what is there already counts too.
	w = Workload{Plan: planOf(t, pairs, 1, dp.AddRemove, 1, []int{0}, []int{1}), Cells: []Cells{byAge, byCity}}
	if q, err = w.query(); err != nil {
		t.Fatal(err)
	}
	p = w.Plan.Mechanism()
	most := int64(p.Inputs().Upper)
	d = &Data{query: q, combinations: [][]int{{0, 0}, {0, 1}, {1, 1}}, tallies: []tally{{n: most - 1}, {n: 5}, {n: most}}}
	if got := cellCounts(p, d); !slices.Equal(got, []int64{most, most, most - 1, most, 0}) {
		t.Errorf("%v, want at most %d", got, most)
	}
}

// TestWorkloadStrict: a row that is left out is an error if that is asked for, and else nothing tells of it.
func TestWorkloadStrict(t *testing.T) {
	w := Workload{Plan: planOf(t, plan.Workload{Kind: plan.Prefix, Cells: 3}, 1, dp.AddRemove, 1), Cells: []Cells{byCity}}
	for _, w.StrictNotPrivate = range []bool{false, true} {
		for text, out := range map[string]bool{"1,a,2\n": false, "1,a,2\n7,c\n": true} {
			l := &allCharges{terms: account.Terms{Epsilon: 1, Neighbors: dp.AddRemove, Unit: dp.Row}}
			m, err := w.Release(t.Context(), l, strings.NewReader("id,city,age\n"+text))
			if refused := out && w.StrictNotPrivate; refused != (err != nil) || refused != (m == nil) || refused && !errors.Is(err, dp.ErrInvalid) || l.charged == nil {
				t.Errorf("%q, strict: %v: %+v, %v", text, w.StrictNotPrivate, m, err)
			}
		}
	}
}

// uncharged is a ledger that nothing may be charged to.
type uncharged struct {
	t     *testing.T
	terms account.Terms
}

func (u uncharged) Terms() account.Terms { return u.terms }

func (u uncharged) Find(context.Context, string, string) (account.Record, bool, error) {
	return account.Record{}, false, nil
}

func (u uncharged) Release(context.Context, account.Charge, func(context.Context) ([]byte, error)) (account.Record, error) {
	u.t.Error("it was charged")
	return account.Record{}, errors.New("charged")
}

// TestWorkloadRefuses: what is wrong is one sentence that names it, and nothing is charged.
func TestWorkloadRefuses(t *testing.T) {
	three := planOf(t, plan.Workload{Kind: plan.Prefix, Cells: 3}, 1, dp.AddRemove, 1)
	tables := planOf(t, pairs, 1, dp.AddRemove, 1, []int{0, 1})
	row := account.Terms{Epsilon: 1, Neighbors: dp.AddRemove, Unit: dp.Row}
	for _, c := range []struct {
		w     Workload
		terms account.Terms
		want  string
	}{
		{Workload{Cells: []Cells{byCity}}, row, "plan = none, want one that Verify has proved"},
		{Workload{Plan: &plan.Verified{}, Cells: []Cells{byCity}}, row, "plan = none, want one that Verify has proved"},
		{Workload{Plan: three}, row, "keys = none of a column, want the values"},
		{Workload{Plan: three, Cells: []Cells{byCity, byCity}}, row, `column = city, want one column for the cells`},
		{Workload{Plan: three, Cells: []Cells{{Column: "city", Keys: []string{"a", "b"}}}}, row, "keys = 2 cells of column city, want 3, one for each of the plan's"},
		{Workload{Plan: three, Cells: []Cells{{Column: "city", Keys: []string{"a"}}}}, row, "keys = 1 cell of column city, want 3, one for each of the plan's"},
		{Workload{Plan: three, Cells: []Cells{{Column: "city", Keys: []string{"a", "b", "a"}}}}, row, "keys = a, want every key once"},
		{Workload{Plan: three, Cells: []Cells{{Column: "age", Edges: []float64{0, 2, 1, 3}}}}, row, "edges = 1, want ascending numbers"},
		{Workload{Plan: three, Cells: []Cells{{Column: "age", Edges: []float64{0, 1, 2, 3}, Keys: []string{"a"}}}}, row, "either keys or edges"},
		{Workload{Plan: three, Cells: []Cells{{Column: "city", Edges: []float64{1}, Keys: byCity.Keys}}}, row, "either keys or edges"},
		{Workload{Plan: tables, Cells: []Cells{{Column: "city", Keys: []string{"a", "b"}}, byAge}}, row, "keys = 2 cells of column city, want 3, one for each of the plan's"},
		{Workload{Plan: three, Cells: []Cells{{Column: "town", Keys: byCity.Keys}}}, row, `column: no column "town", want one of "id", "city", "age"`},
		{Workload{Plan: tables, Cells: []Cells{byCity}}, row, "keys = none of age, want the values"},
		{Workload{Plan: tables, Cells: []Cells{byCity, byAge, {Column: "job", Keys: []string{"x"}}}}, row, "column = job, want one of the attributes of the plan: age, city"},
		{Workload{Plan: three, Cells: []Cells{byCity}, MaxPerPerson: 1}, row, "max-per-person = 1, want none without person"},
		{Workload{Plan: three, Cells: []Cells{byCity}, Person: "id", MaxPerPerson: 2}, row, "max-per-person = 2, want at most 1, the cells that a person may be in by the plan"},
		{Workload{Plan: three, Cells: []Cells{byCity}, Person: "id"}, row, "unit = person:id, want row as in the ledger"},
		{Workload{Plan: three, Cells: []Cells{byCity}}, account.Terms{Epsilon: 1, Neighbors: dp.Replace, Unit: dp.Row}, "neighbors = add-remove, want replace as in the ledger"},
		{Workload{Plan: three, Cells: []Cells{byCity}, Where: "age >"}, row, "where = "},
	} {
		_, err := c.w.Release(t.Context(), uncharged{t, c.terms}, strings.NewReader("id,city,age\n1,a,2\n"))
		if !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	// Of another reading than the workload's, with other cells or rows, and of none.
	w := Workload{Plan: three, Cells: []Cells{byCity}}
	for i, d := range []otherData{
		func(q *Query) { q.cells = []Cells{{Column: "city", Keys: []string{"b", "a", "c"}}} },
		func(q *Query) { q.Where = "age > 5" },
		func(q *Query) { q.series = true },
		nil,
	} {
		if _, err := w.Release(t.Context(), uncharged{t, row}, d); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "data = those of another query") {
			t.Errorf("data of another query, %d: %v", i, err)
		}
	}
	// Rows are read as the ledger says.
	for _, oneLine := range []bool{false, true} {
		terms := account.Terms{Epsilon: 1, Neighbors: dp.AddRemove, Unit: dp.Row, OneLine: !oneLine, Delimiter: ";"}
		_, err := w.Release(t.Context(), uncharged{t, terms}, File{Reader: strings.NewReader("id,city,age\n1,a,2\n"), Delimiter: ',', OneLine: oneLine})
		if !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "as in the ledger") {
			t.Errorf("a file with another delimiter than the ledger's: %v", err)
		}
	}
	semicolons := &allCharges{terms: account.Terms{Epsilon: 1, Neighbors: dp.AddRemove, Unit: dp.Row, Delimiter: ";"}}
	if _, err := w.Release(t.Context(), semicolons, strings.NewReader("id;city;age\n1;a;2\n")); err != nil {
		t.Errorf("a file with the ledger's delimiter: %v", err)
	}
	// What the ledger keeps is the answer to something else.
	for _, answer := range []string{`7`, `{"kind":"count","measured":[1,2,3]}`, `{"kind":"workload","measured":[1,2]}`, `{"kind":"workload","measured":[1,2,3,4]}`} {
		semicolons.charged.Answer = []byte(answer)
		if m, err := w.Release(t.Context(), semicolons, strings.NewReader("id;city;age\n1;a;2\n")); m != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s is read as %+v, %v", answer, m, err)
		}
	}
	m := &Measured{Plan: planOf(t, plan.Workload{Kind: plan.Matrix, Cells: 2, Rows: [][]int64{{1, -2}, {0, 3}}}, 1, dp.AddRemove, 1), Cells: []Cells{byAge}, Sums: []int64{0, 0}}
	for _, level := range []float64{0, 1, math.NaN()} {
		if err := m.Answers(level, false, func(WorkloadAnswer) error { return nil }); !errors.Is(err, dp.ErrInvalid) || !strings.HasPrefix(err.Error(), "release: level = ") {
			t.Errorf("level %g: %v", level, err)
		}
	}
	if err := m.Answers(0.9, true, func(WorkloadAnswer) error { return nil }); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("non-negative differences: %v", err)
	}
}

// TestWorkloadCharged: a ledger is charged with one use of the plan's budget, neither less nor more, before
// anything is drawn, and once for the same plan, cells and data; it keeps what was told.
func TestWorkloadCharged(t *testing.T) {
	for _, s := range []struct {
		neighbors, person, unit string
		epsilon, delta          float64
	}{{dp.AddRemove, "", dp.Row, 1, 0}, {dp.Replace, "id", "person:id", 0.5, 1e-9}} {
		spec := planOf(t, plan.Workload{Kind: plan.Prefix, Cells: 3}, s.epsilon, s.neighbors, 2).Mechanism().Spec()
		spec.Delta = s.delta
		spec.Claims, spec.Variances = plan.Spec{}.Claims, nil
		p, err := plan.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.Verify()
		if err != nil {
			t.Fatal(err)
		}
		w := Workload{Plan: v, Cells: []Cells{byCity}, Person: s.person}
		l := &allCharges{terms: account.Terms{Epsilon: 10, Delta: 0.1, Neighbors: s.neighbors, Unit: s.unit}}
		const data = "id,city,age\n1,a,2\n1,b,2\n2,c,0\n"
		first, err := w.Release(t.Context(), l, strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		want := account.Cost{Epsilon: spec.Epsilon, Delta: s.delta, Times: 1}
		if c := l.charged; len(c.Costs) != 1 || c.Costs[0] != want || c.Neighbors != s.neighbors || c.Unit != s.unit || first.Unit != s.unit {
			t.Errorf("charged %+v, want %+v", *c, want)
		}
		if e := first.Ledger; e == nil || *e != (Entry{l.charged.ID, l.charged.Charged, false}) {
			t.Errorf("the release is %+v, charged %+v", e, l.charged)
		}
		l.charged.Replayed, l.charged.Charged = true, time.Unix(5, 0)
		again, err := w.Release(t.Context(), l, strings.NewReader(data))
		if err != nil || !slices.Equal(again.Sums, first.Sums) || *again.Ledger != (Entry{l.charged.ID, time.Unix(5, 0), true}) {
			t.Errorf("again %+v, want %+v (%v)", again, first, err)
		}
		// A crash after the charge: it is drawn anew for what was charged.
		l.charged.Answer = nil
		if crashed, err := w.Release(t.Context(), l, strings.NewReader(data)); err != nil || crashed.Ledger.Replayed || l.charged.Costs[0] != want {
			t.Errorf("%+v, charged %+v (%v)", crashed, l.charged, err)
		}
		w.Cells = []Cells{{Column: "city", Keys: []string{"b", "a", "c"}}}
		if _, err := w.Release(t.Context(), l, strings.NewReader(data)); !errors.Is(err, account.ErrExceeded) {
			t.Errorf("other cells from a ledger that is spent: %v", err)
		}
	}
}

// otherData were read for a changed query, or for nil not at all.
type otherData func(*Query)

func (change otherData) ReadData(ctx context.Context, q Query) (*Data, string, error) {
	if change == nil {
		return nil, strings.Repeat("0", 64), nil
	}
	change(&q)
	return ReadData(ctx, strings.NewReader("id,city,age\n1,a,2\n"), q)
}

// TestWorkloadIntervals: intervals are the answer less and more the radius of the plan, for one query or with what
// may fail shared among all; variances are not below the certified ones; and answers that are not negative are
// the others with 0 in the place of what is below, where no query subtracts. Of all columns each query has its own.
func TestWorkloadIntervals(t *testing.T) {
	for _, c := range []struct {
		w     plan.Workload
		cells []Cells
		sets  [][]int
		sums  []int64
		names string
	}{
		{plan.Workload{Kind: plan.Identity, Cells: 3}, []Cells{byCity}, nil, []int64{-5, 3, -1}, "a, b, c"},
		{plan.Workload{Kind: plan.Matrix, Cells: 2, Rows: [][]int64{{1, 0}, {2, 3}}}, []Cells{byAge}, nil, []int64{-2, 7}, "query 1, query 2"},
		{
			plan.Workload{Kind: plan.Marginals, Attributes: pairs.Attributes, Sets: [][]int{{0, 1}, {1}}},
			[]Cells{byAge, byCity},
			[][]int{{0, 1}},
			[]int64{-9, 1, 2, 3, -4, 5},
			"[-1, 0)|a, [-1, 0)|b, [-1, 0)|c, [0, 3]|a, [0, 3]|b, [0, 3]|c, |a, |b, |c",
		},
	} {
		m := &Measured{Plan: planOf(t, c.w, 1, dp.AddRemove, 1, c.sets...), Cells: c.cells, Sums: c.sums}
		p := m.Plan.Mechanism()
		for _, level := range []float64{0.5, 0.95} {
			var list, positive []WorkloadAnswer
			single, err := p.Radii(1 - level)
			all, other := p.Radii((1 - level) / float64(c.w.Queries()))
			err = errors.Join(err, other,
				m.Answers(level, false, func(a WorkloadAnswer) error { list = append(list, a); return nil }),
				m.Answers(level, true, func(a WorkloadAnswer) error { positive = append(positive, a); return nil }))
			if err != nil || len(list) != c.w.Queries() || len(positive) != len(list) {
				t.Fatal(len(list), len(positive), err)
			}
			var names []string
			for i, a := range list {
				names = append(names, strings.Join(a.Of, "|"))
				q := i
				if c.w.Kind == plan.Marginals { // of the first table, or the second
					q = i / 6
				}
				x := a.Value
				want := WorkloadAnswer{a.Of, x, x - single[q], x + single[q], x - all[q], x + all[q], a.Variance}
				if fmt.Sprint(a) != fmt.Sprint(want) || single[q] > all[q] {
					t.Errorf("%s: %+v, want %+v", c.w.Kind, a, want)
				}
				if new(big.Rat).SetFloat64(a.Variance).Cmp(m.Plan.Certificate().Variances[q]) < 0 {
					t.Errorf("%s: variance %g of query %d, below what is certified", c.w.Kind, a.Variance, q)
				}
				want = WorkloadAnswer{a.Of, max(x, 0), max(a.Lower, 0), max(a.Upper, 0), max(a.LowerOfAll, 0), max(a.UpperOfAll, 0), a.Variance}
				if fmt.Sprint(positive[i]) != fmt.Sprint(want) {
					t.Errorf("%s, not negative: %+v, want %+v", c.w.Kind, positive[i], want)
				}
			}
			if text := strings.Join(names, ", "); text != c.names {
				t.Errorf("%s: answers of %s, want %s", c.w.Kind, text, c.names)
			}
		}
	}
}

// TestWorkloadText: a ledger knows a workload by all of its text, or from 2^15 bytes on by its hash.
func TestWorkloadText(t *testing.T) {
	w := Workload{Plan: planOf(t, plan.Workload{Kind: plan.Prefix, Cells: 3}, 1, dp.AddRemove, 1), Cells: []Cells{byCity}, Where: "age > 0"}
	q, err := w.query()
	if err != nil {
		t.Fatal(err)
	}
	short, err := w.text(workloadKind, "", q, "hash")
	if err != nil || !strings.Contains(short, `"age`) {
		t.Fatal(short, err)
	}
	room := 1<<15 - 1 - len(short)
	known := map[string]bool{}
	for _, more := range []int{0, room, room + 1, room + 2} {
		q.Where = w.Where + strings.Repeat("0", more)
		text, err := w.text(workloadKind, "", q, "hash")
		if err != nil || len(text) >= 1<<15 || strings.Contains(text, "sha256") != (more > room) || known[text] {
			t.Errorf("%d more: %d bytes, %.40s, %v", more, len(text), text, err)
		}
		known[text] = true
	}
}
