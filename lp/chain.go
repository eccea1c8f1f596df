package lp

import (
	"errors"
	"math"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

// With one cell per sensitivity both programs are chains, which need no solver:
// every constraint ties a cell to its neighbour. A Design starts from them. For
// small epsilon they nearly meet, and cells are so many that a solver is slow.

// chainTable is the optimum of the upper program at K = 1 without an atom, for
// a symmetric loss that does not decrease away from 0: the integer law of Awan
// & Dong (see noise.AwanDongTails), spread over cells.
func (f *frame) chainTable(maxCells int) (t *tables.Verified, err error) {
	reach := supportBound(f.Problem)
	if 2*reach > float64(maxCells) {
		return nil, tooManyCells(maxCells)
	}
	for _, margin := range []float64{1e-7, 1e-5, 1e-3} {
		var tails []float64
		epsilon, delta := tightened(f.Problem, grid{}.centred(int(reach)+1), margin)
		tails, err = noise.AwanDongTails(max(epsilon, 0), delta)
		if err != nil {
			return nil, check.Errorf("lp", nil, "%w", err)
		}
		half := len(tails)
		if 2*half+1 > maxCells {
			return nil, tooManyCells(maxCells)
		}
		masses := make([]float64, 2*half+1)
		masses[half] = 1 - 2*tails[0]
		for i, beyond := range tails { // the mass beyond cell i, on each side
			m := beyond
			if i+1 < half {
				m -= tails[i+1]
			}
			masses[half+i+1], masses[half-i-1] = m, m
		}
		t, err = f.makeTable(f.cells(upper, 1).centred(half), masses, 0)
		if !errors.Is(err, tables.ErrNotPrivate) {
			break
		}
	}
	return t, err
}

// chainDual solves the dual of the lower program at K = 1. With the multipliers
// y_j of the shift by −1, j ≥ 0, and their mirror images, the coefficients are
//
//	c_0 = l_0 + 2y_0,   c_j = l_j + y_j − e^ε y_{j−1},
//
// so the least y with all c_j ≥ λ follow one another, and the bound that λ
// gives, λ − 2δ·max y, is concave in λ. The search starts from the loss of a
// known table.
func (f *frame) chainDual(loss float64, maxCells int) *tables.Dual {
	var nodes []float64
	g := f.cells(lower, 1)
	node := func(j int) float64 {
		for len(nodes) <= j {
			nodes = append(nodes, f.cost(lower, &g, f.Loss, len(nodes)))
		}
		return nodes[j]
	}
	ratio := math.Exp(f.Epsilon)
	// multipliers returns the least y and their largest, or ok = false if
	// they grow past all use.
	multipliers := func(level float64) (y []float64, top float64, ok bool) {
		last := max(0, (level-node(0))/2)
		y, top = append(y, last), last
		for j := 1; last > 0 || node(j) < level; j++ {
			last = max(0, level-node(j)+ratio*last)
			if j > maxCells || last > level/f.Delta {
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
		return level - 2*f.Delta*top
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
	if !ok || top == 0 {
		return nil
	}
	_, exp := math.Frexp(2 * top)
	d := &tables.Dual{CellsPerSensitivity: 1, Exponent: exp - dualBits, Mirrored: true}
	s := tables.DualShift{Shift: -1, Multipliers: make([]int64, len(y))}
	for j, v := range y {
		s.Multipliers[j] = int64(math.Ldexp(v, -d.Exponent))
	}
	d.Shifts = []tables.DualShift{s}
	return d
}
