// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
)

// TestDifference: it is called exact only where it is.
func TestDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	exactly := 0
	for range 20000 {
		x := math.Ldexp(float64(r.Int64N(1<<53)-1<<52), r.IntN(60)-30)
		y := math.Ldexp(float64(r.Int64N(1<<r.IntN(54))), r.IntN(60)-30)
		d, ok := difference(x, y)
		want := exact.Rational(x)
		if same := want.Sub(want, exact.Rational(y)).Cmp(exact.Rational(d)) == 0; ok != same {
			t.Errorf("%g - %g = %g: exact %t, want %t", x, y, d, ok, same)
		} else if ok {
			exactly++
		}
	}
	if exactly < 1000 {
		t.Errorf("%d exact differences, want many", exactly)
	}
	if _, ok := difference(math.MaxFloat64, -math.MaxFloat64); ok {
		t.Error("an infinite difference is called exact")
	}
}
