// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"
	"slices"

	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/tables"
)

// dual reads the multipliers of the lower program, in units of the loss (unit
// is what the costs were divided by), rounded to a common exponent. Whatever
// the solver's errors, the result proves a true bound.
func (p *program) dual(g grid, unit float64) *tables.Dual {
	mirrored := p.isMirrored()
	d := &tables.Dual{CellsPerSensitivity: g.k, Mirrored: mirrored, Edges: g.edges}
	p.momentDuals(d, unit)
	if mirrored {
		unit /= 2 // each of the other multipliers will stand twice
	}
	var total float64
	for i := range p.shifts {
		total += p.Price(i) * unit
	}
	descents := p.descents()
	for _, y := range slices.Concat(descents[0], descents[1]) {
		total = max(total, y*unit)
	}
	if total <= 0 {
		return d
	}
	_, exp := math.Frexp(total)
	d.Exponent = exp - meet.DualBits
	if mirrored {
		d.Exponent++
	}
	scale := math.Ldexp(unit, -d.Exponent)
	repaired, _ := p.repaired(&g)
	before, after := p.outwards(repaired)
	for i, y := range repaired {
		start := p.first
		switch {
		case p.tail == p.shifts[i]:
			chain := p.chain()
			y, start = slices.Concat(chain, y[p.eventLo:p.eventHi]), start+p.eventLo-len(chain)
		case y == nil:
			continue
		case before[i] != nil || after[i] != nil:
			y, start = slices.Concat(before[i], y, after[i]), start-len(before[i])
		}
		if first, m := meet.Integers(y, scale); m != nil {
			d.Add(p.shifts[i], start+first, meet.Trimmed(m))
		}
	}
	for i, run := range []**tables.DualRun{&d.MonotoneRight, &d.MonotoneLeft} {
		if first, m := meet.Integers(descents[i], scale); m != nil {
			*run = &tables.DualRun{FirstCell: first, Multipliers: m}
		}
	}
	return d
}

// momentDuals reads the multipliers of the moment rows: that of the mean, if
// there is one, comes first.
func (p *program) momentDuals(d *tables.Dual, unit float64) {
	for i, m := range p.moments {
		price := -p.momentPrice(i) * unit
		switch m.kind {
		case meanMoment:
			d.Mean = price
		case varianceMoment:
			d.Variance = price
		case middleMoment: // that is one of the descents
		default:
			d.Quantiles = append(d.Quantiles, price)
		}
	}
}

// descents returns the multipliers of the demand that cell j weighs at least as
// much as the next one outwards, by |j|: to the right of 0 and to the left.
func (p *program) descents() (runs [2][]float64) {
	cell := make([]int, len(p.cost)) // of each variable: its last
	for i, v := range p.variable {
		cell[v] = p.first + i
	}
	for i, pair := range p.decreasing {
		inner, outer := cell[pair[0]], cell[pair[1]]
		side, at := 0, inner
		if outer < inner {
			side, at = 1, -inner
		}
		for len(runs[side]) <= at {
			runs[side] = append(runs[side], 0)
		}
		runs[side][at] = p.descent(i)
	}
	for i, m := range p.moments {
		if m.kind != middleMoment {
			continue
		}
		for side := range runs {
			if len(runs[side]) == 0 {
				runs[side] = []float64{0}
			}
			runs[side][0] = max(0, p.momentPrice(i))
		}
	}
	return runs
}

// isMirrored reports whether opposite cells share a variable; the program then
// has the positive shifts only, and each stands for its opposite too.
func (p *program) isMirrored() bool {
	n := len(p.variable)
	return n > 1 && p.variable[0] == p.variable[n-1]
}

// repaired returns the multipliers by shift index and cell, nil for shifts
// without a price, adjusted so that rounding errors of the solver cost little.
//
// The bound is the least coefficient c_i = l_i + Σ_k (y_{k,i} − e^ε y_{k,i+k}). The solver keeps
// the scaled coefficient above its tolerance, so where masses are tiny an unscaled one can fall far
// short of the others. Lowering y_{k,i+k} by d/e^ε makes up for a shortage of d at cell i and makes
// one of d/e^ε at cell i+k, which lies further in. Going from the outside inwards, shortages shrink
// by e^ε per sensitivity, as the masses grow.
// It returns the worst shortage that is left, too.
func (p *program) repaired(g *grid) (y [][]float64, worst float64) {
	n := len(p.variable)
	y = make([][]float64, len(p.shifts))
	own, from := make([]float64, n), make([]float64, n)
	for i, k := range p.shifts {
		if p.Price(i) == 0 {
			continue
		}
		y[i] = make([]float64, n)
		for j := p.eventLo; j < p.eventHi; j++ {
			y[i][j] = p.Multiplier(i, j-p.eventLo)
			own[j] += y[i][j]
			if j-k >= 0 && j-k < n {
				from[j-k] += y[i][j]
			}
		}
	}
	mirrored := p.isMirrored()
	base := p.lagrangian()
	// In a mirrored program the two halves of a cell's coefficient come from
	// the cell and its mirror image.
	coefficient := func(j int) float64 {
		c := base[p.variable[j]]
		if mirrored {
			return c + (own[j]+own[n-1-j]-p.ratio*(from[j]+from[n-1-j]))/2
		}
		return c + own[j] - p.ratio*from[j]
	}
	lower := func(i, j int, by float64) float64 {
		if y[i] == nil || j < 0 || j >= n {
			return 0
		}
		by = min(by, y[i][j])
		y[i][j] -= by
		own[j] -= by
		if at := j - p.shifts[i]; at >= 0 && at < n {
			from[at] -= by
		}
		return by
	}
	if p.root != nil {
		p.off = p.untangled(g, y, coefficient, func(i, j int, by float64) {
			y[i][j] += by
			own[j] += by
			from[j-p.shifts[i]] += by
		})
	}
	level := p.Dual(0) // the price of the total mass, which all cells with mass have at an optimum
	for _, i := range p.fromOutside() {
		short := level - coefficient(i)
		if mirrored {
			short *= 2
		}
		for s, k := range p.shifts {
			if short <= 0 {
				break
			}
			short -= p.ratio * lower(s, i+k, short/p.ratio)
			if mirrored && short > 0 {
				short -= p.ratio * lower(s, n-1-i+k, short/p.ratio)
			}
		}
	}
	for i := range n {
		worst = max(worst, level-coefficient(i))
	}
	return y, worst
}

// chain returns the multipliers of a shift by the tail of the cells that gain on those further out, up to the
// first that counts: so much that each is left at the level, which the last ones are without.
func (p *program) chain() []float64 {
	const negligible = 1e-12
	blocks := int(math.Ceil(-math.Log(negligible)/math.Log(p.ratio))) + 1
	y := make([]float64, blocks*p.tail)
	for i := range y {
		if y[i] = 2 * max(0, p.cost[p.variable[0]]-p.Dual(0)); i >= p.tail {
			y[i] += y[i-p.tail]
		}
		y[i] /= p.ratio
	}
	return y
}

// lagrangian returns the cost of one cell's mass of each variable with what the
// monotone and the moment rows add.
func (p *program) lagrangian() []float64 {
	base := slices.Clone(p.cost)
	for i := range min(p.tail, len(p.variable)) {
		v := p.variable[i]
		base[v] += (p.cost[v] - p.Dual(0)) / (p.ratio - 1)
	}
	for i := range p.moments {
		price := p.momentPrice(i)
		for v, c := range p.moments[i].coefficient {
			base[v] -= price * p.moments[i].scale * c
		}
	}
	cells := p.cells()
	for i, pair := range p.decreasing {
		y := p.descent(i)
		base[pair[0]] -= y / float64(cells[pair[0]])
		base[pair[1]] += y / float64(cells[pair[1]])
	}
	return base
}

// unfolded writes out the multipliers that a mirrored dual stands for.
func unfolded(d *tables.Dual) *tables.Dual {
	all := *d
	if !d.Mirrored {
		return &all
	}
	all.Mirrored, all.MonotoneLeft = false, d.MonotoneRight
	all.Shifts = slices.Clone(d.Shifts)
	for _, s := range d.Shifts {
		m := slices.Clone(s.Multipliers)
		slices.Reverse(m)
		last := s.FirstCell + len(m) - 1
		if d.Edges {
			last++
		}
		all.Add(-s.Shift, -last, m)
	}
	return &all
}
