// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// Options tune a design. None is required.
type Options struct {
	// Gap is the relative gap to reach, (expected loss − lower bound)/lower bound; 0: the default of Limits.
	Gap float64
	// MaxCells bounds the number of cells of the table and of the programs
	// behind both bounds; 0 means the default of Limits.
	MaxCells int
	// TimeLimit bounds the whole design; 0 means none. The result so far
	// is returned when it is reached, beside ErrLimit: designs begin with a mechanism in closed
	// form. Where that does not keep the demands, the error of no result names the limit.
	TimeLimit time.Duration
	// NewSolver makes the LP solver, e.g. highs.New, for programs that the interior point
	// method of this package fails to solve, or that are too large for it, and for some that
	// take it longer: kernels and local randomizers, mostly. Nil, or a solver of which there is
	// none in this build (solver.ErrNone): designs do without.
	NewSolver solver.Factory
	// Progress, if set, is called after every round, from the calling goroutine.
	Progress func(Progress)
}

// designed designs for a problem, unless that is invalid or the options are.
func designed[P, V any](ctx context.Context, p P, invalid error, o Options, gap float64, cells int, design func(context.Context, P, *meet.Search) (*V, meet.Outcome, error)) (*Result[V], error) {
	if err := errors.Join(invalid, o.validate()); err != nil {
		return nil, err
	}
	s, ctx, cancel := o.settled(gap, cells).Begin(ctx)
	defer cancel()
	v, outcome, err := design(ctx, p, s)
	if v == nil {
		return nil, err
	}
	return &Result[V]{v, outcome}, err
}

// settled puts defaults in place of zeros.
func (o Options) settled(gap float64, cells int) meet.Options {
	m := meet.Options{Gap: cmp.Or(o.Gap, gap), MaxCells: cmp.Or(o.MaxCells, cells), TimeLimit: o.TimeLimit, NewSolver: o.NewSolver}
	if o.Progress != nil {
		m.Progress = func(s *meet.Search, cells int) {
			o.Progress(Progress{
				CellsPerSensitivity: cells, ExpectedLoss: s.Best, LowerBound: s.Bound, Gap: s.Gap(), Elapsed: s.Elapsed(),
			})
		}
	}
	return m
}

// Progress tells how far a Design has come.
type Progress struct {
	CellsPerSensitivity int     // of the round that ended
	ExpectedLoss        float64 // of the best table so far
	LowerBound          float64 // the best so far
	Gap                 float64 // relative; +Inf: not known yet
	Elapsed             time.Duration
}

// Result is a designed mechanism: V is tables.Verified, or that of kernels, cells or local.
type Result[V any] struct {
	// Verified is the mechanism with its certificate, computed from it in exact arithmetic.
	Verified *V
	Outcome
}

// Outcome tells how a design ended.
type Outcome = meet.Outcome

func (o Options) validate() error {
	errs := check.In("lp")
	errs.Want(o.Gap == 0 || Limits.Gap.Has(o.Gap), "gap", o.Gap, "%v", Limits.Gap)
	errs.Want(o.MaxCells == 0 || Limits.MaxCells.Has(o.MaxCells), "max-cells", o.MaxCells, "%v", Limits.MaxCells)
	errs.Want(o.TimeLimit >= 0, "time-limit", o.TimeLimit, "a duration of at least 0")
	return errs.Err()
}
