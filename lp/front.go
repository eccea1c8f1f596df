package lp

import (
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
)

// FrontOptions tune a Front. Only NewSolver is required.
type FrontOptions struct {
	// Options are those of every design, but TimeLimit bounds all of them together,
	// and Progress is not called: designs run side by side.
	Options
	// Points is the number of designs, from MinFrontPoints to MaxFrontPoints; 0
	// means DefaultFrontPoints.
	Points int
	// Designed, if set, is called after every design with the number of those that
	// have ended, by one goroutine at a time.
	Designed func(ended int)
}

// Limits of FrontOptions, and its default.
const (
	MinFrontPoints     = 2
	MaxFrontPoints     = 200
	DefaultFrontPoints = 20
)

// FrontResult tells how far one loss can be made smaller at the price of another:
// the designs from above, the bounds from below.
type FrontResult struct {
	// Points are the designs of which none is dominated by another, that is, no
	// better in either loss. They ascend in the first loss and descend in the second.
	Points []FrontPoint
	// Bounds are those of all designs.
	Bounds []SupportingLine
	// Dominated counts the designs that were left out of Points.
	Dominated int
	// Limited counts the designs that stopped short of the requested gap, or were
	// not begun.
	Limited int
	// Elapsed is the wall time taken.
	Elapsed time.Duration
}

// FrontPoint is the design for one weighted sum of the two losses.
type FrontPoint struct {
	// Share is the weight of the first loss, from 0 to 1, if each loss is measured in
	// units of its own optimum.
	Share float64
	// Weights are those of the losses in the sum designed for, one over the unit of
	// the loss each, with five digits.
	Weights [2]float64
	// Expected are upper bounds on the expectations of the two losses, exact, in the
	// units of each.
	Expected [2]*big.Rat
	// Design is about the weighted sum.
	Design *Result
}

// SupportingLine says that Weights[0]·E₀ + Weights[1]·E₁ >= Bound for the
// expectations E of the two losses under every noise that a design may choose.
type SupportingLine struct {
	Weights [2]float64
	Bound   *big.Rat
}

// Front designs noise for weighted sums of two losses, from all of the first to all of
// the second; p.Loss is ignored. The set of pairs of expectations that private noise can
// have is convex (mixtures of noise are private), so weighted sums find all of its lower
// left boundary (Boyd & Vandenberghe 2004, section 4.7.4). The ends are designed first,
// and their losses are the units of weights; the others lie at Chebyshev points between,
// which are dense at the ends, where the front bends. Neither loss may be a weighted one
// or a sum of several, see loss.Sum.
//
// Designs take turns on all processors. If a limit stops one short of the gap, or the
// context ends before all are done, what is there is returned beside an error that wraps
// ErrLimit; other errors come without a result.
//
// Guarantee: Points and Bounds are from exact certificates, see Design.
func Front(ctx context.Context, p dp.Problem, losses [2]loss.Loss, o FrontOptions) (*FrontResult, error) {
	if err := o.validate(p, losses); err != nil {
		return nil, err
	}
	if o.Points == 0 {
		o.Points = DefaultFrontPoints
	}
	o.Progress = nil
	f := &front{problem: p, losses: losses, options: o, start: time.Now(), points: make([]*FrontPoint, o.Points)}
	f.each(ctx, 0, 2, func(i int) (share float64, w [2]float64) {
		w[i] = 1
		return w[0], w
	})
	if f.err == nil && ctx.Err() == nil {
		unit := f.units()
		f.each(ctx, 2, o.Points, func(i int) (share float64, w [2]float64) {
			share = chebyshev(i-1, o.Points-1)
			return share, [2]float64{rounded(share / unit[0]), rounded((1 - share) / unit[1])}
		})
	}
	return f.result()
}

func (o FrontOptions) validate(p dp.Problem, losses [2]loss.Loss) error {
	errs := check.In("lp")
	p.Loss = loss.L1 // in the place of the two
	errs.Add(validate(p))
	errs.Add(o.Options.validate())
	if o.Points != 0 && (o.Points < MinFrontPoints || o.Points > MaxFrontPoints) {
		errs.Badf("points", o.Points, "an integer from %d to %d", MinFrontPoints, MaxFrontPoints)
	}
	for _, l := range losses {
		if l == nil {
			errs.Bad("losses", "none", "two losses")
		} else if _, err := loss.Sum(loss.Term{Loss: l, Weight: 2}); err != nil {
			errs.Bad("losses", l.Name(), "losses without weights of their own")
		}
	}
	return errs.Err()
}

// front is the state of one Front.
type front struct {
	problem dp.Problem
	losses  [2]loss.Loss
	options FrontOptions
	start   time.Time

	mu     sync.Mutex // of what follows
	points []*FrontPoint
	ended  int
	err    error // of the first design that failed, which ends the others
}

// each designs the points from one on up to another, with the given weights, on all
// processors.
func (f *front) each(ctx context.Context, from, to int, weights func(i int) (share float64, w [2]float64)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next := make(chan int)
	workers := min(runtime.GOMAXPROCS(0), len(f.points))
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					continue
				}
				share, w := weights(i)
				point, err := f.design(ctx, share, w, f.timeLimit(workers))
				f.mu.Lock()
				f.ended++
				f.points[i] = point
				if err != nil && f.err == nil && ctx.Err() == nil {
					f.err = err
					cancel()
				}
				if f.options.Designed != nil {
					f.options.Designed(f.ended)
				}
				f.mu.Unlock()
			}
		})
	}
	for i := from; i < to; i++ {
		next <- i
	}
	close(next)
	wait.Wait()
}

// timeLimit returns that of the next design: those to come share the time that is left.
func (f *front) timeLimit(workers int) time.Duration {
	if f.options.TimeLimit == 0 {
		return 0
	}
	f.mu.Lock()
	left := max(len(f.points)-f.ended, workers)
	f.mu.Unlock()
	rest := (f.options.TimeLimit - time.Since(f.start)) * time.Duration(workers) / time.Duration(left)
	return max(rest, time.Millisecond)
}

// design designs for one weighted sum.
func (f *front) design(ctx context.Context, share float64, weights [2]float64, limit time.Duration) (*FrontPoint, error) {
	var terms []loss.Term
	for i, w := range weights {
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
	point := &FrontPoint{Share: share, Weights: weights, Design: r}
	for i, l := range f.losses {
		point.Expected[i] = r.Table.Table().ExpectedLossOf(l)
	}
	return point, nil
}

// units returns each loss's own optimum, in which weights are measured; where
// that is 0, what the other end pays.
func (f *front) units() (unit [2]float64) {
	for i := range unit {
		unit[i] = 1
		for _, e := range []*FrontPoint{f.points[i], f.points[1-i]} {
			if v, _ := e.Expected[i].Float64(); v > 0 {
				unit[i] = v
				break
			}
		}
	}
	return unit
}

// chebyshev returns the i-th of the points 0 … last between 0 and 1 that are
// dense at the ends.
func chebyshev(i, last int) float64 {
	return (1 - math.Cos(math.Pi*float64(i)/float64(last))) / 2
}

// rounded rounds a weight to few digits, so that it is easily written.
func rounded(x float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 5, 64), 64)
	return v
}

// result puts the designs that are not dominated and the bounds of all together.
func (f *front) result() (*FrontResult, error) {
	if f.err != nil {
		return nil, f.err
	}
	all := slices.DeleteFunc(slices.Clone(f.points), func(p *FrontPoint) bool { return p == nil })
	r := &FrontResult{Points: undominated(all), Limited: len(f.points) - len(all), Elapsed: time.Since(f.start)}
	r.Dominated = len(all) - len(r.Points)
	for _, p := range all {
		r.Bounds = append(r.Bounds, SupportingLine{p.Weights, p.Design.Table.Certificate().LowerBound})
		if !p.Design.Optimal {
			r.Limited++
		}
	}
	switch {
	case len(all) == 0:
		return nil, check.Errorf("lp", ErrLimit, "no design was done")
	case r.Limited > 0:
		return r, check.Errorf("lp", ErrLimit, "%d of %d designs stopped short of the gap", r.Limited, len(f.points))
	}
	return r, nil
}

// undominated returns the points that are not dominated, once each, by ascending
// expectation of the first loss.
func undominated(all []*FrontPoint) (kept []FrontPoint) {
	for i, p := range all {
		if !slices.ContainsFunc(all, func(q *FrontPoint) bool { return q.dominates(p) }) &&
			!slices.ContainsFunc(all[:i], func(q *FrontPoint) bool { return q.compare(p) == [2]int{} }) {
			kept = append(kept, *p)
		}
	}
	slices.SortFunc(kept, func(p, q FrontPoint) int { return p.compare(&q)[0] })
	return kept
}

// compare compares the expectations of each loss.
func (p *FrontPoint) compare(q *FrontPoint) (c [2]int) {
	for i := range c {
		c[i] = p.Expected[i].Cmp(q.Expected[i])
	}
	return c
}

// dominates reports whether p is no worse than q in either loss, and better in
// one.
func (p *FrontPoint) dominates(q *FrontPoint) bool {
	c := p.compare(q)
	return c[0] <= 0 && c[1] <= 0 && c != [2]int{}
}

// OuterBound returns what the Bounds leave for the second loss where the expectation of
// the first is at most x: every noise that a design may choose has at least that
// expectation of it. +Inf says that no noise has so small a first one. The bound is
// computed exactly and rounded down.
func (r *FrontResult) OuterBound(x float64) float64 {
	at, best := new(big.Rat), new(big.Rat)
	if at.SetFloat64(min(x, math.MaxFloat64)) == nil { // −∞, or no number
		return math.Inf(1)
	}
	for _, b := range r.Bounds {
		w := [2]*big.Rat{exact.Rational(b.Weights[0]), exact.Rational(b.Weights[1])}
		rest := w[0].Sub(b.Bound, w[0].Mul(w[0], at))
		switch {
		case w[1].Sign() > 0:
			if rest.Quo(rest, w[1]).Cmp(best) > 0 {
				best.Set(rest)
			}
		case rest.Sign() > 0:
			return math.Inf(1)
		}
	}
	return exact.FloatDown(best)
}
