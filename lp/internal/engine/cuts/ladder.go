// SPDX-License-Identifier: Apache-2.0

package cuts

import (
	"context"
	"errors"
	"fmt"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/solver"
)

// ErrFailed marks a relaxation that none of the solver's algorithms could solve.
var ErrFailed = errors.New("the LP solver gave up")

// attempt is one way to solve a relaxation.
type attempt struct {
	solver.Options
	effort int  // simplex iterations allowed, as a multiple of rows + columns; 0: any
	fresh  bool // forget the last basis first
	repair bool // for solver errors: skipped after a stall
}

// ladder lists what is tried, in turn, when a solve fails or stalls: the last
// basis with dual simplex, then other algorithms, fresh starts, scalings and
// tolerances. Efforts are counted, not timed, so that results can be repeated.
var ladder = []attempt{
	{Options: solver.Options{Method: solver.MethodDualSimplex, Tolerance: 1e-9}, effort: 1},
	{Options: solver.Options{Method: solver.MethodDualSimplex, Tolerance: 1e-9, Scaling: -1}, effort: 1, repair: true},
	{Options: solver.Options{Method: solver.MethodPrimalSimplex, Tolerance: 1e-9}, effort: 2, fresh: true},
	{Options: solver.Options{Method: solver.MethodInteriorPoint, Tolerance: 1e-9}, effort: 2, fresh: true},
	{Options: solver.Options{Method: solver.MethodDualSimplex, Tolerance: 1e-9, Presolve: true}, effort: 8, fresh: true},
	{Options: solver.Options{Method: solver.MethodDualSimplex, Tolerance: 1e-9, Scaling: 4}, effort: 8, fresh: true},
	{Options: solver.Options{Method: solver.MethodInteriorPoint, Tolerance: 1e-8, Presolve: true}, fresh: true},
	{Options: solver.Options{Method: solver.MethodDualSimplex, Tolerance: 1e-7, Scaling: -1}, fresh: true},
}

// interior is the attempt before the ladder for large relaxations, where the problem wants it.
var interior = attempt{Options: solver.Options{Method: solver.MethodInteriorOnly, Tolerance: 1e-9}, fresh: true}

// enoughInfeasible is how many attempts have to find a program infeasible, and none solve it.
const enoughInfeasible = 2

func (p *Program) attempts() []attempt {
	if from := p.options.Interior; from > 0 && p.rows >= from {
		return append([]attempt{interior}, ladder...)
	}
	return ladder
}

func climb(ctx context.Context, s solver.Solver, attempts []attempt, rows, columns int) (solver.Solution, error) {
	stalled, infeasible := false, 0
	for _, a := range attempts {
		if a.repair && stalled {
			continue
		}
		if a.fresh {
			if err := s.Reset(); err != nil {
				return solver.Solution{}, err
			}
		}
		a.IterationLimit = a.effort * (rows + columns + 500)
		sol, err := s.Solve(ctx, a.Options)
		if err != nil {
			return solver.Solution{}, err
		}
		switch {
		case sol.Status == solver.StatusOptimal && check.Finite(sol.Primal...) && check.Finite(sol.RowDual...):
			return sol, nil
		case ctx.Err() != nil:
			return solver.Solution{Status: solver.StatusLimit}, nil
		case sol.Status == solver.StatusLimit:
			stalled = true
		case sol.Status == solver.StatusInfeasible:
			infeasible++
		}
	}
	if infeasible >= enoughInfeasible {
		return solver.Solution{Status: solver.StatusInfeasible}, nil
	}
	return solver.Solution{}, fmt.Errorf("%w: %d rows, %d columns, %d attempts", ErrFailed, rows, columns, len(attempts))
}
