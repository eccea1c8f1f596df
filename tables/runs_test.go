package tables

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

// TestRunsAreTheirCells compares divergences by runs with those by cells, for all shifts and
// random runs, and wants runs to be used where they are few.
func TestRunsAreTheirCells(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 5))
	for k := range 300 {
		var weights []uint64
		for range 1 + random.IntN(8) {
			w := random.Uint64() >> (4 + random.IntN(50))
			if random.IntN(5) == 0 {
				w = 0
			}
			for range 1 + random.IntN(12) {
				weights = append(weights, w)
			}
		}
		r := exact.RatioDown(3 * random.Float64())
		last := 1 + random.IntN(len(weights))
		s := Spec{Weights: weights}
		for side, negative := range []bool{false, true} {
			got := s.byRuns(negative, ends(weights), r, last)
			for shift := 1; shift <= last; shift++ {
				want := hockeyStick(weights, shift*(1-2*side), r)
				if got(shift).Cmp(want) != 0 {
					t.Fatalf("weights %d, %d, shift %d, negative %t: %s, want %s", k, weights, shift, negative, got(shift), want)
				}
			}
		}
	}
	// A sensitivity that is longer than the table.
	long := Spec{Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Loss: loss.L1}, Weights: slices.Repeat([]uint64{1 << 54}, 1024)}
	long.Grid = Grid{GranularityExponent: -10, PointsPerCell: 1, CellsPerSensitivity: 1200, FirstCell: -512}
	table, err := New(long)
	if err != nil {
		t.Fatal(err)
	}
	if c := table.Certify(); c.DeltaUpper.Cmp(big.NewRat(1, 1)) != 0 || c.WorstShift != 1024 {
		t.Errorf("a shift by more cells than there are: delta %s at %d, want 1 at 1024", c.DeltaUpper, c.WorstShift)
	}
	weights := slices.Concat(slices.Repeat([]uint64{1}, 20000), slices.Repeat([]uint64{7}, 4000), slices.Repeat([]uint64{1}, 20000))
	if work, few := fewRuns(ends(weights), len(weights), 11000); !few || work > 1e6 {
		t.Errorf("three runs: %t, work %d", few, work)
	}
	if _, few := fewRuns(ends([]uint64{1, 2, 3, 4}), 4, 3); few {
		t.Error("cells of their own count as few runs")
	}
}
