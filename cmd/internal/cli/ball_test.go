// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/cmd/internal/joint"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
)

// TestBallsAreNotAboveOthers: designs where there is next to nothing to win lose no more than any joint noise that compare shows,
// whose losses are off by some parts in a million.
func TestBallsAreNotAboveOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds")
	}
	for _, c := range []struct {
		d              int
		epsilon, delta float64
		loss           loss.Loss
	}{
		{2, 0.1, 1e-6, loss.L1},
		{3, 1, 1e-6, loss.L1},
		{5, 1, 1e-9, loss.L2},
		{8, 0.1, 1e-6, loss.L2},
	} {
		p := ball.Problem{Dimension: c.d, Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: 1}, Loss: c.loss}
		v, err := lp.DesignBall(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		loses, _ := v.Certificate().ExpectedLoss.Float64()
		power, _ := p.Power()
		for _, other := range joint.Baselines(c.d, p.Privacy, power) {
			if loses > other.Loss*(1+1e-5) {
				t.Errorf("%+v: %v, and %s %v", c, loses, other.Name, other.Loss)
			}
		}
	}
}
