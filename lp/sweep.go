package lp

import (
	"context"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/lp/internal/noise"
	"github.com/noisewright/noisewright/tables"
)

// Sweep is Design for several values of delta at once; p.Delta is ignored.
// It calls done, from the calling goroutine, with the index of each delta and its
// result as soon as that is ready, and stops at the first error done returns. The
// error wraps ErrLimit if a design stopped short of the gap; its Result says so.
// The time limit is for each delta, on average.
//
// It takes less time than one by one, as what proves a bound for one delta proves one
// for all, and noise for one, mixed with an atom, is noise for a larger one. For real
// queries without constraints.
func Sweep(ctx context.Context, p dp.Problem, deltas []float64, o Options, done func(i int, r *Result) error) error {
	errs := check.In("lp")
	errs.Add(o.validate())
	if !p.Constraints.None() || (p.Query != "" && p.Query != dp.RealQuery) {
		errs.Add(check.Errorf("lp", dp.ErrInvalid, "a sweep over delta with constraints or a query on points, want neither"))
	}
	for _, p.Delta = range deltas {
		if err := validate(p); err != nil {
			errs.Add(err)
			break
		}
	}
	if err := errs.Err(); err != nil {
		return err
	}
	s, ctx, cancel := o.begin(ctx, DefaultGap, DefaultMaxCells, len(deltas))
	defer cancel()
	return noise.Sweep(ctx, p, deltas, s, func(i int, v *tables.Verified, o meet.Outcome) error {
		return done(i, &Result{v, Outcome(o)})
	})
}
