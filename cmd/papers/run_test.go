// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/cmd/internal/scripttest"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/highs"
)

// The runs of the commands without flags and without a process.

// options are common options for JSON, into a new folder.
func options(t *testing.T) (shell.Common, *bytes.Buffer) {
	t.Helper()
	out := &bytes.Buffer{}
	return shell.Common{
		// A folder's files are replaced, as shell.Flags.Folder has it.
		Streams: &shell.Streams{In: strings.NewReader(""), Out: out, Err: &bytes.Buffer{}, Force: true},
		JSON:    true, Output: filepath.Join(t.TempDir(), "new"),
	}, out
}

// withSolver skips a test that designs.
func withSolver(t *testing.T) {
	t.Helper()
	if highs.Version() == "" {
		t.Skip("built without the LP solver")
	}
}

// object reads what was printed.
func object(t *testing.T, out *bytes.Buffer) map[string]any {
	t.Helper()
	var v map[string]any
	if err := errors.Join(scripttest.CheckJSON(out.Bytes()), json.Unmarshal(out.Bytes(), &v)); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if v["schema"] != float64(shell.Schema) || v["name"] == "" {
		t.Errorf("report %v", v)
	}
	if name, _ := v["name"].(string); ofPaper(name) && (v["caption"] == "" || v["differs"] == "" || v["caption"] == nil || v["differs"] == nil) {
		t.Errorf("%s prints no caption, or not what differs: %v", name, v)
	}
	return v
}

// ofPaper says that a command is of a figure or table of a paper.
func ofPaper(name string) bool {
	return strings.Contains(name, "-figure") || strings.Contains(name, "-table")
}

// records reads a CSV file of the folder.
func records(t *testing.T, c shell.Common, name string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(c.Output, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var smallGrid = droGrid{epsilon: []float64{1}, delta: []float64{0.1, 0.3}}

func TestRunDROTable(t *testing.T) {
	withSolver(t)
	c, out := options(t)
	o := &droTableOptions{Common: c, table: droTables[1], grid: smallGrid, design: shell.DesignOptions()}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := object(t, out); v["cells"] != 2.0 || v["missed"] != 0.0 || v["compared"] != 2.0 {
		t.Errorf("report %v", v)
	}
	if all := records(t, c, "dro-table4.csv"); len(all) != 3 || !strings.HasPrefix(all[1][9], "4.6") {
		t.Errorf("records %v", all)
	}
	// Quiet prints nothing.
	out.Reset()
	o.JSON, o.Quiet = false, true
	if err := o.run(t.Context()); err != nil || out.Len() > 0 {
		t.Errorf("%v, printed %q", err, out)
	}
}

// TestGridProgram has a program with a closed form: of two cells, of which a shift by
// one hides half.
func TestGridProgram(t *testing.T) {
	withSolver(t)
	g := gridProgram{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.6, Sensitivity: 1}, k: 1, n: 1}
	if v, err := g.solve(t.Context()); err != nil || math.Abs(v-0.5) > 1e-9 {
		t.Errorf("upper program %v, %v, want 0.5", v, err)
	}
	g.Delta = 0.4
	if v, err := g.solve(t.Context()); err == nil {
		t.Errorf("upper program %v, want an error: it is infeasible", v)
	}
}

func TestRunDROFigure(t *testing.T) {
	withSolver(t)
	c, out := options(t)
	o := &droFigureOptions{Common: c, figure: droFigures[3], design: designOptions(1)}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	designs, _ := object(t, out)["designs"].([]any)
	if len(designs) != 3 || designs[0].(map[string]any)["status"] != "optimal" {
		t.Errorf("designs %v", designs)
	}
	if len(records(t, c, "dro-figure5.csv")) < 4 {
		t.Error("no densities")
	}
}

func TestRunComposition(t *testing.T) {
	withSolver(t)
	c, out := options(t)
	o := &compositionOptions{
		Common:  c,
		problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 0.5, Delta: 1e-6, Sensitivity: 1}, Loss: loss.L1, Query: dp.RealQuery},
		total:   1e-4, design: designOptions(0.1),
	}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m, _ := object(t, out)["mechanisms"].([]any); len(m) != 3 {
		t.Errorf("mechanisms %v", m)
	}
}

func TestRunTAFigure3(t *testing.T) {
	c, out := options(t)
	if err := (&taFigure3Options{c}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if points, _ := object(t, out)["points"].([]any); len(points) != 150 || len(records(t, c, "ta-figure3.csv")) != 151 {
		t.Errorf("%d points", len(points))
	}
}

func TestRunTAFigure4(t *testing.T) {
	withSolver(t)
	// 100 days of which few hours differ, so that few coordinates matter.
	var days strings.Builder
	for h := range taHours {
		fmt.Fprintf(&days, ",h%02d", h)
	}
	text := "day" + days.String() + "\n"
	for d := range 100 {
		text += strconv.Itoa(d)
		for h := range taHours {
			text += fmt.Sprintf(",%.3f", 1+math.Sin(float64(d*(h%5+1)))+0.1*math.Cos(float64(d*d+h*h)))
		}
		text += "\n"
	}
	file := filepath.Join(t.TempDir(), "days.csv")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	c, out := options(t)
	o := &taFigure4Options{Common: c, data: file, cache: "-", design: designOptions(1)}
	o.design.TimeLimit = time.Second
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list, _ := object(t, out)["improvements"].([]any); len(list) != 10 {
		t.Errorf("improvements %v", list)
	}
}
