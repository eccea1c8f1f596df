// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"context"
	"time"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	designcells "github.com/noisewright/noisewright/lp/internal/cells"
	"github.com/noisewright/noisewright/lp/internal/kernel"
	designlocal "github.com/noisewright/noisewright/lp/internal/local"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/lp/internal/noise"
	"github.com/noisewright/noisewright/tables"
)

// Work is a clock that only solving moves on, so that what a Design does in some
// time can be repeated.
type Work struct{ now time.Duration }

// perEntry is the time that an iteration takes per row and column.
const perEntry = 100 * time.Nanosecond

// DesignGenerating is Design with all programs solved by constraint generation.
func DesignGenerating(ctx context.Context, p dp.Problem, o Options) (*Result[tables.Verified], error) {
	m := o.settled(Limits.Gap.Default, Limits.MaxCells.Default)
	m.Generate = true
	s, ctx, cancel := m.Begin(ctx)
	defer cancel()
	table, outcome, err := noise.Design(ctx, p, s)
	if table == nil {
		return nil, err
	}
	return &Result[tables.Verified]{table, outcome}, err
}

// perProduct is the time that the interior point method takes for a multiplication.
const perProduct = 1e-9 // seconds

// The designs with the time that the work of the solver takes, its iterations and as much as one
// for each call, and that of the interior point methods.
func DesignAtWork(ctx context.Context, p dp.Problem, o Options) (*Result[tables.Verified], error) {
	return atWork(ctx, p, o, Limits.Gap.Default, Limits.MaxCells.Default, noise.Design)
}

func DesignKernelAtWork(ctx context.Context, p KernelProblem, o Options) (*Result[kernels.Verified], error) {
	return atWork(ctx, p, o, Limits.KernelGap.Default, 512, kernel.Design)
}

func DesignCellsAtWork(ctx context.Context, p CellsProblem, o Options) (*Result[cells.Verified], error) {
	return atWork(ctx, p, o, Limits.KernelGap.Default, 512, designcells.Design)
}

func DesignLocalAtWork(ctx context.Context, p LocalProblem, o Options) (*Result[local.Verified], error) {
	return atWork(ctx, p, o, Limits.Gap.Default, limits.LocalNodes-1, designlocal.Design)
}

func atWork[P, V any](ctx context.Context, p P, o Options, gap float64, most int, design func(context.Context, P, *meet.Search) (*V, meet.Outcome, error)) (*Result[V], error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, limit, newSolver, m := &Work{}, o.TimeLimit, o.NewSolver, o.settled(gap, most)
	m.Clock = func() time.Duration { return w.now }
	m.Step = func(products float64) {
		if w.now += time.Duration(products * perProduct * float64(time.Second)); w.now >= limit {
			cancel()
		}
	}
	m.NewSolver = func() (solver.Solver, error) {
		s, err := newSolver()
		return &counted{Solver: s, work: w, limit: limit, cancel: cancel}, err
	}
	s, ctx, end := m.Begin(ctx)
	defer end()
	v, outcome, err := design(ctx, p, s)
	if v == nil {
		return nil, err
	}
	return &Result[V]{v, outcome}, err
}

// counted counts the work of a solver and ends the context when that has taken the time.
type counted struct {
	solver.Solver
	work   *Work
	limit  time.Duration
	cancel context.CancelFunc
	size   int // rows and columns
}

func (c *counted) AddColumns(cost []float64, v solver.Vectors) error {
	c.size += len(cost)
	return c.Solver.AddColumns(cost, v)
}

func (c *counted) AddRows(v solver.Vectors) error {
	c.size += len(v.Lower)
	return c.Solver.AddRows(v)
}

func (c *counted) Solve(ctx context.Context, o solver.Options) (solver.Solution, error) {
	each := time.Duration(c.size) * perEntry
	left := max(int((c.limit-c.work.now)/each), 1)
	if o.IterationLimit == 0 || o.IterationLimit > left {
		o.IterationLimit = left
	}
	s, err := c.Solver.Solve(ctx, o)
	c.work.now += time.Duration(1+s.Iterations) * each
	if c.work.now >= c.limit {
		c.cancel()
	}
	return s, err
}
