// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"math"
	"math/big"
	"testing"
)

func TestNormalTail(t *testing.T) {
	for _, x := range []float64{0, 1e-9, 0.1, 0.5, 1, 2, 3.7, 6, 9, 12, 15.9, 16, 50} {
		r := Rational(x)
		low, high := NormalTail(r.Num(), r.Denom())
		lo, _ := new(big.Rat).SetInt(low).Float64()
		hi, _ := new(big.Rat).SetInt(high).Float64()
		want := math.Erfc(x/math.Sqrt2) / 2 * 0x1p160
		if lo > hi || hi-lo > 8 && hi/lo-1 > 1e-15 || want > hi*(1+1e-13)+1 || want < lo*(1-1e-13)-1 {
			t.Errorf("upper tail of %g: [%g, %g], want %g", x, lo, hi, want)
		}
	}
}
