// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/powers"
	"github.com/noisewright/noisewright/tables"
)

// TestEveryBound: of each seventh pair of bounds for sums, and of the outermost, the innermost and 24 others for means: whatever bounds come out of the noise, there is an answer within them, with the noise and the cost that were charged
// before: of a unit's sensitivity within them, and of no table that is looked for when it is too late.
func TestEveryBound(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	queries := []Query{{Kind: Sum}, {Kind: Mean}, {Kind: Mean, Also: []Kind{Count, Sum}}}
	for _, q := range queries[:3:3] {
		q.Neighbors, q.StrictNotPrivate = dp.Replace, true // the number of rows is public
		queries = append(queries, q)
	}
	queries = append(queries, Query{Kind: Mean, Epsilon: 40}) // of a sum and a count
	for _, q := range queries {
		q.Column, q.Bounds = "value", privateBounds
		if q.Epsilon == 0 {
			q.Epsilon = 1
		}
		if q.Neighbors == "" {
			q.Neighbors = dp.AddRemove
		}
		planned := false
		source := func(ctx context.Context, p dp.Problem, uses int) (*tables.Verified, error) {
			if planned {
				t.Errorf("%s: a table is looked for after bounds were drawn", q.Text())
			}
			return laplaceSource(ctx, p, uses)
		}
		q := q.normal()
		own := q
		own.Bounds, own.Lower, own.Upper = "", 0, 1
		within, m, err := newScalable(t.Context(), own, source)
		if err != nil {
			t.Fatal(err)
		}
		planned = true
		every := 7
		if q.Kind == Mean {
			every = 400 // some 40 ms each
		}
		tried := 0
		for lower := 0; lower <= powers.Zero; lower++ {
			for upper := powers.Zero; upper < powers.Bins; upper++ {
				ends := (lower == 0 || lower >= powers.Zero-1) && (upper <= powers.Zero+1 || upper == powers.Bins-1)
				if lower == upper || !ends && (lower*len(queries)+upper)%every != 0 {
					continue
				}
				tried++
				low, high := -powers.Power(powers.Zero-lower), powers.Power(upper-powers.Zero)
				bounded, err := within(low, high)
				if err != nil {
					t.Fatalf("%s: from %g to %g: %v", q.Text(), low, high, err)
				}
				if bounded.cost.Epsilon != m.cost.Epsilon || bounded.cost.Table != m.cost.Table || bounded.cost.Times != m.cost.Times || bounded.before.Times != 0 {
					t.Fatalf("%s: from %g to %g: costs %+v, charged %+v", q.Text(), low, high, bounded.cost, m.cost)
				}
				if !ends && q.Kind == Sum && tried%40 != 0 {
					continue
				}
				b := newBins()
				for _, v := range []float64{0, 1, -3, 1e-9, powers.Largest, -powers.Largest, 17} {
					b.take(v)
				}
				out, err := bounded.answer([]tally{b.clipped(lower, upper)})
				if err != nil || len(out) != 1 || !(out[0].Lower <= out[0].Value && out[0].Value <= out[0].Upper) || math.IsInf(out[0].Value, 0) {
					t.Fatalf("%s: from %g to %g: %+v, %v", q.Text(), low, high, out, err)
				}
			}
		}
		t.Logf("%s also %v, %v: %d bounds", q.Kind, q.Also, q.Neighbors, tried)
	}
	// And the rule comes to no other bounds, whatever the counts.
	for _, v := range []float64{math.Inf(-1), -1e300, 0, 1e6, 1e300, math.MaxFloat64} {
		for _, at := range []int{0, powers.Zero, powers.Bins - 1, -1} {
			counts := make([]float64, powers.Bins)
			for i := range counts {
				if at < 0 || at == i {
					counts[i] = v
				}
			}
			if lower, upper := powers.Choose(counts, 0.2, 2); lower < 0 || lower > powers.Zero || upper < powers.Zero || upper >= powers.Bins || lower == upper {
				t.Errorf("counts of %g in bin %d: bins %d to %d", v, at, lower, upper)
			}
		}
	}
}
