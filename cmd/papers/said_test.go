// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// TestSaid: each command of a figure or table of a paper says in its help what it shows and what differs, and either
// has --seed or says that nothing is random. What they print is tested with their runs.
func TestSaid(t *testing.T) {
	of := 0
	for _, c := range newRootCommand(&shell.Streams{}, func() {}).Commands() {
		if !ofPaper(c.Name()) {
			continue
		}
		of++
		caption := captionOf(c.Name())
		if caption == "" || !strings.Contains(strings.Join(strings.Fields(c.Long), " "), strings.Join(strings.Fields(caption), " ")) {
			t.Errorf("%s: help without the caption %q", c.Name(), caption)
		}
		if _, differs, _ := strings.Cut(c.Long, "What differs from the paper: "); len(differs) < 20 {
			t.Errorf("%s: help does not say what differs", c.Name())
		}
		if fixed := strings.Contains(strings.Join(strings.Fields(c.Long), " "), "othing is random."); fixed == (c.Flags().Lookup("seed") != nil) {
			t.Errorf("%s: want --seed, or that nothing is random", c.Name())
		}
	}
	if of < 25 {
		t.Errorf("%d commands", of)
	}
}

// TestWrapped: lines are as long as fits, and no word is lost.
func TestWrapped(t *testing.T) {
	text := wrapped("What differs\nfrom the paper: " + strings.Repeat("ε twelve ", 40))
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimSpace(line))); n > 88 {
			t.Errorf("a line of %d characters: %q", n, line)
		}
	}
	if n := len(strings.Fields(text)); n != 85 || strings.Count(text, "\n") > 5 {
		t.Errorf("%d words in %q", n, text)
	}
}

// TestSaidPrinted: a report begins with caption, differs and form, and ends with what is published and what is
// against it; as JSON these are lists, texts are of one line.
func TestSaidPrinted(t *testing.T) {
	c, out := options(t)
	s := said{caption: "two\nlines", differs: "a\nb", form: "quick: 1 run", published: []string{"p"}, against: []string{"q"}}
	if err := s.print(&c, "x-figure1", shell.Object{"n", 1}, nil, []string{"f.csv"}); err != nil {
		t.Fatal(err)
	}
	if v := object(t, out); v["caption"] != "two lines" || v["differs"] != "a b" || v["form"] != "quick: 1 run" || v["n"] != 1.0 {
		t.Errorf("report %v", v)
	} else if list, _ := v["against_the_paper"].([]any); len(list) != 1 {
		t.Errorf("against %v", list)
	}
	out.Reset()
	if c.JSON = false; s.print(&c, "x-figure1", nil, []shell.Row{{"row", "r"}}, []string{"f.csv"}) != nil {
		t.Fatal()
	}
	var words []string
	for line := range strings.Lines(out.String()) {
		words = append(words, strings.Fields(line)[0])
	}
	if want := []string{"caption", "differs", "form", "row", "the", "against", "files"}; !slices.Equal(words, want) {
		t.Errorf("rows %q, want %q", words, want)
	}
}

// TestOneRun: one run has no standard deviation: nil, an empty field and no bar.
func TestOneRun(t *testing.T) {
	var a accuracies
	a.add(0.5)
	if a.Known != nil || !slices.Equal(a.record(), []string{"0.5000", "", "1"}) {
		t.Errorf("%v, %q", a.Known, a.record())
	}
	if a.add(0.7); a.Known == nil || !slices.Equal(a.record(), []string{"0.6000", "0.1414", "2"}) {
		t.Errorf("%v, %q", a.Known, a.record())
	}
	study := taStudy{}
	study.add(realEstate, protocolFormula, "task-aware", 3, 5, taOutcome{noise: "laplace", sent: 3})
	if got := study.records()[1]; got[3] != "3" || got[6] != "" {
		t.Errorf("record %q, want no deviation", got)
	}
	if p := study.points[0]; p.Deviation != nil || bar(p.Deviation) != 0 {
		t.Errorf("deviation %v", *p.Deviation)
	}
}

// TestSeeds: files are the same for the same seed, and others for another.
func TestSeeds(t *testing.T) {
	if runSeed(0, 3) != 3 || runSeed(1, 0) == runSeed(0, 1) {
		t.Error("seeds of runs coincide")
	}
	houses, _ := smallPeople(t)
	folder := t.TempDir()
	text := "L-CORE,COMFORT,decision\n"
	for i := range 40 {
		text += fmt.Sprintf("%s,%d,%s\n", []string{"low", "mid", "high"}[i*i%3], i*7%20, []string{"A", "S"}[i*i*i%5/3])
	}
	if err := os.WriteFile(filepath.Join(folder, "post_operative.csv"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(c shell.Common, seed uint64) error{
		"ta-figure7": func(c shell.Common, seed uint64) error {
			o := &taTrainedOptions{Common: c, figure: taFigure7, protocol: protocolFormula, realEstate: houses, epochs: 1, epsilons: []float64{10}, cache: "-", design: designOptions(1), seed: seed}
			return o.run(t.Context())
		},
		droHistogramName: func(c shell.Common, seed uint64) error {
			return (&droHistogramOptions{Common: c, data: folder, set: "post-operative", seed: seed}).run(t.Context())
		},
		"dro-table2": func(c shell.Common, seed uint64) error {
			return (&droLearningOptions{Common: c, table: droLearnings[0], data: folder, sets: "post-operative", splits: 2, draws: 1, design: designOptions(0.5), seed: seed}).run(t.Context())
		},
	} {
		if name == "dro-table2" && !hasSolver() {
			continue
		}
		var made [][][]string
		for _, seed := range []uint64{0, 0, 1} {
			c, out := options(t)
			if err := run(c, seed); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			object(t, out)
			made = append(made, records(t, c, name+".csv"))
		}
		same := func(a, b [][]string) bool { return slices.EqualFunc(a, b, slices.Equal) }
		if !same(made[0], made[1]) || same(made[0], made[2]) {
			t.Errorf("%s: same for the same seed %v, for another %v", name, same(made[0], made[1]), same(made[0], made[2]))
		}
	}
}

// TestAgainst: a published number that has another number of terms is told so, with the reason; others are counted.
func TestAgainst(t *testing.T) {
	at := dp.Problem{Privacy: dp.Privacy{Epsilon: 0.02, Delta: 0.2, Sensitivity: 1}, Loss: loss.L1}
	// The largest difference of Table 1.
	c := droCell{Problem: at, truncated: 1.22162, known: knownBound(at, 1.2182), published: 67.44}
	c.measure(fromKnownToKnown, 1.2176)
	if math.Abs(c.value-2.17) > 0.01 {
		t.Fatalf("a value of %g", c.value)
	}
	near, far := c, c
	near.published, far.published = 2.4, 40
	texts := droTables[0].against([]droCell{c, near, far})
	if len(texts) != 2 || !strings.Contains(texts[0], "rounded down") || !strings.HasPrefix(texts[1], "1 numbers") {
		t.Errorf("%q", texts)
	}
}

// TestKeysBelow: the keys of panels are below them, and make the picture higher.
func TestKeysBelow(t *testing.T) {
	height := func(name string) string {
		p := figure.New()
		if name != "" {
			p.Legend.Add(name)
		}
		var b bytes.Buffer
		if err := writeRow(&b, []*plot.Plot{p}, 100, 100); err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(b.String(), `height="`)
		h, _, _ := strings.Cut(after, `"`)
		return h
	}
	if a, b := height(""), height("a key"); a != "100pt" || b == "100pt" {
		t.Errorf("heights %s and %s", a, b)
	}
}
