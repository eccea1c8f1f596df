// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// coarseBall is a bundle in a ball whose grid has steps of 2^exponent, with one axis as
// long as there is and the other as short.
func coarseBall(t *testing.T, exponent int) Spec {
	t.Helper()
	step := math.Ldexp(1, exponent)
	table := must(shapes.Laplace(dp.Problem{Privacy: dp.Privacy{Epsilon: 0.5, Sensitivity: step}, Loss: loss.L2},
		tables.Grid{GranularityExponent: exponent, PointsPerCell: 1, CellsPerSensitivity: 1}))
	s := plain(1, maxAxis, minAxis)
	s.Domain, s.Noise, s.Composition = Ball, noise.Laplace, jointL1
	s.Encoder.Data = []float64{limits.Magnitude, 0, 0, 1}
	s.Tables = []*tables.Table{table.Mechanism()}
	s.Promise = Promise{Epsilon: 50}
	return s
}

// An axis that is much smaller than a step is rounded off. Where the step over the axis
// is no float64 anything of it would be NaN, in no ball, and encoding would not end.
func TestCoarseSteps(t *testing.T) {
	_, err := New(coarseBall(t, 825))
	if err == nil || !strings.Contains(err.Error(), "tables[0] = one with steps of 2.237") {
		t.Errorf("steps of 2^825: %v, want tables[0] refused", err)
	}
	// The largest steps there may be, and those that the long axis has eight of.
	for _, exponent := range []int{199, 196} {
		b := must(New(coarseBall(t, exponent)))
		must(b.Verify(nil))
		step := math.Ldexp(1, exponent)
		for _, x := range [][]float64{{1, 2}, {1e60, -1e60}, {0x1p-140, 1}, {-limits.Magnitude, limits.Magnitude}, {maxAxis / limits.Magnitude, 2 + minAxis}} {
			done := make(chan []float64)
			go func() { done <- must(b.Encode(nil, x)) }()
			select {
			case u := <-done:
				if norm := math.Hypot(u[0]/maxAxis, u[1]/minAxis); !(norm <= 1) || u[0] != math.Trunc(u[0]/step)*step {
					t.Errorf("steps of 2^%d: %v is encoded as %v, of norm %v", exponent, x, u, norm)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("steps of 2^%d: encoding %v does not end", exponent, x)
			}
		}
	}
}
