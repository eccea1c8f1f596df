// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"math"
	"math/big"
	"testing"
)

func TestSplitGains(t *testing.T) {
	saturating := func(worth, rate float64) func(float64) float64 {
		return func(e float64) float64 { return worth * -math.Expm1(-rate*e*e) } // not concave
	}
	gains := []func(float64) float64{saturating(3, 0.2), saturating(2, 0.3), saturating(1e-3, 0.1), func(float64) float64 { return 0 }}
	for _, epsilon := range []float64{0.3, 2, 6, 0.1 + 0.2} {
		shares, err := SplitGains(t.Context(), gains, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		total, sum := 0., new(big.Rat)
		for i, e := range shares {
			if !(e >= 0) {
				t.Errorf("share %g", e)
			}
			total += gains[i](e)
			sum.Add(sum, new(big.Rat).SetFloat64(e))
		}
		if sum.Cmp(new(big.Rat).SetFloat64(epsilon)) > 0 {
			t.Errorf("epsilon %g: shares %v add up to more", epsilon, shares)
		}
		if shares[3] != 0 {
			t.Errorf("epsilon %g: %g for what gains nothing", epsilon, shares[3])
		}
		most := 0.
		const steps = 60
		for a := range steps + 1 {
			for b := range steps + 1 - a {
				x, y := epsilon*float64(a)/steps, epsilon*float64(b)/steps
				most = max(most, gains[0](x)+gains[1](y)+gains[2](epsilon-x-y))
			}
		}
		if !(total >= most*(1-1e-3)) {
			t.Errorf("epsilon %g: shares %v gain %g, by brute force %g", epsilon, shares, total, most)
		}
	}
	if shares, err := SplitGains(t.Context(), gains[3:], 1); err != nil || shares[0] != 0 {
		t.Errorf("nothing to gain: %v, %v", shares, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := SplitGains(ctx, gains, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
