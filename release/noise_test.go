// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestNoiseIsAdded: answers scatter about the exact one as widely as the plan says. The means of 400 absolute
// errors of Laplace noise are off by a third with a probability below 1e-9.
func TestNoiseIsAdded(t *testing.T) {
	for _, q := range []Query{
		{Kind: Count},
		{Kind: Count, Person: "id", MaxPerPerson: 3},
		{Kind: Sum, Column: "age", Lower: -1, Upper: 9.5},
		{Kind: Sum, Column: "age", Lower: -1, Upper: 9.5, Neighbors: dp.Replace},
		{Kind: Sum, Column: "age", Lower: 0, Upper: 1000, By: "city", Keys: []string{"a", "b", "c"}},
		{Kind: Histogram, By: "city", Keys: []string{"a", "b"}, Neighbors: dp.Replace},
		{Kind: Histogram, Column: "age", Edges: []float64{0, 2, 5}},
		{Kind: Value, Sensitivity: 2.5},
		{Kind: Value, Sensitivity: 3, Integer: true},
	} {
		if testing.Short() && (q.Kind != Sum || q.By != "" || q.Neighbors != "") {
			continue // slow
		}
		if q.Neighbors == "" {
			q.Neighbors = dp.AddRemove
		}
		q.Epsilon = 1
		p, err := NewPlan(t.Context(), q, laplaceSource)
		if err != nil {
			t.Fatal(err)
		}
		var d *Data
		if q.Kind == Value {
			if d, err = dataOf(big.NewRat(17, 1), q); err != nil {
				t.Fatal(err)
			}
		} else {
			d = read(t, q, testRows)
		}
		q = q.normal()
		const draws = 400
		off := make([]float64, len(q.groups()))
		for range draws {
			out, err := p.Answer(d)
			if err != nil {
				t.Fatal(err)
			}
			for g, e := range out {
				exact := d.tallies[g].count()
				if q.Kind == Sum || q.Kind == Value {
					exact = d.tallies[g].total()
				}
				x, _ := exact.Float64()
				off[g] += math.Abs(e.Value-x) / draws
				if e.Lower > e.Value || e.Upper < e.Value || e.Upper-e.Lower < p.MeanError() || e.Upper-e.Lower > 20*p.MeanError() {
					t.Fatalf("%s: %+v, with a mean error of %g", q.Text(), e, p.MeanError())
				}
			}
		}
		for g, e := range off {
			if want := p.MeanError(); !(e > want*2/3 && e < want*4/3) {
				t.Errorf("%s: the mean error of group %d is %g, want %g", q.Text(), g, e, want)
			}
		}
	}
}

// TestMeansDiffer: of 200 means of the same rows many differ, however coarse their grid is, and none of
// the two sums is without noise.
func TestMeansDiffer(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, neighbors := range []string{dp.AddRemove, dp.Replace} {
		for _, person := range []string{"", "id", "public"} {
			q := Query{Kind: Mean, Column: "age", Lower: -1, Upper: 9.5, Neighbors: neighbors, Epsilon: 1}
			switch person {
			case "id":
				q.Person, q.MaxPerPerson = person, 2
			case "public": // the number of rows, if a row is replaced
				q.Missing = middleMissing
			}
			q = q.normal()
			d := read(t, q, testRows)
			p, err := NewPlan(t.Context(), q, laplaceSource)
			if err != nil {
				t.Fatal(err)
			}
			inside, seen := 0, make(map[string]bool)
			for range 200 {
				out, err := p.Answer(d)
				if err != nil {
					t.Fatal(err)
				}
				if e := out[0]; !(q.Lower <= e.Lower && e.Lower <= e.Value && e.Value <= e.Upper && e.Upper <= q.Upper) {
					t.Fatalf("%s: %+v", q.Text(), e)
				}
				if v := out[0].Value; v > q.Lower && v < q.Upper {
					inside++
					seen[fmt.Sprint(v)] = true
				}
			}
			if len(seen) < inside/2 || inside < 40 {
				t.Errorf("%s: %d different means of %d", q.Text(), len(seen), inside)
			}
		}
	}
	pair, err := newPair(Query{Kind: Mean, Epsilon: 1, Neighbors: dp.AddRemove, Column: "age", Lower: -1, Upper: 3}.normal())
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]*scaled{"first": pair.first, "second": pair.second} {
		values := make([]*big.Rat, 300)
		for i := range values {
			values[i] = big.NewRat(1, 3)
		}
		out, err := n.add(values)
		if err != nil {
			t.Fatal(err)
		}
		seen := make(map[string]bool)
		for _, x := range out {
			seen[x.String()] = true
		}
		if len(seen) < 200 {
			t.Errorf("the %s sum has %d values in 300 draws", name, len(seen))
		}
	}
}

// TestEqualNames: of two columns of one name none is the one that is asked for.
func TestEqualNames(t *testing.T) {
	good := Query{Kind: Sum, Column: "age", Lower: 0, Upper: 9, By: "city", Keys: []string{"a", "b"}, Person: "id", MaxPerPerson: 1, Epsilon: 1, Neighbors: dp.AddRemove}
	columns := []string{"id", "city", "age", "other"}
	for twice := range columns {
		for _, first := range []bool{true, false} {
			names, row := append([]string{}, columns...), []string{"1", "a", "3", "x"}
			if first {
				names, row = append([]string{columns[twice]}, names...), append([]string{"1"}, row...)
			} else {
				names, row = append(names, columns[twice]), append(row, "1")
			}
			_, err := Read(&records{columns: names, rows: [][]string{row}}, good)
			if asked := columns[twice] != "other"; (err != nil) != asked {
				t.Errorf("columns %v: %v", names, err)
			}
		}
	}
}
