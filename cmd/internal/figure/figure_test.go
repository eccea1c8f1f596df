// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"testing"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct{ lo, hi float64 }{{0, 1}, {-2.3, 2.3}, {-0.1, 5}, {0, 5.12}, {-1e9, 1e9}, {0, 3e-7}, {-1200, 1200}} {
		ticks := roundTicks(c.lo, c.hi)
		if len(ticks) < 3 || len(ticks) > mostTicks+1 {
			t.Errorf("%g to %g: %d ticks", c.lo, c.hi, len(ticks))
		}
		for _, k := range ticks {
			if k.Value < c.lo || k.Value > c.hi || len(k.Label) > 7 || k.Label == "-0" {
				t.Errorf("%g to %g: tick %q at %g", c.lo, c.hi, k.Label, k.Value)
			}
		}
	}
	for _, c := range []struct{ lo, hi float64 }{{-2, 0.3}, {-15, 1}, {-40, 3.5}} {
		labels := 0
		for _, k := range DecadeTicks(c.lo, c.hi) {
			if k.Label != "" {
				labels++
			}
		}
		if labels < 2 || labels > mostTicks+1 {
			t.Errorf("decades %g to %g: %d labels", c.lo, c.hi, labels)
		}
	}
}
