// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"testing"

	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// TestBegunBelow: a search that time ends before its first round has a bound at delta > 0 that is near that
// of delta = 0.
func TestBegunBelow(t *testing.T) {
	for _, objective := range []local.Objective{local.Mean, local.Worst} {
		p := Problem{
			Epsilon: 1, Delta: 1e-6, Objective: objective, Loss: loss.L2,
			Values: local.Values{Kind: local.Real, Lower: 0, Upper: 1}, Demands: local.Demands{Unbiased: true},
		}
		s, _, cancel := meet.Options{Gap: 0.01, MaxCells: 100}.Begin(t.Context())
		defer cancel()
		d := &designer{Search: *s, model: newModel(p), expected: firstGap}
		d.begin(t.Context())
		if err := d.beginBelow(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		weak := d.Bound
		over, end := context.WithCancel(t.Context())
		end()
		if err := d.beginBelow(over, true); err != nil {
			t.Fatal(err)
		}
		if weak <= 0 || d.Bound < 4*weak || d.Gap() > 0.25 || d.Bound > d.Best || !d.dual.Product {
			t.Errorf("%s: [%g, %g], and %g before", objective, d.Bound, d.Best, weak)
		}
	}
}
