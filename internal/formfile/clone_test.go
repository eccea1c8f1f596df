// SPDX-License-Identifier: Apache-2.0

package formfile

import (
	"math/big"
	"reflect"
	"testing"
)

// TestClone: nothing that a copy leads to is shared, but what an interface holds.
func TestClone(t *testing.T) {
	type part struct {
		List []int64
		Next *part
	}
	type whole struct {
		part
		Parts   []part
		Rows    [][]uint64
		Number  *big.Rat
		Numbers []*big.Rat
		Any     any
		None    []int
		Empty   []int
		nothing *part // not exported, shared
	}
	example := func() whole {
		return whole{
			part: part{List: []int64{1}}, Parts: []part{{[]int64{2}, &part{List: []int64{3}}}}, Rows: [][]uint64{{4}, nil},
			Number: big.NewRat(5, 6), Numbers: []*big.Rat{nil, big.NewRat(7, 8)}, Any: "a", Empty: []int{},
		}
	}
	x := example()
	c := Clone(x)
	if !reflect.DeepEqual(c, x) {
		t.Fatalf("%+v, want %+v", c, x)
	}
	c.Parts[0].List[0], c.Parts[0].Next.List[0], c.Rows[0][0] = 0, 0, 0
	c.Number.SetInt64(0)
	c.Numbers[1].SetInt64(0)
	if want := example(); !reflect.DeepEqual(x, want) {
		t.Errorf("a change of the copy made %+v of %+v", x, want)
	}
	if p := Clone((*part)(nil)); p != nil {
		t.Errorf("of nil: %+v", p)
	}
	if p := (&part{List: []int64{1}}); Clone(p) == p {
		t.Error("a pointer is copied as it is")
	}
}
