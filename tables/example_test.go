// SPDX-License-Identifier: Apache-2.0

package tables_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// handmade is a small private table: seven cells of one unit, each three times as
// likely as its outer neighbor.
func handmade(query dp.Query) (*tables.Table, error) {
	const unit = (1 << 64) / 53
	grid := tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -3}
	switch query {
	case dp.RealQuery:
		grid.GranularityExponent, grid.PointsPerCell = -10, 1025 // just over one sensitivity
	case dp.LatticeQuery:
		grid.Unit, grid.PointsPerCell, grid.Offset = 0.1, 11, 2
	case dp.IntegerQuery:
	}
	return tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1.1, Delta: 0.02, Sensitivity: 1}, Query: query, Loss: loss.L1},
		Grid:    grid,
		Weights: []uint64{unit, 3 * unit, 9 * unit, (1 << 64) - 26*unit, 9 * unit, 3 * unit, unit},
	})
}

// A count of 1237 was released. Which values may it have been?
func ExampleTable_Interval() {
	table, err := handmade(dp.IntegerQuery)
	if err != nil {
		fmt.Println(err)
		return
	}
	lower, upper, err := table.Interval(1237, 0.9)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%g to %g, with a probability of at least 90%%\n", lower, upper)
	// Output: 1235 to 1239, with a probability of at least 90%
}

// The noise that 95 % of all draws do not exceed.
func ExampleTable_Quantile() {
	table, err := handmade(dp.IntegerQuery)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(table.Quantile(0.95))
	// Output: 2 <nil>
}

// TestIntervalCoversDraws releases values and counts how often the interval misses
// them. A side that misses with its nominal probability s, in n releases, does so
// more than c times with a probability of at most exp(-n·KL(c/n, s)) (Chernoff),
// which is 1e-9 for the c below: a false alarm. With n = 20,000 and s = 0.05 that is
// a rate of 0.0603 in place of 0.05.
func TestIntervalCoversDraws(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const n, level = 20_000, 0.9
	side := (1 - level) / 2
	limit := side
	for divergence := 0.0; n*divergence < math.Log(1e9); limit += 1.0 / n {
		divergence = limit*math.Log(limit/side) + (1-limit)*math.Log((1-limit)/(1-side))
	}
	rng := rand.New(rand.NewPCG(47, 48))
	for _, query := range []dp.Query{dp.RealQuery, dp.IntegerQuery, dp.LatticeQuery} {
		table, err := handmade(query)
		if err != nil {
			t.Fatal(err)
		}
		v, err := table.Verify()
		if err != nil {
			t.Fatal(err)
		}
		s, err := sampler.NewNoise(v, sampler.Options{Entropy: sampler.Deterministic([32]byte{9})})
		if err != nil {
			t.Fatal(err)
		}
		below, above := 0, 0
		for range n {
			x := 2000 * (rng.Float64() - 0.5)
			if query == dp.IntegerQuery {
				x = math.Round(x)
			}
			y, err := s.AddNoise(x)
			if err != nil {
				t.Fatal(err)
			}
			lower, upper, err := table.Interval(y, level)
			if err != nil {
				t.Fatal(err)
			}
			if x < lower {
				below++
			}
			if x > upper {
				above++
			}
		}
		if most := int(limit * n); below > most || above > most {
			t.Errorf("%s: %d of %d values are below their interval and %d above, want at most %d", query, below, n, above, most)
		}
	}
}
