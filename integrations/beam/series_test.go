// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/integrations/beam/internal/fault"
	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/release"
)

type wholeFn struct{}

func (f *wholeFn) ProcessElement(y int64) string { return "measured " + whole(y) }

func init() { beam.RegisterDoFn(reflect.TypeFor[wholeFn]()) }

func periodOptions(period string, before ...int64) PeriodOptions {
	return PeriodOptions{WorkloadOptions{Cells: []release.Cells{byCity}, Level: 0.9}, period, before}
}

// TestPeriods releases the periods of a series with next to no noise, each by a pipeline: a person counts in the earliest ones,
// what was measured before stays, and the budget is charged once.
func TestPeriods(t *testing.T) {
	v := planOf(t, series, 40, dp.AddRemove, 1)
	entries := []Entry{{"late", []string{"b"}}, {"", []string{"a"}}, {"x", []string{"d"}}}
	for i := range 60 {
		entries = append(entries, Entry{fmt.Sprint("p", i), []string{byCity.Keys[i%3]}}, Entry{fmt.Sprint("p", i), []string{byCity.Keys[2]}})
	}
	budget := newBudget(t, 50, 0)
	before := []int64{}
	for i, want := range []string{"up-to-a 20", "up-to-a 20, up-to-b 41", "up-to-a 20, up-to-b 41, up-to-c 61"} {
		if i == 1 { // for a period that is over, which changes nothing
			entries = append(entries, Entry{"new", []string{"a"}})
		}
		p, s := beam.NewPipelineWithRoot()
		measured, answers, err := Period(s, beam.CreateList(s, entries), v, periodOptions(byCity.Keys[i], before...), budget)
		if err != nil {
			t.Fatal(err)
		}
		name := strconv.Itoa(i)
		collect(t, s, name, beam.ParDo(s, &workloadFn{}, answers))
		collect(t, s, "m"+name, beam.ParDo(s, &wholeFn{}, measured))
		if err := ptest.Run(p); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(slices.Sorted(slices.Values(collectedOf(t, name))), ", "); got != want {
			t.Errorf("%s: %s, want %s", byCity.Keys[i], got, want)
		}
		line := collectedOf(t, "m"+name)
		if len(line) != 1 {
			t.Fatal(line)
		}
		y, err := strconv.ParseInt(strings.TrimPrefix(line[0], "measured "), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, y)
	}
	if !slices.Equal(before, []int64{20, 21, 20}) || len(budget.Costs()) != 1 {
		t.Errorf("measured are %v, and charged %d times, want 20, 21, 20 and once", before, len(budget.Costs()))
	}
}

// periodsOf runs the functions of Period up to the counts, for each period on the entries that there are then.
func periodsOf(t *testing.T, v *plan.Verified, entries [][]Entry, r *rand.Rand) []int64 {
	t.Helper()
	f := measure(t, v, WorkloadOptions{Cells: []release.Cells{byCity}}, fixed(1))
	out := make([]int64, len(entries))
	for at, list := range entries {
		place := placeFn{f.Of}
		var rows []Row
		for _, e := range list {
			if err := place.ProcessElement(e, func(row Row) { rows = append(rows, row) }); err != nil {
				t.Fatal(err)
			}
		}
		b := Bounds{Partitions: v.Mechanism().Spec().MaxPerPerson, Values: 1}
		for _, parts := range boundedBy(b, rows, &rankFn{1, newSecret(), true}, r) {
			for _, part := range parts {
				if err := (&withinFn{at}).ProcessElement(part.Partition, part, func(_, n int64) { out[at] += n }); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return out
}

// TestPeriodsNeighbors: of persons whose entries grow from one period to the next, also by late ones, each counts in no more
// periods than the plan says, in each once, and some in as many.
func TestPeriodsNeighbors(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, most := range []int{1, 2, 3} {
		v := planOf(t, plan.Workload{Kind: plan.Identity, Cells: 3}, 1, dp.AddRemove, most)
		largest := int64(0)
		for range 300 {
			own, rest := [][]Entry{nil, nil, nil}, [][]Entry{nil, nil, nil}
			for at := range 3 {
				for k, list := range [][][]Entry{own, rest} {
					if at > 0 {
						list[at] = slices.Clone(list[at-1])
					}
					for range r.IntN(3) { // of periods up to now, or ahead of their time
						list[at] = append(list[at], Entry{[]string{"own", fmt.Sprint("x", r.IntN(4))}[k], []string{byCity.Keys[r.IntN(3)]}})
					}
				}
			}
			all := [][]Entry{nil, nil, nil}
			for at := range all {
				all[at] = append(slices.Clone(rest[at]), own[at]...)
			}
			x, y := periodsOf(t, v, rest, r), periodsOf(t, v, all, r)
			apart := int64(0)
			for i := range x {
				if y[i]-x[i] < 0 || y[i]-x[i] > 1 {
					t.Fatalf("a person changes a period by %d", y[i]-x[i])
				}
				apart += y[i] - x[i]
			}
			largest = max(largest, apart)
		}
		if largest != int64(most) {
			t.Errorf("a person counts in up to %d periods, want %d", largest, most)
		}
	}
}

// TestPeriodRepeats: what is measured is the same of the same secret, period and count, has the law of the plan over
// counts, with a false alarm rate of 1e-9, and is clipped to what a plan takes.
func TestPeriodRepeats(t *testing.T) {
	const draws, epsilon = 20_000, 1.0
	v := planOf(t, series, epsilon, dp.AddRemove, 1)
	of := func(i int, period string, before ...int64) *periodFn {
		w, _, err := closed(v, periodOptions(period, before...))
		if err != nil {
			t.Fatal(err)
		}
		f := &periodFn{w, before, fixed(i)}
		if err := f.Setup(); err != nil {
			t.Fatal(err)
		}
		return f
	}
	drawn := func(f *periodFn, n int64) int64 {
		y, err := f.ProcessElement(0, n)
		if err != nil {
			t.Fatal(err)
		}
		return y
	}
	f, again, other, second := of(1, "a"), of(1, "a"), of(2, "a"), of(1, "b", 7)
	counts, p, same := map[int]int{}, map[int]float64{}, [2]int{}
	rho := math.Exp(-epsilon)
	for k := -5; k <= 5; k++ {
		p[k] = (1 - rho) / (1 + rho) * math.Pow(rho, math.Abs(float64(k)))
	}
	p[5] /= 1 - rho // and beyond
	p[-5] = p[5]
	for n := range int64(draws) {
		y := drawn(f, n)
		if n < 300 {
			if drawn(again, n) != y {
				t.Fatal("another number when it is measured again")
			}
			for i, g := range []*periodFn{other, second} {
				if drawn(g, n) == y {
					same[i]++
				}
			}
		}
		counts[int(min(max(y-n, -5), 5))]++
	}
	if stat, limit := chi(counts, p, draws); stat > limit {
		t.Errorf("χ² = %.1f, want at most %.1f", stat, limit)
	}
	if max(same[0], same[1]) > 200 { // a third by chance
		t.Errorf("of 300 numbers %v are those of another secret and of another period", same)
	}
	if y := drawn(f, math.MaxInt64); y < 1<<39 || y > 1<<41 {
		t.Errorf("a count is clipped to %d", y)
	}
}

// TestPeriodCrash: bundles fail behind each step, and what is measured and every answer is seen with one value.
func TestPeriodCrash(t *testing.T) {
	var entries []Entry
	for i := range 300 {
		entries = append(entries, Entry{fmt.Sprint("p", i%90), []string{byCity.Keys[i%3]}})
	}
	seen := crashing(t, func(s beam.Scope) {
		measured, answers, err := Period(s, beam.CreateList(s, entries), planOf(t, series, 0.01, dp.AddRemove, 1), periodOptions("b", 31), newBudget(t, 1, 0))
		if err != nil {
			t.Fatal(err)
		}
		fault.After(s, "shown", beam.ParDo(s, &workloadFn{}, answers))
		fault.After(s, "shown", beam.ParDo(s, &wholeFn{}, measured))
	})
	shown, values := 0, 0
	for key, list := range seen {
		if strings.HasPrefix(key, "shown") {
			shown++
			values += len(list)
		}
	}
	if shown != 3 || values != 3 {
		t.Errorf("%d answers are seen with %d values, want 3: %v", shown, values, seen)
	}
}

// TestPeriodRefuses: what is wrong is said when the pipeline is built, and nothing is charged.
func TestPeriodRefuses(t *testing.T) {
	v := planOf(t, series, 1, dp.AddRemove, 1)
	for want, c := range map[string]struct {
		v *plan.Verified
		o PeriodOptions
	}{
		"noisebeam: plan = none, want a verified one":                                                                 {nil, periodOptions("a")},
		"noisebeam: period = d, want one of the 3 of the plan, a to c":                                                {v, periodOptions("d")},
		"noisebeam: before = 0, want 2 numbers, one that was measured of each period before c":                        {v, periodOptions("c")},
		"noisebeam: before = 1, want 0 numbers":                                                                       {v, periodOptions("a", 3)},
		"level = 0, want a probability":                                                                               {v, PeriodOptions{WorkloadOptions{Cells: []release.Cells{byCity}}, "a", nil}},
		"plan = one of matrix that measures sums of cells, want one of prefix, ranges or identity that measures each": {planOf(t, plan.Workload{Kind: plan.Matrix, Cells: 3, Rows: [][]int64{{1, 1, 1}}}, 1, dp.AddRemove, 1), periodOptions("a")},
	} {
		budget := newBudget(t, 10, 0)
		_, s := beam.NewPipelineWithRoot()
		_, _, err := Period(s, beam.CreateList(s, []Entry{{"x", []string{"a"}}}), c.v, c.o, budget)
		wantSentence(t, err, want)
		if len(budget.Costs()) != 0 {
			t.Errorf("%s: charged", want)
		}
	}
	_, s := beam.NewPipelineWithRoot()
	if _, _, err := Period(s, beam.CreateList(s, []Entry{{"x", []string{"a"}}}), v, periodOptions("a"), newBudget(t, 0.5, 0)); !errors.Is(err, account.ErrExceeded) {
		t.Errorf("%v, want that it exceeds", err)
	}
}
