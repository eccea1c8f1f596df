// SPDX-License-Identifier: Apache-2.0

package lp_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/plane"
)

func designPlane(t *testing.T, p plane.Problem, gap float64) (expected, bound float64) {
	t.Helper()
	r, err := lp.DesignPlane(t.Context(), p, lp.Options{Gap: gap})
	if err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	b := r.Verified.Bounds()
	expected, _ = b.Loss.Float64()
	bound, _ = b.LowerBound.Float64()
	return expected, bound
}

// TestDesignPlane: losses and bounds are those that an independent program finds on grids of its own, of which
// this one is no worse, and gaps are those asked for.
func TestDesignPlane(t *testing.T) {
	for _, c := range []struct {
		p           plane.Problem
		gap         float64
		most, least float64
		slow        bool
	}{
		{problem(1, 0.1, 1, plane.LInf, dp.RealQuery, loss.L2), 0, 3.38, 3.34, false},
		{problem(5, 0.01, 1, plane.LInf, dp.RealQuery, loss.L2), 0, 0.19, 0.181, true},
		{problem(1, 0.1, 1, plane.L1, dp.RealQuery, loss.L2), 0.009, 1.69, 1.67, false},
		{problem(1, 0.1, 3, plane.LInf, dp.RealQuery, loss.L2), 0.009, 9 * 3.38, 9 * 3.34, true},
		{problem(1, 1e-6, 1, plane.LInf, dp.IntegerQuery, loss.L2), 1e-4, 7.8049, 7.8045, false},
		// Blocks of whole numbers: between what one sensitivity and a hundred are worth.
		{problem(1, 0.01, 100, plane.LInf, dp.IntegerQuery, loss.L1), 0.05, 290, 270, false},
	} {
		if c.slow && testing.Short() {
			continue
		}
		if expected, bound := designPlane(t, c.p, c.gap); expected > c.most || bound < c.least || bound > expected {
			t.Errorf("%+v: %g, at least %g, want at most %g and at least %g", c.p, expected, bound, c.most, c.least)
		}
	}
}

// TestPlaneGains: the page's table of two counts is what designs find.
func TestPlaneGains(t *testing.T) {
	text, err := os.ReadFile("../docs/plane.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n| ε | a person added or removed:")
	part, _, _ = strings.Cut(part, "\n\n")
	rows := strings.Split(part, "\n")[2:]
	if len(rows) != 6 {
		t.Fatalf("%d rows, want 6", len(rows))
	}
	table := func(epsilon, delta float64) float64 {
		r, err := lp.Design(t.Context(), dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, Loss: loss.L2, Query: dp.IntegerQuery}, lp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		one, _ := r.Verified.Bounds().Loss.Float64()
		return one
	}
	for _, row := range rows {
		var epsilon float64
		var said [2]struct{ one, other, saved float64 }
		if _, err := fmt.Sscanf(row, "| %g | %g | %g | %g %% | %g | %g | %g %%", &epsilon, &said[0].one, &said[0].other, &said[0].saved, &said[1].one, &said[1].other, &said[1].saved); err != nil {
			t.Fatalf("%s: %v", row, err)
		}
		if testing.Short() && epsilon < 3 {
			continue
		}
		others := [2]float64{4 * table(epsilon, 1e-6), 2 * table(epsilon/2, 5e-7)}
		for i, norm := range []plane.Norm{plane.Span, plane.LInf} {
			one, bound := designPlane(t, problem(epsilon, 1e-6, 1, norm, dp.IntegerQuery, loss.L2), 1e-3)
			s := said[i]
			if math.Abs(s.one/one-1) > 1e-3 || math.Abs(s.other/others[i]-1) > 1e-3 || math.Abs(s.saved-100*(1-one/others[i])) > 0.6 || one > 1.001*bound {
				t.Errorf("%s: %s has %g, at least %g, and others %g", row, norm, one, bound, others[i])
			}
		}
	}
}

func problem(epsilon, delta, sensitivity float64, norm plane.Norm, query dp.Query, l loss.Loss) plane.Problem {
	return plane.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: sensitivity}, Norm: norm, Query: query, Loss: l}
}

// TestPlaneAndTables: for two counts of which a person changes one, by 1, tables for each, at the full budget, are
// as good as anything for both: one coordinate of noise in the plane is noise for one count.
func TestPlaneAndTables(t *testing.T) {
	for _, l := range []loss.Loss{loss.L1, loss.L2} {
		p := problem(1, 0.01, 1, plane.L1, dp.IntegerQuery, l)
		table, err := lp.Design(t.Context(), dp.Problem{Privacy: p.Privacy, Loss: l, Query: p.Query}, lp.Options{Gap: 1e-4})
		if err != nil {
			t.Fatal(err)
		}
		one, _ := table.Verified.Bounds().Loss.Float64()
		expected, bound := designPlane(t, p, 1e-3)
		if math.Abs(expected/(2*one)-1) > 2e-3 || bound > 2*one {
			t.Errorf("%s: %g, at least %g, want about %g", l.Name(), expected, bound, 2*one)
		}
	}
}

func TestDesignPlaneBadInput(t *testing.T) {
	for want, p := range map[string]plane.Problem{
		"delta = 0":                 problem(1, 0, 1, plane.LInf, dp.RealQuery, loss.L2),
		"norm = l2":                 problem(1, 0.1, 1, "l2", dp.RealQuery, loss.L2),
		"loss = l1, want l2":        problem(1, 0.1, 1, plane.L1, dp.RealQuery, loss.L1),
		"sensitivity = 65, want":    problem(1, 0.1, 65, plane.L1, dp.IntegerQuery, loss.L1),
		"sensitivity = 1.5":         problem(1, 0.1, 1.5, plane.LInf, dp.IntegerQuery, loss.L1),
		"epsilon = 0.001, want one": problem(0.001, 1e-9, 1, plane.LInf, dp.IntegerQuery, loss.L1),
		"epsilon = 21":              problem(21, 0.1, 1, plane.LInf, dp.RealQuery, loss.L2),
	} {
		if _, err := lp.DesignPlane(t.Context(), p, lp.Options{}); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
