// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

// grid describes the cells of one program: cell j is centered on j·width plus
// the offset, for first <= j < first+n.
type grid struct {
	k        int // K, cells per sensitivity
	first, n int
	// table is how a table holds the cells of an upper program, but for
	// FirstCell: their points and offset. For the lower program of an integer
	// or lattice query PointsPerCell is the distance of its nodes in points.
	table tables.Grid
	// edges: the cells of a lower program lie between its nodes, cell j from
	// node j to node j+1, and do not move.
	edges bool
	// open: noise may reach beyond the first or the last cell.
	openBelow, openAbove bool
	// inner: the gain of cells within a sensitivity of an open end does not count.
	inner bool
	// ended: it reaches no further than the noise is thought to.
	ended bool
}

// events returns the cells [lo, hi) whose gain counts.
func (g *grid) events() (lo, hi int) {
	lo, hi = 0, g.n
	if g.inner && g.openBelow {
		lo = min(g.k, g.n)
	}
	if g.inner && g.openAbove {
		hi = max(g.n-g.k, lo)
	}
	return lo, hi
}

// between returns the cells first to last of a grid that are in lo to hi, the ends of the noise.
func (g grid) between(first, last, lo, hi float64) grid {
	g.openBelow, g.openAbove = first > lo, last < hi
	first, last = max(first, lo), min(last, hi)
	g.first, g.n = int(first), max(0, int(last)-int(first)+1)
	return g
}

// center returns the middle of the i-th cell, in cells from 0.
func (g grid) center(i int) float64 {
	c := float64(g.first + i)
	if g.edges {
		c += 0.5
	}
	if g.table.Offset != 0 {
		c += float64(g.table.Offset) / float64(g.table.PointsPerCell)
	}
	return c
}

// realCells chooses the granularity and the points per cell of a real query: g =
// 2^e with m = ⌈Δ/g⌉ ≥ K·2^bits points per sensitivity, and S the least odd
// number with K·S ≥ m, so that K·S/m − 1 ≤ 2/2^bits.
func realCells(sensitivity float64, k, bits int) tables.Grid {
	_, exp := math.Frexp(sensitivity / float64(k))
	e := exp - 1 - bits
	step := tables.Grid{GranularityExponent: e}.Step()
	// ⌈⌈Δ/g⌉/K⌉ = ⌈Δ/(gK)⌉ for integers K.
	s := ceilQuo(sensitivity, step.Mul(step, new(big.Rat).SetInt64(int64(k)))).Int64()
	return tables.Grid{GranularityExponent: e, PointsPerCell: s + 1 - s%2, CellsPerSensitivity: k}
}

// realWidth returns about the width of the cells of realCells.
func realWidth(sensitivity float64, k, bits int) float64 {
	part, exp := math.Frexp(sensitivity / float64(k))
	points := math.Ceil(math.Ldexp(part, bits+1))
	return math.Ldexp(points+1-math.Mod(points, 2), exp-1-bits)
}

// minPointsBits: at least 2^16 grid points per cell keep the rounding of K·S to
// the sensitivity below 2^-15 of it, which moves the loss by a small share of a usual gap.
const minPointsBits = 16

// pointsBits returns how many points cells should have for a gap, as a power of 2.
func pointsBits(gap float64) int {
	const usual = 1e-3
	return minPointsBits + max(0, int(math.Ceil(math.Log2(usual/gap))))
}

func ceilQuo(x float64, y *big.Rat) *big.Int {
	r := exact.Rational(x)
	return exact.Ceil(r.Quo(r, y))
}

func floorFloat(r *big.Rat, up bool) float64 {
	n := exact.Floor(r)
	if up {
		n = exact.Ceil(r)
	}
	v, _ := new(big.Float).SetInt(n).Float64()
	return v
}
