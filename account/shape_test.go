// SPDX-License-Identifier: Apache-2.0

package account

import (
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// TestGaussianShapeIsTight composes a table whose privacy losses lie anywhere, and
// not at multiples of its epsilon as those of designed tables do.
func TestGaussianShapeIsTight(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const (
		cells = 16 // per sensitivity
		sigma = 12.0
		half  = 1766 // 9.2 sigma
	)
	pmf := make([]float64, 2*half+1)
	total := 0.0
	for i := range pmf {
		x := float64(i-half) / cells / sigma
		pmf[i] = math.Exp(-x * x / 2)
		total += pmf[i]
	}
	for i := range pmf {
		pmf[i] /= total
	}
	weights, atom, err := tables.Quantize(pmf, 0)
	if err != nil {
		t.Fatal(err)
	}
	table, err := tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 0.3, Delta: 1e-3, Sensitivity: 1}, Loss: loss.L2},
		Grid:    tables.Grid{GranularityExponent: -24, PointsPerCell: 1<<20 + 1, CellsPerSensitivity: cells, FirstCell: -half},
		Weights: weights, Atom: atom,
	})
	if err != nil {
		t.Fatal(err)
	}
	epsilon := func(m *PrivacyLossDistribution, times int) Bounds {
		c, err := Compose([]Release{{m, times}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := c.Epsilon(1e-6)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, times := range []int{10, 1000} {
		e := epsilon(mustTable(t, table), times)
		// Normal noise, flat over cells of a 200th of its deviation.
		n := epsilon(must(t)(Gaussian(sigma)), times)
		if !(e.Lower >= 0.985*e.Upper) || !(math.Abs(e.Upper/n.Upper-1) < 0.01) {
			t.Errorf("%d releases: epsilon in [%g, %g], want a width below 1.5 %% and about %g", times, e.Lower, e.Upper, n.Upper)
		}
	}
}
