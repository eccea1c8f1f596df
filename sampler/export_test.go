// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

var update = flag.Bool("update", false, "rewrite testdata; say why in the commit")

// goldenTable has weights written out, so that its draws depend on nothing but
// the rules: cells 1:3:9:27:9:3:1 and an atom.
func goldenTable(tb testing.TB) *tables.Table {
	tb.Helper()
	const unit = (1 << 64) / 54
	t, err := tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1.125, Delta: 0.04, Sensitivity: 1}, Loss: loss.L1},
		Grid:    tables.Grid{GranularityExponent: -10, PointsPerCell: 1025, CellsPerSensitivity: 1, FirstCell: -3},
		Weights: []uint64{unit, 3 * unit, 9 * unit, 27 * unit, 9 * unit, 3 * unit, unit},
		Atom:    (1 << 64) - 53*unit,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// TestGoldenFile holds the export of a table to what it was: other
// implementations have compared themselves with it.
func TestGoldenFile(t *testing.T) {
	tab := verified(t, goldenTable(t))
	var buf bytes.Buffer
	if err := WriteExport(&buf, tab, [32]byte{1, 2, 3, 4}, 1000); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "export.json")
	if *update {
		if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(buf.Bytes(), want) {
		t.Error("the export differs from testdata/export.json")
	}
}

// TestGoldenFollowsModel draws the golden vector by the rules it states, from
// single blocks of the cipher and in big integers.
func TestGoldenFollowsModel(t *testing.T) {
	for name, tab := range smallTables(t) {
		seed := [32]byte{9, byte(len(name))}
		e, err := exported(tab, seed, 300)
		if err != nil {
			t.Fatal(err)
		}
		words := fixedWords(t, seed, 1)
		for i, w := range e.Golden.Words {
			if w != fmt.Sprint(words[i]) {
				t.Fatalf("%s: word %d = %s, want %d", name, i, w, words[i])
			}
		}
		m := newModel(tab)
		for i, n := range e.Golden.Draws {
			var want int64
			if want, words = m.draw(words); n != want {
				t.Fatalf("%s: golden draw %d = %d, want %d", name, i, n, want)
			}
		}
	}
}

func TestExportRefuses(t *testing.T) {
	if err := WriteExport(io.Discard, verified(t, goldenTable(t)), [32]byte{}, -1); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("-1 draws: %v, want ErrInvalid", err)
	}
	if err := WriteExport(io.Discard, nil, [32]byte{}, 1); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("no table: %v, want ErrInvalid", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestExportEncodeError(t *testing.T) {
	if err := WriteExport(brokenWriter{}, verified(t, goldenTable(t)), [32]byte{}, 1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("WriteExport: %v, want the writer's error", err)
	}
}

// exported is what WriteExport writes of a table that need not be proved.
func exported(t *tables.Table, seed [32]byte, n int) (*export, error) {
	g, err := newGolden(seed)
	if err != nil {
		return nil, err
	}
	e, err := adder{newNoise(t, newLaw(t, false), newFixedGenerator(seed))}.Export(proof.Bounds{}, g, nil, n)
	return e.(*export), err
}
