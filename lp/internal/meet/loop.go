// SPDX-License-Identifier: Apache-2.0

package meet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
)

// Grids is a design on grids of a size: the cells of the range, the bins of a sensitivity, the
// intervals between nodes.
type Grids interface {
	// Round solves both programs on a grid and keeps what is the best so far.
	Round(ctx context.Context, size int) error
	// Next returns the size of the next grid, or an error that wraps ErrLimit and says why
	// there is none.
	Next(size int) (int, error)
}

// Meet solves both programs on finer and finer grids until they meet to the requested gap.
func (s *Search) Meet(ctx context.Context, g Grids, size int) error {
	for {
		err := g.Round(ctx, size)
		s.Report(size)
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
			return ErrLimit // programs end before ctx does, see Within
		case err != nil || s.Gap() <= s.Options.Gap:
			return err
		case ctx.Err() != nil:
			return ErrLimit
		}
		if size, err = g.Next(size); err != nil {
			return err
		}
	}
}

// Within returns a context that ends in time to leave a reserve: for certifying what is found,
// and the result. With a clock of its own a design has none.
func (s *Search) Within(ctx context.Context, reserve time.Duration) (context.Context, context.CancelFunc) {
	if s.Options.TimeLimit == 0 || s.Options.Clock != nil {
		return ctx, func() {}
	}
	inner, cancel := context.WithTimeout(ctx, s.Left()-reserve)
	return inner, func() {
		s.late = s.late || inner.Err() != nil
		cancel()
	}
}

// Both works on both sides at the same time, or one after the other where a clock counts their
// work. If one of them was stopped, the error is ErrLimit.
func (s *Search) Both(ctx context.Context, reserve time.Duration, upper, lower func(context.Context) error) error {
	ctx, cancel := s.Within(ctx, reserve)
	defer cancel()
	var errs [2]error
	var all sync.WaitGroup
	for i, side := range []func(context.Context) error{upper, lower} {
		all.Go(func() {
			if errs[i] = ErrLimit; ctx.Err() == nil {
				errs[i] = side(ctx)
			}
		})
		if s.Options.Clock != nil {
			all.Wait()
		}
	}
	all.Wait()
	err := errors.Join(errs[:]...)
	if errors.Is(err, ErrLimit) {
		return ErrLimit
	}
	return err
}

// Keep keeps a mechanism if it is the best, and returns its loss.
func Keep[T any, C proof.Certificate](s *Search, best **T, v *proof.Verified[T, C]) float64 {
	loss, _ := v.Bounds().Loss.Float64()
	if loss < s.Best {
		*best, s.Best = v.Mechanism(), loss
	}
	return loss
}

// Verified certifies what was made without an error.
func Verified[V any](made interface{ Verify() (V, error) }, err error) (v V, _ error) {
	if err == nil {
		v, err = made.Verify()
	}
	if err != nil {
		err = check.Errorf("lp", nil, "%w", err)
	}
	return v, err
}

// Finish puts the best mechanism and the multipliers of the best bound together and certifies
// both. If a limit stopped the design, the error beside them is what stopped it, unless the gap
// is the requested one. The error without a mechanism is that of the time, if that ended, or that of
// none.
func Finish[T, D any, C proof.Certificate, P interface {
	*T
	WithDual(ctx context.Context, dual *D) (P, error)
	Verify() (*proof.Verified[T, C], error)
}](s *Search, best P, dual *D, rounds int, stopped error, none func() error) (*proof.Verified[T, C], Outcome, error) {
	switch {
	case stopped != nil && !errors.Is(stopped, ErrLimit):
		return nil, Outcome{}, stopped
	case best == nil && s.Options.TimeLimit > 0 && (s.late || s.Left() <= 0):
		return nil, Outcome{}, check.Errorf("lp", ErrLimit, "time-limit = %v: it ended before anything was proven that keeps all that is asked for", s.Options.TimeLimit)
	case best == nil:
		return nil, Outcome{}, none()
	}
	v, err := Verified[*proof.Verified[T, C]](best.WithDual(context.Background(), dual))
	if err != nil {
		return nil, Outcome{}, err
	}
	o, err := s.outcome(rounds, v.Bounds(), stopped)
	return v, o, err
}

// Outcome tells how a design ended.
type Outcome struct {
	// Gap is the relative certified gap reached; +Inf if the lower bound is 0.
	Gap float64
	// Rounds counts the relaxations solved: each program of a bound is solved
	// again whenever constraints were added, and all but those of a search for
	// conflicting constraints count. With delta = 0, where there are no linear
	// programs, it counts the tables and the proofs that were tried.
	Rounds int
	// Elapsed is the wall time taken.
	Elapsed time.Duration
	// Optimal says that the requested gap was reached.
	Optimal bool
	// OneLaw, of lp.DesignCells alone, is the expected loss, rounded up, of noise on the bins
	// that the design began with, whose law is the same in every cell; 0 if it does not keep
	// the instance cap. The best such noise has a slightly smaller one, see lp.Design.
	OneLaw float64
}
