// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"math"
	"testing"
)

// TestMinimum: inside, at either end, and beside a stretch where the function is infinite.
func TestMinimum(t *testing.T) {
	for _, c := range []struct {
		f    func(float64) float64
		want float64
	}{
		{func(x float64) float64 { return math.Abs(x - 0.3) }, 0.3},
		{func(x float64) float64 { return x }, -1},
		{func(x float64) float64 { return -x }, 2},
		{func(x float64) float64 { return map[bool]float64{true: math.Inf(1), false: -x}[x > 0] }, 0},
	} {
		at, least := Minimum(c.f, -1, 2, 40)
		if math.Abs(at-c.want) > 1e-6 || math.Abs(least-c.f(c.want)) > 1e-6 {
			t.Errorf("%v at %v, want %v", least, at, c.want)
		}
	}
}
