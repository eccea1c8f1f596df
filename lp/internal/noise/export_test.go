// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"context"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// SolveEdgeCells solves the complete problem on the cells [i/K, (i+1)/K) for
// i = −cells/2 … cells/2−1, sensitivity 1, without an atom.
func SolveEdgeCells(ctx context.Context, lpSolver solver.Factory, epsilon, delta float64, k, cells int, lossName string, monotone bool) (float64, error) {
	half := cells / 2
	width := 1 / float64(k)
	l := layout{
		variable: make([]int, cells),
		eventHi:  cells,
		ratio:    math.Exp(epsilon),
		delta:    delta,
	}
	for i := range cells {
		x := (float64(i-half) + 0.5) * width
		var c float64
		switch lossName {
		case "l1":
			c = loss.L1.CellMean(x, width)
		case "l2":
			c = loss.L2.CellMean(x, width)
		case "asym": // |x| to the left of 0, 2|x| to the right
			c = math.Abs(x)
			if x > 0 {
				c *= 2
			}
		default:
			return 0, fmt.Errorf("loss %q", lossName)
		}
		l.variable[i] = i
		l.cost = append(l.cost, c)
		l.scale = append(l.scale, max(math.Exp(-epsilon*math.Abs(x)), delta/10))
	}
	if monotone {
		for i := half; i+1 < cells; i++ {
			l.decreasing = append(l.decreasing, [2]int{i, i + 1}, [2]int{cells - 1 - i, cells - 2 - i})
		}
	}
	for s := 1; s <= k; s++ {
		l.shifts = append(l.shifts, s, -s)
	}
	return generated(ctx, lpSolver, l, grid{k: k, first: -half, n: cells}, 1e-9)
}

// generated returns the optimum of a layout by constraint generation.
func generated(ctx context.Context, lpSolver solver.Factory, l layout, g grid, tolerance float64) (float64, error) {
	p, status, err := l.solve(ctx, &meet.Options{NewSolver: lpSolver, Generate: true}, g, engine.Want{Excess: tolerance})
	if err != nil {
		return 0, err
	}
	if status != solver.StatusOptimal {
		return 0, fmt.Errorf("status %d", status)
	}
	var value float64
	for i, m := range p.masses() {
		value += m * l.cost[l.variable[i]]
	}
	return value, nil
}

// SolveIntegers solves the upper and the lower program of a query on the
// integers, where cells are the integers themselves and the two coincide, and
// returns the optimum: noise on |j| ≤ half, sensitivity in integers.
func SolveIntegers(ctx context.Context, lpSolver solver.Factory, epsilon, delta float64, sensitivity, half int, loss loss.Loss) (float64, error) {
	n := 2*half + 1
	l := layout{
		variable: make([]int, n), eventHi: n,
		ratio: math.Exp(epsilon), delta: delta,
	}
	for j := 0; j <= half; j++ {
		l.variable[half+j], l.variable[half-j] = j, j
		l.cost = append(l.cost, loss.At(float64(j)))
		l.scale = append(l.scale, max(math.Exp(-epsilon*float64(j)/float64(sensitivity)), delta/10))
	}
	for s := 1; s <= sensitivity; s++ {
		l.shifts = append(l.shifts, s)
	}
	return generated(ctx, lpSolver, l, grid{k: sensitivity, first: -half, n: n, openBelow: true, openAbove: true}, 1e-11)
}

// Aligned exposes the choice of grids.
func Aligned(upperBound bool, p dp.Problem, want int) int {
	s, _, _ := meet.Options{MaxCells: 1 << 17}.Begin(context.Background())
	d, err := newDesigner(p, s)
	if err != nil {
		panic(err)
	}
	d.findCore()
	if upperBound {
		return aligned(d.upper.bound, want)
	}
	return aligned(d.lower.bound, want)
}

// OneCell solves both bounds with one cell per sensitivity, of the table by a staircase and of the bound by a chain, and
// by linear programs.
func OneCell(ctx context.Context, solver solver.Factory, p dp.Problem) (tableLoss, chainBound, loss, bound float64, err error) {
	s, _, _ := meet.Options{Gap: 1e-6, MaxCells: 1 << 17, NewSolver: solver}.Begin(ctx)
	d, err := newDesigner(p, s)
	if err != nil {
		return 0, 0, 0, 0, err
	}
	t, err := d.simpleTable()
	if err != nil {
		return 0, 0, 0, 0, err
	}
	tableLoss, _ = t.Bounds().Loss.Float64()
	d.Best, d.Bound = tableLoss, tableLoss // so that it aims at the gap at once
	// They may prove nothing.
	if dual, _, _ := d.chainDual(tableLoss, 1<<17); dual != nil {
		chainBound = d.keepDual(dual)
	}
	reach := math.Ceil(3*SupportBound(p)) + 2
	u, l := d.upper.bound, d.lower.bound
	if loss, err = u.solve(ctx, d, u.extent(1, reach)); err == nil {
		bound, err = l.solve(ctx, d, l.extent(1, reach))
	}
	return tableLoss, chainBound, loss, bound, err
}
