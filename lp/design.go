package lp

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp/solver"
	"github.com/noisewright/noisewright/tables"
)

// Options tune a Design. Only NewSolver is required.
type Options struct {
	// Gap is the relative certified gap to reach,
	// (expected loss − lower bound)/lower bound; 0 means DefaultGap.
	Gap float64
	// MaxCells bounds the number of cells of the table and of the programs
	// behind both bounds; 0 means DefaultMaxCells.
	MaxCells int
	// TimeLimit bounds the whole design; 0 means none. The result so far
	// is returned when it is reached, beside ErrLimit.
	TimeLimit time.Duration
	// NewSolver makes the LP solver, e.g. highs.New.
	NewSolver solver.Factory
	// Progress, if set, is called after every round, from the calling
	// goroutine.
	Progress func(Progress)
}

// Defaults of Options.
const (
	DefaultGap      = 1e-3
	DefaultMaxCells = 1 << 17
)

// Limits of Options.
const (
	MinGap      = 1e-6
	MaxGap      = 1
	MinMaxCells = 3
)

// Progress tells how far a Design has come.
type Progress struct {
	CellsPerSensitivity int     // of the round that ended
	ExpectedLoss        float64 // of the best table so far
	LowerBound          float64 // the best so far
	Gap                 float64 // relative; +Inf: not known yet
	Elapsed             time.Duration
}

// Result is a designed and certified table.
type Result struct {
	// Table comes with its certificate, which was computed from it in exact
	// arithmetic.
	Table *tables.Verified
	Outcome
}

// Outcome tells how a design ended.
type Outcome struct {
	// Gap is the relative certified gap reached; +Inf if the lower bound
	// is 0.
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
}

func (o Options) validate() error {
	errs := check.In("lp")
	if o.Gap != 0 && !(o.Gap >= MinGap && o.Gap <= MaxGap) {
		errs.Badf("gap", o.Gap, "a number from %g to %d", MinGap, MaxGap)
	}
	if o.MaxCells != 0 && (o.MaxCells < MinMaxCells || o.MaxCells > tables.MaxCells) {
		errs.Badf("max-cells", o.MaxCells, "an integer from %d to %d", MinMaxCells, tables.MaxCells)
	}
	if o.TimeLimit < 0 {
		errs.Bad("time-limit", o.TimeLimit, "a duration of at least 0")
	}
	if o.NewSolver == nil {
		errs.Bad("solver", "none", "one")
	}
	return errs.Err()
}

// begin starts the clock of a design, with defaults in place of zeros. The context
// it returns ends after so many time limits, if there is one.
func (o Options) begin(ctx context.Context, gap float64, cells, limits int) (search, context.Context, context.CancelFunc) {
	o.Gap, o.MaxCells = cmp.Or(o.Gap, gap), cmp.Or(o.MaxCells, cells)
	s, cancel := search{options: o, start: time.Now(), loss: math.Inf(1)}, func() {}
	if o.TimeLimit > 0 {
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
}

func (s *search) gap() float64 {
	if s.loss == 0 {
		return 0
	}
	if s.bound <= 0 {
		return math.Inf(1)
	}
	return (s.loss - s.bound) / s.bound
}

// report tells how far the design has come.
func (s *search) report(cells int) {
	if s.options.Progress != nil {
		s.options.Progress(Progress{
			CellsPerSensitivity: cells, ExpectedLoss: s.loss, LowerBound: s.bound, Gap: s.gap(), Elapsed: time.Since(s.start),
		})
	}
}

// outcome tells how the design ended whose certificate has the given gap. The error
// is nil if that was asked for, and otherwise what stopped the design.
func (s *search) outcome(rounds int, gap float64, finite bool, stopped error) (Outcome, error) {
	o := Outcome{Gap: gap, Rounds: rounds, Elapsed: time.Since(s.start)}
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

// Design finds noise whose expected loss is within the requested gap of the
// best possible. If a limit stops it first, or the context ends, the best
// proven result is returned beside an error that wraps ErrLimit; other errors
// come without a result.
//
// Guarantee: the table's privacy, loss and bound are those of its exact
// certificate, whatever the solver did.
func Design(ctx context.Context, p dp.Problem, o Options) (*Result, error) {
	if err := errors.Join(validate(p), o.validate()); err != nil {
		return nil, err
	}
	s, ctx, cancel := o.begin(ctx, DefaultGap, DefaultMaxCells, 1)
	defer cancel()
	if p.Delta == 0 {
		return designPure(ctx, p, s)
	}
	d, err := newDesigner(p, s)
	if err != nil {
		return nil, err
	}
	if err := d.begin(); err != nil {
		return nil, err
	}
	if d.gap() <= d.options.Gap {
		return d.result(nil)
	}
	return d.result(d.refine(ctx))
}

// designer is the state of one Design.
type designer struct {
	*model
	search       // for table and dual
	upper, lower side
	table        *tables.Verified
	dual         *tables.Dual
	rounds       int
	// offer, if not nil, shows multipliers to other designs that may use them.
	offer func(*designer, *tables.Dual)
}

// side is the progress of one of the two bounds.
type side struct {
	bound  bound
	grid   grid
	reach  float64 // half-width in sensitivities
	hint   *hint
	value  float64 // what the last program achieved; 0: nothing
	missed float64 // estimate of what finer grids can still gain
	rounds int     // programs of this side
	took   time.Duration
}

func newDesigner(p dp.Problem, s search) (*designer, error) {
	m, err := newModel(p)
	if err != nil {
		return nil, check.Errorf("lp", nil, "%w", err)
	}
	d := &designer{model: m, search: s}
	d.upper.bound, d.lower.bound = upper{m}, &lower{model: m}
	return d, nil
}

// maxSame bounds how often a side of a problem on points widens the support of
// cells that cannot become finer.
const maxSame = 12

// stuck reports whether a side has solved the finest grid there is, time and
// again.
func (d *designer) stuck(s *side) bool {
	return d.points > 0 && int64(s.grid.k) == d.points && s.rounds > maxSame
}

// begin finds the table to start from: one that needs no solver, unless the
// constraints exclude it.
func (d *designer) begin() error {
	t, err := d.simpleTable(d.options.MaxCells)
	switch {
	case err == nil:
		d.keepTable(t)
	case d.Constraints.None() || !(notKept(err) || errors.Is(err, ErrLimit)):
		return err
	}
	for _, s := range []*side{&d.upper, &d.lower} {
		s.reach = s.bound.reach(d.options.Gap)
		s.grid.k = startCells(s.bound, d.options.Gap)
		s.missed = math.Inf(1)
	}
	if d.Loss.Symmetric() {
		if dual := d.chainDual(d.scale(), d.options.MaxCells); dual != nil {
			d.keepDual(dual)
		}
	}
	return nil
}

// scale returns the magnitude of the expected loss.
func (d *designer) scale() float64 {
	if d.table == nil || d.loss == 0 {
		return d.typicalLoss()
	}
	return d.loss
}

// keepDual certifies the bound that the multipliers prove, keeps them if it is
// the best, and returns it.
func (d *designer) keepDual(dual *tables.Dual) float64 {
	bound, _ := dual.LowerBound(d.Problem).Float64()
	if bound > d.bound {
		d.dual, d.bound = dual, bound
	}
	return bound
}

// Tuning of the refinement; any values give correct results.
const (
	firstShare = 3    // start with a third of the cells expected to be needed
	minGrowth  = 1.25 // of K in a round
	maxGrowth  = 3.0  // while K is below largeStart; then
	slowGrowth = 1.8
	idleShare  = 0.2 // a side that can gain less than this share of the gap waits
)

// refine alternates between finer programs of the two bounds until they meet.
// The programs of one cell per sensitivity are solved already, by begin, where
// there are no constraints.
func (d *designer) refine(ctx context.Context) error {
	doUpper := d.upper.grid.k > 1 || d.table == nil || !d.simpleSolves()
	doLower := d.lower.grid.k > 1 || d.bound == 0 || !d.simpleSolves()
	for {
		if doUpper {
			if err := d.advance(ctx, &d.upper); err != nil {
				return err
			}
		}
		if doLower && d.gap() > d.options.Gap {
			if err := d.advance(ctx, &d.lower); err != nil {
				return err
			}
		}
		gap := d.gap()
		d.report(max(d.upper.grid.k, d.lower.grid.k))
		if gap <= d.options.Gap {
			return nil
		}
		if ctx.Err() != nil {
			return ErrLimit
		}
		doUpper, doLower = d.plan()
	}
}

// simpleSolves reports whether the programs of one cell per sensitivity are
// those that simpleTable and chainDual solve.
func (d *designer) simpleSolves() bool {
	return d.Loss.Symmetric() && d.Constraints.None() && d.points != 1
}

// plan decides which sides to refine next and how far, by what each is
// estimated to miss, known after two programs. The lower side goes first,
// because what it does not miss the upper one does.
func (d *designer) plan() (doUpper, doLower bool) {
	left := d.loss - d.bound
	if math.IsInf(left, 1) {
		left = d.scale() // nothing is known yet
	}
	missedUpper := min(d.upper.missed, max(left-d.lower.missed, 0))
	widened := 0
	doLower = d.lower.missed > idleShare*left
	doUpper = missedUpper > idleShare*left
	if !doUpper && !doLower {
		// Both look converged and yet do not meet: the supports are to
		// blame, or the estimates are.
		doUpper, doLower = true, true
		d.lower.reach *= 1.4
		d.upper.reach *= 1.2
		widened++
		missedUpper, d.lower.missed = left/2, left/2
	}
	finest := true
	grow := func(s *side, missed float64) {
		before := s.grid.k
		s.grid.k = aligned(s.bound, int(math.Ceil(float64(before)*d.growth(s, missed))))
		finest = finest && s.grid.k == before
	}
	if doUpper {
		grow(&d.upper, missedUpper)
	}
	if doLower {
		grow(&d.lower, d.lower.missed)
	}
	if finest && widened == 0 {
		// Cells are points already: only the support is left.
		d.lower.reach *= 1.4
		d.upper.reach *= 1.2
	}
	return doUpper, doLower
}

// growth returns how much finer the next program of a side should be, which is
// estimated to miss so much.
func (d *designer) growth(s *side, missed float64) float64 {
	growth := maxGrowth
	if s.grid.k >= largeStart {
		growth = slowGrowth
	}
	if math.IsInf(s.missed, 1) && d.Epsilon >= alignFrom {
		growth = min(growth, 2) // alignment decides; do not skip the next grid
	}
	if goal := s.bound.goal() * d.options.Gap * d.bound; goal > 0 {
		growth = min(max(math.Pow(missed/goal, 1/s.bound.order()), minGrowth), growth)
	}
	return min(growth, d.affordable(s))
}

// affordable returns how much finer the next program of a side may be so that it
// can be expected to end in time: solving takes time like K^4.
func (d *designer) affordable(s *side) float64 {
	if d.options.TimeLimit == 0 || s.took < time.Second {
		return math.Inf(1)
	}
	left := d.options.TimeLimit - time.Since(d.start)
	return max(minGrowth, math.Pow(float64(left)/float64(s.took)/2, 0.25))
}

// advance solves one program of a side and keeps its result if it is better.
func (d *designer) advance(ctx context.Context, s *side) error {
	if d.stuck(s) {
		return check.Errorf("lp", ErrLimit, "cells of single points on all of the support do not reach the gap")
	}
	g := s.bound.extent(s.grid.k, s.reach)
	s.grid = g
	if err := d.options.allow(g); err != nil {
		return err
	}
	previous := g.k
	if s.hint != nil {
		previous = s.hint.grid.k
	}
	s.rounds++
	start := time.Now()
	before := s.value
	var err error
	s.value, err = s.bound.solve(ctx, d, g)
	s.took = time.Since(start)
	if err != nil {
		return err
	}
	s.learn(before, previous)
	return nil
}

// allow refuses grids with too many cells.
func (o Options) allow(g grid) error {
	if g.n > o.MaxCells {
		return check.Errorf("lp", ErrLimit, "%d cells are needed, max-cells = %d", g.n, o.MaxCells)
	}
	if int64(g.n)*int64(g.k) > maxProgramWork {
		return check.Errorf("lp", ErrLimit, "%d cells per sensitivity are needed, too many for a linear program: %w", g.k, ErrTooFine)
	}
	return nil
}

// learn estimates what a side still misses from what its last two programs
// achieved; s.grid is the last one's grid, k the cells per sensitivity of the
// one before.
func (s *side) learn(before float64, k int) {
	s.missed = math.Inf(1)
	if before > 0 && s.value > 0 && s.grid.k > k {
		// An error of e/K^r has lost e/K^r − e/K'^r between two grids.
		ratio := float64(s.grid.k) / float64(k)
		s.missed = math.Abs(s.value-before) / (math.Pow(ratio, s.bound.order()) - 1)
	}
}

// maxProgramWork bounds cells times cells per sensitivity of a program, the
// number of its possible terms.
const maxProgramWork = 1 << 25

// keepTable keeps a table if it is the best, and returns its loss.
func (d *designer) keepTable(t *tables.Verified) float64 {
	loss := expectedLoss(t)
	if loss < d.loss {
		d.table, d.loss = t, loss
	}
	return loss
}

// expectedLoss returns that of a table to the nearest float64.
func expectedLoss(t *tables.Verified) float64 {
	loss, _ := t.Certificate().ExpectedLoss.Float64()
	return loss
}

// result puts the best table and the best bound together and certifies both.
func (d *designer) result(stopped error) (*Result, error) {
	if stopped != nil && !errors.Is(stopped, ErrLimit) {
		return nil, stopped
	}
	if d.table == nil {
		return nil, d.noTable(stopped)
	}
	v, err := verified(d.table.Table().WithDual(d.dual))
	if err != nil {
		return nil, err
	}
	gap, finite := v.Certificate().Gap()
	o, err := d.outcome(d.rounds, gap, finite, stopped)
	return &Result{v, o}, err
}
