// SPDX-License-Identifier: Apache-2.0

package encoder

import (
	"testing"

	"github.com/noisewright/noisewright/latent/bundle"
)

// BenchmarkRelease draws for a batch of 64 people with two numbers each, by kind.
func BenchmarkRelease(b *testing.B) {
	for _, kind := range private {
		b.Run(string(kind), func(b *testing.B) {
			n, err := NewNoise(b.Context(), kind, Body{BestDomain(kind), 1, 2}, bundle.Promise{Epsilon: 5, Delta: 1e-6}, truncated)
			if err != nil {
				b.Fatal(err)
			}
			u, r := make([]float64, 128), random(1)
			for b.Loop() {
				n.Release(u, make([]float64, 128), r)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(128*b.N), "ns/number")
		})
	}
}
