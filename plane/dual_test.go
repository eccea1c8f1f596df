// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"reflect"
	"testing"
)

// TestDualAdd: multipliers of one shift and line of nodes make one run, with zeros where none were added.
func TestDualAdd(t *testing.T) {
	var d Dual
	for _, c := range []struct {
		shift, node [2]int
		y           int64
	}{
		{[2]int{1, 0}, [2]int{0, 2}, 5},
		{[2]int{1, 0}, [2]int{0, 3}, 6},
		{[2]int{1, 0}, [2]int{0, 6}, 7},
		{[2]int{1, 0}, [2]int{1, -1}, 8},
		{[2]int{1, 1}, [2]int{1, 0}, 9},
		{[2]int{2, 1}, [2]int{1, 0}, 10},
	} {
		d.Add(c.shift, c.node, c.y)
	}
	want := []dualShift{
		{X: 1, Y: 0, Rows: []dualRow{{0, 2, []int64{5, 6, 0, 0, 7}}, {1, -1, []int64{8}}}},
		{X: 1, Y: 1, Rows: []dualRow{{1, 0, []int64{9}}}},
		{X: 2, Y: 1, Rows: []dualRow{{1, 0, []int64{10}}}},
	}
	if !reflect.DeepEqual(d.Shifts, want) {
		t.Errorf("%+v, want %+v", d.Shifts, want)
	}
}
