// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/noisewright/noisewright/internal/powers"
)

// made is what a random choice is made of.
type made struct {
	secret secret
	key    string // partition, or what rows have in common
	person string
	value  int64
}

// choices make every random choice of this package 64 times, for things that the number of the
// repetition tells apart: independent ones agree with a probability below 1e-9.
func choices(t *testing.T) map[string]func(m made) string {
	t.Helper()
	const repetitions = 64
	ready := func(n *noise) *noise {
		if err := n.setup(); err != nil {
			t.Fatal(err)
		}
		return n
	}
	count, err := newNoise(loud(t, 1, 0.05))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := newNoise(wide(t, 10))
	if err != nil {
		t.Fatal(err)
	}
	rule, err := NewSelection(1, 1e-6, 1)
	if err != nil {
		t.Fatal(err)
	}
	middle := int64(rule.median())
	each := func(f func(i int) any) string {
		var out []any
		for i := range repetitions {
			out = append(out, f(i))
		}
		return fmt.Sprint(out...)
	}
	answer := func(what string) func(m made) string {
		return func(m made) string {
			f := &answerFn{What: what, Noise: []noise{count, count}, Bounds: Bounds{1, 1, 0, 10, 0}, Units: Bounds{1, 1, 0, 10, 0}.units()}
			if what == sum || what == mean {
				f.Noise[0] = sums
			}
			for i := range f.Noise {
				f.Noise[i].Secret = m.secret
				ready(&f.Noise[i])
			}
			return each(func(i int) any {
				n := m.value + 100
				key, y, err := f.ProcessElement(m.key+strconv.Itoa(i), totals{People: n, Rows: n, SumLow: uint64(f.Units.of(5)) * uint64(n)})
				if err != nil || key != m.key+strconv.Itoa(i) {
					t.Fatal(key, err)
				}
				if what == people || what == rows {
					y -= float64(n)
				}
				return fmt.Sprint(y, " ")
			})
		}
	}
	ranks := func(of func(p pick) uint64) func(m made) string {
		return func(m made) string {
			return each(func(i int) (out any) {
				f := &rankFn{1, m.secret, false}
				f.ProcessElement(copiesKey(m.person, m.key+strconv.Itoa(i), m.value), 1, func(_ string, p pick) { out = of(p) })
				return out
			})
		}
	}
	return map[string]func(m made) string{
		people: answer(people), rows: answer(rows), sum: answer(sum), mean: answer(mean),
		"rank":     ranks(func(p pick) uint64 { return p.Rank }),
		"priority": ranks(func(p pick) uint64 { return p.Priority }),
		"selection": func(m made) string {
			f := &selectFn{Epsilon: rule.epsilon, Delta: rule.delta, Secret: m.secret}
			if err := f.Setup(); err != nil {
				t.Fatal(err)
			}
			return each(func(i int) any {
				released := false
				f.ProcessElement(m.key+strconv.Itoa(i), totals{People: middle + m.value%2}, func(string, totals) { released = true })
				return released
			})
		},
		"quantiles": func(m made) string {
			f := &quantilesFn{Unit: Bounds{1, 1, 0, 10, 0}.units(), Bounds: Bounds{1, 1, 0, 10, 0}, Candidates: 51, Probabilities: []float64{0.5}, Epsilon: 0.1, Secret: m.secret}
			if err := f.Setup(); err != nil {
				t.Fatal(err)
			}
			return each(func(i int) (out any) {
				released, part := false, false
				err := f.ProcessElement(m.key+strconv.Itoa(i), func(*totals) bool {
					released = !released
					return released
				}, func(c *contribution) bool {
					part = !part
					*c = contribution{Values: []int64{f.Unit.of(float64(m.value))}}
					return part
				}, func(_ string, q Quantile) { out = fmt.Sprint(q.Value, " ") })
				if err != nil {
					t.Fatal(err)
				}
				return out
			})
		},
		"variance": func(m made) string {
			f := &varianceFn{Noise: []noise{sums, sums, count}, Bounds: Bounds{1, 1, -100, 100, 0}, Units: Bounds{1, 1, -100, 100, 0}.units()}
			for i := range f.Noise {
				f.Noise[i].Secret = m.secret
			}
			if err := f.Setup(); err != nil {
				t.Fatal(err)
			}
			return each(func(i int) (out any) {
				once := true
				err := f.ProcessElement(m.key+strconv.Itoa(i), func(x *totals) bool {
					*x = totals{People: 1, Rows: 3, SumLow: uint64(f.Units.of(float64(m.value)))}
					return true
				}, func(q *squares) bool {
					_, *q = squaresOf("", contribution{Values: []int64{f.Units.of(float64(m.value))}})
					once = !once
					return !once
				}, func(_ string, y float64) { out = fmt.Sprint(y, " ") })
				if err != nil {
					t.Fatal(err)
				}
				return out
			})
		},
		"found bounds": func(m made) string {
			f := &foundFn{What: mean, Noise: []noise{sums, count}, Counts: count, Rate: 1, Deviation: 1}
			f.Counts.Secret = m.secret
			for i := range f.Noise {
				f.Noise[i].Secret = m.secret
			}
			if err := f.Setup(); err != nil {
				t.Fatal(err)
			}
			return each(func(i int) (out any) {
				err := f.ProcessElement(m.key+strconv.Itoa(i), func(*totals) bool { return true }, func(b *bins) bool {
					b.List = []bin{{At: int64(powers.Zero) + 40, Rows: 200 + m.value, Low: uint64(300+m.value) << 52}}
					return true
				}, func(_ string, y float64) { out = fmt.Sprint(y, " ") })
				if err != nil {
					t.Fatal(err)
				}
				return out
			})
		},
		"a row": func(m made) string {
			f := rowNoise(t, m.secret, Column{Upper: 10})
			f.Noise.Table = sums.Table
			ready(&f.Noise)
			return each(func(i int) (out any) {
				y, err := f.Noise.row(f.Column.clipped(float64(m.value)), "row", m.key+strconv.Itoa(i), "0")
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprint(y-float64(m.value), " ")
			})
		},
	}
}

var numberType = reflect.TypeFor[float64]()

// rowNoise is the DoFn of AddNoise for rows that are numbers.
func rowNoise(t *testing.T, secret secret, column Column) *addNoiseFn {
	t.Helper()
	n, err := newNoise(wide(t, 10))
	if err != nil {
		t.Fatal(err)
	}
	n.Secret = secret
	f := &addNoiseFn{Rows: rowsColumn{Type: beam.EncodedType{T: numberType}}, Noise: n, Column: column}
	if err := f.Setup(); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestChoicesRepeat: every random choice is the same if it is made again of the same secret, key,
// person and value, by another instance of a DoFn too, and another one if any of them is.
func TestChoicesRepeat(t *testing.T) {
	first := made{fixed(1), "k", "p", 3}
	for name, choose := range choices(t) {
		want := choose(first)
		if choose(first) != want {
			t.Errorf("%s: another choice when it is made again", name)
		}
		for what, other := range map[string]made{
			"secret": {fixed(2), "k", "p", 3}, "key": {fixed(1), "l", "p", 3}, "person": {fixed(1), "k", "q", 3}, "value": {fixed(1), "k", "p", 4},
		} {
			same := what == "person" && name != "rank" && name != "priority" || what == "value" && name == "rank" // they do not depend on it
			if (choose(other) == want) != same {
				t.Errorf("%s: with another %s the same choice is %v, want %v", name, what, !same, same)
			}
		}
	}
}

// TestPurposesDiffer: with one secret, the words for different purposes are different.
func TestPurposesDiffer(t *testing.T) {
	s := fixed(9).key()
	seen := map[[32]byte]bool{}
	for _, sum := range [][32]byte{s.Sum("rank", "a", "b"), s.Sum("priority", "a", "b", "0"), s.Sum("selection", "a", "0"), s.Sum("quantile", "a", "0", "0"), s.Sum("noise", "a", "0")} {
		seen[sum] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d different sums of 5", len(seen))
	}
}

// chi returns the chi-square statistic of counts, and what it exceeds with a probability of
// 1e-9, by Wilson and Hilferty.
func chi(counts map[int]int, p map[int]float64, total int) (stat, limit float64) {
	df := float64(len(p) - 1)
	for k, q := range p {
		want := q * float64(total)
		stat += (float64(counts[k]) - want) * (float64(counts[k]) - want) / want
	}
	return stat, df * math.Pow(1-2/(9*df)+6*math.Sqrt(2/(9*df)), 3)
}

// TestKeyedLaws: over partitions, over values and over copies of a row, choices have the laws that
// they promise, with fixed secrets; fresh ones would fail each with a probability of 1e-9. 40,000
// draws see probabilities of a tenth that are off by 10 %.
func TestKeyedLaws(t *testing.T) {
	const draws = 40_000
	v := loud(t, 1, 0.05)
	pmf, atom := v.Mechanism().PMF()
	p := map[int]float64{0: atom}
	for i, w := range pmf {
		p[v.Mechanism().Grid().FirstCell+i] += w
	}
	for k, w := range p {
		if w == 0 {
			delete(p, k)
		}
	}
	check := func(name string, counts map[int]int, p map[int]float64) {
		t.Helper()
		if stat, limit := chi(counts, p, draws); stat > limit {
			t.Errorf("%s: χ² = %.1f over %d classes, want at most %.1f", name, stat, len(p), limit)
		}
	}
	n, err := newNoise(v)
	if err != nil {
		t.Fatal(err)
	}
	n.Secret = fixed(4)
	if err := n.setup(); err != nil {
		t.Fatal(err)
	}
	keys, values := map[int]int{}, map[int]int{}
	for i := range draws {
		y, err := n.add(strconv.Itoa(i), big.NewRat(7, 1))
		if err != nil {
			t.Fatal(err)
		}
		keys[int(y)-7]++
		if y, err = n.add("", big.NewRat(int64(i), 1)); err != nil {
			t.Fatal(err)
		}
		values[int(y)-i]++
	}
	check("partitions", keys, p)
	check("values", values, p)

	f := rowNoise(t, fixed(5), Column{Upper: 1})
	f.Noise.Table = n.Table
	if err := f.Noise.setup(); err != nil {
		t.Fatal(err)
	}
	copies, left, last := map[int]int{}, draws, math.Inf(-1)
	var rest bytes.Buffer
	if err := beam.NewElementEncoder(numberType).Encode(0.0, &rest); err != nil {
		t.Fatal(err)
	}
	if err := f.ProcessElement(rest.Bytes(), func(x *float64) bool {
		*x = 1
		left--
		return left >= 0
	}, func(row beam.X) {
		y := row.(float64)
		if y < last {
			t.Fatal("equal rows are not in ascending order of what they are now")
		}
		last = y
		copies[int(y)-1]++
	}); err != nil {
		t.Fatal(err)
	}
	check("copies of a row", copies, p)

	rule, err := NewSelection(1, 1e-3, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, people := range []int64{int64(rule.median()) - 1, int64(rule.median()), int64(rule.median()) + 1} {
		s := &selectFn{Epsilon: rule.epsilon, Delta: rule.delta, Secret: fixed(6)}
		if err := s.Setup(); err != nil {
			t.Fatal(err)
		}
		kept := map[int]int{}
		q, _ := rule.Probability(people).Float64()
		for i := range draws {
			s.ProcessElement(strconv.Itoa(i), totals{People: people}, func(string, totals) { kept[1]++ })
		}
		kept[0] = draws - kept[1]
		check("selection", kept, map[int]float64{0: 1 - q, 1: q})
	}
}

// TestRowsRepeat: in whatever order rows come, the same ones come out, and their order tells nothing
// of what they were.
func TestRowsRepeat(t *testing.T) {
	var rest bytes.Buffer
	if err := beam.NewElementEncoder(numberType).Encode(0.0, &rest); err != nil {
		t.Fatal(err)
	}
	run := func(list []float64) (out []float64) {
		next := 0
		if err := rowNoise(t, fixed(7), Column{Upper: 10}).ProcessElement(rest.Bytes(), func(x *float64) bool {
			if next == len(list) {
				return false
			}
			*x = list[next]
			next++
			return true
		}, func(row beam.X) { out = append(out, row.(float64)) }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b := run([]float64{1, 5, 5, 0, 99, 5}), run([]float64{5, 12, 5, math.Copysign(0, -1), 5, 1})
	if !slices.Equal(a, b) || !slices.IsSorted(a) || len(slices.Compact(slices.Clone(a))) != 6 {
		t.Errorf("rows are %v and %v, want six different ones, twice", a, b)
	}
}

// TestTemplates: what could be run twice is not built.
func TestTemplates(t *testing.T) {
	flag.String("template_location", "", "as of Beam's runner for Dataflow")
	if err := flag.Set("template_location", "gs://templates/counts"); err != nil {
		t.Fatal(err)
	}
	defer flag.Set("template_location", "") //nolint:errcheck // it was set
	_, s := beam.NewPipelineWithRoot()
	_, err := Bound(s, beam.Create(s, Row{"a", "b", 1}), Bounds{Partitions: 1, Values: 1}, newBudget(t, 1, 0))
	wantSentence(t, err, "template_location", "more than once")
	_, err = AddNoise(s, beam.Create(s, 1.0), wide(t, 1), Column{Upper: 1})
	wantSentence(t, err, "template_location", "more than once")
}
