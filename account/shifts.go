// SPDX-License-Identifier: Apache-2.0

package account

import (
	"math"
	"math/bits"

	"github.com/noisewright/noisewright/internal/exact"
)

// envelope is the largest of the profiles of many shifts of a law at the losses of a grid,
// bounded from above, in units of 2^-64.
//
// One shift by k costs a pass over the weights, and there may be thousands. A range of them is
// bounded at once, in two ways that always hold (docs/proofs/composition.md): Q is replaced by the
// least weight that it has at the same output in the range, or P by the least weight that it has
// there, seen from Q, and what that takes away. Where no weight rises away from the largest, the
// first is the profile of the longest shift at losses from 0 on and the second at those below: one
// range is all. Else ranges that exceed what single shifts have by more than rounding are halved.
type envelope struct {
	grid     grid
	p, q     law // Q not yet shifted
	extra    exact.Uint128
	alphas   []float64
	heights  []float64
	losses   *losses
	tried    []int // the shifts that were looked at one by one
	failures int   // less the ranges that were bounded at once
}

const (
	// closeTogether is how far, relatively, the bound of a range may be above the profiles of single
	// shifts: far below the width of any composition.
	closeTogether = 0x1p-30
	// fewShifts are not worth bounding at once.
	fewShifts = 4
	// maxFailures is how many more ranges may fail than not. Then the shifts
	// have little in common, and are looked at one by one.
	maxFailures = 12
)

func newEnvelope(g grid, p, q law, extra exact.Uint128) *envelope {
	return &envelope{
		grid: g, p: p, q: q, extra: extra, alphas: discounted(g),
		heights: make([]float64, g.len()), losses: newLosses(g),
	}
}

// shift adds a single shift.
func (e *envelope) shift(k int) {
	e.tried = append(e.tried, k)
	e.losses.spread(e.grid, k, e.p, e.q, countSlack)
	e.losses.raise(e.heights, e.alphas, e.extra)
}

// shifts adds those of from to to cells, 1 <= from, or of as many in the other direction.
func (e *envelope) shifts(from, to, sign int) {
	if to-from < fewShifts || e.failures > maxFailures {
		for k := to; k >= from; k-- {
			e.shift(sign * k)
		}
		return
	}
	bound := e.together(from, to, sign)
	within := true
	for i, b := range bound {
		within = within && b <= e.heights[i]*(1+closeTogether)+1
	}
	if !within {
		e.failures++
		middle := from + (to-from)/2
		e.shift(sign * to)
		e.shifts(middle+1, to-1, sign)
		e.shifts(from, middle, sign)
		return
	}
	e.failures--
	for i, b := range bound {
		e.heights[i] = math.Max(e.heights[i], b)
	}
}

// together bounds the profiles of a range of shifts: one from the loss 0 on, one below.
func (e *envelope) together(from, to, sign int) []float64 {
	low, high := sign*from, sign*to
	if sign < 0 {
		low, high = high, low
	}
	bound := make([]float64, e.grid.len())
	zero := min(max(0, -e.grid.first), len(bound)) // the index of the loss 0
	if zero < len(bound) {
		e.losses.spread(e.grid, 0, e.p, e.q.least(-high, -low), countSlack)
		e.losses.raise(bound, e.alphas, e.extra)
	}
	if zero > 0 {
		below := make([]float64, len(bound))
		least := e.p.least(low, high)
		extra := e.extra
		extra.Add(excessOf(e.p.weights, least.weights))
		e.losses.spread(e.grid, 0, least, e.q, countSlack)
		e.losses.raise(below, e.alphas, extra)
		copy(bound[:zero], below[:zero])
	}
	return bound
}

// excessOf returns the sum of the weights less that of others, which is not larger.
func excessOf(weights, others []uint64) exact.Uint128 {
	var a, b exact.Uint128
	for _, w := range weights {
		a.Add64(w)
	}
	for _, w := range others {
		b.Add64(w)
	}
	low, borrow := bits.Sub64(a.Lo, b.Lo, 0)
	return exact.Uint128{Hi: a.Hi - b.Hi - borrow, Lo: low}
}

// least is the law whose weight at j is the least of those from j+from to j+to, 0 outside.
func (l law) least(from, to int) law {
	n := len(l.weights)
	out := law{make([]uint64, n), make([]float64, n)}
	queue := make([]int, 0, n) // indices of rising weights, the first that of the least
	head, next := 0, max(0, from)
	for j := range n {
		for ; next <= min(j+to, n-1); next++ {
			for len(queue) > head && l.weights[queue[len(queue)-1]] >= l.weights[next] {
				queue = queue[:len(queue)-1]
			}
			queue = append(queue, next)
		}
		for head < len(queue) && queue[head] < j+from {
			head++
		}
		if j+from < 0 || j+to >= n {
			out.logs[j] = math.Inf(-1)
			continue
		}
		out.weights[j], out.logs[j] = l.weights[queue[head]], l.logs[queue[head]]
	}
	return out
}
