// SPDX-License-Identifier: Apache-2.0

package encoders

import (
	"reflect"
	"testing"

	"github.com/noisewright/noisewright/encoder"
)

func TestPick(t *testing.T) {
	d := Data{
		Features: []string{"a", "b"}, X: encoder.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: []float64{1, 2, 3, 4, 5, 6}},
		Target:  Column{Name: "y", Values: []float64{10, 20, 30}},
		Private: []Column{{Name: "c", Classes: []string{"no", "yes"}, Labels: []int{0, 1, 1}}},
	}
	want := Data{
		Features: d.Features, X: encoder.Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float64{5, 6, 1, 2}},
		Target:  Column{Name: "y", Values: []float64{30, 10}},
		Private: []Column{{Name: "c", Classes: []string{"no", "yes"}, Labels: []int{1, 0}}},
	}
	if got := *d.Pick([]int{2, 0}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
