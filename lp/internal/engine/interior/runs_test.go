// SPDX-License-Identifier: Apache-2.0

package interior

import (
	"math/rand/v2"
	"testing"
)

// TestRuns: runs hold the terms that they are made of, and those of a shift are few.
func TestRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for range 300 {
		n := 1 + r.IntN(6)
		var gains, loses []int
		for range r.IntN(30) {
			gains, loses = append(gains, r.IntN(n)), append(loses, r.IntN(n))
		}
		holds(t, gains, loses, n)
	}
	// Cells −4 to 4 that mirror each other and shifts by 3; and so with an edge at 0.
	for _, cells := range [][]int{{4, 3, 2, 1, 0, 1, 2, 3, 4}, {4, 3, 2, 1, 0, 0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}} {
		if runs := holds(t, cells[3:], cells[:len(cells)-3], 5); len(runs) > 3 {
			t.Errorf("%v: %d runs", cells, len(runs))
		}
	}
}

func holds(t *testing.T, gains, loses []int, n int) []run {
	t.Helper()
	var runs []run
	for i := range gains {
		runs = extend(runs, i, term{gains[i], loses[i], 1, 2}, n)
	}
	next := 0
	for _, r := range runs {
		if r.first != next {
			t.Fatalf("a run begins with term %d, want %d", r.first, next)
		}
		for i := range r.count {
			g, l := variable(r.gain+i, n), variable(r.lose+i, n)
			if g != gains[next] || l != loses[next] || max(r.gain, r.lose)+i >= 2*n || min(r.gain, r.lose) < 0 {
				t.Fatalf("%v against %v: term %d is %d against %d", gains, loses, next, g, l)
			}
			next++
		}
	}
	if next != len(gains) {
		t.Fatalf("%d terms in runs of %d", next, len(gains))
	}
	return runs
}

// TestTwice: what is added at both places of masses that are held twice comes together.
func TestTwice(t *testing.T) {
	x, both := []float64{1, 2, 3}, make([]float64, 6)
	twice(both, x)
	for place, v := range both {
		if want := x[variable(place, 3)]; v != want {
			t.Errorf("place %d has %g, want %g", place, v, want)
		}
	}
	fold(x, both)
	for v, got := range x {
		if want := 3 * float64(v+1); got != want {
			t.Errorf("mass %d is %g, want %g", v, got, want)
		}
	}
}
