// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
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
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/powers"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// small is real noise of an eighth of a sensitivity.
func small(t *testing.T, sensitivity float64) *tables.Verified {
	t.Helper()
	v, err := shapes.Laplace(dp.Problem{Privacy: dp.Privacy{Epsilon: 8, Sensitivity: sensitivity}, Loss: loss.L1}, tables.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

type placeNameFn struct{}

func (f *placeNameFn) ProcessElement(p Place) string { return fmt.Sprint(p.Place, " ", p.Partition) }

type oneNumberFn struct{}

func (f *oneNumberFn) ProcessElement(y float64) string { return "all " + number(y) }

func init() {
	beam.RegisterDoFn(reflect.TypeFor[placeNameFn]())
	beam.RegisterDoFn(reflect.TypeFor[oneNumberFn]())
}

func peopleOf(t *testing.T, s beam.Scope, rows []Row, b Bounds) *People {
	t.Helper()
	people, err := Bound(s, beam.CreateList(s, rows), b, newBudget(t, 100_000, 1e-9))
	if err != nil {
		t.Fatal(err)
	}
	return people
}

func public(t *testing.T, s beam.Scope, p *People, keys ...string) *Groups {
	t.Helper()
	g, err := p.Public(s, keys)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestStatistics runs variances, numbers of partitions, names, and sums and means within bounds that are found, with little noise.
func TestStatistics(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	ok := must(t)
	people := peopleOf(t, s, visits(), Bounds{Partitions: 2, Values: 3, Lower: 0, Upper: 10})
	groups := public(t, s, people, "x", "y", "empty")
	collect(t, s, "variance", beam.ParDo(s, &numberFn{}, ok(groups.Variance(s, small(t, 15), small(t, 37.5), small(t, 3)))))
	collect(t, s, "distinct", beam.ParDo(s, &oneNumberFn{}, ok(people.Distinct(s, quiet(t, 2)))))
	none := peopleOf(t, s, []Row{{"", "x", 1}}, Bounds{Partitions: 2, Values: 3})
	collect(t, s, "none", beam.ParDo(s, &oneNumberFn{}, ok(none.Distinct(s, quiet(t, 2)))))
	var crowd []Row
	for i := range 3000 {
		crowd = append(crowd, Row{fmt.Sprint("p", i), "k" + strconv.Itoa(min(i%5, i%7)), float64(i % 100)})
	}
	top := public(t, s, peopleOf(t, s, crowd, Bounds{Partitions: 1, Values: 1}), "k4", "k3", "none", "k0", "k1", "k2")
	collect(t, s, "top", beam.ParDo(s, &placeNameFn{}, ok(top.Top(s, 3, 50))))
	found := public(t, s, peopleOf(t, s, crowd, Bounds{Partitions: 1, Values: 1, Private: 2}), "k0", "k1", "none")
	collect(t, s, "sum", beam.ParDo(s, &numberFn{}, ok(found.Sum(s, small(t, 1)))))
	collect(t, s, "mean", beam.ParDo(s, &numberFn{}, ok(found.Mean(s, small(t, 1), small(t, 1)))))
	collect(t, s, "count", beam.ParDo(s, &numberFn{}, ok(found.Count(s, quiet(t, 1)))))
	if err := ptest.Run(p); err != nil {
		t.Fatal(err)
	}
	near := func(name, key string, want, off float64) {
		t.Helper()
		for _, line := range collectedOf(t, name) {
			if text, found := strings.CutPrefix(line, key+" "); found {
				if y, _ := strconv.ParseFloat(text, 64); math.Abs(y-want) > off {
					t.Errorf("%s of %s: %v, want %v ± %v", name, key, y, want, off)
				}
				return
			}
		}
		t.Errorf("%s: no %s in %q", name, key, collectedOf(t, name))
	}
	near("variance", "x", 2.0/3, 2) // 0, 1 and 2
	near("variance", "y", 0, 3)     // all clipped to 10
	near("variance", "empty", 12, 13)
	near("distinct", "all", 5, 0) // x, y, lonely and two of the person's thirty
	near("none", "all", 0, 0)
	if got := slices.Sorted(slices.Values(collectedOf(t, "top"))); !slices.Equal(got, []string{"1 k0", "2 k1", "3 k2"}) {
		t.Errorf("top: %q", got)
	}
	sums, counts := map[string]float64{}, map[string]float64{}
	for _, r := range crowd {
		sums[r.Partition] += r.Value
		counts[r.Partition]++
	}
	for _, k := range []string{"k0", "k1"} {
		near("sum", k, sums[k], 500)
		near("mean", k, sums[k]/counts[k], 2)
		near("count", k, counts[k], 0)
	}
	near("sum", "none", 0, 1e-6)
}

// TestStatisticsRefuse: what is not bounded, or not known, is refused when the pipeline is built, and nothing is charged.
func TestStatisticsRefuse(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	people := peopleOf(t, s, visits(), Bounds{Partitions: 2, Values: 3, Lower: 0, Upper: 10})
	groups := public(t, s, people, "x", "y")
	found := public(t, s, peopleOf(t, s, visits(), Bounds{Partitions: 2, Values: 3, Private: 1}), "x")
	rule, err := NewSelection(1, 1e-9, 2)
	if err != nil {
		t.Fatal(err)
	}
	selected, err := people.Select(s, rule)
	if err != nil {
		t.Fatal(err)
	}
	before := len(people.budget.Costs())
	of := func(_ beam.PCollection, err error) error { return err }
	for want, err := range map[string]error{
		"sensitivity of the table = 1, want at least 2, which is how far a person can move the number of partitions": of(people.Distinct(s, quiet(t, 1))),
		"want at least 15, which is how far a person can move the sum of values less the middle":                     of(groups.Variance(s, small(t, 14), small(t, 37.5), small(t, 3))),
		"want at least 37.5, which is how far a person can move the sum of their squares less half":                  of(groups.Variance(s, small(t, 15), small(t, 37), small(t, 3))),
		"want at least 3, which is how far a person can move the number of rows":                                     of(groups.Variance(s, small(t, 15), small(t, 37.5), small(t, 2))),
		"k = 3, want 1 to 2, the number of partitions":                                                               of(groups.Top(s, 3, 1)),
		"epsilon = 0, want":                                                       of(groups.Top(s, 1, 0)),
		"partitions = selected, want those of Public":                             of(selected.Top(s, 1, 1)),
		"want at least 3, which is how far a person can move the sum":             of(found.Sum(s, small(t, 2))),
		"want at least 3, which is how far a person can move the number of rows ": of(found.Mean(s, small(t, 3), small(t, 2))),
		"lower and upper = none, want":                                            of(found.Variance(s, small(t, 15), small(t, 37.5), small(t, 3))),
	} {
		wantSentence(t, err, strings.TrimSpace(want))
	}
	for want, b := range map[string]Bounds{
		"private = NaN, want a finite epsilon":           {1, 1, 0, 0, math.NaN()},
		"private = -1, want a finite epsilon":            {1, 1, 0, 0, -1},
		"lower and upper = 0, 1, want none, as they are": {1, 1, 0, 1, 1},
	} {
		wantSentence(t, b.validate(), want)
	}
	if n := len(people.budget.Costs()); n != before {
		t.Errorf("%d releases are charged, want %d", n, before)
	}
	tight, err := NewBudget(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	small2, err := Bound(s, beam.CreateList(s, visits()), Bounds{Partitions: 1, Values: 1}, tight)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := public(t, s, small2, "x").Top(s, 1, 2); !errors.Is(err, account.ErrExceeded) {
		t.Errorf("%v, want that it exceeds", err)
	}
}

// TestCharges: a choice costs its part of epsilon whatever the partitions are, a number of partitions its table once, and
// found bounds their epsilon for each partition beside the tables.
func TestCharges(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	ok := must(t)
	people := peopleOf(t, s, visits(), Bounds{Partitions: 4, Values: 3, Private: 0.6})
	groups := public(t, s, people, "x", "y", "z")
	ok(groups.Top(s, 2, 1))
	ok(people.Distinct(s, quiet(t, 4)))
	ok(groups.Mean(s, small(t, 3), small(t, 3)))
	var times []int
	var epsilons []float64
	for _, c := range people.budget.Costs() {
		times, epsilons = append(times, c.Times), append(epsilons, c.Epsilon)
	}
	if !slices.Equal(times, []int{2, 1, 4, 4, 4}) || epsilons[0] != 0.5 || !(epsilons[2] > 0.599 && epsilons[2] <= 0.6000001) {
		t.Errorf("charged are %v times of %v", times, epsilons)
	}
}

// TestStatisticsNeighbors: of persons with all kinds of rows, each moves what gets noise by no more than the sensitivities, and
// some as much: the numbers of a variance, of partitions, of people, and of rows in bins.
func TestStatisticsNeighbors(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	values := []float64{-1e30, -7, -5, -1.5, -0.1, 0, 1e-300, 0x1p-32, 0.1, 2, 3, 0x1p64, 1e30, math.Inf(1), math.NaN()}
	for _, b := range []Bounds{{1, 1, -5, 2, 0}, {2, 3, -5, 2, 0}, {3, 2, 0, 3, 0}, {1, 1, 0, 0, 1}, {2, 3, 0, 0, 1}} {
		var most [3]float64
		var distinct, moved, rows float64
		for i := range 400 {
			var list []Row
			for range r.IntN(40) {
				list = append(list, Row{fmt.Sprint(r.IntN(3)), fmt.Sprint(r.IntN(4)), values[r.IntN(len(values))]})
			}
			all := bounded(b, list, fixed(i), r)
			keys := map[string]map[string]bool{}
			for person, parts := range all {
				for _, c := range parts {
					if keys[c.Partition] == nil {
						keys[c.Partition] = map[string]bool{}
					}
					keys[c.Partition][person] = true
					if c.totals().People != 1 {
						t.Fatal("a person counts twice")
					}
					if b.Private != 0 {
						x, y := movedBins(t, b, c)
						rows, moved = max(rows, x), max(moved, y)
						continue
					}
					_, q := squaresOf("", c)
					for k, x := range (&varianceFn{Bounds: b, Units: b.units()}).numbers(c.totals(), q) {
						y, _ := x.Abs(x).Float64()
						most[k] = max(most[k], y)
						if x.Cmp(b.sensitivities(variance)[k]) > 0 {
							t.Fatalf("%+v: a person moves the %s by %v", b, names[variance][k], y)
						}
					}
				}
			}
			for person := range all {
				lost := 0
				for _, of := range keys {
					if of[person] && len(of) == 1 {
						lost++
					}
				}
				if distinct = max(distinct, float64(lost)); lost > b.Partitions {
					t.Fatalf("%+v: a person brings %d partitions", b, lost)
				}
			}
		}
		if distinct != float64(b.Partitions) {
			t.Errorf("%+v: nobody brings more than %v partitions", b, distinct)
		}
		if b.Private != 0 {
			if rows != float64(b.Values) || moved != float64(b.Values) {
				t.Errorf("%+v: nobody moves more than %v rows, and what is summed by more than %v", b, rows, moved)
			}
			continue
		}
		for k, want := range b.sensitivities(variance) {
			if w, _ := want.Float64(); most[k] < w*(1-1e-9) {
				t.Errorf("%+v: nobody moves the %s by more than %v, want %v", b, names[variance][k], most[k], w)
			}
		}
	}
}

// movedBins returns by how much a person changes all bins together, and a sum or a mean, in the units of their noise, within some bounds.
func movedBins(t *testing.T, b Bounds, c contribution) (rows, sums float64) {
	t.Helper()
	_, own := binsOf("", c)
	for _, x := range own.List {
		rows += float64(x.Rows)
	}
	for _, ends := range [][2]int{{powers.Zero, powers.Zero + 1}, {powers.Zero - 34, powers.Zero + 33}, {0, powers.Bins - 1}, {powers.Zero - 3, powers.Zero}, {powers.Zero, powers.Zero + 34}, {powers.Zero - 1, powers.Bins - 1}} {
		for _, what := range []string{sum, mean} {
			f := &foundFn{What: what}
			_, numbers := f.numbers(own, ends[0], ends[1])
			for k, x := range numbers {
				y, _ := x.Abs(x).Float64()
				sums = max(sums, y)
				if k < len(b.sensitivities(what)) && x.Cmp(b.sensitivities(what)[k]) > 0 {
					t.Fatalf("%+v: a person moves the %s by %v", b, names[what][k], y)
				}
			}
		}
	}
	if rows > float64(b.Values) {
		t.Fatalf("%+v: %v rows of a person count", b, rows)
	}
	return rows, sums
}

// TestSums: squares and bins add up exactly, in any order and grouping.
func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	var all squares
	want := new(big.Int)
	for range 500 {
		v := r.Int64N(1<<62) * int64(1-2*r.IntN(2))
		_, q := squaresOf("", contribution{Values: []int64{v, v}})
		all = q.plus(all)
		want.Add(want, new(big.Int).Mul(big.NewInt(2*1), new(big.Int).Mul(big.NewInt(v), big.NewInt(v))))
	}
	if all.value().Cmp(want) != 0 {
		t.Errorf("the sum of squares is %v, want %v", all.value(), want)
	}
	u := Bounds{1, 1, 0, 0, 1}.units()
	parts := []bins{{}, {}, {}}
	exactly, rows := new(big.Rat), int64(0)
	for range 3000 {
		x := math.Ldexp(2*r.Float64()-1, r.IntN(120)-45)
		low, high := -0x1p10, 0x1p20
		if math.Abs(x) > 0x1p-32 {
			exactly.Add(exactly, exact.Rational(min(max(x, low), high)))
		}
		_, one := binsOf("", contribution{Values: []int64{u.of(x)}})
		i := r.IntN(3)
		parts[i] = one.plus(parts[i])
		rows++
	}
	n, got := parts[2].plus(parts[0]).plus(parts[1]).clipped(powers.Zero-42, powers.Zero+52)
	if n != rows || got.Cmp(exactly) != 0 {
		t.Errorf("%d rows of %v, want %d of %v", n, got, rows, exactly)
	}
	for x, want := range map[float64]float64{0x1p-33: 0, math.Copysign(0, -1): 0, math.Inf(1): 0x1p64, -1e30: -0x1p64, 3: 3} {
		if got := math.Float64frombits(uint64(u.of(x))); got != want || math.Signbit(got) && want == 0 {
			t.Errorf("%v counts as %v, want %v", x, got, want)
		}
	}
}

// TestBinNoise: the numbers of rows in all bins of all partitions, most of which are equal, have independent noise of the law
// of what is charged, Laplace's, with a false alarm rate of 1e-9.
func TestBinNoise(t *testing.T) {
	const epsilon, partitions = 0.5, 60
	b := Bounds{1, 2, 0, 0, 2 * epsilon}
	v, cost, err := b.binTable()
	if err != nil {
		t.Fatal(err)
	}
	if cost.Times != 1 || cost.Epsilon < 2*epsilon*(1-1e-9) || cost.Epsilon > 2*epsilon*(1+1e-9) {
		t.Errorf("the cost is %+v", cost)
	}
	n, err := newNoise(v)
	if err != nil {
		t.Fatal(err)
	}
	n.Secret = fixed(5)
	f := &foundFn{Counts: n}
	if err := f.Setup(); err != nil {
		t.Fatal(err)
	}
	counts, p := map[int]int{}, map[int]float64{}
	rho := math.Exp(-epsilon)
	for k := -8; k <= 8; k++ {
		p[k] = (1 - rho) / (1 + rho) * math.Pow(rho, math.Abs(float64(k)))
	}
	p[8] /= 1 - rho // and beyond
	p[-8] = p[8]
	for i := range partitions {
		noisy, err := f.counts(strconv.Itoa(i), bins{[]bin{{At: 7, Rows: 40}}})
		if err != nil {
			t.Fatal(err)
		}
		noisy[7] -= 40
		for _, y := range noisy {
			counts[int(min(max(y, -8), 8))]++
		}
	}
	if stat, limit := chi(counts, p, partitions*powers.Bins); stat > limit {
		t.Errorf("χ² = %.1f, want at most %.1f: %v", stat, limit, counts)
	}
}

// TestTopRepeats: who is named is the same of the same secret and numbers, and of others drawn again; the first name has the
// law of permute-and-flip for two partitions, with a false alarm rate of 1e-9.
func TestTopRepeats(t *testing.T) {
	named := func(i int, epsilon float64, people ...int64) (out []string) {
		f := &topFn{Keys: []string{"a", "b", "c", "d"}[:len(people)], K: len(people) - 1, Epsilon: epsilon, Secret: fixed(i)}
		if err := f.Setup(); err != nil {
			t.Fatal(err)
		}
		next := 0
		if err := f.ProcessElement(0, func(c *count) bool {
			if next == len(people) {
				return false
			}
			*c = count{int64(next), people[next]}
			next++
			return true
		}, func(p Place) { out = append(out, p.Partition) }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	other := map[string]bool{}
	for i := range 200 {
		first := named(i, 0.01, 3, 2, 4, 1)
		if !slices.Equal(first, named(i, 0.01, 3, 2, 4, 1)) {
			t.Fatal("another choice when it is made again")
		}
		other[fmt.Sprint(first)] = true
	}
	same := 0
	for i := range 200 {
		if slices.Equal(named(i, 0.01, 3, 2, 4, 1), named(i, 0.01, 4, 3, 5, 2)) {
			same++
		}
	}
	if same > 60 { // a 24th by chance
		t.Errorf("of numbers that are all larger by one, %d orders of 200 are the same", same)
	}
	if len(other) < 20 { // of 24
		t.Errorf("%d orders of four", len(other))
	}
	const draws = 20_000
	first := 0.0
	for i := range draws {
		if named(i, 1, 5, 6)[0] == "a" {
			first++
		}
	}
	// The smaller one, by 1, is first in order half of the time, and then taken with exp(-1).
	p := math.Exp(-1) / 2
	if math.Abs(first-draws*p) > 6.2*math.Sqrt(draws*p*(1-p)) {
		t.Errorf("the smaller one is named %v times of %d, want %v", first, draws, draws*p)
	}
}

// TestStatisticsCrash: bundles fail behind each step, and every answer is seen with one value.
func TestStatisticsCrash(t *testing.T) {
	rule, err := NewSelection(1, 0.1, 2)
	if err != nil {
		t.Fatal(err)
	}
	budget := func() *Budget { return newBudget(t, 10_000, 0.999) }
	for name, build := range map[string]func(s beam.Scope) []beam.PCollection{
		"variance": func(s beam.Scope) []beam.PCollection {
			people, err := Bound(s, beam.CreateList(s, crowds(rule)), Bounds{Partitions: 2, Values: 1, Lower: 0, Upper: 10}, budget())
			if err != nil {
				t.Fatal(err)
			}
			groups, err := people.Select(s, rule)
			if err != nil {
				t.Fatal(err)
			}
			return []beam.PCollection{
				beam.ParDo(s, &numberFn{}, must(t)(groups.Variance(s, wide(t, 5), wide(t, 12.5), wide(t, 1)))),
				beam.ParDo(s, &oneNumberFn{}, must(t)(people.Distinct(s, wide(t, 2)))),
			}
		},
		"found": func(s beam.Scope) []beam.PCollection {
			people, err := Bound(s, beam.CreateList(s, crowds(rule)), Bounds{Partitions: 2, Values: 1, Private: 0.1}, budget())
			if err != nil {
				t.Fatal(err)
			}
			keys := make([]string, 60)
			for i := range keys {
				keys[i] = "k" + strconv.Itoa(i)
			}
			groups := public(t, s, people, keys...)
			return []beam.PCollection{
				beam.ParDo(s, &numberFn{}, must(t)(groups.Sum(s, wide(t, 1)))),
				beam.ParDo(s, &numberFn{}, must(t)(groups.Mean(s, wide(t, 1), wide(t, 1)))),
				beam.ParDo(s, &placeNameFn{}, must(t)(groups.Top(s, 8, 0.1))),
			}
		},
	} {
		seen := crashing(t, func(s beam.Scope) {
			for i, col := range build(s) {
				fault.After(s, "shown", beam.ParDo(s, &nameFn{strconv.Itoa(i)}, col))
			}
		})
		shown := 0
		for _, key := range slices.Sorted(maps.Keys(seen)) {
			if len(seen[key]) != 1 {
				t.Errorf("%s: %s was seen as %v", name, key, seen[key])
			}
			if strings.HasPrefix(key, "shown") {
				shown++
			}
		}
		if want := map[string]int{"variance": 10, "found": 128}[name]; shown < want {
			t.Errorf("%s: %d answers are shown, want %d", name, shown, want)
		}
	}
}
