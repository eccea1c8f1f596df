// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/noisewright/noisewright/integrations/beam/internal/fault"
)

// crashing runs a pipeline in which a bundle fails once behind each step, again and again
// until it ends, as an engine would that keeps nothing, and returns the values that were seen by
// name.
func crashing(t *testing.T, build func(s beam.Scope)) map[string]map[string]bool {
	t.Helper()
	c := &fault.Crashes{Dir: t.TempDir(), Element: 7, Watched: []string{"answers", "noisy", "shown"}}
	fault.Behind = c.Behind
	defer func() { fault.Behind = nil }()
	p, s := beam.NewPipelineWithRoot()
	build(s)
	for {
		before := c.Done()
		for i := range 4 {
			forget(t, strconv.Itoa(i))
		}
		err := ptest.Run(p)
		if err == nil {
			break
		}
		if c.Done() == before || !strings.Contains(err.Error(), "as asked for") {
			t.Fatalf("%d crashes after %d: %v", c.Done(), before, err)
		}
	}
	if c.Done() != c.Steps() {
		t.Errorf("%d of %d steps crashed", c.Done(), c.Steps())
	}
	text, err := os.ReadFile(filepath.Join(c.Dir, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]map[string]bool{}
	for line := range strings.Lines(string(text)) {
		at := strings.LastIndex(line, " ")
		if seen[line[:at]] == nil {
			seen[line[:at]] = map[string]bool{}
		}
		seen[line[:at]][line[at:]] = true
	}
	return seen
}

// nameFn writes which answer a line is before it, and cutFn takes that away.
type nameFn struct{ Name string }

func (f *nameFn) ProcessElement(line string) string { return f.Name + " " + line }

func cutFn(line string) string { return line[2:] }

func init() {
	beam.RegisterDoFn(reflect.TypeFor[nameFn]())
	beam.RegisterDoFn(cutFn)
}

// crowds are rows of 60 partitions, in which 2 of 3 partitions of a person count, and which are
// selected with a probability between 0 and 1.
func crowds(rule *Selection) (list []Row) {
	for p := range 30 * rule.median() {
		for i := range 3 {
			list = append(list, Row{strconv.Itoa(p), "k" + strconv.Itoa((p+i*7)%60), float64(p % 11)}, Row{strconv.Itoa(p), "k" + strconv.Itoa((p+i*7)%60), float64(p % 5)})
		}
	}
	return list
}

// TestCrashes: with one statistic and with several, no answer is seen with two values, and no
// partition in one attempt and not in the result.
func TestCrashes(t *testing.T) {
	rule, err := NewSelection(1, 0.1, 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, answers := range map[string]func(s beam.Scope, g *Groups) []beam.PCollection{
		"one": func(s beam.Scope, g *Groups) []beam.PCollection {
			return []beam.PCollection{beam.ParDo(s, &numberFn{}, must(t)(g.Count(s, loud(t, 1, 0.05))))}
		},
		"several": func(s beam.Scope, g *Groups) []beam.PCollection {
			ok := must(t)
			return []beam.PCollection{
				beam.ParDo(s, &numberFn{}, ok(g.CountPeople(s, loud(t, 1, 0.05)))), beam.ParDo(s, &numberFn{}, ok(g.Sum(s, wide(t, 10)))),
				beam.ParDo(s, &numberFn{}, ok(g.Mean(s, wide(t, 10), loud(t, 1, 0.05)))),
				beam.ParDo(s, &quantileFn{}, ok(g.Quantiles(s, QuantileOptions{Probabilities: []float64{0.5}, Candidates: 11, Epsilon: 0.5}))),
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := crashing(t, func(s beam.Scope) {
				people, err := Bound(s, beam.CreateList(s, crowds(rule)), Bounds{Partitions: 2, Values: 1, Lower: 0, Upper: 10}, newBudget(t, 1000, 0.999))
				if err != nil {
					t.Fatal(err)
				}
				groups, err := people.Select(s, rule)
				if err != nil {
					t.Fatal(err)
				}
				for i, col := range answers(s, groups) {
					named := beam.ParDo(s, &nameFn{strconv.Itoa(i)}, col)
					collect(t, s, strconv.Itoa(i), beam.ParDo(s, cutFn, fault.After(s, "shown", named)))
				}
			})
			result := map[string]bool{}
			for i := range 4 {
				for _, line := range collectedOf(t, strconv.Itoa(i)) {
					result[strconv.Itoa(i)+" "+line] = true
				}
			}
			shown := 0
			for key, values := range seen {
				if len(values) != 1 {
					t.Errorf("%s was seen as %v", key, values)
				}
				if step, rest, _ := strings.Cut(key, " "); strings.HasPrefix(step, "shown") {
					shown++
					for v := range values {
						if !result[strings.TrimSpace(rest+v)] {
							t.Errorf("%s was seen, and is not in the result", key)
						}
					}
				}
			}
			if shown != len(result) || shown < 10 {
				t.Errorf("%d answers are shown, and the result has %d", shown, len(result))
			}
		})
	}
}

// TestRowsCrash: of rows of a file and of others, four of which have the same name and two of
// these the same value, as many values are seen as there are rows.
func TestRowsCrash(t *testing.T) {
	dir := t.TempDir()
	text := "name,pay\n"
	var list []Row
	for i := range 200 {
		name := "n" + strconv.Itoa(i/4)
		text += name + "," + strconv.Itoa(i%2) + "\n"
		list = append(list, Row{Person: name, Value: float64(i % 2)})
	}
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.csv")
	for name, build := range map[string]func(s beam.Scope) error{
		"file": func(s beam.Scope) error {
			return PrivatizeCSV(s, wide(t, 1), Column{Name: "pay", Upper: 1}, filepath.Join(dir, "in.csv"), out)
		},
		"rows": func(s beam.Scope) error {
			noisy, err := AddNoise(s, beam.CreateList(s, list), wide(t, 1), Column{Name: "Value", Upper: 1})
			if err == nil {
				fault.After(s, "shown", noisy)
			}
			return err
		},
	} {
		seen := crashing(t, func(s beam.Scope) {
			if err := build(s); err != nil {
				t.Fatal(err)
			}
		})
		if len(seen) != 50 && len(seen) != 100 { // of one step, and of two
			t.Errorf("%s: %d names are seen, want 50", name, len(seen))
		}
		few := 0
		for key, values := range seen {
			if len(values) > 4 {
				t.Errorf("%s: the four rows of %s are seen as %v", name, key, values)
			} else if len(values) < 4 {
				few++ // by chance
			}
		}
		if few > 5 {
			t.Errorf("%s: %d times rows have the same noise", name, few)
		}
	}
	written, err := os.ReadFile(out)
	if err != nil || strings.Count(string(written), "\n") != 201 {
		t.Errorf("the file is %q, %v", written, err)
	}
}
