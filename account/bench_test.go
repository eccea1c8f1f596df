// SPDX-License-Identifier: Apache-2.0

package account

import "testing"

// A composition and its epsilon at delta = 0.01, in ms/op.
func BenchmarkEpsilon(b *testing.B) {
	text := func(s string) *PrivacyLossDistribution { return must(b)(parse(s)) }
	for _, x := range []struct {
		name     string
		releases []Release
	}{
		{"table-0.1-1e-9-x1000", []Release{{mustTable(b, readTable(b, "table-0.1-1e-9")), 1000}}},
		{"table-1-1e-6-x1000", []Release{{mustTable(b, readTable(b, "table-1-1e-6")), 1000}}},
		{"gaussian-30-x1000", []Release{{text("gaussian:sigma=30"), 1000}}},
		{"mixture-x1000", []Release{
			{text("gaussian:sigma=30"), 200},
			{text("laplace:epsilon=0.05"), 200},
			{text("discrete-gaussian:sigma=40"), 200},
			{text("randomized-response:epsilon=0.02,categories=4"), 200},
			{mustTable(b, readTable(b, "table-0.1-1e-9")), 200},
		}},
	} {
		b.Run(x.name, func(b *testing.B) {
			c, err := Compose(x.releases, Options{})
			if err != nil {
				b.Fatal(err)
			}
			var e Bounds
			for b.Loop() {
				if e, err = c.Epsilon(0.01); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
			b.ReportMetric((e.Upper-e.Lower)/e.Upper, "width")
		})
	}
}
