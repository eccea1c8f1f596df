// SPDX-License-Identifier: Apache-2.0

// Package meet holds what the designers of all forms have alike. Each solves an upper
// program, whose solutions can be drawn, and a lower one, whose multipliers prove a bound,
// on finer and finer grids until the two meet to the requested gap, or a limit stops them.
package meet

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/proof"
)

// Options are those of lp.Options, with defaults in place of zeros.
type Options struct {
	Gap       float64
	MaxCells  int
	TimeLimit time.Duration
	NewSolver solver.Factory
	Progress  func(s *Search, cells int)

	Clock    func() time.Duration // the time taken so far; nil: that of the wall
	Step     func(work float64)   // see interior.Options
	Generate bool                 // constraints for all programs, by NewSolver
}

// Begin starts the clock of a design. The context it returns ends with the time limit, if
// there is one.
func (o Options) Begin(ctx context.Context) (*Search, context.Context, context.CancelFunc) {
	s, cancel := &Search{Options: o, Start: time.Now(), Best: math.Inf(1)}, func() {}
	if o.TimeLimit > 0 && o.Clock == nil {
		ctx, cancel = context.WithTimeout(ctx, o.TimeLimit)
	}
	return s, ctx, cancel
}

// Search is the state that the designs of all forms have alike.
type Search struct {
	Options Options
	Start   time.Time
	Best    float64 // the loss of the best so far; +Inf: there is none yet
	Bound   float64 // the best lower bound that is proved
	late    bool    // a program was stopped by the time
}

// Part returns the options of a design within this one, which may take a share of the time that is
// left.
func (s *Search) Part(share float64) Options {
	o, start := s.Options, s.Elapsed()
	if o.TimeLimit > 0 {
		o.TimeLimit = max(time.Duration(share*float64(s.Left())), time.Nanosecond)
	}
	if o.Clock != nil {
		o.Clock = func() time.Duration { return s.Elapsed() - start }
	}
	return o
}

// Elapsed returns the time taken so far.
func (s *Search) Elapsed() time.Duration {
	if s.Options.Clock != nil {
		return s.Options.Clock()
	}
	return time.Since(s.Start)
}

// Left returns the time that is left; without a limit, for ever.
func (s *Search) Left() time.Duration {
	if s.Options.TimeLimit == 0 {
		return math.MaxInt64
	}
	return s.Options.TimeLimit - s.Elapsed()
}

// Gap returns the relative gap between the best and the bound.
func (s *Search) Gap() float64 { return RelativeGap(s.Best, s.Bound) }

// RelativeGap returns that of a loss and a bound on it; +Inf if the bound is 0.
func RelativeGap(loss, bound float64) float64 {
	if loss == 0 {
		return 0
	}
	if bound <= 0 {
		return math.Inf(1)
	}
	return (loss - bound) / bound
}

// Aim returns the gap to work towards next. It is one of a few, the same for all
// designs, until the requested one is the next: so a design does all that one with a
// larger gap does, and does it first. Each is a decade apart from the next: then grids are
// some three times finer, and all before the last one together cost a small part of it.
func (s *Search) Aim() float64 {
	aim := firstAim
	for now := s.Gap(); aim >= now && aim > MinGap; {
		aim *= aimStep
	}
	return min(max(aim, s.Options.Gap), firstAim)
}

// MinGap is the least gap that may be asked for.
const MinGap = 1e-6

const (
	firstAim = 1e-2
	aimStep  = 0.1
)

// Report tells how far the design has come.
func (s *Search) Report(cells int) {
	if s.Options.Progress != nil {
		s.Options.Progress(s, cells)
	}
}

// outcome tells how the design of a mechanism with these bounds ended. The error is nil if the
// gap is the requested one, and otherwise what stopped the design.
func (s *Search) outcome(rounds int, b proof.Bounds, stopped error) (Outcome, error) {
	gap, finite := b.Gap()
	o := Outcome{Gap: gap, Rounds: rounds, Elapsed: s.Elapsed()}
	if !finite {
		o.Gap = math.Inf(1)
	}
	if o.Optimal = o.Gap <= s.Options.Gap; o.Optimal {
		return o, nil
	}
	return o, cmp.Or(stopped, ErrLimit)
}

// Stopped returns ErrLimit if a limit stopped the solution of a program.
func Stopped(status solver.Status) error {
	if status == solver.StatusLimit {
		return ErrLimit
	}
	return nil
}

// Sentinel errors; see package lp.
var (
	ErrLimit      = errors.New("stopped at a limit")
	ErrTooFine    = errors.New("grids too fine")
	ErrInfeasible = errors.New("no noise keeps the constraints")
)
