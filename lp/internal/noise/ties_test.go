// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestTies: programs with tied masses have what those without have, with far fewer unknowns; and what was wrongly tied is
// untied, or costs next to nothing.
func TestTies(t *testing.T) {
	for i, c := range []struct {
		loss           string
		epsilon, delta float64
		query          dp.Query
		sensitivity    float64
		coarse, fine   int
	}{
		{"l2", 0.1, 0.01, dp.RealQuery, 1, 8, 13},
		{"l1", 1, 0.1, dp.RealQuery, 1, 16, 37},
		{"l2", 2, 0.02, dp.RealQuery, 1, 16, 30},
		{"l2", 5, 0.01, dp.RealQuery, 1, 66, 92},
		{"asymmetric:1,3", 0.5, 0.05, dp.RealQuery, 1, 8, 15},
		{"l1", 0.2, 0.01, dp.IntegerQuery, 30, 10, 30},
	} {
		if testing.Short() && i%5 > 0 {
			continue
		}
		p := dp.Problem{Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: c.sensitivity}, Query: c.query}
		d := designerOf(t, p, c.loss)
		if err := d.begin(); err != nil {
			t.Fatal(err)
		}
		d.Bound = d.Best / (1 + 1e-4) // so that programs are solved to a small part of it
		d.Options.Gap, d.ends = 1e-4, nil
		for _, s := range []*side{&d.lower, &d.upper} {
			solve := func(k int, before *shape) float64 {
				s.shape, s.free, s.untied = before, before == nil, nil
				v, err := s.bound.solve(t.Context(), d, d.extent(s, k))
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			solve(c.coarse, nil)
			right := s.shape
			want := solve(c.fine, nil)
			got := solve(c.fine, right)
			if all := d.masses(d.extent(s, c.fine)); s.loose == 0 || s.loose*float64(c.fine) > 0.7*float64(all) {
				t.Errorf("%+v: %g unknowns of %d", c, s.loose*float64(c.fine), all)
			}
			if off := got/want - 1; math.Abs(off) > 3e-5 {
				t.Errorf("%+v: %.9g with ties, %.9g without", c, got, want)
			}
			// All that can be is tied.
			wrong := &shape{right.grid, make([]float64, len(right.mass))}
			ratio := math.Exp(c.epsilon)
			for i := range wrong.mass {
				away := math.Round(math.Abs(right.grid.center(i)/float64(right.grid.k) - d.peak))
				wrong.mass[i] = math.Pow(ratio, -away)
			}
			if got := solve(c.fine, wrong); math.Abs(got/want-1) > 1e-4 {
				t.Errorf("%+v: %.9g with wrong ties, %.9g without", c, got, want)
			}
		}
	}
}
