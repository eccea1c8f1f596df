// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"math"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// threeLaws has cells below 0, from 0 on and from 9 points on: the noise of the outer ones is on the halves of
// 2000 bins, and that between on both.
func threeLaws(sensitivity float64) Spec {
	const bins = 1 << 11
	even := slices.Repeat([]uint64{1 << 53}, bins)
	left := append(slices.Repeat([]uint64{1 << 54}, bins/2), make([]uint64, bins/2)...)
	right := slices.Clone(left)
	slices.Reverse(right)
	return Spec{
		Privacy: dp.Privacy{Delta: 0.9, Sensitivity: sensitivity}, Loss: loss.L1,
		Edges: []float64{math.Inf(-1), 0, 9, math.Inf(1)}, Weight: []float64{1, 1, 1},
		Grid: Grid{PointsPerBin: 1, FirstBin: -bins / 2}, Rows: [][]uint64{left, even, right},
	}
}

// TestCellsAtTheSensitivity: two cells are compared from the sensitivity on at which a value of one has a
// neighbor in the other, if it is but one, and the sensitivity a unit in the last place longer than a
// whole number of points is one more.
func TestCellsAtTheSensitivity(t *testing.T) {
	// The values nearest to each other of the outer cells are -1 and 9.
	for _, test := range []struct {
		sensitivity float64
		both        bool
	}{{9, false}, {math.Nextafter(9, 10), true}, {10, true}, {11, true}} {
		k, err := New(threeLaws(test.sensitivity))
		if err != nil {
			t.Fatal(err)
		}
		found, _ := k.Certify().DeltaUpper.Float64()
		if both := found > 0.9; both != test.both || !both && math.Abs(found-0.5) > 0.01 {
			t.Errorf("sensitivity %v: delta %v", test.sensitivity, found)
		}
	}
}
