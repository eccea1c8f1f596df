// SPDX-License-Identifier: Apache-2.0

package frequency

import (
	"math"
	"testing"
)

// TestCounts holds variances of shares against the closed forms of Shares, and of
// prefix sums of two categories, which are one share, against that of a coin.
func TestCounts(t *testing.T) {
	for _, k := range []int{3, 9} {
		shares := make([][]float64, k)
		for j := range shares {
			shares[j] = make([]float64, k)
			shares[j][j] = 1
		}
		for _, epsilon := range []float64{0.3, 2} {
			list := Counts(epsilon, shares)
			want := math.Inf(1)
			for _, b := range Shares(int64(k), epsilon) {
				if total, _ := b.Variances(int64(k)); b.Name == "randomized-response" {
					want = total
				}
			}
			if math.Abs(list[0].TotalVariance/want-1) > 1e-9 {
				t.Errorf("%d shares at %g: randomized response has %g, want %g", k, epsilon, list[0].TotalVariance, want)
			}
			if list[1].TotalVariance > list[0].TotalVariance*(1+1e-12) {
				t.Errorf("%d shares at %g: the best size has %g, a size of 1 %g", k, epsilon, list[1].TotalVariance, list[0].TotalVariance)
			}
		}
	}
	// Of two categories, p the probability of the truth: p(1−p)/(2p−1)².
	const epsilon = 1.0
	p := math.E / (1 + math.E)
	for _, b := range Counts(epsilon, [][]float64{{1, 0}}) {
		if want := p * (1 - p) / ((2*p - 1) * (2*p - 1)); b.TotalVariance < want*(1-1e-12) || b.Name != "square-wave" && b.TotalVariance > want*(1+1e-12) {
			t.Errorf("%s: %g, want %g, which is the least", b.Name, b.TotalVariance, want)
		}
	}
	// The figure of docs/local.md.
	rows := make([][]float64, 13)
	for i := range rows {
		rows[i] = make([]float64, 14)
		for j := range i + 1 {
			rows[i][j] = 1
		}
	}
	for i, want := range []float64{191.9356, 109.0118, 151.6539} {
		if b := Counts(1, rows)[i]; math.Abs(b.TotalVariance-want) > 1e-4 {
			t.Errorf("%s: %g, want %g", b.Name, b.TotalVariance, want)
		}
	}
}
