// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/selection"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

var (
	laplaceMutex sync.Mutex
	laplaceKnown = map[string]*tables.Verified{}
)

// laplaceSource returns Laplace noise for an equal share of epsilon.
func laplaceSource(_ context.Context, p dp.Problem, uses int) (*tables.Verified, error) {
	laplaceMutex.Lock()
	defer laplaceMutex.Unlock()
	key := fmt.Sprint(p.Epsilon, p.Sensitivity, p.Query, p.Loss.Name(), uses)
	if v := laplaceKnown[key]; v != nil {
		return v, nil
	}
	if uses > 1 {
		share := exact.Rational(p.Epsilon)
		p.Epsilon = exact.FloatDown(share.Quo(share, big.NewRat(int64(uses), 1)))
	}
	p.Delta = 0
	v, err := shapes.Laplace(p, tables.Grid{})
	if err == nil {
		laplaceKnown[key] = v
	}
	return v, err
}

// everyQuery has each kind with each neighbor relation, unit and missing rule.
func everyQuery() []Query {
	keys := []string{"a", "b", "c"}
	base := []Query{
		{Kind: Count},
		{Kind: Count, Where: `age > -2`},
		{Kind: Count, Where: `city == "a" || int(age) > 0`},
		{Kind: Count, By: "city", Keys: keys},
		{Kind: Histogram, By: "city", Keys: keys},
		{Kind: Top, By: "city", Keys: keys, K: 2},
		{Kind: Best, Options: []Option{{"a", `city == "a"`}, {"old", `age > 1`}, {"young", `age < 1`}, {"b", `city == "b" && int(age) > 0`}}, Where: `city != "c"`},
		{Kind: Histogram, Column: "age", Edges: []float64{-1, 0, 1, 3}},
		{Kind: Sum, Column: "age", Lower: -1, Upper: 3},
		{Kind: Sum, Column: "age", Lower: 2, Upper: 3},
		{Kind: Sum, Column: "age", Lower: -3, Upper: -2, Where: `city != "a"`},
		{Kind: Sum, Column: "age", Lower: -1, Upper: 3, By: "city", Keys: keys},
		{Kind: Mean, Column: "age", Lower: -1, Upper: 3},
		{Kind: Mean, Column: "age", Lower: 2, Upper: 3, Where: `age > -2`},
		{Kind: Mean, Column: "age", Lower: 2, Upper: 3, By: "city", Keys: keys},
		{Kind: Variance, Column: "age", Lower: -2, Upper: 3},
		{Kind: Variance, Column: "age", Lower: -8, Upper: 9, By: "city", Keys: keys},
		{Kind: Count, Column: "age"},
		{Kind: Mean, Column: "age", Lower: -1, Upper: 3, Also: []Kind{Count, Sum}},
		{Kind: Mean, Column: "age", Lower: 2, Upper: 3, Also: []Kind{Sum}, By: "city", Keys: keys},
		{Kind: Variance, Column: "age", Lower: -2, Upper: 3, Also: []Kind{Count, Sum, Mean}},
		{Kind: Variance, Column: "age", Lower: -8, Upper: 9, Also: []Kind{Mean}, By: "city", Keys: keys},
		{Kind: Distinct, Column: "age"},
		{Kind: Distinct, Column: "city", Where: `age > -2`},
		{Kind: Distinct, Column: "age", By: "city", Keys: keys},
		{Kind: Quantile, Column: "age", Lower: -1, Upper: 3, Probability: 0.25, Candidates: 5},
		{Kind: Quantile, Column: "age", Lower: -1, Upper: 3, Probability: 0.5, Candidates: 3, By: "city", Keys: keys},
	}
	var out []Query
	known := map[string]bool{}
	for _, q := range base {
		q.Epsilon = 8 // tables are small
		for _, q.Neighbors = range []string{dp.AddRemove, dp.Replace} {
			for _, q.Missing = range []string{"", "refuse", "drop", "middle"} {
				q.Person, q.MaxPerPerson = "", 0
				if q.Validate() != nil || known[q.Text()] {
					continue // no rule of this version, or a default
				}
				known[q.Text()] = true
				out = append(out, q)
				q.Person = "id"
				for _, q.MaxPerPerson = range []int{0, 1, 2} {
					if q.Validate() == nil {
						out = append(out, q) // without a bound a choice alone
					}
				}
			}
		}
	}
	return out
}

// everyUnit returns all that a unit may have: a row with values at the bounds, beyond them and
// none; or a person's up to so many rows.
func everyUnit(q Query, most int) [][][]string {
	ages := []string{"-9", "-1", "0.5", "2", "3", "3.0000000000000004", "9", "", "x", "NaN"}
	cities := []string{"a", "b", "c", "d"}
	if q.Person != "" {
		ages, cities = []string{"-9", "0.5", "9", ""}, cities[:3]
		if len(q.Edges) > 0 {
			ages, cities = []string{"-9", "-0.5", "0", "0.5", "3", ""}, cities[:1]
		}
	}
	var rows [][]string
	for _, city := range cities {
		for _, age := range ages {
			rows = append(rows, []string{"9", city, age})
		}
	}
	if q.Person == "" {
		units := make([][][]string, len(rows))
		for i, row := range rows {
			units[i] = [][]string{row}
		}
		return units
	}
	units := [][][]string{nil}
	var grow func(unit [][]string, from int)
	grow = func(unit [][]string, from int) {
		for i := from; i < len(rows) && len(unit) < most; i++ {
			more := append(unit[:len(unit):len(unit)], rows[i])
			units = append(units, more)
			grow(more, i)
		}
	}
	grow(nil, 0)
	return units
}

// outcome is what Read made of a data set: numbers by statistic and group, and counts of candidates.
type outcome struct {
	numbers [][]*big.Rat
	tallies []tally
}

// outcomesOf reads data sets that differ in one unit and returns those that are different. Of a
// person with many rows several samples are drawn. Data that are refused have none.
func outcomesOf(t *testing.T, q Query, list []statistic, rest [][]string, units [][][]string) (outcomes []outcome, read int) {
	t.Helper()
	known := map[string]bool{}
	for _, unit := range units {
		draws := 1
		if q.Person != "" && len(unit) > q.MaxPerPerson {
			draws = 3
		}
		for range draws {
			d, err := Read(&records{columns: testColumns, rows: append(unit[:len(unit):len(unit)], rest...)}, q)
			if err != nil {
				if !errors.Is(err, dp.ErrInvalid) {
					t.Fatalf("%s: %v", q.Text(), err)
				}
				continue
			}
			o := outcome{tallies: d.tallies}
			var key strings.Builder
			for i := range d.tallies {
				x := &d.tallies[i]
				fmt.Fprint(&key, x.n, " ", x.total().RatString(), x.counts, x.totalSquares().RatString(), x.different(), ";")
			}
			for _, s := range list {
				var of []*big.Rat
				for i := range d.tallies {
					of = append(of, s.of(&d.tallies[i]))
				}
				o.numbers = append(o.numbers, of)
			}
			if !known[key.String()] {
				known[key.String()] = true
				outcomes = append(outcomes, o)
			}
		}
		read++
	}
	return outcomes, read
}

// worst is the most that a unit was seen to change.
type worst struct {
	by     []*big.Rat // each statistic of a group
	pair   *big.Rat   // both sums of a pair, in a group
	groups int
	spread int64 // of the changes of the counts of two groups, one from the other
}

func (w *worst) compare(list []statistic, a, b outcome) {
	groups := 0
	var least, most int64
	for g := range a.tallies {
		d := a.tallies[g].n - b.tallies[g].n
		if g == 0 {
			least, most = d, d
		}
		least, most = min(least, d), max(most, d)
		w.spread = max(w.spread, most-least)
		changed := false
		pair := new(big.Rat)
		for i, s := range list {
			d := new(big.Rat).Sub(a.numbers[i][g], b.numbers[i][g])
			d.Abs(d)
			if d.Sign() == 0 {
				continue
			}
			changed = true
			if d.Cmp(w.by[i]) > 0 {
				w.by[i] = d
			}
			if strings.HasPrefix(s.name, "distances") {
				pair.Add(pair, d)
			}
		}
		if pair.Cmp(w.pair) > 0 {
			w.pair = pair
		}
		if changed || changesOfCounts(a.tallies[g].counts, b.tallies[g].counts) != [2]uint64{} {
			groups++
		}
	}
	w.groups = max(w.groups, groups)
}

// changesOfCounts returns how many records b has that a has not, and the other way round.
func changesOfCounts(a, b []uint64) (out [2]uint64) {
	for i := range max(len(a), len(b)) {
		var x, y uint64
		if a != nil {
			x = a[i]
		}
		if b != nil {
			y = b[i]
		}
		if x < y {
			out[0] += y - x
		} else {
			out[1] += x - y
		}
	}
	return out
}

// TestEveryPair enumerates neighbors, small data sets that differ in a unit, for every kind of query,
// neighbor relation, unit and missing rule: no exact number changes by more than the noise is
// scaled to, nor in more groups than the plan charges for; and both bounds are met.
func TestEveryPair(t *testing.T) {
	most := 3
	if testing.Short() {
		most = 2
	}
	other := [][]string{{"1", "a", "1"}, {"2", "c", "-2"}}
	pairs := 0
	for i, q := range everyQuery() {
		q = q.normal()
		if testing.Short() && (i%7 > 0 || q.Kind == Mean && (q.Missing != "drop" || q.MaxPerPerson == 1)) {
			continue // slow: of means the noise is
		}
		list, pair := statisticsOf(t, q)
		w := &worst{pair: new(big.Rat)}
		for range list {
			w.by = append(w.by, new(big.Rat))
		}
		rows := min(most, q.MaxPerPerson+1)
		if q.MaxPerPerson == 0 {
			rows = most
		}
		units := everyUnit(q, rows)
		for _, rest := range [][][]string{nil, other} {
			outcomes, n := outcomesOf(t, q, list, rest, units)
			others := outcomes
			if q.Neighbors == dp.AddRemove {
				others, _ = outcomesOf(t, q, list, rest, [][][]string{nil})
				pairs += n
			} else {
				pairs += n * n
			}
			for _, a := range others {
				for _, b := range outcomes {
					w.compare(list, a, b)
					if q.Kind == Quantile {
						holdCounts(t, q, a, b)
					}
				}
			}
		}
		for i, s := range list {
			// A public number needs no noise, and gets some all the same; a pair is held below.
			free := q.Kind == Count && q.Neighbors == dp.Replace && q.Person == "" && q.Where == "" && q.Column == "" && !q.grouped() || strings.HasPrefix(s.name, "distances")
			if c := w.by[i].Cmp(s.limit); c > 0 || c < 0 && !free {
				t.Errorf("%s: a unit changed the %s by %v, want %v", q.Text(), s.name, w.by[i], s.limit)
			}
		}
		if pair != nil && w.pair.Cmp(pair) != 0 {
			t.Errorf("%s: a unit changed a pair of sums by %v together, want %v", q.Text(), w.pair, pair)
		}
		if q.chooses() {
			if w.spread != int64(q.spread()) {
				t.Errorf("%s: a unit changed a count by %d more than another, want %d", q.Text(), w.spread, q.spread())
			}
			continue
		}
		if w.groups > q.uses() || w.groups < q.uses() && w.groups > 0 {
			t.Errorf("%s: a unit changed %d groups, want %d", q.Text(), w.groups, q.uses())
		}
	}
	if pairs < 10_000 && !testing.Short() {
		t.Errorf("%d pairs, want 10,000", pairs)
	}
	t.Logf("%d pairs", pairs)
}

// holdCounts holds what a unit changes of the rows at candidates against what package selection is told.
func holdCounts(t *testing.T, q Query, a, b outcome) {
	t.Helper()
	for g := range a.tallies {
		d := changesOfCounts(a.tallies[g].counts, b.tallies[g].counts)
		if most := uint64(q.most()); d[0] > most || d[1] > most || q.Neighbors == dp.AddRemove && d[0] > 0 && d[1] > 0 {
			t.Fatalf("%s: a unit brought %d records and took %d, of at most %d", q.Text(), d[0], d[1], most)
		}
	}
}

// TestEveryPlan holds what the plans are made of against the numbers that TestEveryPair holds
// against the data: a use of the noise for each group that changes, noise that is as wide as
// the change, and a whole cost within that of the query.
func TestEveryPlan(t *testing.T) {
	for i, q := range everyQuery() {
		if q.Missing != "" && !q.fixed() || testing.Short() && i%35 > 0 || len(q.Also) > 0 {
			continue // as without a rule, or of TestTogetherCosts
		}
		for _, q.Releases = range []int{1, 3} {
			p, err := NewPlan(t.Context(), q, laplaceSource)
			if err != nil {
				t.Errorf("%s: %v", q.Text(), err)
				continue
			}
			costs := p.Costs()
			if len(costs) != 1 {
				t.Fatalf("%s: %d costs, want one", q.Text(), len(costs))
			}
			c := costs[0]
			uses := q.normal().uses()
			switch {
			case strings.Contains(p.Mechanism(), "number of rows, half"), q.Kind == Variance && q.fixed():
				uses *= 2 // two sums of each group
			case q.Kind == Variance:
				uses *= 3
			}
			if c.Times != uses {
				t.Errorf("%s: charged %d times, want %d", q.Text(), c.Times, uses)
			}
			c.Times *= q.Releases
			if total, err := c.EpsilonAt(q.Delta); err != nil || total > q.Epsilon {
				t.Errorf("%s: costs %v, %v", q.Text(), total, err)
			}
		}
	}
}

// TestQuantileRecords: the selection among candidates is told of as many records as a unit has,
// and of the neighbors, which its bound on the error in ranks shows.
func TestQuantileRecords(t *testing.T) {
	for _, neighbors := range []string{dp.AddRemove, dp.Replace} {
		for _, most := range []int{0, 1, 3} {
			q := Query{Kind: Quantile, Epsilon: 1, Neighbors: neighbors, Column: "age", Lower: -1, Upper: 3, Probability: 0.25, Candidates: 5}
			if most > 0 {
				q.Person, q.MaxPerPerson = "id", most
			}
			p, err := NewPlan(t.Context(), q, nil)
			if err != nil {
				t.Fatal(err)
			}
			e, err := p.Answer(read(t, q, [][]string{{"1", "a", "1"}}))
			if err != nil {
				t.Fatal(err)
			}
			s, err := selection.New(selection.Query{
				Quantile: big.NewRat(1, 4), Candidates: 5, Epsilon: 1, Records: max(most, 1), Replace: neighbors == dp.Replace,
			})
			if err != nil {
				t.Fatal(err)
			}
			rank, err := s.RankErrorUpper(level)
			if err != nil || exact.Ceil(rank).Int64() != e[0].RankError {
				t.Errorf("%s: an error of %d ranks, want %v, %v", q.Text(), e[0].RankError, rank, err)
			}
		}
	}
}

// TestValueShift: two values that differ by the sensitivity are as many points apart as the table
// covers, and no more, whether or not they are on the grid.
func TestValueShift(t *testing.T) {
	for _, q := range []Query{
		{Kind: Value, Sensitivity: 3, Integer: true},
		{Kind: Value, Sensitivity: 0.1},
		{Kind: Value, Sensitivity: 1e-7},
		{Kind: Value, Sensitivity: 12345.678},
	} {
		q.Epsilon, q.Neighbors = 1, dp.AddRemove
		n, err := q.valueNoise(t.Context(), laplaceSource)
		if err != nil {
			t.Fatal(err)
		}
		g := n.table.Mechanism().Grid()
		covered := big.NewInt(int64(g.CellsPerSensitivity) * g.PointsPerCell)
		worst := new(big.Int)
		for i := range int64(200) {
			x := new(big.Rat).Mul(n.unit, big.NewRat(i-100, 8))
			if q.Integer {
				x.SetInt64(i - 100)
			}
			y := new(big.Rat).Add(x, exact.Rational(q.Sensitivity))
			for _, v := range []*big.Rat{x, y} {
				if d, err := dataOf(v, q); err != nil || d.tallies[0].total().Cmp(v) != 0 {
					t.Fatalf("%v is taken as %v, %v", v, d, err)
				}
			}
			if d := new(big.Int).Sub(n.index(y), n.index(x)); d.Cmp(worst) > 0 {
				worst = d
			}
		}
		if worst.Cmp(covered) != 0 {
			t.Errorf("sensitivity %g: values were %v points apart, the table covers %v", q.Sensitivity, worst, covered)
		}
	}
}

// TestIndexNearest: the point that a number is rounded to is one of those next to it, so that rounding
// adds no error of its own, and the higher one of two.
func TestIndexNearest(t *testing.T) {
	for _, unit := range []*big.Rat{big.NewRat(1, 1), big.NewRat(3, 7), big.NewRat(1, 1<<40)} {
		n := &scaled{unit: unit}
		for i := int64(-40); i <= 40; i++ {
			x := new(big.Rat).Mul(unit, big.NewRat(i, 8))
			off := new(big.Rat).SetInt(n.index(x))
			off.Sub(off.Mul(off, unit), x).Quo(off, unit)
			half := big.NewRat(1, 2)
			if off.Cmp(half) > 0 || off.Cmp(half.Neg(half)) <= 0 {
				t.Errorf("unit %v: %v is rounded by %v units", unit, x, off)
			}
		}
	}
}

// TestPlanProves: noise that costs more than the query allows, by a unit in the last place too, is
// refused for every kind.
func TestPlanProves(t *testing.T) {
	for i, q := range append(everyQuery(),
		Query{Kind: Value, Sensitivity: 1, Epsilon: 1, Neighbors: dp.AddRemove},
		Query{Kind: Value, Sensitivity: 2, Integer: true, Epsilon: 1, Neighbors: dp.Replace},
	) {
		if testing.Short() && i%9 > 0 {
			continue
		}
		for _, more := range []float64{0x1p-52, 1} {
			if q.Kind == Mean && !q.fixed() || len(q.Also) > 0 {
				continue // chooses among several
			}
			asked := false
			wider := func(ctx context.Context, p dp.Problem, uses int) (*tables.Verified, error) {
				asked = true
				p.Epsilon *= 1 + more
				return laplaceSource(ctx, p, uses)
			}
			q := q.normal()
			p, err := NewPlan(t.Context(), q, wider)
			if !asked {
				continue // noise of its own
			}
			if err == nil {
				total, _ := p.Costs()[0].EpsilonAt(0)
				// A share is rounded down, so a unit in the last place may fit.
				if !(total <= q.Epsilon) || more == 1 || p.Costs()[0].Times == 1 {
					t.Errorf("%s: a plan with noise of an epsilon %g times as large, %v in all", q.Text(), 1+more, total)
				}
			}
		}
	}
	// A table of delta > 0 for a query of delta = 0.
	tab, err := proof.ReadFile("../docs/example-table.json", tables.Decode)
	if err != nil {
		t.Fatal(err)
	}
	v, err := proof.Verify(t.Context(), tab, proof.Options{})
	if err != nil {
		t.Fatal(err)
	}
	own := tab.Problem().Privacy
	p := &Plan{
		query:     Query{Kind: Sum, Epsilon: own.Epsilon, Delta: own.Delta / 2, Releases: 1, Neighbors: dp.AddRemove},
		mechanism: newScaled(v, big.NewRat(1, 1)).adding("", 1, (*tally).total),
	}
	if err := p.prove(); err == nil {
		t.Errorf("delta = %g for a query of %g", own.Delta, p.query.Delta)
	}
}

// TestSampleIsUniform: of a person's rows each has the same chance to count, wherever it stands, and
// so has each of the groups. The counts are out by 7 deviations with a probability below 3e-12 each.
func TestSampleIsUniform(t *testing.T) {
	const draws = 1200
	for _, test := range []struct {
		q    Query
		rows [][]string
		want float64 // the chance of each row to count
	}{
		{Query{Kind: Sum}, [][]string{{"1", "a", "1"}, {"1", "a", "16"}, {"1", "a", "256"}, {"1", "b", "4096"}}, 1.0 / 4},
		{Query{Kind: Sum, MaxPerPerson: 3}, [][]string{{"1", "a", "1"}, {"1", "a", "16"}, {"1", "a", "256"}, {"1", "b", "4096"}}, 3.0 / 4},
		{Query{Kind: Sum, By: "city", Keys: []string{"a", "b"}, MaxPerPerson: 2}, [][]string{{"1", "a", "1"}, {"1", "a", "16"}, {"1", "a", "256"}}, 1.0 / 3},
		{Query{Kind: Sum, By: "city", Keys: []string{"a", "b", "c"}}, [][]string{{"1", "a", "1"}, {"1", "b", "16"}, {"1", "c", "256"}}, 1.0 / 3},
		{Query{Kind: Sum, By: "city", Keys: []string{"a", "b", "c"}, MaxPerPerson: 2}, [][]string{{"1", "a", "1"}, {"1", "b", "16"}, {"1", "c", "256"}}, 2.0 / 3},
	} {
		q := test.q
		q.Epsilon, q.Neighbors, q.Column, q.Lower, q.Upper, q.Person = 1, dp.AddRemove, "age", 0, 1e6, "id"
		q.MaxPerPerson = max(q.MaxPerPerson, 1)
		counted := make([]int, len(test.rows))
		for range draws {
			d := read(t, q, test.rows)
			sum := int64(0)
			for i := range d.tallies {
				f, _ := d.tallies[i].total().Float64()
				sum += int64(f)
			}
			for i := range counted {
				counted[i] += int(sum >> (4 * i) & 1)
			}
		}
		mean := draws * test.want
		limit := 7 * 0.5 * 34.7 // √1200, and p(1−p) <= 1/4
		for i, n := range counted {
			if off := float64(n) - mean; off > limit || off < -limit {
				t.Errorf("%s: row %d counted in %d of %d samples, want %.0f", q.Text(), i, n, draws, mean)
			}
		}
	}
}

// TestPlanProvesAllReleases: noise for one release is not enough for three, whatever the source says.
func TestPlanProvesAllReleases(t *testing.T) {
	once := func(ctx context.Context, p dp.Problem, uses int) (*tables.Verified, error) {
		return laplaceSource(ctx, p, 1)
	}
	for _, releases := range []int{0, 1, 2, 3} {
		q := Query{Kind: Count, Epsilon: 1, Neighbors: dp.AddRemove, Releases: releases}
		if p, err := NewPlan(t.Context(), q, once); (err == nil) != (releases < 2) {
			t.Errorf("%d releases: %v, %v", releases, p, err)
		}
	}
}
