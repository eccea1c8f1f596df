// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/quadrature"
	"github.com/noisewright/noisewright/tables"
)

// NoiseError bounds the mean of n draws of a table's noise, with what rounding values to its grid adds:
// it is from −below to above but for a probability of 1 − level. By Chernoff's bound, for every λ > 0,
// it is at most (log E exp(λX) + t/n)/λ but for a probability of e^−t, here half of 1 − level, and
// the same of −X is the other side. Which λ is taken changes only how close the bound is.
func NoiseError(t *tables.Table, n int, level float64) (below, above float64) {
	share := math.Log(2/(1-level)) * (1 + 1e-9) / float64(n)
	law := newMoments(t)
	side := func(sign float64) float64 {
		at := func(u float64) float64 {
			rate := math.Exp(u)
			return (law.logMoment(sign*rate) + share) / rate
		}
		// It falls and then rises with λ: (K(λ) + c)/λ with K convex, K(0) = 0 and c > 0.
		most := math.Log(600 / law.reach)
		_, least := quadrature.Minimum(at, most-40, most, 45)
		return least*(1+1e-12) + law.slack
	}
	return side(-1), side(1)
}

// moments is the law of a table's noise, in query units.
type moments struct {
	*tables.Table
	step, reach float64
	period      float64 // of a tail
	slack       float64 // of rounding to the grid, at most
	random      float64 // the width of a rounding at random, whose mean is 0
}

func newMoments(t *tables.Table) moments {
	g := t.Grid()
	step, _ := g.Step().Float64()
	m := moments{Table: t, step: step, period: step * float64(g.CellsPerSensitivity) * float64(g.PointsPerCell)}
	m.reach = step*float64(t.Reach()) + m.period
	switch t.Query() {
	case dp.RealQuery:
		m.slack = step / 2
	case dp.LatticeQuery:
		m.random = step
	case dp.IntegerQuery:
	}
	return m
}

// logMoment bounds log E exp(λX) from above, X the noise and the rounding at random, +Inf where it
// is infinite or nearly so. A rounding of mean 0 in an interval of a width w adds at most (λw)²/8
// (Hoeffding's lemma). The terms are positive, so the sum has a relative error of at most 2^-53 times
// a few for each cell, of 2^18 at most, and for each unit of an exponent, of 1200 at most: below 1e-9.
func (m moments) logMoment(rate float64) float64 {
	g := m.Grid()
	points := float64(g.PointsPerCell)
	a := rate * m.step / 2
	within := sinhc(a*points) / sinhc(a) / 0x1p64 // of the points of a cell about its middle
	ratio := float64(m.TailRatio()) * 0x1p-64
	sum := float64(m.Atom()) * 0x1p-64
	for i := range m.Cells() {
		w := float64(m.Weight(i))
		if w == 0 {
			continue
		}
		if side, tail := m.Block(i); tail { // in periods further out, each ratio times as likely
			further := ratio * math.Exp(float64(side)*rate*m.period)
			if further > 1-1e-4 {
				return math.Inf(1)
			}
			w *= float64(-m.TailRatio()) * 0x1p-64 / (1 - further)
		}
		sum += w * within * math.Exp(rate*m.step*(float64(g.FirstPoint(i))+(points-1)/2))
	}
	return math.Log(sum) + 1e-9 + rate*rate*m.random*m.random/8
}

func sinhc(x float64) float64 {
	if math.Abs(x) < 1e-9 {
		return 1
	}
	return math.Sinh(x) / x
}
