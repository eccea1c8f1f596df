// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// BenchmarkDecode answers a table of 10^6 cells, and the tables of its attributes.
func BenchmarkDecode(b *testing.B) {
	p := made(b, Spec{
		Budget: dp.Budget{Epsilon: 1}, Neighbors: dp.AddRemove, MaxPerPerson: 1,
		Workload:     Workload{Kind: Marginals, Attributes: attributes(1000, 1000), Sets: [][]int{{0}, {1}, {0, 1}}},
		Measurements: []Measurement{{Kind: Partition, Attributes: &[]int{0, 1}, Weight: 1, Noise: geometric(b, 1)}},
	})
	y := make([]int64, p.Measurements())
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Decode(y, func(float64) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
