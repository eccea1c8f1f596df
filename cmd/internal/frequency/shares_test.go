// SPDX-License-Identifier: Apache-2.0

package frequency

import (
	"math"
	"testing"
)

// TestShares: their total variances over the least one there is, as computed by a program of others;
// none is below it.
func TestShares(t *testing.T) {
	least := func(k, epsilon float64) float64 {
		e, v := math.Exp(epsilon), math.Inf(1)
		for d := 1.0; d < k; d++ {
			v = min(v, (k-1)*(k-1)*(d*e+k-d)*(d*e+k-d)/(k*d*(k-d)*(e-1)*(e-1))-(k-1)/k)
		}
		return v
	}
	for _, c := range []struct {
		k       int64
		epsilon float64
		ratios  []float64
	}{
		{10, 1, []float64{1.407306, 1.299714, 1.3461, 1.57459, 1.30819, 1.068487}},
		{200, 3, []float64{3.046456, 1.056237, 1.731224, 5.692059, 1.055633, 1.027961}},
		{1000, 2, []float64{34.34791, 1.004775, 1.27585, 2.387782, 1.005413, 1.004406}},
	} {
		for i, b := range Shares(c.k, c.epsilon) {
			total, largest := b.Variances(c.k)
			if got := total / least(float64(c.k), c.epsilon); math.Abs(got-c.ratios[i]) > 2e-6*got {
				t.Errorf("%s, %d categories, epsilon %g: %.7g times the least variance, want %g", b.Name, c.k, c.epsilon, got, c.ratios[i])
			}
			if !(largest > total/float64(c.k+1)) || largest > total {
				t.Errorf("%s: a largest variance of %g in a total of %g", b.Name, largest, total)
			}
		}
	}
	for _, k := range []int64{2, 3, 60, 5000} {
		for _, epsilon := range []float64{0.01, 1, 5, 10} {
			for _, b := range Shares(k, epsilon) {
				if total, _ := b.Variances(k); !(total >= least(float64(k), epsilon)*(1-1e-9)) {
					t.Errorf("%s, %d categories, epsilon %g: %g is below the least variance", b.Name, k, epsilon, total)
				}
			}
		}
	}
}
