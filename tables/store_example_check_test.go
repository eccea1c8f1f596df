// SPDX-License-Identifier: Apache-2.0

package tables_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestExampleStore uses the example twice: the first time designs the tables, the second one
// finds them.
func TestExampleStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there") // it is made
	var written [2]os.FileInfo
	for i := range written {
		r, err := newReleaser(t.Context(), dir, coordinates)
		if err != nil {
			t.Fatal(err)
		}
		if private, err := r.release(encode("a record")); err != nil || len(private) != len(coordinates) {
			t.Fatalf("release = %v, %v", private, err)
		}
		if written[i], err = os.Stat(filepath.Join(dir, "l2-epsilon-0.25-delta-1e-06-sensitivity-1.json")); err != nil {
			t.Fatal(err)
		}
	}
	if !written[0].ModTime().Equal(written[1].ModTime()) {
		t.Error("the second releaser wrote a table again")
	}
}

// TestExampleStoreRefuses: features that are not as they should be are not released, and a table
// serves the coordinate that it was designed for.
func TestExampleStoreRefuses(t *testing.T) {
	dir := t.TempDir()
	r, err := newReleaser(t.Context(), dir, coordinates)
	if err != nil {
		t.Fatal(err)
	}
	for _, features := range [][]float64{nil, {1, 2}, {1, 2, math.NaN()}} {
		if private, err := r.release(features); err == nil || private != nil {
			t.Errorf("release(%v) = %v, %v, want an error alone", features, private, err)
		}
	}
	wider := slices.Clone(coordinates)
	wider[1].clip *= 2
	if r, err = newReleaser(t.Context(), dir, wider); err != nil {
		t.Fatal(err)
	}
	if p := r.tables[1].Mechanism().Privacy(); p.Sensitivity != 2*wider[1].clip {
		t.Errorf("a table for %+v serves %+v", p, wider[1])
	}
}
