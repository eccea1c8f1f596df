// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"math"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/loss"
)

var published = flag.Bool("published", false, "test the hypothesis on all published numbers, in about a minute")

// What the published optimum O of Tables 1, 4 and 5 of Selvi, Liu & Wiesemann (2025) is,
// a hypothesis (README.md). The two linear programs on equal cells that bracket
// it in the paper are solved, in floating-point arithmetic. Their cells reach from -L to L,
// where L is the support of truncated Laplace noise, rounded up; in a sensitivity there are
// 50 if L is at most 4, 20 up to 9, 10 up to 26 and 4 above: numbers read off the published
// ones. O is read as
//
//	certified   the midpoint of the certified bounds of a design
//	upper       the optimum of the upper program
//	midpoint    the midpoint between it and that of the lower program
//	hypothesis  the optimum of the upper program less a quarter of a cell

// The readings of O, in the order of the summary.
var droReadings = []string{"certified", "upper", "midpoint", "hypothesis"}

// droOptimum is an entry of the tables and what its O may be.
type droOptimum struct {
	support, k   int     // of the programs
	upper, lower float64 // their optima
	cells        [3]droCell
	reading      [4]float64 // O, in the order of droReadings
}

// cellsPerSensitivity is the k of the programs for a support.
func cellsPerSensitivity(support int) int {
	switch {
	case support <= 4:
		return 50
	case support <= 9:
		return 20
	case support <= 26:
		return 10
	}
	return 4
}

// solve solves both programs.
func (d *droOptimum) solve(ctx context.Context) error {
	p := d.cells[0].Privacy
	d.support = int(math.Ceil(supportOf(p)))
	d.k = cellsPerSensitivity(d.support)
	g := gridProgram{Privacy: p, k: d.k, n: d.support * d.k}
	var err error
	if d.upper, err = g.solve(ctx); err != nil {
		return err
	}
	g.lower = true
	if d.lower, err = g.solve(ctx); err != nil {
		return err
	}
	d.reading = [4]float64{d.cells[0].optimum, d.upper, (d.upper + d.lower) / 2, d.upper - 0.25/float64(d.k)}
	return nil
}

// agrees reports whether a published number of a table follows from a reading of O.
func (d *droOptimum) agrees(table, reading int) bool {
	c := d.cells[table]
	c.measure(droTables[table].part, d.reading[reading])
	const rounding = 1e-9 // of the difference of two numbers with two digits
	return math.Abs(c.difference()) <= 0.01+rounding
}

// solveAll solves the programs of all entries on all cores.
func solveAll(ctx context.Context, entries []droOptimum) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	todo, done := make(chan *droOptimum), make(chan error)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(entries)) {
		workers.Go(func() {
			for e := range todo {
				done <- e.solve(ctx)
			}
		})
	}
	go func() {
		for i := range entries {
			todo <- &entries[i]
		}
		close(todo)
		workers.Wait()
		close(done)
	}()
	var first error
	for err := range done {
		if err != nil && first == nil {
			first = err
			cancel() // the others end soon
		}
	}
	return first
}

// TestPublishedOptimum counts the published numbers of each table that follow from each
// reading of O, to 0.01 points: those of two entries, or of all with -published.
func TestPublishedOptimum(t *testing.T) {
	withSolver(t)
	grid, want := droGrid{epsilon: []float64{0.05}, delta: []float64{0.005, 0.01}}, [4][3]int{{2, 0, 0}, {2, 0, 0}, {0, 0, 0}, {2, 2, 2}}
	if *published {
		grid, want = droGrid{numbers(t, droEpsilon), numbers(t, droDelta)}, [4][3]int{{66, 5, 5}, {66, 1, 1}, {58, 19, 19}, {92, 73, 72}}
	}
	c, _ := options(t)
	store, err := newDesignStore(c.Streams, filepath.Join(c.Output, "tables"))
	if err != nil {
		t.Fatal(err)
	}
	o := shell.DesignOptions()
	designs, err := store.designAll(t.Context(), grid.problems(loss.L1), o, c.Progress())
	if err != nil {
		t.Fatal(err)
	}
	entries := make([]droOptimum, len(designs))
	for table := range entries[0].cells {
		cells, err := droTables[table].cells(designs, o.Gap)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range cells {
			entries[i].cells[table] = c
		}
	}
	if err := solveAll(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	var found [4][3]int
	for i := range entries {
		e := &entries[i]
		// The certified optimum is the middle of bounds up to 0.1 % apart.
		if slack := 1e-3 * e.upper; !(e.lower < e.reading[0]+slack && e.reading[0] < e.upper+slack) {
			t.Errorf("%+v: the programs %g and %g do not bracket the optimum %g", e.cells[0].Privacy, e.lower, e.upper, e.reading[0])
		}
		for reading := range found {
			for table := range found[reading] {
				if e.agrees(table, reading) {
					found[reading][table]++
				}
			}
		}
	}
	for i, name := range droReadings {
		t.Logf("%-10s %v of Tables 1, 4 and 5", name, found[i])
	}
	if found != want {
		t.Errorf("%v numbers follow from the readings, want %v", found, want)
	}
}

// numbers reads the default of a flag.
func numbers(t *testing.T, list string) (out []float64) {
	t.Helper()
	for s := range strings.SplitSeq(list, ",") {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}
