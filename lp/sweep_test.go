//go:build (highs && cgo) || highswasm

package lp_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
)

// TestSweepAgreesWithDesigns designs for several deltas, in no order, together
// and one by one: every certified interval holds a point of the other's, and
// every table verifies.
func TestSweepAgreesWithDesigns(t *testing.T) {
	const gap = 5e-3
	deltas := []float64{0.3, 1e-4, 0.75, 0.05, 0.5}
	for _, c := range []struct {
		epsilon float64
		loss    loss.Loss
	}{{3, loss.L1}, {2, loss.L2}, {0.5, loss.L1}} {
		p := dp.Problem{Privacy: dp.Privacy{Epsilon: c.epsilon, Sensitivity: 3}, Loss: c.loss}
		o := lp.Options{Gap: gap, NewSolver: highs.New}
		seen := make([]int, len(deltas))
		err := lp.Sweep(context.Background(), p, deltas, o, func(i int, r *lp.Result) error {
			seen[i]++
			if !r.Optimal || r.Gap > gap {
				t.Errorf("epsilon %g, delta %g: gap %g", c.epsilon, deltas[i], r.Gap)
			}
			if got := r.Table.Mechanism().Privacy(); got.Delta != deltas[i] || got.Epsilon != c.epsilon || got.Sensitivity != 3 {
				t.Errorf("a table about %+v for delta %g", got, deltas[i])
			}
			if err := fromFile(r.Table); err != nil {
				t.Error(err)
			}
			p.Delta = deltas[i]
			alone, err := lp.Design(context.Background(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			if r.Table.Certificate().ExpectedLoss.Cmp(alone.Table.Certificate().LowerBound) < 0 || alone.Table.Certificate().ExpectedLoss.Cmp(r.Table.Certificate().LowerBound) < 0 {
				t.Errorf("epsilon %g, delta %g: the intervals of two designs do not meet", c.epsilon, deltas[i])
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range seen {
			if n != 1 {
				t.Errorf("delta %g was handed out %d times", deltas[i], n)
			}
		}
	}
}

// TestSweepLimits wants proven results when time or cells run out, bad deltas
// refused, and the caller's error returned.
func TestSweepLimits(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 5, Sensitivity: 1}, Loss: loss.L2}
	for name, o := range map[string]lp.Options{
		"time":  {NewSolver: highs.New, TimeLimit: time.Nanosecond},
		"cells": {NewSolver: highs.New, MaxCells: 101, Gap: 1e-6},
	} {
		n := 0
		err := lp.Sweep(context.Background(), p, []float64{0.1, 0.5}, o, func(_ int, r *lp.Result) error {
			n++
			if r.Optimal || math.IsNaN(r.Gap) {
				t.Errorf("%s: gap %g is called optimal", name, r.Gap)
			}
			return fromFile(r.Table)
		})
		if !errors.Is(err, lp.ErrLimit) || n != 2 {
			t.Errorf("%s: %d results, %v; want 2 and ErrLimit", name, n, err)
		}
	}
	never := func(int, *lp.Result) error { t.Error("a result"); return nil }
	if err := lp.Sweep(context.Background(), p, []float64{0.1, 1}, lp.Options{NewSolver: highs.New}, never); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("delta 1: %v, want ErrInvalid", err)
	}
	q := p
	q.Constraints.Monotone = true
	if err := lp.Sweep(context.Background(), q, []float64{0.1}, lp.Options{NewSolver: highs.New}, never); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("constraints: %v, want ErrInvalid", err)
	}
	stop := errors.New("stop")
	err := lp.Sweep(context.Background(), p, []float64{0.1, 0.2}, lp.Options{NewSolver: highs.New, Gap: 1}, func(int, *lp.Result) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("%v, want the caller's error", err)
	}
}
