// SPDX-License-Identifier: Apache-2.0

package tables_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/noisewright/noisewright/tables"
)

// TestCSV: of tables of all kinds the rows are the law: edges in order that meet, masses and sums as
// float64s of exact weights, an atom at 0, and tails.
func TestCSV(t *testing.T) {
	paths, err := filepath.Glob("../python/tests/data/files/*.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		table, err := tables.Decode(f)
		f.Close()
		if err != nil {
			continue // another form, or malformed
		}
		var b bytes.Buffer
		if err := table.WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		checkCSV(t, path, table, rows, seen)
	}
	if seen["atom"] == 0 || seen["left"] == 0 || seen["right"] == 0 || seen["cell"] == 0 {
		t.Errorf("rows = %v, want all kinds", seen)
	}
}

func checkCSV(t *testing.T, path string, table *tables.Table, rows [][]string, seen map[string]int) {
	t.Helper()
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return v
	}
	step, _ := table.Grid().Step().Float64()
	before, sum := math.NaN(), 0.
	for i, row := range rows[1:] {
		lower, upper, mass, cumulative := number(row[0]), number(row[1]), number(row[2]), number(row[3])
		sum += mass
		if math.Abs(cumulative-sum) > 1e-12 {
			t.Errorf("%s: row %d sums to %v, want %v", path, i, cumulative, sum)
		}
		if i == table.Cells() {
			seen["atom"]++
			if lower != 0 || upper != 0 || row[4] != strconv.FormatUint(table.Atom(), 10) || row[5] != "0" || row[6] != "0" {
				t.Errorf("%s: %v, want the atom", path, row)
			}
			continue
		}
		g := table.Grid()
		half, first, last := step/2, float64(g.FirstPoint(i))*step, float64(g.FirstPoint(i+1)-1)*step
		if row[4] != strconv.FormatUint(table.Weight(i), 10) || mass != float64(table.Weight(i))*0x1p-64 ||
			math.Abs(first-half-lower) > 1e-12*math.Abs(first) || math.Abs(last+half-upper) > 1e-12*math.Abs(last) || i > 0 && lower != before {
			t.Errorf("%s: row %d = %v, want edges around %v and %v, behind %v", path, i, row, first, last, before)
		}
		before = upper
		side, block := table.Block(i)
		want, kind := 0., "cell"
		if block {
			want = float64(side) * float64(g.CellsPerSensitivity) * float64(g.PointsPerCell) * step
			kind = map[int]string{-1: "left", 1: "right"}[side]
		}
		seen[kind]++
		ratio := 0.
		if block {
			ratio = float64(table.TailRatio()) * 0x1p-64
		}
		if number(row[5]) != want || number(row[6]) != ratio {
			t.Errorf("%s: row %d repeats by %s times %s, want %v times %v", path, i, row[5], row[6], want, ratio)
		}
	}
	if end := rows[len(rows)-1]; end[3] != "1" {
		t.Errorf("%s: the masses sum to %s, want 1", path, end[3])
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestCSVSaysWhatTheWriterSays(t *testing.T) {
	f, err := os.Open("../docs/example-table.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := tables.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.WriteCSV(fullDisk{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v, want the writer's error", err)
	}
}
