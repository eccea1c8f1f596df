// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// BenchmarkRanks ranks random words in lists of random elements; the tables of a sampler
// cost the same.
func BenchmarkRanks(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, m := range Methods() {
		for _, n := range []int{100, 2000, 10000} {
			b.Run(fmt.Sprintf("method=%v/elements=%d", m, n), func(b *testing.B) {
				b.ReportAllocs()
				sorted := make([]uint64, n)
				for i := range sorted {
					sorted[i] = rng.Uint64()
				}
				slices.Sort(sorted)
				var pairs [Batch * PairBytes]byte
				for i := range pairs {
					pairs[i] = byte(rng.Uint32())
				}
				l := NewWith(sorted, m)
				var ranks [Batch]uint32
				for b.Loop() {
					l.Ranks(&ranks, &pairs)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/Batch, "ns/word")
			})
		}
	}
}
