// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
)

// hourlyFn gives each row the hour that its value says.
type hourlyFn struct{}

func (f *hourlyFn) ProcessElement(r Row, emit func(beam.EventTime, Row)) {
	emit(mtime.FromDuration(time.Duration(r.Value)*time.Hour), r)
}

type partFn struct{}

func (f *partFn) ProcessElement(partition string, c contribution) string {
	return fmt.Sprint(partition, " ", len(c.Values))
}

func init() {
	beam.RegisterDoFn(reflect.TypeFor[hourlyFn]())
	beam.RegisterDoFn(reflect.TypeFor[partFn]())
}

// hourly bounds rows that are in windows of an hour.
func hourly(t *testing.T, list []Row) (*beam.Pipeline, beam.Scope, *People) {
	t.Helper()
	p, s := beam.NewPipelineWithRoot()
	hours := beam.WindowInto(s, window.NewFixedWindows(time.Hour), beam.ParDo(s, &hourlyFn{}, beam.CreateList(s, list)))
	people, err := Bound(s, hours, Bounds{Partitions: 1, Values: 2, Lower: -20, Upper: -3}, newBudget(t, 1000, 1e-6))
	if err != nil {
		t.Fatal(err)
	}
	return p, s, people
}

// TestWindows: who has a row in each of ten windows counts as often as without windows, and
// the answers are those of all windows together, sums below 0 included.
func TestWindows(t *testing.T) {
	var list []Row
	var keys []string
	for i := range 10 {
		keys = append(keys, "x"+strconv.Itoa(i))
		list = append(list, Row{"a", keys[i], float64(i)}, Row{"b", "y", float64(i)})
	}
	p, s, people := hourly(t, list)
	collect(t, s, "parts", beam.ParDo(s, &partFn{}, people.parts))
	if err := ptest.Run(p); err != nil {
		t.Fatal(err)
	}
	if got := collectedOf(t, "parts"); len(got) != 2 || !slices.Contains(got, "y 2") {
		t.Errorf("two people who may count in one partition each count as %q", got)
	}
	p, s, people = hourly(t, list)
	groups, err := people.Public(s, append(keys, "y"))
	if err != nil {
		t.Fatal(err)
	}
	collect(t, s, "sums", beam.ParDo(s, &numberFn{}, must(t)(groups.Sum(s, quiet(t, 40)))))
	if err := ptest.Run(p); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, line := range collectedOf(t, "sums") {
		if line == "y -6" {
			counts[line]++
		} else {
			counts[line[len("x0 "):]]++
		}
	}
	if counts["y -6"] != 1 || counts["-3"] != 1 || counts["0"] != 9 {
		t.Errorf("sums are %v, want -6 of y, -3 of one x and 0 of nine", counts)
	}
}

// TestSeenTwice: what reads an answer twice sees one draw.
func TestSeenTwice(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	var keys []string
	for i := range 200 {
		keys = append(keys, strconv.Itoa(i))
	}
	people, err := Bound(s, beam.Create(s, Row{"a", "0", 1}), Bounds{Partitions: 1, Values: 1}, newBudget(t, 10, 0.1))
	if err != nil {
		t.Fatal(err)
	}
	groups, err := people.Public(s, keys)
	if err != nil {
		t.Fatal(err)
	}
	counts := must(t)(groups.Count(s, loud(t, 1, 0.05)))
	for _, name := range []string{"one", "two"} {
		collect(t, s, name, beam.ParDo(s, &numberFn{}, counts))
	}
	if err := ptest.Run(p); err != nil {
		t.Fatal(err)
	}
	one, two := slices.Sorted(slices.Values(collectedOf(t, "one"))), slices.Sorted(slices.Values(collectedOf(t, "two")))
	if len(one) != len(keys) || !slices.Equal(one, two) {
		t.Errorf("two readers see different answers")
	}
}

// TestKeysOfPeople: no two people have the same key, no key can be changed by engines that
// decode text, and rows of nobody do not count.
func TestKeysOfPeople(t *testing.T) {
	clip := &clipFn{}
	names := []string{"a", "M\xfcller", "M\xf6ller", "M\xc3\xbcller", "M\ufffdller", "h61", "t", "h", "\x00", "1:a", "ta", "61", "x61"}
	partitions := []string{"", "x", "1:a", "\u00e9"}
	seen := map[string]string{}
	people := map[string]string{}
	for _, name := range names {
		for _, partition := range partitions {
			clip.ProcessElement(Row{name, partition, 0}, func(key string, _ int64) {
				if !utf8.ValidString(key) {
					t.Errorf("the key of %q, %q is not UTF-8", name, partition)
				}
				person, part, value := apart(key)
				if part != partition || value != 0 || people[person] != "" && people[person] != name {
					t.Errorf("%q in %q became %q in %q, which is %q", name, partition, person, part, people[person])
				}
				people[person], seen[key] = name, name
			})
		}
	}
	if len(seen) != len(names)*len(partitions) || len(people) != len(names) {
		t.Errorf("%d keys of %d people, want %d of %d", len(seen), len(people), len(names)*len(partitions), len(names))
	}
	clip.ProcessElement(Row{"a", "M\xfcller", 0}, func(key string, _ int64) {
		if _, part, _ := apart(key); part != "M\ufffdller" {
			t.Errorf("partition %q, want it to be text", part)
		}
	})
	clip.ProcessElement(Row{"", "x", 0}, func(key string, _ int64) { t.Errorf("rows of nobody have the key %q", key) })
}

// TestNarrowRanges: a range without any of the numbers that sums are made of is refused, and what
// is not refused has some.
func TestNarrowRanges(t *testing.T) {
	next := func(x float64) float64 { return math.Nextafter(x, 2) }
	for _, b := range []Bounds{{1, maxValues, next(1), next(next(1)), 0}, {1, 1000, next(1), next(next(1)), 0}, {1, maxValues, 1, next(1), 0}, {1, 1, next(1), next(next(1)), 0}} {
		err := b.validate()
		if u := b.units(); (u.Low > u.High) != (err != nil) {
			t.Errorf("%+v: %v, with units from %d to %d", b, err, u.Low, u.High)
		}
		if err != nil {
			wantSentence(t, err, "lower and upper", "apart")
		}
	}
	wantSentence(t, Bounds{1, maxValues, next(1), next(next(1)), 0}.validate(), "lower and upper")
}
