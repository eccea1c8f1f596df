// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/lp/internal/noise/staircase"
	"github.com/noisewright/noisewright/tables"
)

// With one cell per sensitivity the lower program is a chain, which needs no solver: every constraint ties a
// cell to its neighbor. For small epsilon it nearly meets the loss of a staircase.

// chainDual solves the dual of the lower program at K = 1. With the multipliers
// y_j of the shift by −1, j ≥ 0, and their mirror images, the coefficients are
//
//	c_0 = l_0 + 2y_0,   c_j = l_j + y_j − e^ε y_{j−1},
//
// so the least y with all c_j ≥ λ follow one another, and the bound that λ gives, λ − 2δ·max y, is
// concave in λ. The search starts from the loss of a known table. It returns λ and max y, too.
func (m *model) chainDual(loss float64, maxCells int) (dual *tables.Dual, level, price float64) {
	var nodes []float64
	l := &lower{model: m}
	g := l.cells(1)
	node := func(j int) float64 {
		for len(nodes) <= j {
			nodes = append(nodes, l.cost(&g, m.Loss, len(nodes)))
		}
		return nodes[j]
	}
	ratio := math.Exp(m.Epsilon)
	// multipliers returns the least y and their largest, or ok = false if they grow past all use.
	multipliers := func(level float64) (y []float64, top float64, ok bool) {
		const far = 1e9 // sensitivities
		if m.Loss.At(far*m.Sensitivity) <= level {
			return nil, 0, false // nodes that are all below the level reach no end
		}
		last := max(0, (level-node(0))/2)
		y, top = append(y, last), last
		for j := 1; last > 0 || node(j) < level; j++ {
			last = max(0, level-node(j)+ratio*last)
			if j > maxCells || last > level/m.Delta {
				return nil, 0, false
			}
			y, top = append(y, last), max(top, last)
		}
		return y, top, true
	}
	value := func(level float64) float64 {
		_, top, ok := multipliers(level)
		if !ok {
			return math.Inf(-1)
		}
		return level - 2*m.Delta*top
	}
	lo, hi := 0.0, loss
	for value(2*hi) > value(hi) {
		hi *= 2
	}
	hi *= 2
	for range 120 {
		a, b := lo+(hi-lo)/3, hi-(hi-lo)/3
		if value(a) < value(b) {
			lo = a
		} else {
			hi = b // also where both are beyond all use
		}
	}
	y, top, ok := multipliers(lo)
	if !ok {
		return nil, 0, 0
	}
	return shiftsDual(1, staircase.Multipliers{-1: &staircase.Run{Y: y}}, true), lo, top
}

// Simple returns the noise that a Design starts from, see simpleTable.
func Simple(p dp.Problem, s *meet.Search) (*tables.Verified, error) {
	d, err := newDesigner(p, s)
	if err != nil {
		return nil, err
	}
	d.findCore()
	return d.simpleTable()
}

// simpleTable is the best noise that needs no solver, so that a Design always has a proven table: noise that
// costs nothing, or a staircase (Geng & Viswanath 2014) that is cut off, with or without an atom.
func (d *designer) simpleTable() (*tables.Verified, error) {
	if free := d.freeTable(); free != nil {
		return free, nil
	}
	const (
		share, shift = 1.0 / 8, 5 * time.Nanosecond // of the time that is left; to certify a cell at a shift
		runs         = 256                          // times sooner if there are few levels
	)
	work, cells := maxSimpleWork/4, d.Options.MaxCells
	if d.Options.TimeLimit > 0 {
		left := time.Duration(share * float64(d.Left()))
		work = min(work, int(left/shift))
		cells = min(cells, max(fewCells, int(left/d.perCell())))
	}
	t, err := d.coreTable(runs*max(work, 0), cells)
	if err != nil && d.start != nil { // a narrow core wants many cells
		d.start = nil
		t, err = d.coreTable(runs*max(work, 0), cells)
	}
	return t, err
}

// fewCells is how many there is always time for.
const fewCells = 1 << 11

// perCell returns about how long the expected loss of one cell takes.
func (d *designer) perCell() time.Duration {
	if _, _, quick := loss.Of(d.Loss).PolynomialBeyond(); quick {
		return 100 * time.Nanosecond // many are summed at once
	}
	return 25 * time.Microsecond
}

// perPoint is perCell of a single point.
func (d *designer) perPoint() time.Duration { return min(d.perCell(), 8*time.Microsecond) }

// freeTable returns noise that costs nothing, of a loss that is 0 as far out as truncated Laplace
// noise reaches, or nil: programs leave some mass where it costs.
func (d *designer) freeTable() *tables.Verified {
	reach := SupportBound(d.Problem)
	if d.points > 0 || d.Loss.At(reach*d.Sensitivity) > 0 {
		return nil
	}
	for k := 1; 2*reach*float64(k) < float64(min(d.Options.MaxCells, maxSimpleWork/k)); k *= 2 {
		fall := func(away int) float64 { return d.Epsilon * float64(away) / float64(k) }
		cut := d.truncate(upper{d.model}.cells(k), 1, d.Options.MaxCells, 0, fall)
		if cut.masses == nil || cut.loss > 0 {
			continue
		}
		if t, err := d.makeTable(cut.grid, cut.masses, 0); err == nil && t.Certificate().ExpectedLoss.Sign() == 0 {
			return t
		}
	}
	return nil
}

// maxSimpleWork bounds cells times cells per sensitivity of a simple table,
// which take about 5 ns each to certify.
const maxSimpleWork = 1 << 24

// truncated is a law that is cut off.
type truncated struct {
	grid   grid
	masses []float64
	atom   float64
	loss   float64 // about
}

// lightest is a mass that is kept: what is lighter would be left out, and the ends heavier.
const lightest = 0x1p-64

// truncate makes the law of n cells of equal mass, with which the grid begins, of masses proportional to e^(−fall(i)) in
// the i-th cells on either side, and of the given atom. It mixes those on the least support whose ends weigh no more than
// what the atom leaves of δ, and on the next smaller one, so that they weigh about that. It returns no masses if that has
// too many cells.
func (m *model) truncate(g grid, n, maxCells int, atom float64, fall func(away int) float64) truncated {
	const (
		shrink = 1 - 1e-6
	)
	half, sum := 0, float64(n)
	if atom == 0 { // no noise has less
		half = max(0, int((SupportBound(m.Problem)*shrink-1)*float64(g.k))-n/2)
	}
	at := []float64{1} // the unscaled mass of the i-th cells beyond the others
	most := (m.Delta - atom) * shrink / (1 - atom)
	inner, innerSum, innerEnds := half, math.Inf(1), math.Inf(1) // of the smaller support
	var share float64                                            // of it
	for step := max(1, g.k/64); ; half += step {
		if 2*half+n > maxCells {
			return truncated{}
		}
		for i := len(at); i <= half; i++ {
			at = append(at, math.Exp(-shrink*fall(i)))
			sum += 2 * at[i]
		}
		var ends float64
		for i := range min(g.k, 2*half+n) {
			ends += at[max(half-i, i-half-n+1, 0)] / sum
		}
		if ends <= most {
			share = (most - ends) / (innerEnds - ends)
			break
		}
		inner, innerSum, innerEnds = half, sum, ends
	}
	t := truncated{atom: atom, masses: make([]float64, 2*half+n)}
	g.first, g.n = g.first-half, len(t.masses)
	t.grid = g
	for i := range t.masses {
		away := max(half-i, i-half-n+1, 0)
		mass := at[away] * (1 - share) / sum
		if away <= inner {
			mass += at[away] * share / innerSum
		}
		t.masses[i] = max(mass*(1-atom), lightest)
	}
	t.loss = m.lossOf(g, t.masses)
	return t
}

// lossOf returns about the expected loss of masses.
func (m *model) lossOf(g grid, masses []float64) (sum float64) {
	step, _ := g.table.Step().Float64()
	width := float64(g.table.PointsPerCell) * step
	for i, from := 0, 0; i < g.n; i++ {
		if i+1 < g.n && masses[i+1] == masses[i] {
			continue
		}
		run := float64(i + 1 - from) // of cells that are equally heavy
		sum += masses[i] * run * m.Loss.CellMean((g.center(from)+(run-1)/2)*width, run*width)
		from = i + 1
	}
	return sum
}

// gapped makes the law of n cells of equal mass and, for K cells on either side of them, of masses e^ε times lighter, but for those
// of gaps, each of a share of n cells, that end n cells apart, the first at the end: whatever the shift, no more than
// delta of the n cells comes into gaps. Where these cost the same, that is worth more than to be next to them with delta. It returns no
// masses where delta is no more than what weighs outside of them.
func (m *model) gapped(g grid, n int) (t truncated) {
	const shrink = 1 - 1e-6
	light := math.Exp(-shrink * m.Epsilon)
	outside := 2 * light * float64(g.k) / float64(n)
	share := (m.Delta - outside) * shrink * float64(n) // in cells
	if share <= 0 || n > g.k {
		return t
	}
	g.first, g.n = g.first-g.k, n+2*g.k
	t = truncated{grid: g, masses: make([]float64, g.n)}
	sum := float64(n)
	for i := range g.k {
		mass := light * (1 - min(max(share-float64(i%n), 0), 1))
		t.masses[i], t.masses[g.n-1-i] = mass, mass
		sum += 2 * mass
	}
	for i := range n {
		t.masses[g.k+i] = 1
	}
	for i := range t.masses {
		t.masses[i] = max(t.masses[i]/sum, lightest)
	}
	t.loss = m.lossOf(g, t.masses)
	return t
}

func tooManyCells(maxCells int) error {
	return check.Errorf("lp", meet.ErrLimit, "the noise needs more than %d cells (max-cells)", maxCells)
}
