// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// records are rows in memory.
type records struct {
	columns []string
	rows    [][]string
	at      int
}

func (r *records) Columns() []string { return r.columns }

func (r *records) Next() ([]string, int, error) {
	if r.at == len(r.rows) {
		return nil, 0, io.EOF
	}
	r.at++
	return r.rows[r.at-1], r.at + 1, nil
}

var testColumns = []string{"id", "city", "age"}

func read(t *testing.T, q Query, rows [][]string) *Data {
	t.Helper()
	d, err := Read(&records{columns: testColumns, rows: rows}, q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return d
}

// neighborQueries are queries whose sensitivity is bounded in all the different ways.
func neighborQueries() []Query {
	base := []Query{
		{Kind: Count},
		{Kind: Count, Where: "age >= 2"},
		{Kind: Count, By: "city", Keys: []string{"a", "b", "c"}},
		{Kind: Histogram, Column: "age", Edges: []float64{-1, 0, 1, 3}},
		{Kind: Sum, Column: "age", Lower: -1, Upper: 3},
		{Kind: Sum, Column: "age", Lower: 2, Upper: 3},
		{Kind: Sum, Column: "age", Lower: -3, Upper: -2, Where: `city != "a"`},
		{Kind: Sum, Column: "age", Lower: -1, Upper: 3, By: "city", Keys: []string{"a", "b"}},
		{Kind: Sum, Column: "age", Lower: 2, Upper: 3, Missing: middleMissing},
		{Kind: Sum, Column: "age", Lower: 2, Upper: 3, Missing: middleMissing, Where: `city != "a"`},
	}
	var out []Query
	for _, q := range base {
		q.Epsilon, q.Delta = 1, 1e-6
		for _, neighbors := range []string{dp.AddRemove, dp.Replace} {
			q.Neighbors = neighbors
			q.Person, q.MaxPerPerson = "", 0
			out = append(out, q)
			for _, most := range []int{1, 2, 3} {
				q.Person, q.MaxPerPerson = "id", most
				out = append(out, q)
			}
		}
	}
	return out
}

// TestNeighbors holds the exact answers of neighbors against the sensitivity and the
// number of groups that a plan counts on. All but the one who differs have as many rows
// as count at most, so that only that one's are chosen at random.
func TestNeighbors(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewPCG(1, 2))
	row := func(id int) []string {
		age := fmt.Sprint(r.IntN(9) - 4)
		switch r.IntN(8) {
		case 0:
			age = "?"
		case 1:
			return []string{fmt.Sprint(id)} // malformed
		}
		return []string{fmt.Sprint(id), string(rune('a' + r.IntN(4))), age}
	}
	for _, q := range neighborQueries() {
		q = q.normal()
		worst, groups := new(big.Rat), 0
		limit := q.sensitivity(new(big.Rat))
		if q.Kind == Count || q.Kind == Histogram {
			limit.SetInt64(q.most())
		}
		for range 800 {
			var rest [][]string
			for id := range 3 {
				rest = append(rest, row(id))
			}
			unit := func() (rows [][]string) {
				n := 1
				if q.Person != "" {
					n = r.IntN(5)
				}
				for range n {
					rows = append(rows, row(9))
				}
				return rows
			}
			before, after := slices.Concat(rest, unit()), slices.Concat(unit(), rest)
			if q.Neighbors == dp.AddRemove {
				after = rest
			}
			x, y := read(t, q, before), read(t, q, after)
			changed := 0
			for i := range x.tallies {
				d := difference(q, &x.tallies[i], &y.tallies[i])
				if d.Sign() != 0 {
					changed++
				}
				if d.Cmp(worst) > 0 {
					worst = d
				}
			}
			groups = max(groups, changed)
		}
		if worst.Cmp(limit) > 0 || groups > q.uses() {
			t.Errorf("%s: a unit changed %d groups by up to %v, want at most %d by %v", q.Text(), groups, worst, q.uses(), limit)
		}
		// The bounds are met, so that nobody adds more noise than needed, but where
		// values and groups would have to be extreme at once.
		if worst.Cmp(limit) < 0 && q.Kind != Sum || groups < q.uses() {
			t.Errorf("%s: a unit changed %d groups by up to %v, and not %d by %v", q.Text(), groups, worst, q.uses(), limit)
		}
	}
}

func difference(q Query, x, y *tally) *big.Rat {
	a, b := new(big.Rat).SetInt64(x.n), new(big.Rat).SetInt64(y.n)
	if q.Kind == Sum {
		a, _ = x.sum.Rat(nil)
		b, _ = y.sum.Rat(nil)
	}
	return a.Abs(a.Sub(a, b))
}

// TestIndexShift holds the scaled rounding against the shifts that a table covers.
func TestIndexShift(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		points := int64(r.IntN(500) + 1)
		sensitivity := big.NewRat(int64(r.IntN(1000)+1), int64(r.IntN(50)+1))
		n := &scaled{unit: new(big.Rat).Quo(sensitivity, big.NewRat(points, 1))}
		x := big.NewRat(r.Int64N(2_000_000)-1_000_000, int64(r.IntN(1000)+1))
		share := big.NewRat(int64(r.IntN(1001)), 1000) // the whole sensitivity among them
		y := new(big.Rat).Add(x, new(big.Rat).Mul(share, sensitivity))
		d := new(big.Int).Sub(n.index(y), n.index(x))
		if d.Sign() < 0 || d.Cmp(big.NewInt(points)) > 0 {
			t.Fatalf("%v and %v, sensitivity %v of %d points, are %v points apart", x, y, sensitivity, points, d)
		}
	}
}
