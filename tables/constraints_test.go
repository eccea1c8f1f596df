// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"errors"
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// TestMonotoneHolds0: noise that falls from a point beside 0 on is not monotone,
// for it rises from 0 to there.
func TestMonotoneHolds0(t *testing.T) {
	const q = 1 << 61
	for _, c := range []struct {
		weights  []uint64
		first    int
		offset   int64
		monotone bool
	}{
		{[]uint64{4 * q, 2 * q, q, q}, 0, -1, true},  // -2 … 0
		{[]uint64{4 * q, 2 * q, q, q}, 0, 1, true},   // 0 … 2
		{[]uint64{4 * q, 2 * q, q, q}, 0, 2, false},  // 1 … 3
		{[]uint64{4 * q, 2 * q, q, q}, 3, 0, false},  // cells 3 … 6
		{[]uint64{q, q, 2 * q, 4 * q}, -3, 1, true},  // ends with 0 … 2
		{[]uint64{q, q, 2 * q, 4 * q}, -3, -1, true}, // ends with -2 … 0
		{[]uint64{q, q, 2 * q, 4 * q}, -3, -2, false},
		{[]uint64{0, 4 * q, 2 * q, q, q}, 0, 0, false}, // no weight at 0
		{[]uint64{q, q, 2 * q, 4 * q, 0}, -4, 0, false},
	} {
		tab := mustTable(t, Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 3, Delta: 0.99, Sensitivity: 1}, Loss: loss.L1, Constraints: dp.Constraints{Monotone: true}},
			Grid:    Grid{PointsPerCell: 3, CellsPerSensitivity: 1, FirstCell: c.first, Offset: c.offset},
			Weights: c.weights,
		})
		if _, err := tab.Verify(); errors.Is(err, proof.ErrFalseClaim) == c.monotone {
			t.Errorf("weights %v from cell %d, offset %d: %v, want monotone = %v", c.weights, c.first, c.offset, err, c.monotone)
		}
	}
}

// counted counts how often its growth is asked for.
type counted struct {
	loss.Loss
	calls *int
}

func (c counted) Growth(j int64, step *big.Rat) *big.Rat {
	*c.calls++
	return c.Loss.Growth(j, step)
}

// TestLowerBoundAsksForGrowthSeldom: the loss falls on 5000 nodes, and has its
// least value, which is the bound without multipliers, at the last of them.
func TestLowerBoundAsksForGrowthSeldom(t *testing.T) {
	loss, err := loss.Parse("l1 + pwl:-inf,-2;5000,2")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	d := &Dual{CellsPerSensitivity: 1}
	bound := d.LowerBound(dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: counted{loss, &calls}})
	if bound.Cmp(big.NewRat(5000, 1)) != 0 {
		t.Errorf("bound = %s, want 5000", bound)
	}
	if calls > 20 {
		t.Errorf("%d calls of Growth, want at most 20", calls)
	}

	// A multiplier of the mean that outweighs the loss: no walk, and no bound.
	calls = 0
	d.Mean = -10
	p := dp.Problem{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: counted{loss, &calls},
		Constraints: dp.Constraints{Unbiased: true},
	}
	if bound := d.LowerBound(p); bound.Sign() != 0 || calls > 1 {
		t.Errorf("bound = %s after %d calls, want 0 after 1", bound, calls)
	}
}
