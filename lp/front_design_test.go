// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package lp_test

import (
	"context"
	"errors"
	"math"
	"math/big"
	"sync/atomic"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
)

// TestFront: designs are in order and proven, none is below the bounds of another, the
// end of a loss is as good as a design for it alone, and there are as many as the gap needs.
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
		Options: lp.Options{NewSolver: highs.New, Gap: gap}, Points: 40, Designed: func(n int) { ended = n },
	})
	if err != nil {
		t.Fatal(err)
	}
	if ended < 5 || ended > 15 || len(r.Designs) != ended || len(r.Points)+r.Dominated != ended || len(r.Points) < 5 || r.Limited != 0 || r.Gap > gap || r.Gap < gap/10 {
		t.Fatalf("%d ended, %d points, %d dominated, %d bounds, %d limited, gap %g", ended, len(r.Points), r.Dominated, len(r.Designs), r.Limited, r.Gap)
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
	best, end := design(t, p, gap).Verified.Certificate().ExpectedLoss, r.Points[len(r.Points)-1]
	if most := new(big.Rat).Mul(best, big.NewRat(102, 100)); end.Expected[1].Cmp(most) > 0 {
		t.Errorf("the end of the second loss has %s of it, a design for it alone %s", end.Expected[1].FloatString(9), best.FloatString(9))
	}
}

// TestFewPoints: fewer points than the gap needs are no failure and say how well the front
// is known, and a front that is almost flat needs few.
func TestFewPoints(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 1}}
	steep := [2]loss.Loss{named(t, "asymmetric:1,4"), named(t, "asymmetric:4,1")}
	before := 2.0
	for _, points := range []int{2, 3, 5} {
		r, err := lp.Front(t.Context(), p, steep, lp.FrontOptions{Options: lp.Options{NewSolver: highs.New, Gap: 0.005}, Points: points})
		if err != nil || len(r.Designs) != points || r.Gap < 0.005 || r.Gap > before/2 {
			t.Errorf("%d points: %+v, %v; the gap was %g", points, r, err, before)
			continue
		}
		before = r.Gap
	}
	r, err := lp.Front(t.Context(), p, [2]loss.Loss{loss.L1, named(t, "exceed:3")}, lp.FrontOptions{Options: lp.Options{NewSolver: highs.New}})
	if err != nil || len(r.Designs) > 4 || r.Gap > lp.Limits.Gap.Default {
		t.Errorf("a flat front: %+v, %v", r, err)
	}
}

// TestFrontEnds: what ends the context or a design ends the front, and what is there is
// returned or not.
func TestFrontEnds(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 1}}
	losses := [2]loss.Loss{named(t, "asymmetric:1,4"), named(t, "asymmetric:4,1")}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ended atomic.Int64
	r, err := lp.Front(ctx, p, losses, lp.FrontOptions{
		Options: lp.Options{NewSolver: highs.New, Gap: 1e-3}, Points: 100,
		Designed: func(n int) {
			ended.Store(int64(n))
			if n == 5 {
				cancel()
			}
		},
	})
	if !errors.Is(err, lp.ErrLimit) || r == nil || len(r.Designs) != int(ended.Load()) || len(r.Designs) > 20 || r.Gap < 1e-3 {
		t.Errorf("cancelled after %d designs: %+v, %v", ended.Load(), r, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := lp.Front(cancelled, p, losses, lp.FrontOptions{Options: lp.Options{NewSolver: highs.New}}); r != nil || !errors.Is(err, lp.ErrLimit) {
		t.Errorf("cancelled before: %v, %v", r, err)
	}
	r, err = lp.Front(t.Context(), p, losses, lp.FrontOptions{
		Options: lp.Options{NewSolver: highs.New, Gap: 0.05, TimeLimit: 2 * time.Second},
		Designed: func(n int) {
			if n == 2 {
				time.Sleep(2 * time.Second)
			}
		},
	})
	if !errors.Is(err, lp.ErrLimit) || r == nil || len(r.Designs) != 2 || r.Limited != 0 || r.Gap < 0.05 {
		t.Errorf("no time after the ends: %+v, %v", r, err)
	}
	p.Constraints.MaxVariance = 1e-3
	if r, err := lp.Front(t.Context(), p, losses, lp.FrontOptions{Options: lp.Options{NewSolver: highs.New}}); r != nil || !errors.Is(err, lp.ErrInfeasible) {
		t.Errorf("infeasible: %v, %v", r, err)
	}
	p.Constraints.MaxVariance = 0
	r, err = lp.Front(t.Context(), p, losses, lp.FrontOptions{Options: lp.Options{NewSolver: highs.New, Gap: 1e-6, MaxCells: 41}, Points: 3})
	if !errors.Is(err, lp.ErrLimit) || r == nil || r.Limited != len(r.Designs) || r.Gap < 1e-6 || math.IsInf(r.OuterBound(2), 0) {
		t.Errorf("few cells: %+v, %v", r, err)
	}
}
