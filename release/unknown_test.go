// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestRowsThatNobodyCanRead: where every row counts, in the middle of the bounds if need be, a row that is
// malformed does too, so that the number of rows stays public; under any rule that may leave a row out it
// does not, as nothing is known of it.
func TestRowsThatNobodyCanRead(t *testing.T) {
	const file = "id,age,city\n1,2,a\n2,\"x\"y,a\n3,4\n4,5,b,c\n5,,a\n"
	base := Query{Kind: Sum, Column: "age", Lower: 0, Upper: 10, Epsilon: 1, Neighbors: dp.Replace, Missing: "middle"}
	for name, c := range map[string]struct {
		change func(q *Query)
		rows   int64
		sum    int64
	}{
		"all":         {func(*Query) {}, 5, 2 + 4*5},
		"drop":        {func(q *Query) { q.Missing = "drop" }, 1, 2},
		"a condition": {func(q *Query) { q.Where = `city == "a"` }, 2, 2 + 5},
		"groups":      {func(q *Query) { q.By, q.Keys = "city", []string{"a"} }, 2, 2 + 5},
		"persons":     {func(q *Query) { q.Person, q.MaxPerPerson = "id", 1 }, 2, 2 + 5},
		"one more":    {func(q *Query) { q.Neighbors = dp.AddRemove }, 5, 2 + 4*5},
	} {
		q := base
		c.change(&q)
		d, _, err := ReadData(t.Context(), strings.NewReader(file), q)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := &d.tallies[0]; got.n != c.rows || got.total().Cmp(big.NewRat(c.sum, 1)) != 0 {
			t.Errorf("%s: %d rows of the sum %v, want %d and %d", name, got.n, got.total(), c.rows, c.sum)
		}
	}
	if q := (Query{Lower: -1, Upper: 4}); q.middle() != 1.5 {
		t.Errorf("the middle of -1 and 4 is %v", q.middle())
	}
	q := Query{Kind: Value, Sensitivity: 1, Epsilon: 1, Neighbors: dp.AddRemove}
	if _, err := Read(&records{columns: []string{"value"}, rows: [][]string{{"1"}}}, q); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("rows for a value: %v", err)
	}
}

// TestPublicMeansStayWithin: a mean over a public number of rows is within the bounds, whatever the noise
// is, which at this epsilon leads out of them nearly always; and there is none of no rows.
func TestPublicMeansStayWithin(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	q := Query{Kind: Mean, Column: "age", Lower: -1, Upper: 3, Epsilon: 1e-3, Neighbors: dp.Replace, Missing: "middle"}
	p, err := NewPlan(t.Context(), q, laplaceSource)
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := ReadData(t.Context(), strings.NewReader("age\n1\n2\n"), q)
	if err != nil {
		t.Fatal(err)
	}
	ends := map[float64]int{}
	for range 60 {
		out, err := p.Answer(d)
		if err != nil || len(out) != 1 {
			t.Fatal(out, err)
		}
		e := out[0]
		if !(-1 <= e.Lower && e.Lower <= e.Value && e.Value <= e.Upper && e.Upper <= 3) {
			t.Fatalf("%+v", e)
		}
		ends[e.Value]++
	}
	if ends[-1] < 5 || ends[3] < 5 || !math.IsNaN(p.MeanError()) {
		t.Errorf("means %v", ends)
	}
	d, _, err = ReadData(t.Context(), strings.NewReader("age\n"), q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Answer(d); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("a mean of no rows: %v", err)
	}
}

// TestPureUses: with a delta the uses of a selection get more than equal parts of epsilon, and no more than
// what composes to the whole; without one, the parts.
func TestPureUses(t *testing.T) {
	for _, delta := range []float64{0, 1e-6} {
		q := Query{Kind: Quantile, Column: "age", Lower: 0, Upper: 9, Probability: 0.5, Epsilon: 1, Delta: delta, Releases: 100, Neighbors: dp.AddRemove}.normal()
		each, err := q.pureUse()
		if err != nil || (each > 0.012) != (delta > 0) || each > 0.1 || each < 0.01*(1-1e-12) {
			t.Errorf("delta %g: %v of 1 for each of 100, %v", delta, each, err)
		}
		p, err := NewPlan(t.Context(), q, nil)
		if err != nil {
			t.Errorf("delta %g: %v", delta, err)
		} else if c := p.Costs()[0]; c.Epsilon != each || c.Times != 1 {
			t.Errorf("delta %g: costs %+v, want %v once", delta, c, each)
		}
	}
}

// TestUnitsAndGroups: whose influence is hidden, what the groups are called, and that integers stay ones.
func TestUnitsAndGroups(t *testing.T) {
	for want, q := range map[string]Query{
		"person:id":   {Kind: Count, Person: "id"},
		"row":         {Kind: Count, Of: "person:x"},
		"person:name": {Kind: Value, Of: "person:name"},
	} {
		if got := q.Unit(); got != want {
			t.Errorf("unit %s, want %s", got, want)
		}
	}
	if got := (Query{Kind: Value}).Unit(); got != dp.Row {
		t.Errorf("unit %s of a value", got)
	}
	if got := strings.Join((Query{Edges: []float64{0, 2, 5}}).groups(), " "); got != "[0, 2) [2, 5]" {
		t.Errorf("groups %s", got)
	}
	q := Query{Kind: Value, Sensitivity: 3, Integer: true, Epsilon: 0.1, Neighbors: dp.AddRemove}
	p, err := NewPlan(t.Context(), q, laplaceSource)
	if err != nil {
		t.Fatal(err)
	}
	d, err := dataOf(big.NewRat(17, 1), q)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if out, err := p.Answer(d); err != nil || out[0].Value != math.Trunc(out[0].Value) {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	if v := p.Costs()[0].Table.Mechanism().Query(); v != dp.IntegerQuery {
		t.Errorf("noise for %s queries", v)
	}
}

// TestStrictMissesNothing: a number of rows is public only if none was left out, and so every row that was is
// named, whatever was wrong with it: fields, quotes, no number, or an undecided condition.
func TestStrictMissesNothing(t *testing.T) {
	for _, kind := range []Kind{Mean, Sum, Count} {
		q := Query{Kind: kind, Epsilon: 1, Neighbors: dp.Replace, StrictNotPrivate: true}
		if kind != Count {
			q.Column, q.Lower, q.Upper = "age", 0, 10
		} else {
			q.Where = "int(age) >= 0"
		}
		p, err := NewPlan(t.Context(), q, laplaceSource)
		if err != nil {
			t.Fatal(err)
		}
		for row, whole := range map[string]bool{"3,4": true, "3": false, "3,4,5": false, "3,\"x\"y": false, "3,x": false, "3,": false} {
			d, _, err := ReadData(t.Context(), strings.NewReader("id,age\n1,2\n"+row+"\n2,3\n"), q)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Answer(d); (err == nil) != whole || !whole && !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%s, a row %q: %v", kind, row, err)
			}
		}
	}
}

// TestGroupsByEveryColumn: the column of the groups may be any, the first too.
func TestGroupsByEveryColumn(t *testing.T) {
	for _, columns := range [][]string{{"city", "id"}, {"id", "city"}} {
		q := Query{Kind: Histogram, By: "city", Keys: []string{"a", "b"}, Epsilon: 1, Neighbors: dp.AddRemove}
		rows := &records{columns: columns, rows: [][]string{{"b", "b"}, {"c", "c"}, {"b", "b"}}}
		if d, err := Read(rows, q); err != nil || d.tallies[0].n != 0 || d.tallies[1].n != 2 {
			t.Errorf("columns %v: %+v, %v", columns, d, err)
		}
	}
}
