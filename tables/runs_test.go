// SPDX-License-Identifier: Apache-2.0

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

// TestBothSidesOfRuns: where the divergences are computed by runs, they are those of the shifts in either
// direction; and with a tail, which no runs of the cells show, those of the whole law.
func TestBothSidesOfRuns(t *testing.T) {
	const k = 200
	runs := func(list ...uint64) (weights []uint64) {
		for _, w := range list {
			weights = append(weights, slices.Repeat([]uint64{w << 48}, k)...)
		}
		left := uint64(0)
		for _, w := range weights {
			left -= w
		}
		weights[2*k] += left // the rest in a cell
		return weights
	}
	negative := map[bool]int{}
	for _, weights := range [][]uint64{runs(1, 30, 40, 20, 10), runs(10, 20, 40, 30, 1), runs(3, 3, 3, 50, 2), runs(2, 50, 3, 3, 3)} {
		for _, ratio := range []uint64{0, 1 << 63} {
			s := threeCells(1)
			s.Weights, s.TailRatio, s.Epsilon = weights, ratio, 0.7
			s.Grid.CellsPerSensitivity, s.Grid.FirstCell = k, -2*k
			work, few := fewRuns(ends(weights), len(weights), k)
			if !few {
				t.Fatalf("runs %v are not few, work %d", ends(weights), work)
			}
			r := exact.RatioDown(s.Epsilon)
			deltas, down := s.shiftDeltas(r, nil)
			mirrored := s
			mirrored.Weights = slices.Clone(weights)
			slices.Reverse(mirrored.Weights)
			for shift := 1; shift <= k; shift++ {
				up, back := hockeyStick(s.Weights, shift, r), hockeyStick(s.Weights, -shift, r)
				if ratio > 0 {
					up, back = s.unroll().hockeyStick(shift, r), mirrored.unroll().hockeyStick(shift, r)
				}
				want, back2 := up, back.Cmp(up) > 0
				if back2 {
					want = back
				}
				if ratio > 0 {
					want = new(big.Int).Set(want)
					exact.ShiftUp(want, 64)
				}
				if deltas[shift-1].Cmp(want) != 0 || down[shift-1] != back2 {
					t.Fatalf("ratio %#x, shift %d: %v, negative %t, want %v and %t", ratio, shift, deltas[shift-1], down[shift-1], want, back2)
				}
				negative[back2]++
			}
		}
	}
	if negative[true] < k || negative[false] < k {
		t.Errorf("the larger sides: %v", negative)
	}
}
