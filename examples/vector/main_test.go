package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVector runs the example twice: the first run designs the tables, the
// second one finds them.
func TestVector(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there") // it is made
	var first, second bytes.Buffer
	err := run(&first, dir)
	if err != nil {
		t.Fatal(err)
	}
	const file = "l2-epsilon-0.25-delta-1e-06-sensitivity-1.json"
	before, err := os.Stat(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := run(&second, dir); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	if !after.ModTime().Equal(before.ModTime()) {
		t.Error("the second run wrote a table again")
	}
	one, two := strings.Split(first.String(), "\n"), strings.Split(second.String(), "\n")
	if len(one) != len(coordinates)+2 || one[0] != two[0] {
		t.Errorf("the runs printed\n%s\n%s", first.String(), second.String())
	}
}

func TestReleaseRefuses(t *testing.T) {
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
	wider := append([]coordinate(nil), coordinates...)
	wider[1].clip *= 2
	if r, err = newReleaser(t.Context(), dir, wider); err != nil {
		t.Fatal(err)
	}
	if p := r.tables[1].Mechanism().Privacy(); p.Sensitivity != 2*wider[1].clip {
		t.Errorf("a table for %+v serves %+v", p, wider[1])
	}
}
