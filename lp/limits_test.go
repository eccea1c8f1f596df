// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package lp_test

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
)

// sample are random problems, as flags without dashes: every tenth of a list of 300, after four that a longer limit once
// made worse.
const sample = `
epsilon 1.89 delta 0.000478 sensitivity 3714 loss exceed:3008 query integer
epsilon 0.587 delta 4.06e-06 sensitivity 1 loss exceed:4.67 unbiased
epsilon 0.104 delta 3.92e-08 sensitivity 1 loss deadzone:4.62
epsilon 0.189 delta 2.61e-08 sensitivity 1 loss exceed:2.23
epsilon 17.2 delta 3.98e-09 sensitivity 394 loss pinball:0.25 query integer
epsilon 0.0724 delta 5.89e-08 sensitivity 2.18 loss deadzone:20.2 step 0.545
epsilon 0.908 delta 0.00617 sensitivity 50.1 loss l1 step 3.13125
epsilon 0.896 delta 1.54e-09 sensitivity 632 loss l2 query integer symmetric
epsilon 4.39 delta 1.69e-06 sensitivity 2120 loss lp:4 step 1060 symmetric
epsilon 2.57 delta 3.82e-05 sensitivity 1 loss asymmetric:2,3 monotone unbiased
epsilon 3.18 delta 0.00413 sensitivity 5 loss l2 query integer monotone
epsilon 18.6 delta 0.0309 sensitivity 1 loss asymmetric:2,1
epsilon 0.146 delta 1.53e-06 sensitivity 135 loss asymmetric:2,3 step 16.875
epsilon 6.7 delta 5.12e-06 sensitivity 87 loss pinball:0.5 query integer
epsilon 0.0519 delta 0.00557 sensitivity 417 loss lp:4 monotone
epsilon 0.826 delta 0.000504 sensitivity 1 loss exceed:1.27
epsilon 1.05 delta 5.61e-06 sensitivity 391 loss l1 query integer
epsilon 0.22 delta 0.0372 sensitivity 1 loss lp:4
epsilon 0.696 delta 5e-07 sensitivity 1 loss asymmetric:1,3 monotone
epsilon 0.202 delta 2.56e-09 sensitivity 0.00533 loss pinball:0.25 symmetric
epsilon 3.01 delta 0.0207 sensitivity 1 loss pinball:0.75
epsilon 0.23 delta 0.325 sensitivity 1 loss l2
epsilon 2.35 delta 0.175 sensitivity 1 loss lp:4 monotone
epsilon 2.74 delta 3.61e-09 sensitivity 1.43 loss exceed:1.32 step 0.17875 monotone
epsilon 1.3 delta 0.000111 sensitivity 52 loss exceed:36 query integer
epsilon 0.147 delta 2.41e-05 sensitivity 0.171 loss huber:0.696 step 0.0855
epsilon 0.164 delta 1.91e-08 sensitivity 1900 loss huber:18000.0
epsilon 0.441 delta 0.000216 sensitivity 7 loss l1 query integer
epsilon 0.562 delta 8.32e-05 sensitivity 11.9 loss l1
epsilon 0.315 delta 0.000319 sensitivity 1 loss exceed:2.15
epsilon 4.1 delta 3.09e-09 sensitivity 0.025 loss l2
epsilon 0.0721 delta 5.06e-07 sensitivity 0.0142 loss huber:0.132 monotone
epsilon 0.101 delta 2.43e-09 sensitivity 1 loss l2 monotone unbiased
epsilon 0.176 delta 1.87e-08 sensitivity 2288 loss deadzone:22705 query integer monotone unbiased
`

// parsed returns the problem that a line of the sample states.
func parsed(t *testing.T, line string) (p dp.Problem) {
	t.Helper()
	f := flag.NewFlagSet("sample", flag.PanicOnError)
	f.Float64Var(&p.Epsilon, "epsilon", 0, "")
	f.Float64Var(&p.Delta, "delta", 0, "")
	f.Float64Var(&p.Sensitivity, "sensitivity", 0, "")
	f.Float64Var(&p.Step, "step", 0, "")
	f.BoolVar(&p.Constraints.Symmetric, "symmetric", false, "")
	f.BoolVar(&p.Constraints.Monotone, "monotone", false, "")
	f.BoolVar(&p.Constraints.Unbiased, "unbiased", false, "")
	query, name := f.String("query", "", ""), f.String("loss", "", "")
	var args []string
	for _, word := range strings.Fields(line) {
		if f.Lookup(word) != nil {
			word = "-" + word
		}
		args = append(args, word)
	}
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	switch {
	case *query == "integer":
		p.Query = dp.IntegerQuery
	case p.Step > 0:
		p.Query = dp.LatticeQuery
	}
	p.Loss = named(t, *name)
	return p
}

// TestLongerLimits: with the time counted as work, no gap is larger than with a shorter limit.
func TestLongerLimits(t *testing.T) {
	lines, works := strings.Split(strings.TrimSpace(sample), "\n"), []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, time.Second}
	if testing.Short() {
		lines, works = lines[:8], works[:2]
	}
	for _, line := range lines {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			const gap = 1e-3
			p, most := parsed(t, line), 0.0
			for i, work := range works {
				r, err := lp.DesignAtWork(t.Context(), p, lp.Options{Gap: gap, TimeLimit: work, NewSolver: highs.New})
				if r == nil || err != nil && !errors.Is(err, lp.ErrLimit) {
					t.Fatalf("limit %s: %v", work, err)
				}
				if i > 0 && r.Gap > most {
					t.Errorf("limit %s: a gap of %g, and %g with less", work, r.Gap, most)
				}
				most = max(r.Gap, gap)
			}
		})
	}
}
