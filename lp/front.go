// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"cmp"
	"context"
	"math"
	"math/big"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/tables"
)

// FrontOptions tune a Front.
type FrontOptions struct {
	// Options are those of every design, but TimeLimit bounds all of them together, and Progress is
	// not called: designs run side by side. Gap is that of the front as well.
	Options
	// Points bounds the designs, by Limits.
	Points int
	// Designed, if set, is told after every design how many have ended, by one goroutine at a time.
	Designed func(ended int)
}

// FrontResult tells how far one loss can be made smaller at the price of another:
// the designs from above, the bounds from below.
type FrontResult struct {
	// Points are the designs that are better than every other one, and every mixture of others, for
	// some weighted sum of the losses. They ascend in the first loss and descend in the second.
	Points []*FrontPoint
	// Designs are all, in their order, those that are not among Points too: with the lower
	// bound of its certificate, Weights[0]·E₀ + Weights[1]·E₁ >= LowerBound holds for the
	// expectations E of the two losses under every noise that a design may choose.
	Designs []*FrontPoint
	// Gap is the largest relative gap between the best of the points and what the bounds prove, of
	// all weighted sums of the two losses; rounded up, and +Inf if for some sum nothing is proven.
	Gap float64
	// Dominated counts the designs that were left out of Points.
	Dominated int
	// Limited counts the designs that stopped short of the requested gap.
	Limited int
	// Elapsed is the wall time taken.
	Elapsed time.Duration
}

// FrontPoint is the design for one weighted sum of the two losses.
type FrontPoint struct {
	// Share is the weight of the first loss, from 0 to 1, each loss in units of its own optimum.
	Share float64
	// Weights are those of the losses in the sum, each in one over its unit, with five digits.
	Weights [2]float64
	// Expected are upper bounds on the expectations of the two losses, exact, in the units of each.
	Expected [2]*big.Rat
	// Design is about the weighted sum.
	Design *Result[tables.Verified]
}

// Front designs noise for weighted sums of two losses, from all of the first to all of the second;
// p.Loss is ignored. The set of pairs of expectations that private noise can have is convex
// (mixtures of noise are private), so weighted sums find all of its lower left boundary (Boyd &
// Vandenberghe 2004, section 4.7.4). The ends are designed first, and their losses are the units of
// weights. Then, where the front is known worst, the next design is for the weighted sum in which
// the designs on either side are as good as each other (the sandwich algorithm, see Rote 1992):
// until the bounds prove for every weighted sum that the front is within the gap of the best noise,
// so a front that is almost flat has few points, or the number of points is used up. Neither loss
// may be a weighted one or a sum of several, see loss.Sum.
//
// Designs take turns on all processors. If a limit stops one short of the gap, or the
// time or the context ends before the front is known to the gap, what is there is
// returned beside an error that wraps ErrLimit; other errors come without a result.
//
// Guarantee: all designs have exact certificates, see Design, and Gap is exact from them.
func Front(ctx context.Context, p dp.Problem, losses [2]loss.Loss, o FrontOptions) (*FrontResult, error) {
	if err := o.validate(p, losses); err != nil {
		return nil, err
	}
	o.Points, o.Gap = cmp.Or(o.Points, Limits.Points.Default), cmp.Or(o.Gap, Limits.Gap.Default)
	o.Progress = nil
	f := &front{problem: p, losses: losses, options: o, needed: min(o.Points, usualPoints)}
	f.Options, f.Start = meet.Options{TimeLimit: o.TimeLimit}, time.Now()
	f.each(ctx, []direction{{1, [2]float64{1, 0}}, {0, [2]float64{0, 1}}})
	if f.err == nil && len(f.points) == 2 {
		f.units()
	}
	for f.err == nil && ctx.Err() == nil {
		next := f.next()
		if f.late = len(next) > 0 && f.Left() <= 0; f.late || len(next) == 0 {
			break
		}
		f.each(ctx, next)
	}
	return f.result(ctx)
}

func (o FrontOptions) validate(p dp.Problem, losses [2]loss.Loss) error {
	errs := check.In("lp")
	p.Loss = loss.L1 // in the place of the two
	errs.Add(validate(p))
	errs.Add(o.Options.validate())
	errs.Want(o.Points == 0 || Limits.Points.Has(o.Points), "points", o.Points, "%v", Limits.Points)
	for _, l := range losses {
		if l == nil {
			errs.Bad("losses", "none", "two losses")
		} else if _, err := loss.Sum(loss.Term{Loss: l, Weight: 2}); err != nil {
			errs.Bad("losses", l.Name(), "losses without weights of their own")
		}
	}
	return errs.Err()
}

type front struct {
	meet.Search // for the time
	problem     dp.Problem
	losses      [2]loss.Loss
	options     FrontOptions
	unit        [2]float64 // of the losses, in which weights are measured
	late        bool       // the time ended before the front was known to the gap

	mu     sync.Mutex // of what follows
	points []*FrontPoint
	needed int   // estimate of the designs needed, with those that have ended
	err    error // of the first design that failed, which ends the others
}

// usualPoints is how many designs a front takes, for all that is known before the first.
const usualPoints = 6

type direction struct {
	share   float64
	weights [2]float64
}

// each designs for some directions on all processors. Points keep their order.
func (f *front) each(ctx context.Context, list []direction) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	points := make([]*FrontPoint, len(list))
	before, ended := len(f.points), 0
	workers := min(runtime.GOMAXPROCS(0), len(list))
	places := make(chan struct{}, workers)
	var wait sync.WaitGroup
	for i, to := range list {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			f.mu.Lock()
			defer f.mu.Unlock()
			if ctx.Err() != nil {
				return
			}
			limit := f.timeLimit(workers, f.needed-before-ended)
			f.mu.Unlock()
			point, err := f.design(ctx, to, limit)
			f.mu.Lock()
			ended++
			points[i] = point
			if err != nil && f.err == nil && ctx.Err() == nil {
				f.err = err
				cancel()
			}
			if f.options.Designed != nil {
				f.options.Designed(before + ended)
			}
		})
	}
	wait.Wait()
	f.points = append(f.points, slices.DeleteFunc(points, func(p *FrontPoint) bool { return p == nil })...)
}

// timeLimit returns that of the next of so many designs that share the time that is left.
func (f *front) timeLimit(workers, designs int) time.Duration {
	if f.options.TimeLimit == 0 {
		return 0
	}
	return max(f.Left()*time.Duration(workers)/time.Duration(max(designs, workers)), time.Millisecond)
}

// next returns the directions in which the front is known worst, at most as many as there may still
// be points, and estimates how many designs there will be. A part between two points is worth one
// if it is known neither to the gap nor as well as these points, which a limit may have stopped.
func (f *front) next() []direction {
	corners, bounds := hull(f.points), newOutline(boundsOf(f.points))
	var open []part
	needed := 0.0
	for i := 1; i < len(corners); i++ {
		a, b := corners[i-1], corners[i]
		w := normal(a, b)
		p := part{f.toward(w), bounds.gap(w, a)}
		enough := max(f.options.Gap, a.Design.Gap, b.Design.Gap)
		if p.gap > enough && !slices.ContainsFunc(f.points, func(q *FrontPoint) bool { return q.Weights == p.weights }) {
			open = append(open, p)
			// A part that is known to G is known to G/n² with n − 1 more points.
			needed += math.Sqrt(p.gap / f.options.Gap)
		}
	}
	slices.SortStableFunc(open, func(p, q part) int { return cmp.Compare(q.gap, p.gap) })
	var list []direction
	for _, p := range open {
		// What a point leaves of a part is about a quarter of it.
		if len(f.points)+len(list) < f.options.Points && p.gap >= open[0].gap/4 {
			list = append(list, p.direction)
		}
	}
	f.needed = int(min(float64(f.options.Points), float64(len(f.points))+max(needed, float64(len(list)))))
	return list
}

type part struct {
	direction
	gap float64 // of what is proven in this direction
}

func (f *front) toward(w [2]*big.Rat) direction {
	// The sum is 1, and neither is lost if the other is huge.
	var scaled [2]*big.Rat
	for i := range scaled {
		scaled[i] = new(big.Rat).Mul(w[i], exact.Rational(f.unit[i]))
	}
	sum := new(big.Rat).Add(scaled[0], scaled[1])
	d := direction{}
	for i := range scaled {
		share, _ := new(big.Rat).Quo(scaled[i], sum).Float64()
		if i == 0 {
			d.share = share
		}
		// Few digits are easily written.
		d.weights[i], _ = strconv.ParseFloat(strconv.FormatFloat(share/f.unit[i], 'g', 5, 64), 64)
	}
	return d
}

func (f *front) design(ctx context.Context, to direction, limit time.Duration) (*FrontPoint, error) {
	var terms []loss.Term
	for i, w := range to.weights {
		if w > 0 {
			terms = append(terms, loss.Term{Loss: f.losses[i], Weight: w})
		}
	}
	p, o := f.problem, f.options.Options
	o.TimeLimit = limit
	var err error
	if p.Loss, err = loss.Sum(terms...); err != nil {
		return nil, check.Errorf("lp", nil, "%w", err)
	}
	r, err := Design(ctx, p, o)
	if r == nil {
		return nil, err
	}
	point := &FrontPoint{Share: to.share, Weights: to.weights, Design: r}
	for i, l := range f.losses {
		point.Expected[i] = r.Verified.Mechanism().ExpectedLossOf(l)
	}
	return point, nil
}

// units finds each loss's own optimum, in which weights are measured; of 0, what the other end pays.
func (f *front) units() {
	for i := range f.unit {
		f.unit[i] = 1
		for _, e := range []*FrontPoint{f.points[i], f.points[1-i]} {
			if v, _ := e.Expected[i].Float64(); v > 0 {
				f.unit[i] = v
				break
			}
		}
	}
}

func (f *front) result(ctx context.Context) (*FrontResult, error) {
	switch {
	case f.err != nil:
		return nil, f.err
	case len(f.points) == 0:
		return nil, check.Errorf("lp", ErrLimit, "no design was done")
	}
	corners := hull(f.points)
	r := &FrontResult{
		Points: corners, Designs: f.points, Dominated: len(f.points) - len(corners),
		Gap: frontGap(corners, boundsOf(f.points)), Elapsed: f.Elapsed(),
	}
	for _, p := range f.points {
		if !p.Design.Optimal {
			r.Limited++
		}
	}
	switch {
	case r.Limited > 0:
		return r, check.Errorf("lp", ErrLimit, "%d of %d designs stopped short of the gap", r.Limited, len(f.points))
	case f.late || ctx.Err() != nil:
		return r, check.Errorf("lp", ErrLimit, "the front is known to a gap of %.2g after %d designs", r.Gap, len(f.points))
	}
	return r, nil
}
