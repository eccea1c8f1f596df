// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"slices"
	"testing"
)

// TestConstantColumns: the sum of ten times a tenth of 0.1 is not 0.1, and what is left would
// be divided by itself.
func TestConstantColumns(t *testing.T) {
	x := NewMatrix(10, 2)
	for i := range x.Rows {
		x.Data[2*i], x.Data[2*i+1] = 0.1, float64(i%2)
	}
	mean, deviation := Moments(x)
	if !slices.Equal(mean, []float64{0.1, 0.5}) || !slices.Equal(deviation, []float64{0, 0.5}) {
		t.Errorf("means %v, deviations %v, want 0.1, 0.5 and 0, 0.5", mean, deviation)
	}
	if d := Standardize(x).Scale; !slices.Equal(d, []float64{1, 0.5}) {
		t.Errorf("divided by %v, want 1 and 0.5", d)
	}
	if p := Pick(x, []int{3, 2}); !slices.Equal(p.Data, []float64{0.1, 1, 0.1, 0}) || p.Rows != 2 {
		t.Errorf("picked %v", p)
	}
}
