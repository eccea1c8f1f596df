// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

// bounded runs the functions of Bound on the rows, without an engine and in an order that the
// generator decides, and returns what counts by person.
func bounded(b Bounds, rows []Row, secret secret, r *rand.Rand) map[string][]contribution {
	return boundedBy(b, rows, &rankFn{b.Values, secret, false}, r)
}

func boundedBy(b Bounds, rows []Row, rank *rankFn, r *rand.Rand) map[string][]contribution {
	clip, choose := &clipFn{b.units()}, &chooseFn{b.Partitions, b.Values}
	copies := map[string]int64{}
	for _, r := range rows {
		clip.ProcessElement(r, func(key string, n int64) { copies[key] += n })
	}
	keys := slices.Sorted(maps.Keys(copies))
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	choices := map[string]choice{}
	for _, key := range keys {
		rank.ProcessElement(key, copies[key], func(person string, p pick) {
			c, ok := choices[person]
			switch {
			case !ok:
				choices[person] = choose.AddInput(choose.CreateAccumulator(), p)
			case r.IntN(3) == 0: // in a bundle of its own, merged
				choices[person] = choose.MergeAccumulators(choose.AddInput(choose.CreateAccumulator(), p), c)
			default:
				choices[person] = choose.AddInput(c, p)
			}
		})
	}
	out := map[string][]contribution{}
	for person, c := range choices {
		partsOf(person, choose.ExtractOutput(c), func(partition string, c contribution) {
			name := person[1:] // personKey of text
			out[name] = append(out[name], contribution{partition, c.Values})
		})
	}
	return out
}

// TestContributions: what counts of a person is within the bounds, whatever the rows are,
// and is the same function of the person's rows whoever else is there; so the totals of
// neighbors differ by what counts of one person, in few partitions and by no more than the
// sensitivities.
func TestContributions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	values := []float64{-1e300, -7, -0.1, 0, math.Copysign(0, -1), 1e-320, 0.1, 3, 1e300, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, b := range []Bounds{{1, 1, 0, 1, 0}, {2, 3, -5, 2, 0}, {3, 1, 0.1, 0.3, 0}, {2, 2, 0, 0, 0}, {1, 7, -1e-300, 1e300, 0}, {2, 2, 5e-324, 1e-323, 0}, {4, 1000, -0.7, -0.2, 0}} {
		for range 50 {
			var rows []Row
			for range r.IntN(40) {
				rows = append(rows, Row{fmt.Sprint(r.IntN(3)), fmt.Sprint(r.IntN(5)), values[r.IntN(len(values))]})
			}
			for person, list := range bounded(b, rows, newSecret(), r) {
				if len(list) > b.Partitions {
					t.Fatalf("%+v: person %s counts in %d partitions", b, person, len(list))
				}
				seen := map[string]bool{}
				for _, c := range list {
					if seen[c.Partition] {
						t.Fatalf("%+v: a person counts twice in a partition", b)
					}
					seen[c.Partition] = true
					checkContribution(t, b, c)
				}
			}
		}
	}
}

// checkContribution holds what a person adds to a partition against the sensitivities.
func checkContribution(t *testing.T, b Bounds, c contribution) {
	t.Helper()
	got := c.totals()
	units := b.units()
	x := units.value(got.SumHigh, got.SumLow)
	want := new(big.Int)
	for _, v := range c.Values {
		want.Add(want, big.NewInt(v))
	}
	if w := new(big.Rat).Mul(new(big.Rat).SetInt(want), exact.PowerOfTwo(units.Exponent)); w.Cmp(x) != 0 {
		t.Fatalf("%+v: the sum is %s, want %s", b, x, w)
	}
	check := func(what string, moved *big.Rat, at int) {
		if most := b.sensitivities(what)[at]; new(big.Rat).Abs(moved).Cmp(most) > 0 {
			t.Errorf("%+v: a person moves the %s by %s, more than %s", b, names[what][at], moved, most)
		}
	}
	n := big.NewRat(got.Rows, 1)
	check(people, big.NewRat(got.People, 1), 0)
	check(rows, n, 0)
	if b.Lower == b.Upper {
		return
	}
	check(sum, x, 0)
	middle := new(big.Rat).Add(exact.Rational(b.Lower), exact.Rational(b.Upper))
	middle.Mul(middle, big.NewRat(1, 2))
	check(mean, new(big.Rat).Sub(x, middle.Mul(middle, n)), 0)
	check(mean, n, 1)
}

// TestTotals: totals add up exactly in any order, signs and carries included.
func TestTotals(t *testing.T) {
	list := []int64{1 << 61, -(1 << 61), 1<<62 - 1, -(1<<62 - 1), 0, 1, -1}
	r := rand.New(rand.NewPCG(3, 4))
	want := new(big.Int)
	var all totals
	for range 1000 {
		v := list[r.IntN(len(list))]
		want.Add(want, big.NewInt(v))
		all = all.plus(contribution{Values: []int64{v}}.totals())
	}
	if got := (units{}).value(all.SumHigh, all.SumLow); got.Cmp(new(big.Rat).SetInt(want)) != 0 || all.Rows != 1000 || all.People != 1000 {
		t.Errorf("sum %s of %d rows, want %s of 1000", got, all.Rows, want)
	}
}

// TestNeighborsChoose: whoever else is there, and in whatever order and bundles rows come, the
// same rows of a person count. So of all data sets that differ by a person, what counts differs by
// that person's at most.
func TestNeighborsChoose(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, b := range []Bounds{{1, 1, 0, 9, 0}, {2, 3, -5, 2, 0}, {3, 2, 0, 0, 0}} {
		for i := range 300 {
			var rows []Row
			for range r.IntN(60) {
				rows = append(rows, Row{fmt.Sprint(r.IntN(3)), fmt.Sprint(r.IntN(5)), float64(r.IntN(4))})
			}
			secret := fixed(i)
			all := bounded(b, rows, secret, r)
			for person := range all {
				without := slices.DeleteFunc(slices.Clone(rows), func(row Row) bool { return row.Person == person })
				r.Shuffle(len(without), func(i, j int) { without[i], without[j] = without[j], without[i] })
				others := maps.Clone(all)
				delete(others, person)
				if got := bounded(b, without, secret, r); !reflect.DeepEqual(got, others) {
					t.Fatalf("%+v: without %s counts %v, want %v", b, person, got, others)
				}
			}
		}
	}
}

// fixed is a secret for repeatable tests.
func fixed(i int) secret {
	return binary.LittleEndian.AppendUint64(make([]byte, 24, 32), uint64(i))
}

// TestChoicesAreUniform: with a false alarm rate of 1e-9 each partition, and each value, is
// chosen equally often; 6.2 standard deviations, which finds a bias of 3 %.
func TestChoicesAreUniform(t *testing.T) {
	const trials, of = 40_000, 5
	partition, value, r := map[string]float64{}, map[int64]float64{}, rand.New(rand.NewPCG(5, 6))
	for trial := range trials {
		var list []Row
		for i := range of {
			list = append(list, Row{"a", fmt.Sprint(i), 0}, Row{"b", "0", float64(i)})
		}
		out := bounded(Bounds{Partitions: 2, Values: 2, Lower: 0, Upper: of}, list, fixed(trial), r)
		for _, c := range out["a"] {
			partition[c.Partition]++
		}
		for _, v := range out["b"][0].Values {
			value[v]++
		}
	}
	const p = 2.0 / of
	limit := 6.2 * math.Sqrt(trials*p*(1-p))
	check := func(what any, n float64) {
		if math.Abs(n-trials*p) > limit {
			t.Errorf("%v chosen %v times of %d, want %v ± %v", what, n, trials, trials*p, limit)
		}
	}
	for k, n := range partition {
		check("partition "+k, n)
	}
	// Of five rows, two of which are equal, each counts as often.
	equal := 0.0
	for trial := range trials {
		list := []Row{{"c", "0", 0}, {"c", "0", 1}, {"c", "0", 1}, {"c", "0", 2}, {"c", "0", 3}}
		for _, v := range bounded(Bounds{Partitions: 1, Values: 2, Lower: 0, Upper: 3}, list, fixed(trial), r)["c"][0].Values {
			if v == (Bounds{Partitions: 1, Values: 2, Lower: 0, Upper: 3}).units().of(1) {
				equal++
			}
		}
	}
	// Its variance for a draw without replacement: 2·(2/5)·(3/5)·(3/4).
	if off := math.Abs(equal - 2*p*trials); off > 6.2*math.Sqrt(trials*0.36) {
		t.Errorf("two equal rows count %v times of %d, want %v", equal, trials, 2*p*trials)
	}
	for k, n := range value {
		check(k, n)
	}
	if len(partition) != of || len(value) != of {
		t.Errorf("%d partitions and %d values are ever chosen, want %d", len(partition), len(value), of)
	}
}

// law is a distribution of what is released about two partitions: by index of each answer,
// hidden for one that is not released.
type law map[[2]int]float64

const hidden = math.MinInt

// lawOf returns the law of the noisy numbers of people in two partitions, exactly but for
// rounding: the choice of every person's partitions, the selection, then the noise.
func lawOf(data [][]int, most int, v *tables.Verified, rule *Selection) law {
	out := law{}
	var choose func(person int, n [2]int64, p float64)
	choose = func(person int, n [2]int64, p float64) {
		if person == len(data) {
			released(out, n, p, v, rule)
			return
		}
		own := data[person]
		if len(own) <= most {
			for _, k := range own {
				n[k]++
			}
			choose(person+1, n, p)
			return
		}
		for _, k := range own { // most is 1, of two
			m := n
			m[k]++
			choose(person+1, m, p/float64(len(own)))
		}
	}
	choose(0, [2]int64{}, 1)
	return out
}

func released(out law, n [2]int64, p float64, v *tables.Verified, rule *Selection) {
	var own [2]map[int]float64
	pmf, atom := v.Mechanism().PMF()
	for k := range own {
		own[k] = map[int]float64{}
		keep := 1.0
		if rule != nil {
			keep, _ = rule.Probability(n[k]).Float64()
			own[k][hidden] = 1 - keep
		}
		for i, w := range pmf {
			own[k][v.Mechanism().Grid().FirstCell+i+int(n[k])] += keep * w
		}
		own[k][int(n[k])] += keep * atom
	}
	for a, x := range own[0] {
		for b, y := range own[1] {
			out[[2]int{a, b}] += p * x * y
		}
	}
}

// hockeyStick returns Σ (P − e^ε·Q)₊.
func hockeyStick(p, q law, epsilon float64) (sum float64) {
	for at, x := range p {
		sum += math.Max(0, x-math.Exp(epsilon)*q[at])
	}
	return sum
}

// TestNeighbors compares, for all small data sets of up to three people in two partitions
// and each of their neighbors, the laws of all that is released with the delta that the
// charges compose to.
func TestNeighbors(t *testing.T) {
	v := loud(t, 1, 0.05)
	rule, err := selection(0.8, 0.03, 2)
	if err != nil {
		t.Fatal(err)
	}
	kinds := [][]int{{0}, {1}, {0, 1}}
	var sets [][][]int
	for i := range kinds {
		sets = append(sets, [][]int{kinds[i]})
		for j := range kinds {
			sets = append(sets, [][]int{kinds[i], kinds[j]})
			for k := range kinds {
				sets = append(sets, [][]int{kinds[i], kinds[j], kinds[k]})
			}
		}
	}
	for _, most := range []int{1, 2} {
		for _, r := range []*Selection{nil, rule} {
			costs := []account.Cost{{Table: v, Times: most}}
			if r != nil {
				costs = append(costs, account.Cost{Epsilon: r.epsilon, Delta: r.delta, Times: most})
			}
			for _, epsilon := range []float64{0.3, 1, 2, 3} {
				limit := composedDelta(t, costs, epsilon)
				worst := 0.0
				for _, d := range sets {
					p, q := lawOf(d, most, v, r), lawOf(d[1:], most, v, r)
					worst = max(worst, hockeyStick(p, q, epsilon), hockeyStick(q, p, epsilon))
				}
				if worst > limit.Upper+1e-12 {
					t.Errorf("%d partitions, selection %v: delta %v at epsilon %v, more than the charged %v", most, r != nil, worst, epsilon, limit.Upper)
				}
				// Without a selection the charge is what a person in all partitions costs.
				if r == nil && worst < limit.Lower-1e-9 {
					t.Errorf("%d partitions: delta %v at epsilon %v, want the charged %v to be sharp", most, worst, epsilon, limit.Lower)
				}
			}
		}
	}
}

func composedDelta(t *testing.T, costs []account.Cost, epsilon float64) account.Bounds {
	t.Helper()
	var releases []account.Release
	for _, c := range costs {
		pld, err := account.Approximate(c.Epsilon, c.Delta)
		if c.Table != nil {
			pld, err = account.LossOf(c.Table.Mechanism())
		}
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, account.Release{PLD: pld, Times: c.Times})
	}
	c, err := account.Compose(releases, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Delta(epsilon)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
