// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// TestFinish: where finer grids cost little, designs end at about a quarter of a usual gap; those with little time, or with a
// small gap, end where they meet, and the result is about the gap that was asked for.
func TestFinish(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 0.1, Delta: 0.25, Sensitivity: 1}, Loss: loss.L2}
	reached := func(gap float64, limit time.Duration) float64 {
		s, ctx, cancel := meet.Options{Gap: gap, MaxCells: 1 << 16, TimeLimit: limit}.Begin(t.Context())
		defer cancel()
		_, o, err := Design(ctx, p, s)
		if err != nil || !o.Optimal || s.Options.Gap != gap {
			t.Fatalf("gap %g, limit %s: %+v, error %v, option %g", gap, limit, o, err, s.Options.Gap)
		}
		return o.Gap
	}
	if gap := reached(1e-3, 0); gap > 0.25e-3 {
		t.Errorf("gap %g, want a quarter of 0.1 %%", gap)
	}
	if gap := reached(1e-3, time.Second); gap < 0.25e-3 {
		t.Errorf("with little time a gap of %g, less than was asked for", gap)
	}
	if gap := reached(1e-4, 0); gap < 0.25e-4 {
		t.Errorf("a gap of %g, less than the small one that was asked for", gap)
	}
}

// TestAllowance: programs beyond what was asked for are begun as long as there is work left for them.
func TestAllowance(t *testing.T) {
	d, err := newDesigner(dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: loss.L2}, new(meet.Search))
	if err != nil {
		t.Fatal(err)
	}
	g := d.lower.bound.extent(10, 2)
	if err := d.allow(&d.lower, g); err != nil || d.allowance != 0 {
		t.Errorf("without a limit: %v, %g left", err, d.allowance)
	}
	d.allowance = 1e6
	begun := 0
	for before := d.allowance; d.allow(&d.lower, g) == nil; before = d.allowance {
		if begun++; d.allowance >= before || d.allowance <= 0 {
			t.Fatalf("%g left of %g", d.allowance, before)
		}
	}
	if begun == 0 || d.allowance == 0 {
		t.Errorf("%d programs begun, %g left", begun, d.allowance)
	}
}
