// SPDX-License-Identifier: Apache-2.0

// Package staircase knows the best noise with delta = 0 for a loss that has one valley,
// and why there is none better (docs/proofs/tail.md; Geng & Viswanath 2016 for symmetric
// losses): the density that falls by e^ε wherever x leaves [a-nT, b+nT], n = 0, 1, 2, …,
// T the sensitivity, and is constant on its core, from a to b.
package staircase

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/noisewright/noisewright/loss"
)

// Core is the core of a staircase, in sensitivities; for noise on points that of their
// cells, of half a point's distance on either side.
type Core struct{ From, Width float64 }

// Problem asks for the best staircase for a loss.
type Problem struct {
	Loss                 loss.Loss
	Epsilon, Sensitivity float64
	// Points is the number of points per sensitivity of noise on points, Unit their
	// distance; 0: the noise is real.
	Points int64
	Unit   float64
	// Periods is the number of sensitivities beyond which no more than a share of
	// Negligible of the loss lies.
	Periods int
	// Symmetric: the core is to be around 0.
	Symmetric bool
}

// Negligible is the share of the loss beyond Problem.Periods, about.
const Negligible = 1e-16

// Search returns the core of the best staircase, or ok = false if none was found, as for
// most losses with several valleys. If the context ends first, it is the best so far.
func Search(ctx context.Context, p Problem) (core Core, ok bool) {
	s := newSearch(p)
	s.ended = func() bool { return ctx.Err() != nil }
	starts := []int64{0}
	if !p.Symmetric {
		starts = s.valleys()
	}
	var e ends
	least := math.Inf(1)
	for _, x := range starts {
		if ok && s.ended() {
			break
		}
		if found, value, good := s.best(x); good && (!ok || value < least) {
			e, least, ok = found, value, true
		}
	}
	from := -float64(e.left)
	if s.points {
		from += 0.5
	}
	return Core{from / float64(s.period), float64(s.width(e)) / float64(s.period)}, ok
}

// search is the state of a Search. Positions are integers in units of a step: the points,
// and otherwise a fine division of the sensitivity.
type search struct {
	loss   loss.Loss
	step   float64 // the unit
	period int64   // T
	ratio  float64 // e^-ε
	levels int     // periods that matter
	points bool    // noise is on the points
	exact  bool    // sums over points one by one
	ended  func() bool
}

// ends of the core of a staircase: the first positions beyond it to the right and, as
// distances to the left of 0, to the left. On points the core is -left+1 … right-1,
// and otherwise the interval from -left to right.
type ends struct{ left, right int64 }

const (
	// divisions of a sensitivity in the search for real queries.
	divisions = 1 << 32
	// equal is the share of the loss within which widths are equally good.
	equal = 1e-12
	// mostTerms bounds the points that are summed one by one; where there are more
	// the sum over K of them differs from the integral by some 1/K².
	mostTerms = 1 << 16
)

func newSearch(p Problem) *search {
	s := &search{ended: func() bool { return false }, loss: p.Loss, ratio: math.Exp(-p.Epsilon), period: divisions, levels: p.Periods, points: p.Points > 0}
	s.step = p.Sensitivity / divisions
	if s.points {
		s.period, s.step = p.Points, p.Unit
	}
	s.exact = float64(s.levels)*float64(s.period) <= mostTerms
	return s
}

// best returns the ends and the loss of the best staircase around a valley, or ok =
// false if it found none.
//
// The loss is a quotient N/D of sums over the core and the rings around it. For
// a level λ, N - λD has a part for either end, each with a minimum of its own; the
// quotient there is the next λ (Dinkelbach 1967), which falls to the least one.
func (s *search) best(start int64) (best ends, loss float64, ok bool) {
	half := max(1, s.period/2)
	best = ends{half - start, start + half}
	loss = s.value(best)
	for range 60 {
		right, okRight := s.end(1, start, loss)
		left, okLeft := s.end(-1, start, loss)
		next := ends{left, right}
		if s.ended() {
			return best, loss, true
		}
		if !okRight || !okLeft || s.width(next) < 1 {
			break
		}
		value := s.value(next)
		if value < loss || !ok {
			best, ok = next, true
		}
		if !(value < loss*(1-1e-15)) {
			break
		}
		loss = value
	}
	return best, loss, ok
}

func (s *search) width(e ends) int64 {
	if s.points {
		return e.left + e.right - 1
	}
	return e.left + e.right
}

func (s *search) at(side, x int64) float64 { return s.loss.At(float64(side*x) * s.step) }

// run returns the sum of the loss over n positions from the first one outwards.
func (s *search) run(side, first, n int64) float64 {
	center := float64(first) + float64(n)/2
	if s.points {
		if s.exact {
			var sum float64
			for x := first; x < first+n; x++ {
				sum += s.at(side, x)
			}
			return sum
		}
		center -= 0.5
	}
	return float64(n) * s.loss.CellMean(float64(side)*center*s.step, float64(n)*s.step)
}

// value returns the expected loss of a staircase.
func (s *search) value(e ends) float64 {
	core, n := -e.left, s.width(e)
	if s.points {
		core++
	}
	sum, mass := s.run(1, core, n), float64(n)
	level := 1.0
	for i := range int64(s.levels) {
		if i%64 == 0 && s.ended() {
			return math.Inf(1)
		}
		level *= s.ratio
		sum += level * (s.run(1, e.right+i*s.period, s.period) + s.run(-1, e.left+i*s.period, s.period))
		mass += 2 * level * float64(s.period)
	}
	return sum / mass
}

// end returns the first position on the side of the sign at which it costs to widen the
// core: where h(x) = Σ_n ρ^n·(c(x+nT) - λ) > 0, that is. A loss with jumps can have
// cores of many widths that are equally good, and tables are small for the widest.
func (s *search) end(side, start int64, lambda float64) (x int64, ok bool) {
	start *= side
	h := func(x int64) float64 {
		sum, level := -equal*lambda, 1.0
		for n := range int64(s.levels) {
			if n%1024 == 0 && s.ended() {
				break
			}
			sum += level * (s.at(side, x+n*s.period) - lambda)
			level *= s.ratio
		}
		return sum
	}
	// beyond walks to where the loss exceeds λ for good.
	beyond := func(direction int64) (int64, bool) {
		for d := int64(1); d < mostDistant; d *= 2 {
			if s.at(side, start+direction*d) > lambda {
				return start + direction*d, true
			}
		}
		return 0, false
	}
	inside, outside := start, start
	if h(start) < 0 {
		if outside, ok = beyond(1); !ok {
			return 0, false
		}
	} else {
		// The core lies further on the other side. For convex c so is h, and its minimum is inside.
		low, ok := beyond(-1)
		if !ok {
			return 0, false
		}
		high := start
		for low < high {
			if m := low + (high-low)/2; h(m) < h(m+1) {
				high = m
			} else {
				low = m + 1
			}
		}
		if inside = low; h(inside) >= 0 {
			return 0, false
		}
	}
	for outside-inside > 1 {
		if m := inside + (outside-inside)/2; h(m) < 0 {
			inside = m
		} else {
			outside = m
		}
	}
	return outside, true
}

// valleys returns about where the loss has its least values, the lowest first: 0 for a loss that
// does not decrease away from it, and otherwise what lies downhill from 0 and the kinks.
func (s *search) valleys() []int64 {
	starts := []int64{0}
	if !loss.Of(s.loss).Unimodal() {
		for _, k := range loss.Of(s.loss).Kinks() {
			if x := math.Round(k / s.step); math.Abs(x) < mostDistant {
				starts = append(starts, int64(x))
			}
		}
	}
	byLoss := func(a, b int64) int { return cmp.Or(cmp.Compare(s.at(1, a), s.at(1, b)), cmp.Compare(a, b)) }
	slices.SortFunc(starts, byLoss)
	starts = starts[:min(len(starts), mostStarts)]
	if !loss.Of(s.loss).Unimodal() {
		for i := range starts {
			starts[i] = s.downhill(starts[i])
		}
	}
	slices.SortFunc(starts, byLoss)
	return slices.Compact(starts)
}

func (s *search) downhill(x int64) int64 {
	for d := s.period; d > 0; {
		best := x
		for _, y := range []int64{x - d, x + d} {
			if y > -mostDistant && y < mostDistant && s.at(1, y) < s.at(1, best) {
				best = y
			}
		}
		if best == x {
			d /= 2
		}
		x = best
	}
	return x
}

const mostStarts = 16

const mostDistant = 1 << 51
