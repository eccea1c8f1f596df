// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestEnds: programs that end where the noise does prove, with the multipliers beyond, what those
// that reach far do, and have as good noise among them.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		loss           string
		epsilon, delta float64
		query          dp.Query
		sensitivity    float64
		cells          int
	}{
		{"l2", 0.1, 0.75, dp.RealQuery, 1, 12},
		{"l2", 0.1, 0.02, dp.RealQuery, 1, 3},
		{"l1", 1, 0.1, dp.RealQuery, 1, 8},
		{"l2", 5, 0.01, dp.RealQuery, 1, 24},
		{"huber:2", 0.5, 0.05, dp.RealQuery, 1, 6},
		{"asymmetric:1,3", 0.7, 0.1, dp.RealQuery, 1, 6},
		{"pinball:0.9", 0.3, 0.1, dp.RealQuery, 1, 5},
		{"l2", 0.5, 0.1, dp.IntegerQuery, 7, 7},
	} {
		p := dp.Problem{Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: c.sensitivity}, Query: c.query}
		d := designerOf(t, p, c.loss)
		if err := d.begin(); err != nil {
			t.Fatal(err)
		}
		const sure = 1e-3
		d.Bound = d.Best / (1 + sure) // so that programs are solved to a small part of it
		var told *ends                // by the programs of the lower side
		for _, s := range []*side{&d.lower, &d.upper} {
			var nodes [2]int
			var values [2]float64
			for i := range nodes {
				if d.ends = told; i == 0 {
					d.ends = nil
				}
				g := d.extent(s, c.cells)
				var err error
				if values[i], err = s.bound.solve(t.Context(), d, g); err != nil {
					t.Fatal(err)
				}
				if nodes[i] = g.n; s == &d.lower {
					told = d.ends
				}
			}
			if off := values[1]/values[0] - 1; math.Abs(off) > 1e-4 || nodes[1] >= nodes[0] {
				t.Errorf("%+v: %d cells give %g, %d give %g", c, nodes[0], values[0], nodes[1], values[1])
			}
		}
	}
}

// TestFineReach: where the lower program reaches as far as a gap asks for, reaching further proves hardly more.
func TestFineReach(t *testing.T) {
	d := designerOf(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 5, Delta: 0.01, Sensitivity: 1}, Query: dp.RealQuery}, "l1")
	if err := d.begin(); err != nil {
		t.Fatal(err)
	}
	const gap, cells, further = 1e-4, 66, 0.6
	d.Bound, d.Options.Gap = d.Best/(1+gap), gap
	reach := d.lower.bound.reach(gap)
	var values [2]float64
	for i := range values {
		d.ends, d.lower.shape = nil, nil
		var err error
		if values[i], err = d.lower.bound.solve(t.Context(), d, d.lower.bound.extent(cells, reach+float64(i)*further)); err != nil {
			t.Fatal(err)
		}
	}
	if values[1] > values[0]*(1+gap/5) {
		t.Errorf("%.9g within %g sensitivities, %.9g further out", values[0], reach, values[1])
	}
}
