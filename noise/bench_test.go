// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"fmt"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// BenchmarkBaselines builds each baseline and evaluates its closed form: the work
// of one row of a comparison.
func BenchmarkBaselines(b *testing.B) {
	p := dp.Privacy{Epsilon: 0.5, Delta: 1e-6, Sensitivity: 1}
	for _, baseline := range Baselines() {
		b.Run(baseline.Name, func(b *testing.B) {
			for b.Loop() {
				m, err := baseline.New(p, loss.L1)
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := m.ExpectedLoss(loss.L1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNumericalLoss is the same work for a loss without a closed form.
func BenchmarkNumericalLoss(b *testing.B) {
	for _, epsilon := range []float64{0.01, 1} {
		p := dp.Privacy{Epsilon: epsilon, Delta: 1e-6, Sensitivity: 1}
		for _, baseline := range Baselines() {
			m, err := baseline.New(p, loss.L1)
			if err != nil {
				continue
			}
			b.Run(fmt.Sprintf("%s/epsilon=%g", baseline.Name, epsilon), func(b *testing.B) {
				var relative float64
				for b.Loop() {
					value, bound, err := m.ExpectedLoss(opaque{loss.L1})
					if err != nil {
						b.Fatal(err)
					}
					relative = bound / value
				}
				b.ReportMetric(relative*1e15, "relative-error-e15")
			})
		}
	}
}
