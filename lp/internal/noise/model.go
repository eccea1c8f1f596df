// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/noise/staircase"
	"github.com/noisewright/noisewright/tables"
)

// model is a problem as its programs see it.
type model struct {
	dp.Problem
	// folded: a symmetric noise is among the best (the average of a noise and its mirror image is
	// as good), so cells that mirror each other share a variable and positive shifts suffice.
	folded bool
	// points is the number of points per sensitivity of an integer or lattice
	// query; 0: the query is real.
	points int64
	unit   *big.Rat // the distance of these points
	// bits are those of pointsBits.
	bits int
	// spread: the noise of the query is rounded to multiples of it, for a query on these; nil: it is not.
	spread *big.Rat
	// peak is about where the best density is largest, in sensitivities.
	peak    float64
	jumps   []float64 // of the loss
	jumping bool      // the loss, or what a quantile bounds, jumps
	moments []moment
	// curvature is that of findCurvature; 0: it is not known yet.
	curvature float64
	// slope: unbiased noise pays as much as for the loss without slope·x, which is symmetric.
	slope float64
	// core is that of the best noise with delta = 0; nil: it is not known, or of no use.
	core *staircase.Core
	// steps are where the best staircase first falls, in sensitivities from 0, if it is known.
	steps []float64
}

// momentKind tells the multipliers of moments apart in a dual.
type momentKind int

const (
	quantileMoment momentKind = iota
	meanMoment
	varianceMoment
	middleMoment // of monotone noise: twice the middle cell weighs as much as the two next to it
)

// moment is a constraint E g(X) <= limit, or E X = 0 of kind meanMoment.
type moment struct {
	kind  momentKind
	loss  loss.Loss
	limit float64
}

func newModel(p dp.Problem) (*model, error) {
	m := &model{Problem: p, bits: minPointsBits}
	m.folded = p.Loss != nil && (p.Loss.Symmetric() || p.Constraints.Symmetric) && p.Constraints.Mirrored()
	if !m.folded && p.Loss != nil && p.Constraints.Unbiased && p.Constraints.Mirrored() {
		m.slope, m.folded = slopeOf(p.Loss, p.Sensitivity)
	}
	if p.Query == dp.IntegerQuery || p.Query == dp.LatticeQuery {
		m.unit = new(big.Rat).SetInt64(1)
		if p.Query == dp.LatticeQuery {
			m.unit.SetFloat64(p.Step)
		}
		m.points = ceilQuo(p.Sensitivity, m.unit).Int64()
	}
	if p.Constraints.Unbiased && !m.folded {
		m.moments = append(m.moments, moment{kind: meanMoment})
	}
	if v := p.Constraints.MaxVariance; v > 0 {
		m.moments = append(m.moments, moment{varianceMoment, loss.L2, v})
	}
	for _, q := range p.Constraints.Quantiles {
		loss, err := q.Loss()
		if err != nil {
			return nil, err
		}
		m.moments = append(m.moments, moment{quantileMoment, loss, 1 - q.Probability})
	}
	m.peak, m.jumps = m.findPeak(), m.findJumps()
	m.jumping = len(m.jumps)+len(p.Constraints.Quantiles) > 0
	return m, nil
}

// slopeOf returns the slope of what a loss has beside its symmetric part, and whether that is linear.
func slopeOf(l loss.Loss, scale float64) (slope float64, linear bool) {
	slope = (l.At(scale) - l.At(-scale)) / (2 * scale)
	try := []float64{1e-6 * scale, 1e-3 * scale, 0.1 * scale, 0.37 * scale, 3 * scale, 17 * scale}
	for _, x := range loss.Of(l).Kinks() {
		try = append(try, x*(1-1e-9), x*(1+1e-9))
	}
	for _, x := range try {
		if math.Abs(l.At(x)-l.At(-x)-2*slope*x) > 1e-12*max(l.At(x), l.At(-x)) {
			return 0, false
		}
	}
	return slope, true
}

func (m *model) of() *model { return m }

// around returns the ends of reach sensitivities around the peak, in cells from 0.
func (m *model) around(k int, reach float64) (from, to float64) {
	if m.folded {
		return -reach * float64(k), reach * float64(k)
	}
	return (m.peak - reach) * float64(k), (m.peak + reach) * float64(k)
}

func (m *model) masses(g grid) int {
	return engine.Laws{Inputs: g.n, Mirrored: m.folded}.Own()
}

// work returns the multiplications of an iteration of the interior point method with all shifts.
func (m *model) work(g grid) float64 {
	shifts := 2 * g.k
	if m.folded {
		shifts /= 2
	}
	return work(m.masses(g), shifts)
}

// work is that of a program of so many masses and shifts.
func work(masses, shifts int) float64 {
	n := float64(masses)
	return n * n * (float64(shifts)/2 + n/6)
}

// fits reports whether a program with all shifts is for the interior point method at all.
func (m *model) fits(g grid) bool {
	lo, hi := g.events()
	terms := int64(hi-lo) * int64(g.k)
	if !m.folded {
		terms *= 2
	}
	return engine.Fits(m.masses(g), terms)
}

// pointCells returns the cells of a table with so many points of an integer or lattice query each.
func (m *model) pointCells(each int64) tables.Grid {
	g := tables.Grid{PointsPerCell: each}
	if m.Query == dp.LatticeQuery {
		g.Unit = m.Step
	}
	return g
}

// findPeak estimates where the best density is largest, in sensitivities from 0: where truncated
// Laplace noise is best put. It places grids and scales variables; a poor one costs time only.
func (m *model) findPeak() float64 {
	if m.folded || m.Constraints.Monotone || m.Constraints.Unbiased && m.Constraints.Support == nil {
		return 0
	}
	reach := SupportBound(m.Problem)
	lo, hi := math.Inf(-1), math.Inf(1)
	if s := m.Constraints.Support; s != nil {
		lo, hi = s.Lower/m.Sensitivity+reach, s.Upper/m.Sensitivity-reach
		if lo > hi { // too narrow for that noise
			return (lo + hi) / 2
		}
	}
	best, least := 0.0, math.Inf(1)
	try := func(x float64) {
		if x = min(max(x, lo), hi); !check.Finite(x) {
			return
		}
		if c := m.shifted(x, reach); c < least {
			best, least = x, c
		}
	}
	width := 2 * min(reach, 60/max(m.Epsilon, 1/reach))
	try(lo)
	try(hi)
	try(0)
	for width > 0.01 {
		around := best
		for i := -8; i <= 8; i++ {
			try(around + width*float64(i)/8)
		}
		width /= 4
	}
	return best
}

// shifted returns about the expected loss of truncated Laplace noise around x sensitivities.
func (m *model) shifted(x, reach float64) float64 {
	const cells = 200
	end := min(reach, 40/max(m.Epsilon, 1e-9))
	var loss, mass float64
	for i := -cells; i < cells; i++ {
		y := (float64(i) + 0.5) / cells * end
		w := math.Exp(-m.Epsilon * math.Abs(y))
		loss += w * m.Loss.At((x+y)*m.Sensitivity)
		mass += w
	}
	return loss / mass
}

func (m *model) typicalLoss() float64 {
	if c := m.shifted(m.peak, SupportBound(m.Problem)); c > 0 {
		return c
	}
	return 1
}

// unshaped reports whether there are no constraints but those that the best noise without any keeps too, if the
// programs are folded, or that cells between nodes make no use of.
func (m *model) unshaped() bool {
	c := m.Constraints
	c.Symmetric, c.Unbiased = false, false
	return c.None()
}

// largeDelta is the delta from which the best noise for a loss that is flat far out has masses there.
const largeDelta = 1e-2

// flat returns from where on, in sensitivities, the loss is constant after a jump, if it is, alike on both sides.
func (m *model) flat() (from float64, ok bool) {
	if len(m.jumps) == 0 || !m.Loss.Symmetric() {
		return 0, false
	}
	const near, far = 1 + 1e-9, 1e6
	last := slices.Max(m.jumps)
	return last / m.Sensitivity, m.Loss.At(last*near) == m.Loss.At(last*far)
}

// findJumps lists the jumps of the loss.
func (m *model) findJumps() (jumps []float64) {
	const near, little = 1e-9, 1e-6 // beside what a sensitivity further costs: below it may be nothing
	for _, x := range loss.Of(m.Loss).Kinks() {
		below, above := m.Loss.At(x-near*math.Abs(x)), m.Loss.At(x+near*math.Abs(x))
		if math.Abs(above-below) > little*max(above, below, m.Loss.At(x-m.Sensitivity), m.Loss.At(x+m.Sensitivity)) {
			jumps = append(jumps, x)
		}
	}
	return jumps
}

// marks lists what grids are aligned to, in sensitivities from 0, the least first: steps of the
// optimal density, and kinks, jumps and ends of the loss and of the constraints.
func (m *model) marks() []float64 {
	const most = 4
	var marks []float64
	add := func(x float64) {
		if x = math.Abs(x) / m.Sensitivity; x > 1e-3 && x < 1e3 && len(marks) < most {
			marks = append(marks, x)
		}
	}
	for _, x := range m.steps {
		add(x * m.Sensitivity)
	}
	for _, x := range loss.Of(m.Loss).Kinks() {
		add(x)
	}
	for _, q := range m.Constraints.Quantiles {
		add(q.Magnitude)
	}
	if s := m.Constraints.Support; s != nil {
		add(s.Lower)
		add(s.Upper)
	}
	slices.Sort(marks)
	return slices.Compact(marks)
}
