// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"
	"math/big"
	"testing"
)

// TestTangent: the line touches the loss and is nowhere above it; losses that are not
// convex have none.
func TestTangent(t *testing.T) {
	for _, name := range []string{
		"l1", "l2", "l1:0.7", "lp:1", "lp:2", "lp:1.5", "lp:3", "lp:7.25:2", "pinball:0.9", "asymmetric:1,2", "huber:2", "deadzone:0.5",
		"pwl:-inf,-2;0,1;3,4", "l2 + lp:3", "l1:0.5 + huber:1", "asymmetric:1,2:0.25 + lp:1.5",
	} {
		l, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []float64{-50, -3, -2, -0.5, -1e-9, 0, 1e-9, 0.25, 1, 2, 3, 17} {
			value, slope, ok := Of(l).TangentDown(new(big.Rat).SetFloat64(x))
			if !ok {
				t.Fatalf("%s is not known to be convex", name)
			}
			if v, _ := value.Float64(); math.Abs(v-l.At(x)) > 1e-12*(1+l.At(x)) {
				t.Errorf("%s at %g: value %g, want %g", name, x, v, l.At(x))
			}
			for _, y := range []float64{-400, -51, -3, -1.999, -0.5, -1e-10, 0, 1e-5, 0.4, 0.5, 1, 2.5, 3, 16.99, 900} {
				at := new(big.Rat).Sub(new(big.Rat).SetFloat64(y), new(big.Rat).SetFloat64(x))
				line := at.Mul(at, slope).Add(at, value)
				c := l.RampMeanUp(new(big.Rat).SetFloat64(y), new(big.Rat).SetFloat64(y))
				if line.Cmp(c) > 0 {
					t.Errorf("%s: the line that touches at %g is above the loss at %g", name, x, y)
				}
			}
		}
	}
	for _, name := range []string{"exceed:1", "pwl:-inf,-1;0,2;3,1", "l1 + exceed:3:0.3", "lp:3 + exceed:1"} {
		l, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, ok := Of(l).TangentDown(new(big.Rat)); ok {
			t.Errorf("%s is taken for convex", name)
		}
	}
}
