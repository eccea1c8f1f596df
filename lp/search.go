package lp

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/noisewright/noisewright/internal/check"
)

// begin starts the clock of a design, with defaults in place of zeros. The context
// it returns ends after so many time limits, if there is one.
func (o Options) begin(ctx context.Context, gap float64, cells, limits int) (search, context.Context, context.CancelFunc) {
	o.Gap, o.MaxCells = cmp.Or(o.Gap, gap), cmp.Or(o.MaxCells, cells)
	s, cancel := search{options: o, start: time.Now(), loss: math.Inf(1)}, func() {}
	if o.TimeLimit > 0 && o.clock == nil {
		ctx, cancel = context.WithTimeout(ctx, o.TimeLimit*time.Duration(limits))
	}
	return s, ctx, cancel
}

// search is what the designs of tables and of kernels have alike.
type search struct {
	options Options
	start   time.Time
	loss    float64 // of the best so far; +Inf: there is none yet
	bound   float64 // the best that is proved
	direct  bool    // go for the requested gap at once
}

// Limits of programs for the interior point method: the possible terms, of which each takes
// some 150 bytes; the masses, of which each two take 8 bytes; and the multiplications of an
// iteration from which constraint generation is faster where shifts are few, and so rows
// sparse.
const (
	maxTerms   = 1 << 22
	maxMasses  = 1 << 13
	maxProduct = 2e8
	fewShifts  = 1.0 / 40 // of the cells
)

// fits reports whether a program of a model is for the interior point method.
func (s *search) fits(m *model, g grid) bool {
	if s.options.generate || m.terms(g) > maxTerms || m.masses(g) > maxMasses {
		return false
	}
	return s.options.NewSolver == nil || m.work(g) < maxProduct || float64(g.k) > fewShifts*float64(g.n)
}

// elapsed returns the time taken so far.
func (s *search) elapsed() time.Duration {
	if s.options.clock != nil {
		return s.options.clock()
	}
	return time.Since(s.start)
}

// left returns the time that is left; without a limit, for ever.
func (s *search) left() time.Duration {
	if s.options.TimeLimit == 0 {
		return math.MaxInt64
	}
	return s.options.TimeLimit - s.elapsed()
}

func (s *search) gap() float64 { return relativeGap(s.loss, s.bound) }

func relativeGap(loss, bound float64) float64 {
	if loss == 0 {
		return 0
	}
	if bound <= 0 {
		return math.Inf(1)
	}
	return (loss - bound) / bound
}

// aim returns the gap to work towards next. It is one of a few, the same for all
// designs, until the requested one is the next: so a design does all that one with a
// larger gap does, and does it first. Each is a decade apart from the next: then grids are
// some three times finer, and all before the last one together cost a small part of it.
func (s *search) aim() float64 {
	if s.direct {
		return s.options.Gap
	}
	aim := firstAim
	for now := s.gap(); aim >= now && aim > MinGap; {
		aim *= aimStep
	}
	return min(max(aim, s.options.Gap), firstAim)
}

const (
	firstAim = 1e-2
	aimStep  = 0.1
)

// report tells how far the design has come.
func (s *search) report(cells int) {
	if s.options.Progress != nil {
		s.options.Progress(Progress{
			CellsPerSensitivity: cells, ExpectedLoss: s.loss, LowerBound: s.bound, Gap: s.gap(), Elapsed: s.elapsed(),
		})
	}
}

// outcome tells how the design ended whose certificate has the given gap. The error
// is nil if that was asked for, and otherwise what stopped the design.
func (s *search) outcome(rounds int, gap float64, finite bool, stopped error) (Outcome, error) {
	o := Outcome{Gap: gap, Rounds: rounds, Elapsed: s.elapsed()}
	if !finite {
		o.Gap = math.Inf(1)
	}
	if o.Optimal = o.Gap <= s.options.Gap; o.Optimal {
		return o, nil
	}
	return o, cmp.Or(stopped, ErrLimit)
}

// verified certifies what was made without an error.
func verified[V any](made interface{ Verify() (V, error) }, err error) (v V, _ error) {
	if err == nil {
		v, err = made.Verify()
	}
	if err != nil {
		err = check.Errorf("lp", nil, "%w", err)
	}
	return v, err
}
