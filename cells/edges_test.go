// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"math"
	"reflect"
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

// TestDualAdd: shifts are added one after another.
func TestDualAdd(t *testing.T) {
	var d Dual
	d.Add(Pair{Gain: 1, Lose: 2, Shift: 3}, -4, 5, []int64{6, 7}, 8)
	d.Add(Pair{Gain: 2, Lose: 1, Shift: -3}, 0, 0, []int64{9}, 1)
	if want := []dualShift{{1, 2, 3, -4, 5, 8, []int64{6, 7}}, {2, 1, -3, 0, 0, 1, []int64{9}}}; !reflect.DeepEqual(d.Shifts, want) {
		t.Errorf("%+v, want %+v", d.Shifts, want)
	}
}
