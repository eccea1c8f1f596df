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
	"github.com/noisewright/noisewright/internal/partition"
)

// foundQueries have private keys with each neighbor relation and unit.
func foundQueries() (out []Query) {
	for _, kind := range []Kind{Count, Histogram, Sum, Mean, Variance, Distinct} {
		for _, neighbors := range []string{dp.AddRemove, dp.Replace} {
			for most := range 3 {
				q := Query{Kind: kind, By: "city", PrivateKeys: true, Epsilon: 8, Delta: 1e-3, Neighbors: neighbors}
				switch kind { //nolint:exhaustive // of a column
				case Sum, Mean, Variance:
					q.Lower, q.Upper = -1, 3
					fallthrough
				case Distinct:
					q.Column = "age"
				}
				if most > 0 {
					q.Person, q.MaxPerPerson = "id", most
				}
				out = append(out, q.normal())
				if kind == Mean {
					q.Also = []Kind{Count, Sum}
					out = append(out, q.normal())
				}
			}
		}
	}
	return out
}

// numbersOf returns the rows of each key, and then its statistics.
func numbersOf(t *testing.T, q Query, list []statistic, rows [][]string) map[string][]*big.Rat {
	t.Helper()
	out := map[string][]*big.Rat{}
	for _, tally := range read(t, q, rows).tallies {
		if _, twice := out[tally.key]; twice || tally.key == "" {
			t.Fatalf("%s: key %q", q.Text(), tally.key)
		}
		out[tally.key] = []*big.Rat{tally.count()}
		for _, s := range list {
			out[tally.key] = append(out[tally.key], s.of(&tally))
		}
	}
	return out
}

// TestKeysEveryPair enumerates neighbors: a unit changes no more keys than the plan charges for, the rows of each by 1 and what else noise
// is added to by no more than it is for; and as many, and by as much, as that.
func TestKeysEveryPair(t *testing.T) {
	other := [][]string{{"1", "a", "1"}, {"2", "e", "-2"}}
	for i, q := range foundQueries() {
		if testing.Short() && (i%5 > 0 || q.Kind == Mean) {
			continue // slow
		}
		var rows [][]string
		for i, city := range []string{"a", "b", "c", "d", ""} {
			rows = append(rows, []string{"9", city, []string{"-9", "9", "x", "1", "1"}[i]})
		}
		rows = append(rows, []string{"9", "a", "9"}, []string{"9", "b", "1"}, []string{"9", "c", "-1"})
		list, pair := statisticsOf(t, q)
		var units [][][]string
		for i := range rows {
			units = append(units, rows[i:i+1])
			for j := range rows {
				units = append(units, [][]string{rows[i], rows[j]}, [][]string{rows[i], rows[j], rows[(i+j)%len(rows)]})
			}
		}
		if q.Person == "" {
			units = slices.DeleteFunc(units, func(u [][]string) bool { return len(u) > 1 })
		}
		before := units
		if q.Neighbors == dp.AddRemove {
			before = [][][]string{nil}
		}
		most := 0
		largest, both := make([]*big.Rat, len(list)+1), new(big.Rat)
		for i := range largest {
			largest[i] = new(big.Rat)
		}
		var after []map[string][]*big.Rat
		for _, v := range units {
			after = append(after, numbersOf(t, q, list, append(v[:len(v):len(v)], other...)))
		}
		none := numbersOf(t, q, list, [][]string{{"5", "f", "0"}})["f"]
		for i := range none {
			none[i] = new(big.Rat)
		}
		for _, u := range before {
			a := numbersOf(t, q, list, append(u[:len(u):len(u)], other...))
			for _, b := range after {
				changed := 0
				for _, key := range []string{"a", "b", "c", "d", "e"} {
					x, y := a[key] != nil, b[key] != nil
					own, others := none, none
					if x {
						own = a[key]
					}
					if y {
						others = b[key]
					}
					moved, sums := false, new(big.Rat)
					for i := range own {
						d := new(big.Rat).Sub(own[i], others[i])
						if d.Abs(d).Cmp(largest[i]) > 0 {
							largest[i] = d
						}
						if moved = moved || d.Sign() != 0; i > 0 && strings.HasPrefix(list[i-1].name, "distances") {
							sums.Add(sums, d)
						}
					}
					if sums.Cmp(both) > 0 {
						both = sums
					}
					if moved {
						changed++
					}
				}
				most = max(most, changed)
			}
		}
		if most != q.uses() || largest[0].Cmp(big.NewRat(1, 1)) != 0 {
			t.Errorf("%s: a unit changed %d keys, want %d, and the rows of one by %v", q.Text(), most, q.uses(), largest[0])
		}
		for i, s := range list {
			if c := largest[i+1].Cmp(s.limit); c > 0 || c < 0 && !strings.HasPrefix(s.name, "distances") {
				t.Errorf("%s: a unit changed the %s by %v, want %v", q.Text(), s.name, largest[i+1], s.limit)
			}
		}
		if pair != nil && both.Cmp(pair) != 0 {
			t.Errorf("%s: a unit changed a pair of sums by %v together, want %v", q.Text(), both, pair)
		}
	}
}

// TestKeysCost: half of epsilon and of delta goes to the decisions, one for each key that a unit may change, in each release; the
// rest to the counts; and more of either is noticed.
func TestKeysCost(t *testing.T) {
	for i, q := range foundQueries() {
		if testing.Short() && i%11 > 0 {
			continue // slow
		}
		for _, q.Releases = range []int{1, 2} {
			p, err := NewPlan(t.Context(), q, laplaceSource)
			if err != nil {
				t.Fatal(err)
			}
			c := p.Costs()
			n := float64(q.uses() * q.Releases)
			near := func(got, want float64) bool { return got <= want && got > want*(1-1e-9) }
			if len(c) != 2 || c[1].Table != nil || c[1].Times != q.uses() || !near(c[1].Epsilon, 4/n) || !near(c[1].Delta, 5e-4/n) {
				t.Fatalf("%s: costs %+v", q.Text(), c)
			}
			sums := 1
			switch {
			case q.Kind == Variance:
				sums = 3
			case strings.Contains(p.Mechanism(), "number of rows, half"):
				sums = 2
			}
			if c[0].Times != sums*q.uses() {
				t.Errorf("%s: answers are charged %d times, want %d", q.Text(), c[0].Times, sums*q.uses())
			}
			main := c[0]
			main.Times *= q.Releases
			if e, err := main.EpsilonAt(5e-4); err != nil || e > 4 {
				t.Errorf("%s: counts cost %v, %v", q.Text(), e, err)
			}
			p.mechanism.before.Epsilon *= 2
			if p.prove() == nil {
				t.Errorf("%s: twice the epsilon of the keys is not noticed", q.Text())
			}
			p.mechanism.before.Epsilon /= 2
			p.mechanism.before.Delta *= 2.001
			if p.prove() == nil {
				t.Errorf("%s: twice the delta of the keys is not noticed", q.Text())
			}
		}
	}
}

// TestKeysAnswer: keys that many have are there, in their order, with counts; those that nobody has are not; and each of the
// others with the probability of the rule for its cost: of 400 draws off by 8 deviations with a probability below 1e-12.
func TestKeysAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	q := Query{Kind: Histogram, By: "city", PrivateKeys: true, Epsilon: 2, Delta: 0.02, Neighbors: dp.AddRemove}
	p, err := NewPlan(t.Context(), q, laplaceSource)
	if err != nil {
		t.Fatal(err)
	}
	rule, err := partition.New(p.Costs()[1].Epsilon, p.Costs()[1].Delta)
	if err != nil {
		t.Fatal(err)
	}
	middle := rule.Median()
	var rows [][]string
	for key, n := range map[string]int{"z": 500, "many": 400, "some": middle, "": 90, "\xff": 90, strings.Repeat("k", longestKey+1): 90, strings.Repeat("k", longestKey): 300} {
		for range n {
			rows = append(rows, []string{"1", key, "1"})
		}
	}
	d := read(t, q, rows)
	d.tallies = append(d.tallies, tally{key: "nobody"})
	some := 0
	for range 400 {
		out, err := p.Answer(d)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, e := range out {
			keys = append(keys, e.Key)
			if e.Key == "z" && math.Abs(e.Value-500) > 40 || e.Key == "many" && math.Abs(e.Value-400) > 40 {
				t.Errorf("%s: %v", e.Key, e.Value)
			}
		}
		want := []string{strings.Repeat("k", longestKey), "many", "some", "z"}
		if slices.Contains(keys, "some") {
			some++
		} else {
			want = slices.Delete(want, 2, 3)
		}
		if !slices.Equal(keys, want) {
			t.Fatalf("keys %q", keys)
		}
	}
	pi, _ := rule.Probability(int64(middle)).Float64()
	if math.Abs(float64(some)-400*pi) > 8*math.Sqrt(400*pi*(1-pi)) {
		t.Errorf("%d people: released in %d of 400 draws, want %.0f", middle, some, 400*pi)
	}
	if d.leftOut == nil {
		t.Error("rows without a key are not told to strict releases")
	}
	one, err := p.Answer(read(t, q, slices.Repeat([][]string{{"1", "alone", "1"}}, 400)))
	if err != nil || len(one) != 1 || one[0].Key != "alone" || math.Abs(one[0].Value-400) > 40 {
		t.Errorf("of one key: %v, %v", one, err)
	}
	none, err := p.Answer(read(t, q, nil))
	if err != nil || none == nil || len(none) != 0 {
		t.Errorf("without rows: %v, %v, want an empty list", none, err)
	}
}

// TestKeysOfSums: the sum of a key that is found is exact, and the answers to it are consistent.
func TestKeysOfSums(t *testing.T) {
	q := Query{Kind: Mean, Also: []Kind{Count, Sum}, Column: "age", Upper: 1e20, By: "city", PrivateKeys: true, Epsilon: 8, Delta: 1e-9, Neighbors: dp.AddRemove}
	rows := [][]string{{"1", "few", "3"}, {"1", "a", "1e17"}, {"1", "a", "1"}}
	for range 60 {
		rows = append(rows, []string{"1", "b", "2e19"})
	}
	d := read(t, q, rows)
	if want := new(big.Rat).SetInt64(1e17 + 1); d.tallies[1].total().Cmp(want) != 0 {
		t.Errorf("a sum of %v, want %v", d.tallies[1].total(), want)
	}
	p, err := NewPlan(t.Context(), q, laplaceSource)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Answer(d)
	if err != nil || len(out) != 1 || out[0].Key != "b" {
		t.Fatalf("%+v, %v", out, err)
	}
	e := out[0] // by noise of a scale of 1e20/4 on each sum
	if off := e.Value - e.Also.Sum.Value/e.Also.Count.Value; math.Abs(off) > 1e8 || math.Abs(e.Also.Sum.Value-1.2e21) > 8e20 || math.Abs(e.Also.Count.Value-60) > 15 {
		t.Errorf("%+v, %+v, %+v", e, e.Also.Sum, e.Also.Count)
	}
}

// TestKeptKeys: an answer has no more keys and bytes than one may have.
func TestKeptKeys(t *testing.T) {
	rule, err := partition.New(1, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	var many, long []tally
	for i := range maxGroups + 5 {
		many = append(many, tally{key: fmt.Sprintf("%06d", (i*7919)%(maxGroups+5)), n: 1000})
	}
	for i := range maxText/longestKey + 5 {
		long = append(long, tally{key: fmt.Sprintf("%0*d", longestKey, i), n: 1000})
	}
	for want, tallies := range map[int][]tally{maxGroups: many, maxText / longestKey: long} {
		kept, err := keptKeys(rule, tallies)
		if err != nil || len(kept) != want || !slices.IsSortedFunc(kept, func(a, b tally) int { return cmp.Compare(a.key, b.key) }) {
			t.Errorf("%d keys, %v, want %d in their order", len(kept), err, want)
		}
	}
}

func TestKeysRefused(t *testing.T) {
	good := Query{Kind: Count, By: "city", PrivateKeys: true, Epsilon: 1, Delta: 1e-6, Neighbors: dp.AddRemove}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		change func(*Query)
		want   string
	}{
		{func(q *Query) { q.Delta = 0 }, "delta = 0, want above 0"},
		{func(q *Query) { q.By = "" }, "by = none, want the column of the keys"},
		{func(q *Query) { q.Keys = []string{"a"} }, "keys = 1, want either keys or private-keys"},
		{func(q *Query) { q.Kind, q.Column, q.Upper, q.Probability = Quantile, "age", 1, 0.5 }, "private-keys = true, want false for a quantile"},
		{func(q *Query) { q.Kind = Top }, "private-keys = true, want false for a top"},
		{func(q *Query) { q.Kind, q.Column, q.Upper, q.Also = Variance, "age", 1, []Kind{Mean} }, "want none for a variance with private-keys"},
		{func(q *Query) { q.Kind, q.Edges, q.Column = Histogram, []float64{1, 2}, "age" }, "by = city, want either"},
		{func(q *Query) {
			*q = Query{Kind: Value, Sensitivity: 1, Epsilon: 1, Delta: 0.1, Neighbors: dp.Replace, PrivateKeys: true}
		}, "want none for a value"},
	} {
		q := good
		test.change(&q)
		if err := q.Validate(); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", q, err, test.want)
		}
	}
	good.Epsilon, good.Delta = 1e-9, 1e-60
	if _, err := NewPlan(t.Context(), good, laplaceSource); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "keys: ") {
		t.Error(err)
	}
}

// TestKeysDocs holds the table of docs/release.md: how many rows a key has to have to be found half of the time, and for sure.
func TestKeysDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/release.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^\| ([0-9.]+), 1e-6 \| (\d+) \| (\d+) \|$`).FindAllStringSubmatch(string(text), -1)
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3", len(lines))
	}
	for _, line := range lines {
		epsilon, _ := strconv.ParseFloat(line[1], 64)
		rule, err := partition.New(epsilon/2, 5e-7)
		if err != nil {
			t.Fatal(err)
		}
		sure := 1
		for rule.Probability(int64(sure)).Cmp(big.NewRat(1, 1)) < 0 {
			sure++
		}
		if line[2] != strconv.Itoa(rule.Median()) || line[3] != strconv.Itoa(sure) {
			t.Errorf("epsilon %v: %s and %s rows, want %d and %d", exact.Rational(epsilon), line[2], line[3], rule.Median(), sure)
		}
	}
}
