// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
)

// varianceOf is the definition: the mean squared distance from the mean.
func varianceOf(values []float64) *big.Rat {
	n, mean, sum := big.NewRat(int64(len(values)), 1), new(big.Rat), new(big.Rat)
	for _, x := range values {
		mean.Add(mean, exact.Rational(x))
	}
	mean.Quo(mean, n)
	for _, x := range values {
		d := exact.Rational(x)
		d.Sub(d, mean)
		sum.Add(sum, d.Mul(d, d))
	}
	return sum.Quo(sum, n)
}

func variancesOf(tb testing.TB, q Query) *variances {
	tb.Helper()
	v, err := q.table(tb.Context(), laplaceSource, 1, dp.RealQuery, 1)
	if err != nil {
		tb.Fatal(err)
	}
	m := &variances{query: q}
	m.scale(v)
	return m
}

// TestVarianceRanges: without noise the estimate is the variance; and whatever the exact numbers are within their ranges, the
// variance is within its own, also where a range is beyond what is possible.
func TestVarianceRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	q := Query{Kind: Variance, Column: "age", Lower: -2, Upper: 3, Neighbors: dp.AddRemove, Epsilon: 1}.normal()
	m := variancesOf(t, q)
	wide := 0
	for range 4000 {
		var values []float64
		var rows [][]string
		for range 1 + rng.IntN(6) {
			x := float64(rng.IntN(11)-4) / 2
			values = append(values, x)
			rows = append(rows, []string{"1", "a", fmt.Sprint(x)})
		}
		d := read(t, q, rows)
		s, r := m.sums(&d.tallies[0])
		n, truth := d.tallies[0].count(), varianceOf(values)
		exactly := func(x *big.Rat) ranged { return ranged{x, x, x} }
		if e := m.estimate(exactly(n), exactly(s), exactly(r)); exact.Rational(e.Lower).Cmp(truth) > 0 || exact.Rational(e.Upper).Cmp(truth) < 0 || e.Upper-e.Lower > 1e-14 || e.Value < e.Lower || e.Value > e.Upper {
			t.Fatalf("%v: %+v, want %v", values, e, truth)
		}
		// The truth is at an end of each range, or inside.
		around := func(x *big.Rat) ranged {
			below, above := big.NewRat(rng.Int64N(3)*rng.Int64N(9), 4), big.NewRat(rng.Int64N(3)*rng.Int64N(9), 4)
			low, high := new(big.Rat).Sub(x, below), new(big.Rat).Add(x, above)
			return ranged{new(big.Rat).Quo(new(big.Rat).Add(low, high), big.NewRat(2, 1)), low, high}
		}
		e := m.estimate(around(n), around(s), around(r))
		if exact.Rational(e.Lower).Cmp(truth) > 0 || exact.Rational(e.Upper).Cmp(truth) < 0 || e.Lower < 0 || e.Upper > 6.25 || e.Value < 0 || e.Value > 6.25 {
			t.Fatalf("%v: %+v, want %v inside", values, e, truth)
		}
		if e.Lower > 0 && e.Upper < 6.25 {
			wide++
		}
	}
	if wide < 200 {
		t.Errorf("%d intervals are within the bounds", wide)
	}
}

// TestVarianceCountHasNoise: where the number of rows is not public, there is noise on it as on the sums: with much on it alone,
// intervals are wide, where the sums by themselves make them 0.2 wide.
func TestVarianceCountHasNoise(t *testing.T) {
	q := Query{Kind: Variance, Column: "age", Lower: 0, Upper: 4, Neighbors: dp.AddRemove, Epsilon: 8}.normal()
	m := variancesOf(t, q)
	m.level = 0.95
	var rows [][]string
	for i := range 40 {
		rows = append(rows, []string{"1", "a", fmt.Sprint(i % 2)})
	}
	width := func() (all float64) { // on average: some draws put the number of rows far above what it is
		const draws = 25
		for range draws {
			out, err := m.answer(read(t, q, rows).tallies)
			if err != nil {
				t.Fatal(err)
			}
			all += (out[0].Upper - out[0].Lower) / draws
		}
		return all
	}
	if w := width(); w > 0.5 {
		t.Fatalf("a width of %g", w)
	}
	few := q
	few.Epsilon = 0.3
	m.count = variancesOf(t, few).count
	if w := width(); w < 0.8 {
		t.Errorf("a width of %g with noise of a scale of 3 on 40 rows", w)
	}
}

// TestVarianceLevel: what is left of the level is shared by as many intervals as there are numbers with noise, so that all
// hold together. Far from the middle of the bounds, and of many rows, widths hardly depend on the noise that is drawn.
func TestVarianceLevel(t *testing.T) {
	for _, neighbors := range []string{dp.Replace, dp.AddRemove} {
		q := Query{Kind: Variance, Column: "age", Lower: 0, Upper: 4, Neighbors: neighbors, Missing: middleMissing, Epsilon: 3}
		sums := 3
		if neighbors == dp.Replace {
			sums = 2
		}
		q = q.normal()
		p, err := NewPlan(t.Context(), q, laplaceSource)
		if err != nil {
			t.Fatal(err)
		}
		m := &variances{query: q, level: 1 - (1-level)/float64(sums)}
		m.scale(p.Costs()[0].Table)
		var d tally
		d.n = 1e6
		d.sum.SetPrec(sumPrecision).SetFloat64(3.5e6) // 3 and 4, each half a million times
		d.square = new(big.Float).SetPrec(sumPrecision).SetFloat64(12.5e6)
		width := func(answer func([]tally) ([]Estimate, error)) float64 {
			out, err := answer([]tally{d})
			if err != nil {
				t.Fatal(err)
			}
			return out[0].Upper - out[0].Lower
		}
		if got, want := width(p.mechanism.answer), width(m.answer); !(got > want*0.99 && got < want*1.01) {
			t.Errorf("%s: an interval of a width of %g, want %g", neighbors, got, want)
		}
	}
}

// TestVarianceOfFewRows: with noise fewer rows than one, or none, are one.
func TestVarianceOfFewRows(t *testing.T) {
	m := variancesOf(t, Query{Kind: Variance, Column: "age", Lower: -2, Upper: 3, Neighbors: dp.AddRemove, Epsilon: 1}.normal())
	exactly := func(x int64) *big.Rat { return big.NewRat(x, 4) }
	s, r := ranged{exactly(1), exactly(0), exactly(2)}, ranged{exactly(2), exactly(-3), exactly(4)}
	one, few := m.estimate(ranged{exactly(4), exactly(4), exactly(4)}, s, r), m.estimate(ranged{exactly(3), exactly(-8), exactly(4)}, s, r)
	if one != few {
		t.Errorf("of one row %+v, of fewer %+v", one, few)
	}
}

// TestVarianceCovers: of 400 answers intervals hold the variance in 95 %, or fewer than 355 with a probability below 1e-6 (binomial);
// with the number of rows public or not, and for each group.
func TestVarianceCovers(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(9, 10))
	rows := map[string][]float64{}
	var list [][]string
	for i := range 300 {
		city := []string{"a", "b"}[i%2]
		x := rng.Float64()*3 + float64(i%2)
		rows[city] = append(rows[city], x)
		list = append(list, []string{"1", city, fmt.Sprint(x)})
	}
	all := append(append([]float64{}, rows["a"]...), rows["b"]...)
	for _, q := range []Query{
		{Neighbors: dp.AddRemove, By: "city", Keys: []string{"a", "b"}},
		{Neighbors: dp.Replace, Missing: middleMissing},
	} {
		q.Kind, q.Column, q.Lower, q.Upper, q.Epsilon = Variance, "age", -1, 6, 3
		q = q.normal()
		p, err := NewPlan(t.Context(), q, laplaceSource)
		if err != nil {
			t.Fatal(err)
		}
		d := read(t, q, list)
		truth := []*big.Rat{varianceOf(all)}
		if q.By != "" {
			truth = []*big.Rat{varianceOf(rows["a"]), varianceOf(rows["b"])}
		}
		inside, width := 0, 0.0
		for range 400 / len(truth) {
			out, err := p.Answer(d)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range out {
				if exact.Rational(e.Lower).Cmp(truth[i]) <= 0 && exact.Rational(e.Upper).Cmp(truth[i]) >= 0 {
					inside++
				}
				width += (e.Upper - e.Lower) / 400
			}
		}
		if inside < 355 || width > 1.5 {
			t.Errorf("%s: %d of 400 intervals hold the variance, of a width of %v", q.Text(), inside, width)
		}
		t.Logf("%s: %d of 400, width %.3g", q.Neighbors, inside, width)
	}
	q := Query{Kind: Variance, Column: "age", Upper: 1, Epsilon: 1, Neighbors: dp.Replace, StrictNotPrivate: true}.normal()
	p, err := NewPlan(t.Context(), q, laplaceSource)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Answer(read(t, q, nil)); err == nil || !strings.Contains(err.Error(), "no rows, and so no variance") {
		t.Error(err)
	}
}

// TestDistinct: different texts count once, but for blanks at their ends; empty ones do not.
func TestDistinct(t *testing.T) {
	rows := [][]string{{"1", "a", "2"}, {"1", " a", "2"}, {"2", "b", ""}, {"2", "A", ""}, {"3", "", "7"}, {"3", "  ", "7"}}
	for _, c := range []struct {
		q    Query
		want []int64
	}{
		{Query{Column: "city"}, []int64{3}},
		{Query{Column: "city", Where: `age != ""`}, []int64{1}},
		{Query{Column: "age"}, []int64{2}},
		{Query{Column: "age", By: "city", Keys: []string{"a", "b", ""}}, []int64{1, 0, 1}},
		{Query{Column: "city", Person: "id", MaxPerPerson: 1}, []int64{2}},
		{Query{Column: "city", Person: "id", MaxPerPerson: 2}, []int64{3}},
	} {
		c.q.Kind, c.q.Epsilon, c.q.Neighbors = Distinct, 20, dp.AddRemove
		d := read(t, c.q.normal(), rows)
		for i, want := range c.want {
			if got := d.tallies[i].different(); got.Cmp(big.NewRat(want, 1)) != 0 {
				t.Errorf("%s: %v values in group %d, want %d", c.q.Text(), got, i, want)
			}
		}
	}
	q := Query{Kind: Distinct, Column: "city", Epsilon: 20, Neighbors: dp.AddRemove}.normal()
	p, err := NewPlan(t.Context(), q, laplaceSource)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := p.Answer(read(t, q, rows)); err != nil || out[0].Value != 3 { // noise in one of 10^8
		t.Errorf("%+v, %v", out, err)
	}
}
