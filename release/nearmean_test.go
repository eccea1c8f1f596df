// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestMeansAreNear: with next to no noise, both methods of a mean answer what it is, within the bounds,
// for every group, and their intervals hold it.
func TestMeansAreNear(t *testing.T) {
	q := Query{
		Kind: Mean, Epsilon: 20, Neighbors: dp.AddRemove, Column: "age", Lower: -1, Upper: 3, By: "city", Keys: []string{"a", "b"},
	}.normal()
	want := []float64{2.25, -0.5}
	var rows [][]string
	for i := range 2000 {
		for g, city := range q.Keys {
			rows = append(rows, []string{fmt.Sprint(i), city, fmt.Sprint(want[g] + 0.5*float64(i%2*2-1))})
		}
	}
	d := read(t, q, rows)
	pair, err := newPair(q)
	if err != nil {
		t.Fatal(err)
	}
	split, err := newSplit(t.Context(), q, laplaceSource)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*means{"pair": pair, "split": split} {
		out, err := m.mechanism().answer(d.tallies)
		if err != nil {
			t.Fatal(err)
		}
		for g, e := range out {
			if math.Abs(e.Value-want[g]) > 0.05 || e.Lower < want[g]-0.1 || e.Upper > want[g]+0.1 || e.Lower > e.Value || e.Upper < e.Value {
				t.Errorf("%s: group %s: %v from %v to %v, want %v", name, q.Keys[g], e.Value, e.Lower, e.Upper, want[g])
			}
		}
	}
}

// TestNobodysRows: a row without the person whose it is counts for nobody, wherever the column stands.
func TestNobodysRows(t *testing.T) {
	for _, columns := range [][]string{{"id", "age"}, {"age", "id"}} {
		for _, blank := range []string{"", " ", "\t"} {
			for _, missing := range []string{"", "drop"} {
				q := Query{Kind: Count, Epsilon: 1, Neighbors: dp.AddRemove, Person: "id", MaxPerPerson: 2, Missing: missing}
				row := []string{blank, "7"}
				if columns[0] == "age" {
					row = []string{"7", blank}
				}
				d, err := Read(&records{columns: columns, rows: [][]string{row, row}}, q)
				if err == nil && d.tallies[0].n != 0 || err != nil && missing == "drop" {
					t.Errorf("columns %v, person %q: %v", columns, blank, err)
				}
			}
		}
	}
}
