// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"testing"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// TestBound: certified gaps, and sensitivities that scale what is proved.
func TestBound(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds")
	}
	for _, c := range []struct {
		dimension      int
		epsilon, delta float64
		loss           loss.Loss
		gap            float64
	}{
		{2, 1, 0.1, loss.L2, 0.01},
		{3, 1, 0.1, loss.L2, 0.01},
		{2, 5, 0.01, loss.L1, 0.03},
	} {
		p := ball.Problem{Dimension: c.dimension, Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: 3}, Loss: c.loss}
		noise, err := Design(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Bound(t.Context(), noise)
		if err != nil {
			t.Fatal(err)
		}
		loses, _ := v.Certificate().ExpectedLoss.Float64()
		least, _ := v.Certificate().LowerBound.Float64()
		if gap := 1 - least/loses; gap < 0 || gap > c.gap {
			t.Errorf("%+v: a gap of %v", c, gap)
		}
	}
}
