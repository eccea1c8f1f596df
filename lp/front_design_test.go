//go:build cgo

package lp_test

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
)

// TestFront: designs are in order and proven, none is below the bounds of another, and
// the ends are the designs for one loss.
func TestFront(t *testing.T) {
	const gap = 0.02
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 1}}
	var losses [2]loss.Loss
	for i, name := range []string{"asymmetric:1,3", "asymmetric:3,1"} {
		var err error
		if losses[i], err = loss.Parse(name); err != nil {
			t.Fatal(err)
		}
	}
	var ended int
	r, err := lp.Front(t.Context(), p, losses, lp.FrontOptions{
		Options: lp.Options{NewSolver: highs.New, Gap: gap}, Points: 6, Designed: func(n int) { ended = n },
	})
	if err != nil {
		t.Fatal(err)
	}
	if ended != 6 || len(r.Bounds) != 6 || len(r.Points)+r.Dominated != 6 || len(r.Points) < 2 || r.Limited != 0 {
		t.Fatalf("%d ended, %d points, %d dominated, %d bounds, %d limited", ended, len(r.Points), r.Dominated, len(r.Bounds), r.Limited)
	}
	for i, point := range r.Points {
		if i > 0 && (point.Expected[0].Cmp(r.Points[i-1].Expected[0]) <= 0 || point.Expected[1].Cmp(r.Points[i-1].Expected[1]) >= 0) {
			t.Errorf("point %d is not to the right and below the one before", i)
		}
		x, _ := point.Expected[0].Float64()
		y, _ := point.Expected[1].Float64()
		if bound := r.OuterBound(x * (1 + 1e-15)); bound > y*(1+1e-15) || bound < 0.7*y {
			t.Errorf("point %d is (%g, %g), the bound there is %g", i, x, y, bound)
		}
	}
	p.Loss = losses[1]
	alone, end := design(t, p, gap).Table.Certificate(), r.Points[len(r.Points)-1]
	if end.Share != 0 || end.Expected[1].Cmp(alone.ExpectedLoss) != 0 {
		t.Errorf("the end of the second loss has %s of it, a design for it alone %s", end.Expected[1].FloatString(9), alone.ExpectedLoss.FloatString(9))
	}
}

// TestFrontEnds: what ends the context or a design ends the front, and what is there is
// returned or not.
func TestFrontEnds(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 1}}
	losses := [2]loss.Loss{loss.L1, loss.L2}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ended atomic.Int64
	r, err := lp.Front(ctx, p, losses, lp.FrontOptions{
		Options: lp.Options{NewSolver: highs.New, Gap: 0.05}, Points: 100,
		Designed: func(n int) {
			ended.Store(int64(n))
			if n == 5 {
				cancel()
			}
		},
	})
	if !errors.Is(err, lp.ErrLimit) || r == nil || len(r.Bounds) != int(ended.Load()) || r.Limited < 100-len(r.Bounds) || len(r.Bounds) > 20 {
		t.Errorf("cancelled after %d designs: %+v, %v", ended.Load(), r, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := lp.Front(cancelled, p, losses, lp.FrontOptions{Options: lp.Options{NewSolver: highs.New}}); r != nil || !errors.Is(err, lp.ErrLimit) {
		t.Errorf("cancelled before: %v, %v", r, err)
	}
	p.Constraints.MaxVariance = 1e-3
	if r, err := lp.Front(t.Context(), p, losses, lp.FrontOptions{Options: lp.Options{NewSolver: highs.New}}); r != nil || !errors.Is(err, lp.ErrInfeasible) {
		t.Errorf("infeasible: %v, %v", r, err)
	}
	p.Constraints.MaxVariance = 0
	r, err = lp.Front(t.Context(), p, losses, lp.FrontOptions{Options: lp.Options{NewSolver: highs.New, Gap: 1e-6, MaxCells: 41}, Points: 3})
	if !errors.Is(err, lp.ErrLimit) || r == nil || r.Limited != 3 || math.IsInf(r.OuterBound(1), 0) {
		t.Errorf("few cells: %+v, %v", r, err)
	}
}
