// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestMirroredParts: a part turned around, by itself and as a piecewise part of a sum, has the bounds of the loss itself on the
// other side of 0.
func TestMirroredParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	power := must2(Parse("lp:3"))
	for range 20 {
		l, _ := randomPiecewise(rng)
		step := testSteps[rng.IntN(len(testSteps))]
		turned := part{opaque{l}, 2, -1}.alone()
		sum := must2(add("sum", []Loss{&combination{"sum", []part{{l, 2, -1}, {power, 1, 1}}, false}}))
		for range 10 {
			j := rng.Int64N(60) - 30
			twice := func(v *big.Rat) *big.Rat { return v.Add(v, v) }
			x, minus := multipleOf(j, step), multipleOf(-j, step)
			for _, c := range []struct {
				what      string
				got, want *big.Rat
			}{
				{"value", turned.AtDown(x), twice(l.AtDown(minus))},
				{"grid mean", turned.GridMeanUp(j, 9, step), twice(l.GridMeanUp(-j-8, 9, step))},
				{"ramp", turned.RampMeanUp(x, step), twice(l.RampMeanUp(minus, new(big.Rat).Neg(step)))},
				{"node", turned.LowerNode(j, step), twice(l.LowerNode(-j, step))},
				{"value in a sum", sum.AtDown(x), new(big.Rat).Add(twice(l.AtDown(minus)), power.AtDown(x))},
				{"grid mean in a sum", sum.GridMeanUp(j, 9, step), new(big.Rat).Add(twice(l.GridMeanUp(-j-8, 9, step)), power.GridMeanUp(j, 9, step))},
			} {
				if c.got.Cmp(c.want) != 0 {
					t.Fatalf("%v turned, step %s, %d: %s %s, want %s", l, step, j, c.what, c.got, c.want)
				}
			}
			if j != 0 {
				if got, want := turned.Growth(j, step), twice(l.Growth(-j, step)); got.Cmp(want) != 0 {
					t.Fatalf("%v turned, step %s: Growth(%d) = %s, want %s", l, step, j, got, want)
				}
			}
		}
	}
}

// TestSymmetryOfSums: sums are known as symmetric where all terms are.
func TestSymmetryOfSums(t *testing.T) {
	for name, want := range map[string]bool{"l1 + lp:1.5": true, "lp:3 + lp:1.5": true, "lp:3 + pinball:0.2": false, "pinball:0.2 + lp:3": false} {
		if got := must2(Parse(name)).Symmetric(); got != want {
			t.Errorf("%s: symmetric %t, want %t", name, got, want)
		}
	}
}
