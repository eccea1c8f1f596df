// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package lp_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
)

// anytimeProblems are a grid of problems.
func anytimeProblems(t *testing.T) (all []dp.Problem) {
	t.Helper()
	for _, name := range []string{"l1", "l2", "pinball:0.8"} {
		for _, epsilon := range []float64{0.3, 1, 5} {
			for _, delta := range []float64{1e-6, 0.1} {
				p := dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, Loss: named(t, name)}
				all = append(all, p)
				p.Query, p.Sensitivity = dp.IntegerQuery, 30
				all = append(all, p)
			}
		}
	}
	return all
}

// slack is how much larger a gap may be than that of less work or of a larger gap.
const slack = 1.1

// TestAnytime: with the same work a smaller gap is never worse than what a larger one
// reaches, and much more work is never worse than less.
func TestAnytime(t *testing.T) {
	gaps := []float64{1e-2, 1e-3, 1e-4, 1e-5, 1e-6}
	works := []time.Duration{20 * time.Millisecond, 400 * time.Millisecond}
	problems := anytimeProblems(t)
	if testing.Short() {
		gaps, works, problems = []float64{1e-2, 1e-3, 1e-6}, works[:1], problems[:12]
	}
	for _, p := range problems {
		name := fmt.Sprintf("%s %s %g %g", p.Query, p.Loss.Name(), p.Epsilon, p.Delta)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := make(map[float64]float64) // by less work
			for _, work := range works {
				best := math.Inf(1) // of larger gaps
				for _, gap := range gaps {
					r, err := lp.DesignAtWork(t.Context(), p, lp.Options{Gap: gap, TimeLimit: work, NewSolver: highs.New})
					if r == nil || err != nil && !errors.Is(err, lp.ErrLimit) {
						t.Fatalf("gap %g: %v", gap, err)
					}
					if r.Gap > slack*max(best, gap) {
						t.Errorf("work %s: gap %g asked for, %.3g reached; a larger one reaches %.3g", work, gap, r.Gap, best)
					}
					if before, ok := reached[gap]; ok && r.Gap > slack*max(before, gap) {
						t.Errorf("work %s: gap %g asked for, %.3g reached, and %.3g with less", work, gap, r.Gap, before)
					}
					best, reached[gap] = min(best, r.Gap), r.Gap
				}
			}
		})
	}
}

// TestAnytimeLong: the designs from which the rule comes, where a small gap began with
// grids that took all of the time.
func TestAnytimeLong(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		loss           loss.Loss
		most           float64
	}{
		{1, 0.1, loss.L1, 1e-3},
		{5, 0.01, loss.L2, 6e-3},
		{10.3, 0.178, named(t, "deadzone:0.7912"), 0.05}, // free beyond the core of the staircase
	} {
		p := dp.Problem{Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: 1}, Loss: c.loss}
		r, err := lp.DesignAtWork(t.Context(), p, lp.Options{Gap: 1e-6, TimeLimit: time.Second, NewSolver: highs.New})
		if r == nil || !errors.Is(err, lp.ErrLimit) || r.Gap > c.most {
			t.Errorf("%g, %g: error %v, result %+v, want a gap of %g", c.epsilon, c.delta, err, r, c.most)
		}
	}
}
