// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// For a large epsilon or a small delta the best kernel is nearly this one: with
// probability delta the node of the value's own cell, and otherwise the answer of a
// kernel with delta = 0. Its own cell uses up delta for every other. The programs with
// delta = 0 are small ones, so grids can be many times finer than with delta > 0.

// Tuning of the designs of this kind; any values give correct results.
const (
	pureFrom   = 24   // cells up to which the programs with delta > 0 take little time
	pureAfter  = 40   // the same of a last one, which is expected to be enough
	pureGrowth = 1.3  // of the cells from grid to grid
	pureGain   = 0.95 // a grid that brings the gap down to no less, or raises no bound, is a miss
	pureMisses = 2    // running end it, and a miss at first
	pureMargin = 1e-6
	// Within so many times the gap asked for, cells of the program are split into parts, an odd
	// number, until the width of own cells costs no more than a share of it.
	partsGap  = 3
	ownShare  = 0.25
	mostParts = 9
)

// refinePure designs kernels of this kind, and proves bounds, on finer and finer grids as
// long as the gap falls. It comes before the first program with delta > 0 that takes time,
// on so many cells.
func (d *designer) refinePure(ctx context.Context, cells int) error {
	p := d.problem
	if p.InstanceCap > 0 || p.Nodes != nil || d.Options.NewSolver == nil {
		return nil
	}
	if p.Cells == 0 {
		cells = d.whole(cells + cells/2)
	}
	last, misses := d.kernel.Cells(), pureMisses-1
	for ; cells <= d.Options.MaxCells; cells = d.whole(int(pureGrowth * float64(cells))) {
		unit, parts := d.Best/float64(cells), 1
		if misses == 0 {
			parts = d.parts(cells)
		}
		reserve := d.reserve(parts*cells, last)
		for ; parts > 1 && reserve > d.Left()/2; reserve = d.reserve(parts*cells, last) {
			parts -= 2
		}
		gap, bound := d.Gap(), d.Bound
		err := d.Both(ctx, reserve,
			func(inner context.Context) error { return d.upperPure(inner, ctx, cells, parts, unit) },
			func(ctx context.Context) error { return d.lowerPure(ctx, cells, unit) })
		d.Report(cells)
		if errors.Is(err, solver.ErrNone) {
			return nil
		} else if err != nil {
			return err
		}
		if misses++; d.Gap() < pureGain*gap && d.Bound > bound {
			misses = 0
		}
		if d.Gap() <= d.Options.Gap || misses == pureMisses || p.Cells > 0 {
			return nil
		}
		last = parts * cells
	}
	return nil
}

// reserve returns the time that certifying a kernel of so many cells and a bound, and then
// both again, may take, if the last kernel had as many as last. It goes with their square.
func (d *designer) reserve(cells, last int) time.Duration {
	times := float64(cells) / float64(last)
	return 2*time.Duration(times*times*float64(d.certify)) + 3*d.prove
}

// upperPure designs a kernel of this kind, whose cells answer alike in groups of parts but
// for their own nodes, and keeps it if it is the best.
func (d *designer) upperPure(ctx, whole context.Context, cells, parts int, unit float64) error {
	fine := d.split(cells * parts)
	var coarse partition
	for i := 0; i < len(fine.edges); i += parts {
		coarse.edges = append(coarse.edges, fine.edges[i])
	}
	for i := parts / 2; i < len(fine.nodes); i += parts {
		coarse.nodes = append(coarse.nodes, fine.nodes[i])
	}
	p := d.problem
	own := p.Delta*(1-pureMargin) - float64(len(fine.nodes))*0x1p-62
	if own < 0 {
		return nil
	}
	l := upperLayout(p, coarse, p.Epsilon*(1-pureMargin), own, unit)
	prog := newPureProgram(l)
	for _, pair := range p.protected(fine.edges) {
		prog.protect(pair[0]/parts, pair[1]/parts)
	}
	sol, err := prog.solve(ctx, d.Options.NewSolver, false)
	if err != nil {
		return ignoreFailed(err)
	}
	d.upperRounds += sol.rounds
	laws := meet.Matrix(len(fine.nodes), len(fine.nodes))
	for k := range laws {
		for j, m := range sol.laws[k/parts] {
			laws[k][j*parts+parts/2] = (1 - own) * m
		}
		laws[k][k] += own
	}
	if _, err := d.roundMasses(whole, fine, laws); !meet.NotKept(err) {
		return err
	}
	return nil
}

// parts returns the odd number of parts of each cell with which the own cells cost little enough.
func (d *designer) parts(cells int) int {
	p := d.problem
	if p.Cells > 0 || d.Gap() > partsGap*d.Options.Gap {
		return 1
	}
	split := d.split(cells)
	var own float64
	for k, costs := range p.Queries.AnswerCosts(split.edges, split.nodes, p.Loss) {
		c, _ := costs[k].Float64()
		own += p.Delta * c
	}
	parts := 1
	for own/float64(parts) > ownShare*d.Options.Gap*d.Best && parts < mostParts && (parts+2)*cells <= d.Options.MaxCells {
		parts += 2
	}
	return parts
}

// lowerPure proves a bound from the prices of a program with delta = 0 and keeps it if it
// is the best.
func (d *designer) lowerPure(ctx context.Context, cells int, unit float64) error {
	p := d.problem
	l, ok := lowerLayout(p, cells, unit)
	if !ok {
		return nil
	}
	prog := newPureProgram(l)
	for k, reach := 0, p.Queries.Reach(cells, p.Sensitivity); k < cells; k++ {
		prog.protect(max(k-reach, 0), k)
		prog.protect(k, min(k+reach, cells-1))
	}
	sol, err := prog.solve(ctx, d.Options.NewSolver, true)
	if err != nil {
		return ignoreFailed(err)
	}
	d.lowerRounds += sol.rounds
	d.keepDual(func() *kernels.Dual { return newFlows(*prog, sol.prices, p.Delta).dual(unit) })
	return nil
}

func ignoreFailed(err error) error {
	if errors.Is(err, cuts.ErrFailed) {
		return nil
	}
	return err
}
