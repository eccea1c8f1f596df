// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/selection"
)

// pageRows are the rows of the pages 0 to 19 in the file of "noisewright example people".
var pageRows = []int64{814, 219, 163, 141, 108, 92, 100, 75, 57, 68, 45, 62, 49, 47, 45, 56, 41, 59, 48, 33}

// right returns how often the five largest counts are named, in any order.
func right(t *testing.T, q Query, runs int) float64 {
	t.Helper()
	p, err := NewPlan(t.Context(), q, laplaceSource)
	if err != nil {
		t.Fatal(err)
	}
	together := 1
	if q.Kind != Top { // groups have noise of their own: many runs at once
		together = runs
	}
	tallies := make([]tally, together*len(pageRows))
	for i := range tallies {
		tallies[i].n = pageRows[i%len(pageRows)]
	}
	found := 0
	for range runs / together {
		answers, err := p.mechanism.answer(tallies)
		if err != nil {
			t.Fatal(err)
		}
		if q.Kind != Top {
			for i := range answers {
				answers[i].Key = q.Keys[i%len(pageRows)]
			}
		}
		for run := range slices.Chunk(answers, len(answers)/together) {
			if q.Kind != Top {
				slices.SortStableFunc(run, func(a, b Estimate) int { return cmp.Compare(b.Value, a.Value) })
			}
			named := map[string]bool{}
			for _, a := range run[:5] {
				named[a.Key] = true
			}
			if named["0"] && named["1"] && named["2"] && named["3"] && named["4"] {
				found++
			}
		}
	}
	return float64(found) / float64(runs)
}

// TestTopBesideHistogram holds the table of docs/release.md: how often top and a histogram of the same epsilon name the
// right five pages. Its shares of 10,000 runs and those found here differ by 6 deviations with a probability below 2e-9.
func TestTopBesideHistogram(t *testing.T) {
	text, err := os.ReadFile("../docs/release.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (top|histogram, a person in up to (\d+)) \| ([0-9.]+) \| ([0-9.]+) \| ([0-9.]+) \|$`).FindAllStringSubmatch(string(text), -1)
	if len(rows) != 4 {
		t.Fatalf("%d rows of the table, want 4", len(rows))
	}
	runs := 10_000
	if testing.Short() {
		runs = 500
	}
	var keys []string
	for i := range pageRows {
		keys = append(keys, fmt.Sprint(i))
	}
	for _, row := range rows {
		for i, epsilon := range []float64{0.1, 0.5, 1} {
			q := Query{Kind: Top, K: 5, By: "page", Keys: keys, Epsilon: epsilon, Neighbors: dp.AddRemove, Person: "id"}
			if row[1] != "top" {
				q.Kind, q.K = Histogram, 0
				q.MaxPerPerson, _ = strconv.Atoi(row[2])
			}
			want, _ := strconv.ParseFloat(row[3+i], 64)
			got := right(t, q, runs)
			if off := math.Abs(got - want); off > 6*math.Sqrt(max(want*(1-want), 0.01)*(1/float64(runs)+1e-4))+0.0005 {
				t.Errorf("%s, epsilon %v: %.3f, want %v", row[1], epsilon, got, want)
			}
			t.Logf("%s, epsilon %v: %.3f", row[1], epsilon, got)
		}
	}
}

// TestChoicePlan: the choices are told of an equal part of epsilon and of how far a unit moves the counts apart, which
// the bound on the error shows, and each is charged.
func TestChoicePlan(t *testing.T) {
	for _, test := range []struct {
		neighbors   string
		k, releases int
		spread      int
	}{{dp.AddRemove, 1, 1, 1}, {dp.AddRemove, 4, 1, 1}, {dp.Replace, 1, 1, 2}, {dp.Replace, 2, 3, 2}} {
		q := Query{Kind: Top, By: "city", Keys: []string{"a", "b", "c", "d"}, K: test.k, Epsilon: 1.5, Neighbors: test.neighbors, Releases: test.releases}
		p, err := NewPlan(t.Context(), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		part := exact.FloatDown(new(big.Rat).Quo(big.NewRat(3, 2), big.NewRat(int64(test.k*test.releases), 1)))
		if c := p.Costs()[0]; c.Epsilon != part || c.Times != test.k || c.Delta != 0 {
			t.Errorf("%+v: charged %+v, want %d times %v", test, c, test.k, part)
		}
		s, err := selection.NewMost(selection.Most{Candidates: 4, Choices: test.k, Epsilon: part, Spread: test.spread})
		if err != nil {
			t.Fatal(err)
		}
		bound, err := s.CountErrorUpper(level)
		if err != nil {
			t.Fatal(err)
		}
		out, err := p.Answer(read(t, q, [][]string{{"1", "a", "1"}, {"2", "a", "2"}, {"2", "z", "2"}}))
		if err != nil {
			t.Fatal(err)
		}
		named := map[string]bool{}
		for i, e := range out {
			named[e.Key] = slices.Contains(q.Keys, e.Key)
			if e.Value != float64(i+1) || e.Lower != 1 || e.Upper != 4 || e.CountError != bound.Int64() {
				t.Errorf("%+v: %+v, want an error of %v", test, e, bound)
			}
		}
		if len(out) != test.k || len(named) != test.k || named[""] {
			t.Errorf("%+v: %+v", test, out)
		}
	}
}

// TestChoiceCounts: a row counts for each option that holds, a person once for each, and a row on which one
// cannot be decided for the others.
func TestChoiceCounts(t *testing.T) {
	rows := [][]string{{"1", "a", "3"}, {"1", "b", "4"}, {"2", "a", "x"}, {"3", "c", "1"}, {"", "a", "5"}}
	options := []Option{{"a", `city == "a"`}, {"over 0", "age > 0"}, {"over 2", "age > 2"}, {"none", `city == "z"`}}
	for _, test := range []struct {
		person string
		most   int
		want   []int64
	}{{"", 0, []int64{3, 4, 3, 0}}, {"id", 0, []int64{2, 2, 1, 0}}, {"id", 4, []int64{2, 2, 1, 0}}} {
		d := read(t, Query{Kind: Best, Options: options, Epsilon: 1, Neighbors: dp.AddRemove, Person: test.person, MaxPerPerson: test.most}, rows)
		for i, n := range test.want {
			if d.tallies[i].n != n {
				t.Errorf("%+v: %d rows with option %s, want %d", test, d.tallies[i].n, options[i].Name, n)
			}
		}
		if d.leftOut == nil {
			t.Errorf("%+v: the undecided row is not told to strict releases", test)
		}
	}
}

func TestChoiceRefused(t *testing.T) {
	top := Query{Kind: Top, By: "city", Keys: []string{"a", "b"}, K: 2, Epsilon: 1, Neighbors: dp.AddRemove}
	best := Query{Kind: Best, Options: []Option{{"a", "age > 1"}, {"b", "age > 2"}}, Epsilon: 1, Neighbors: dp.Replace}
	for _, test := range []struct {
		from   Query
		change func(*Query)
		want   string
	}{
		{top, func(q *Query) { q.K = 3 }, "k = 3, want an integer from 1 to 2"},
		{top, func(q *Query) { q.K = -1 }, "k = -1, want an integer from 1 to 2"},
		{top, func(q *Query) { q.By, q.Keys = "", nil }, "by = none, want the column of the keys to choose from"},
		{top, func(q *Query) { q.Keys = nil }, "keys = none"},
		{top, func(q *Query) { q.Keys = []string{"a", "a"} }, "keys = a, want every key once"},
		{top, func(q *Query) { q.Column = "age" }, "column = age, want none"},
		{top, func(q *Query) { q.Edges = []float64{1, 2} }, "edges"},
		{top, func(q *Query) { q.Upper = 2 }, "bounds = 0, 2, want none"},
		{top, func(q *Query) { q.Missing = middleMissing }, "missing = middle, want drop"},
		{top, func(q *Query) { q.Options = best.Options }, "option = 2, want none but for a best"},
		{top, func(q *Query) { q.Person, q.MaxPerPerson = "id", -1 }, "max-per-person = -1"},
		{top, func(q *Query) { q.Person, q.MaxPerPerson = "id", 10_001 }, "max-per-person = 10001"},
		{top, func(q *Query) { q.MaxPerPerson = 1 }, "max-per-person = 1, want none"},
		{top, func(q *Query) { q.Kind = Histogram }, "k = 2, want none but for a top or best"},
		{best, func(q *Query) { q.Options = nil }, "option = 0, want 1 to 1000"},
		{best, func(q *Query) { q.Options = make([]Option, 1001) }, "option = 1001, want 1 to 1000"},
		{best, func(q *Query) { q.By, q.Keys = "city", top.Keys }, "by = city, want none for a best"},
		{best, func(q *Query) { q.Options = []Option{{"a", "age > 1"}, {"a", "age > 2"}} }, "option = a, want a name for each"},
		{best, func(q *Query) { q.Options = []Option{{"", "age > 1"}} }, "option = , want a name for each"},
		{best, func(q *Query) { q.Options = []Option{{"a", ""}} }, "option = a, want a condition for each"},
		{best, func(q *Query) { q.Options = []Option{{"\xff", "age > 1"}} }, "want UTF-8 text"},
		{best, func(q *Query) { q.Options = []Option{{"a", strings.Repeat("a", maxText)}} }, "texts = "},
		{best, func(q *Query) {
			*q = Query{Kind: Value, Epsilon: 1, Neighbors: dp.Replace, Sensitivity: 1, Options: best.Options}
		}, "column = , want none for a value"},
	} {
		if err := test.from.Validate(); err != nil {
			t.Fatal(err)
		}
		q := test.from
		test.change(&q)
		if err := q.Validate(); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", q, err, test.want)
		}
	}
	if _, err := Read(&records{columns: testColumns}, Query{Kind: Best, Options: []Option{{"a", "height > 1"}}, Epsilon: 1, Neighbors: dp.AddRemove}); !errors.Is(err, dp.ErrInvalid) {
		t.Error(err)
	}
}
