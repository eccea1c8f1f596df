// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// workloadFn names an answer by its cells.
type workloadFn struct{}

func (f *workloadFn) ProcessElement(a release.WorkloadAnswer) string {
	if !(a.LowerOfAll <= a.Lower && a.Lower <= a.Value && a.Value <= a.Upper && a.Upper <= a.UpperOfAll && a.Variance > 0) {
		return fmt.Sprint("wrong: ", a)
	}
	return strings.ReplaceAll(strings.Join(a.Of, "|"), " ", "-") + " " + number(a.Value)
}

func init() { beam.RegisterDoFn(reflect.TypeFor[workloadFn]()) }

// planOf returns a plan of geometric noise on the cells, or on the tables of these attributes.
func planOf(t *testing.T, w plan.Workload, epsilon float64, neighbors string, most int, tables ...[]int) *plan.Verified {
	t.Helper()
	law, err := plan.Geometric(epsilon)
	if err != nil {
		t.Fatal(err)
	}
	touched := most
	if neighbors == dp.Replace {
		touched *= 2
	}
	s := plan.Spec{
		Budget:    dp.Budget{Epsilon: min(epsilon*float64(touched*max(1, len(tables)))*(1+1e-9), 100)},
		Neighbors: neighbors, MaxPerPerson: most, Workload: w,
		Measurements: []plan.Measurement{{Kind: plan.Partition, Block: 1, Weight: 1, Noise: &law}},
	}
	for i, a := range tables {
		s.Measurements = append(s.Measurements[:i:i], plan.Measurement{Kind: plan.Partition, Attributes: &a, Weight: 1, Noise: &law})
	}
	p, err := plan.New(s)
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Verify()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var (
	byCity = release.Cells{Column: "city", Keys: []string{"a", "b", "c"}}
	byAge  = release.Cells{Column: "age", Edges: []float64{-1, 0, 3}}
	pairs  = plan.Workload{Kind: plan.Marginals, Attributes: []plan.Attribute{{Name: "age", Size: 2}, {Name: "city", Size: 3}}, Sets: [][]int{{0}, {1}}}
	series = plan.Workload{Kind: plan.Prefix, Cells: 3}
)

// TestWorkload: with next to no noise, which is 0 but with a probability of 2e-17 for each of 60 numbers, answers are
// the counts of persons, each once in a cell and in no more cells than the plan says; what is in no cell, or
// nobody's, counts nowhere; and without any entries there are answers too.
func TestWorkload(t *testing.T) {
	var one, two []Entry
	for i := range 500 {
		person := fmt.Sprint("p", i%100)
		one = append(one, Entry{person, []string{byCity.Keys[i%100%3]}}, Entry{"greedy", []string{byCity.Keys[i%3]}})
		two = append(two, Entry{person, []string{byCity.Keys[i%100%3], fmt.Sprint(i%100%2*2 - 1)}})
	}
	one = append(one, Entry{"", []string{"a"}}, Entry{"x", []string{"d"}}, Entry{"y", nil}, Entry{"z", []string{"a", "b"}})
	two = append(two, Entry{"x", []string{"a", "7"}}, Entry{"y", []string{"a", "none"}}, Entry{"z", []string{"a"}}, Entry{"", []string{"a", "0"}})
	cases := []struct {
		entries []Entry
		v       *plan.Verified
		cells   []release.Cells
		most    int
		want    string
	}{
		{one, planOf(t, plan.Workload{Kind: plan.Matrix, Cells: 3, Rows: [][]int64{{1, 1, 1}}}, 40, dp.AddRemove, 2), []release.Cells{byCity}, 0, "query-1 102"},
		{one, planOf(t, plan.Workload{Kind: plan.Matrix, Cells: 3, Rows: [][]int64{{1, 1, 1}}}, 40, dp.AddRemove, 2), []release.Cells{byCity}, 1, "query-1 101"},
		{one[:999], planOf(t, series, 40, dp.AddRemove, 1), []release.Cells{byCity}, 0, "up-to-c 101"},
		{two, planOf(t, pairs, 40, dp.Replace, 1, []int{0, 1}), []release.Cells{byCity, byAge}, 0, "[-1,-0)| 50, [0,-3]| 50, |a 34, |b 33, |c 33"},
		{two, planOf(t, pairs, 40, dp.AddRemove, 1, []int{0}, []int{1}), []release.Cells{byCity, byAge}, 0, "[-1,-0)| 50, [0,-3]| 50, |a 34, |b 33, |c 33"},
		{nil, planOf(t, series, 40, dp.AddRemove, 1), []release.Cells{byCity}, 0, "up-to-a 0, up-to-b 0, up-to-c 0"},
	}
	p, s := beam.NewPipelineWithRoot()
	for i, c := range cases {
		if c.entries == nil {
			c.entries = []Entry{{"x", []string{"d"}}}
		}
		answers, err := Workload(s, beam.CreateList(s, c.entries), c.v, WorkloadOptions{Cells: c.cells, MaxPerPerson: c.most, Level: 0.95}, newBudget(t, 100, 0.1))
		collect(t, s, strconv.Itoa(i), beam.ParDo(s, &workloadFn{}, must(t)(answers, err)))
	}
	if err := ptest.Run(p); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		got := slices.Sorted(slices.Values(collectedOf(t, strconv.Itoa(i))))
		if i == 2 { // in which cell the person counts is up to chance
			got = got[2:]
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%d: %s, want %s", i, text, c.want)
		}
	}
}

// inputOf runs the functions of Workload up to the plan's input, without an engine and in an order that the generator decides.
func inputOf(t *testing.T, v *plan.Verified, o WorkloadOptions, entries []Entry, secret secret, r *rand.Rand) []int64 {
	t.Helper()
	f := measure(t, v, o, secret)
	var rows []Row
	place := placeFn{f.Of}
	for _, e := range entries {
		if err := place.ProcessElement(e, func(row Row) { rows = append(rows, row) }); err != nil {
			t.Fatal(err)
		}
	}
	input := make([]int64, v.Mechanism().Inputs().Size)
	for _, parts := range bounded(Bounds{Partitions: v.Mechanism().Spec().MaxPerPerson, Values: 1}, rows, secret, r) {
		for _, part := range parts {
			in := inputFn{f.Of}
			if err := in.ProcessElement(part.Partition, part, func(place, n int64) { input[place] += n }); err != nil {
				t.Fatal(err)
			}
		}
	}
	return input
}

func measure(t *testing.T, v *plan.Verified, o WorkloadOptions, secret secret) *measureFn {
	t.Helper()
	_, s := beam.NewPipelineWithRoot()
	o.Level = 0.9
	of, err := newWorkload(beam.CreateList(s, []Entry{{}}), v, o)
	if err != nil {
		t.Fatal(err)
	}
	f := &measureFn{of, secret}
	if err := f.Setup(); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestWorkloadNeighbors: of persons with all kinds of entries, who are added, removed or replaced beside others, the plan's
// input changes by no more than the plan counts on: by 1 in each of that many cells, or by their sums in
// the tables of marginals; and there are persons who change as much.
func TestWorkloadNeighbors(t *testing.T) {
	kinds := []Entry{{"", []string{"a", "-1"}}, {"", []string{"b", "0"}}, {"", []string{"c", "3"}}, {"", []string{"a", "2"}}, {"", []string{"d", "0"}}, {"", []string{"a"}}}
	for _, most := range []int{1, 2, 3} {
		for name, c := range map[string]struct {
			v     *plan.Verified
			cells []release.Cells
			bases int
		}{
			"series":    {planOf(t, plan.Workload{Kind: plan.Identity, Cells: 3}, 1, dp.Replace, most), []release.Cells{byCity}, 1},
			"one base":  {planOf(t, pairs, 1, dp.AddRemove, most, []int{0, 1}), []release.Cells{byCity, byAge}, 1},
			"two bases": {planOf(t, pairs, 0.5, dp.AddRemove, most, []int{0}, []int{1}), []release.Cells{byCity, byAge}, 2},
		} {
			r := rand.New(rand.NewPCG(1, 2))
			largest, replaced := int64(0), int64(0)
			for i := range 300 {
				secret, person := fixed(i), func(name string, n int) (list []Entry) {
					for range r.IntN(n) {
						e := kinds[r.IntN(len(kinds))]
						list = append(list, Entry{name, e.Values[:min(len(e.Values), len(c.cells))]})
					}
					return list
				}
				o := WorkloadOptions{Cells: c.cells}
				rest := append(person("x", 9), person("y", 9)...)
				inputs := [][]int64{inputOf(t, c.v, o, rest, secret, r)}
				for range 3 {
					inputs = append(inputs, inputOf(t, c.v, o, append(slices.Clone(rest), person("own", 9)...), secret, r))
				}
				for _, x := range inputs {
					for k, y := range inputs {
						apart := int64(0)
						for j := range x {
							apart += max(x[j]-y[j], y[j]-x[j])
						}
						if k > 0 {
							replaced = max(replaced, apart)
						} else {
							largest = max(largest, apart)
						}
					}
				}
			}
			if want := int64(most * c.bases); largest != want || replaced > 2*want || replaced < want {
				t.Errorf("%s, %d cells: a person changes the input by %d, and another one by %d, want %d and twice as much at most", name, most, largest, replaced, want)
			}
		}
	}
}

// TestWorkloadRepeats: what is measured is the same of the same secret, plan and counts, in whatever order they
// come, and the noise of everything another one if any of them is; counts beyond what the plan takes are clipped.
func TestWorkloadRepeats(t *testing.T) {
	v := planOf(t, pairs, 0.01, dp.AddRemove, 1, []int{0, 1})
	f := func(i int) *measureFn {
		return measure(t, v, WorkloadOptions{Cells: []release.Cells{byAge, byCity}}, fixed(i))
	}
	measured := func(f *measureFn, list ...count) []int64 {
		i := 0
		y, err := f.measured(func(c *count) bool {
			if i == len(list) {
				return false
			}
			*c = list[i]
			i++
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		return y
	}
	first := measured(f(1), count{0, 7}, count{3, 2}, count{5, 1})
	if again := measured(f(1), count{5, 1}, count{0, 7}, count{3, 2}); !slices.Equal(again, first) {
		t.Errorf("%v, and of the same counts %v", first, again)
	}
	other := planOf(t, pairs, 0.02, dp.AddRemove, 1, []int{0, 1})
	for name, y := range map[string][]int64{
		"secret": measured(f(2), count{0, 7}, count{3, 2}, count{5, 1}),
		"plan":   measured(measure(t, other, WorkloadOptions{Cells: []release.Cells{byAge, byCity}}, fixed(1)), count{0, 7}, count{3, 2}, count{5, 1}),
		"counts": measured(f(1), count{0, 7}, count{3, 2}),
	} {
		same := 0
		for i := range y {
			if y[i] == first[i] {
				same++
			}
		}
		if same > 2 { // of 6 with deviations of 141
			t.Errorf("of another %s %v is measured, and was %v", name, y, first)
		}
	}
	if y := measured(f(1), count{0, math.MaxInt64}); y[0] < 1<<39 || y[0] > 1<<41 {
		t.Errorf("a count is clipped to %d", y[0])
	}
}

// TestWorkloadLaw: over counts, what is measured of a cell has the law of the plan, with a fixed secret and a false alarm rate of 1e-9.
func TestWorkloadLaw(t *testing.T) {
	const draws, epsilon = 20_000, 1.0
	f := measure(t, planOf(t, plan.Workload{Kind: plan.Identity, Cells: 2}, epsilon, dp.AddRemove, 1), WorkloadOptions{Cells: []release.Cells{{Column: "x", Keys: []string{"a", "b"}}}}, fixed(3))
	counts, p := map[int]int{}, map[int]float64{}
	rho := math.Exp(-epsilon)
	for k := -5; k <= 5; k++ {
		p[k] = (1 - rho) / (1 + rho) * math.Pow(rho, math.Abs(float64(k)))
	}
	p[5] /= 1 - rho // and beyond
	p[-5] = p[5]
	for i := range int64(draws) {
		done := false
		y, err := f.measured(func(c *count) bool {
			*c = count{1, i}
			done = !done
			return done
		})
		if err != nil {
			t.Fatal(err)
		}
		counts[int(min(max(y[0], -5), 5))]++
	}
	if stat, limit := chi(counts, p, draws); stat > limit {
		t.Errorf("χ² = %.1f, want at most %.1f: %v", stat, limit, slices.Sorted(maps.Keys(counts)))
	}
}

// TestWorkloadCrash: bundles fail behind each step, and every answer is seen with one value.
func TestWorkloadCrash(t *testing.T) {
	var entries []Entry
	for i := range 300 {
		entries = append(entries, Entry{fmt.Sprint("p", i%90), []string{byCity.Keys[i%3], strconv.Itoa(i%4 - 1)}})
	}
	seen := crashing(t, func(s beam.Scope) {
		answers, err := Workload(s, beam.CreateList(s, entries), planOf(t, pairs, 0.01, dp.AddRemove, 1, []int{0, 1}), WorkloadOptions{Cells: []release.Cells{byCity, byAge}, Level: 0.9}, newBudget(t, 1, 0))
		fault.After(s, "shown", beam.ParDo(s, &workloadFn{}, must(t)(answers, err)))
	})
	shown, values := 0, 0
	for key, list := range seen {
		if strings.HasPrefix(key, "shown") {
			shown++
			values += len(list)
		}
	}
	if shown != 5 || values != 5 {
		t.Errorf("%d answers are seen with %d values, want 5: %v", shown, values, seen)
	}
}

// TestWorkloadRefuses: what is wrong is said when the pipeline is built, before anything is charged, or fails it in a sentence.
func TestWorkloadRefuses(t *testing.T) {
	v := planOf(t, series, 1, dp.AddRemove, 2)
	minus := planOf(t, plan.Workload{Kind: plan.Matrix, Cells: 3, Rows: [][]int64{{1, -1, 0}}}, 1, dp.AddRemove, 1)
	good := WorkloadOptions{Cells: []release.Cells{byCity}, Level: 0.9}
	with := func(change func(o *WorkloadOptions)) WorkloadOptions {
		o := good
		change(&o)
		return o
	}
	for want, c := range map[string]struct {
		v       *plan.Verified
		o       WorkloadOptions
		entries any
		kind    error
	}{
		"noisebeam: plan = none, want a verified one":                                                                       {nil, good, []Entry{{}}, dp.ErrInvalid},
		"noisebeam: entries = string, want noisebeam.Entry":                                                                 {v, good, []string{"a"}, dp.ErrInvalid},
		"noisebeam: max-per-person = 3, want at most 2, the cells that a person may be in by the plan":                      {v, with(func(o *WorkloadOptions) { o.MaxPerPerson = 3 }), []Entry{{}}, dp.ErrInvalid},
		"release: level = 1, want a probability above 0 and below 1":                                                        {v, with(func(o *WorkloadOptions) { o.Level = 1 }), []Entry{{}}, dp.ErrInvalid},
		"release: non-negative = true, want false, as there are queries that subtract":                                      {minus, with(func(o *WorkloadOptions) { o.NonNegative = true }), []Entry{{}}, dp.ErrInvalid},
		"release: keys = none of a column, want the values or edges, known without a look at the data, of every column of the plan": {v, with(func(o *WorkloadOptions) { o.Cells = nil }), []Entry{{}}, dp.ErrInvalid},
		"release: keys = 2 cells of column city, want 3, one for each of the plan's":                                        {v, with(func(o *WorkloadOptions) { o.Cells = []release.Cells{{Column: "city", Keys: []string{"a", "b"}}} }), []Entry{{}}, dp.ErrInvalid},
		"would exceed the budget":             {planOf(t, series, 3, dp.Replace, 1), good, []Entry{{}}, account.ErrExceeded},
		"an entry: column city: in no cell":   {v, with(func(o *WorkloadOptions) { o.StrictNotPrivate = true }), []Entry{{"a", []string{"a"}}, {"b", []string{"hidden"}}}, nil},
		"an entry: a row of 2 values, want 1": {v, with(func(o *WorkloadOptions) { o.StrictNotPrivate = true }), []Entry{{"b", []string{"a", "hidden"}}}, nil},
	} {
		p, s := beam.NewPipelineWithRoot()
		budget := newBudget(t, 3, 0)
		_, err := Workload(s, beam.CreateList(s, c.entries), c.v, c.o, budget)
		if c.kind != nil {
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), want) || len(budget.Costs()) > 0 {
				t.Errorf("%v, and charged is %v, want %s", err, budget.Costs(), want)
			}
			continue
		}
		if err == nil {
			err = ptest.Run(p)
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, s := beam.NewPipelineWithRoot()
	if _, err := Workload(s, beam.CreateList(s, []Entry{{}}), v, good, nil); !errors.Is(err, dp.ErrInvalid) {
		t.Error("no budget is refused by", err)
	}
}

type entryFn struct{}

func (f *entryFn) ProcessElement(e Entry) string {
	return e.Person + ": " + strings.Join(e.Values, ",")
}

func init() { beam.RegisterDoFn(reflect.TypeFor[entryFn]()) }

// TestReadEntries: rows come with the values of the columns that are asked for, in their order.
func TestReadEntries(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte("city,id,age\na,1,2\nb,2\n\"c,d\",3, 7 \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, s := beam.NewPipelineWithRoot()
	in := Files{Pattern: filepath.Join(dir, "*.csv")}
	entries, err := ReadEntries(s, in, "id", "age", "city")
	collect(t, s, "", beam.ParDo(s, &entryFn{}, must(t)(entries, err)))
	if err := ptest.Run(p); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(slices.Values(collectedOf(t, ""))); !slices.Equal(got, []string{"1: 2,a", "3:  7 ,c,d"}) {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		in      Files
		person  string
		columns []string
		want    string
	}{
		{in, "", []string{"a"}, "person"}, {in, "id", nil, "columns"}, {in, "id", []string{"a", ""}, "columns"}, {Files{}, "id", []string{"a"}, "in = "},
	} {
		_, err := ReadEntries(s, c.in, c.person, c.columns...)
		wantSentence(t, err, c.want)
	}
}
