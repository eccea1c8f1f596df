package lp

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/cuts"
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
	// Gap is the relative certified gap reached; +Inf if the lower bound
	// is 0.
	Gap float64
	// Rounds counts the linear programs solved.
	Rounds int
	// Elapsed is the wall time taken.
	Elapsed time.Duration
	// Optimal says that the requested gap was reached.
	Optimal bool
}

func (o Options) validate() error {
	var errs []error
	if o.Gap != 0 && !(o.Gap >= MinGap && o.Gap <= MaxGap) {
		errs = append(errs, check.Errorf("lp", dp.ErrInvalid, "gap = %g, want a number from %g to %d", o.Gap, MinGap, MaxGap))
	}
	if o.MaxCells != 0 && (o.MaxCells < MinMaxCells || o.MaxCells > tables.MaxCells) {
		errs = append(errs, check.Errorf("lp", dp.ErrInvalid, "max-cells = %d, want an integer from %d to %d", o.MaxCells, MinMaxCells, tables.MaxCells))
	}
	if o.TimeLimit < 0 {
		errs = append(errs, check.Field("lp", "time-limit", o.TimeLimit, "a duration of at least 0"))
	}
	if o.NewSolver == nil {
		errs = append(errs, check.Field("lp", "solver", "none", "one"))
	}
	return errors.Join(errs...)
}

// filled returns the options with defaults in place of zeros.
func (o Options) filled() Options {
	if o.Gap == 0 {
		o.Gap = DefaultGap
	}
	if o.MaxCells == 0 {
		o.MaxCells = DefaultMaxCells
	}
	return o
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
	o = o.filled()
	start := time.Now()
	if o.TimeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.TimeLimit)
		defer cancel()
	}
	if p.Delta == 0 {
		return designPure(ctx, p, o, start)
	}
	f, err := newFrame(p)
	if err != nil {
		return nil, check.Errorf("lp", nil, "%w", err)
	}
	d := &designer{frame: f, options: o, start: start}
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
	*frame
	options Options
	start   time.Time

	upper, lower side
	table        *tables.Verified
	loss         float64 // of table; +Inf: there is none yet
	dual         *tables.Dual
	bound        float64 // proved by dual
	rounds       int
	cells        cellKind
}

// side is the progress of one of the two bounds.
type side struct {
	grid   grid
	reach  float64 // half-width in sensitivities
	hint   *hint
	value  float64 // what the last program achieved; 0: nothing
	missed float64 // estimate of what finer grids can still gain
	rounds int     // programs of this side
	took   time.Duration
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
	d.loss = math.Inf(1)
	t, err := d.simpleTable(d.options.MaxCells)
	switch {
	case err == nil:
		d.table, d.loss = t, expectedLoss(t)
	case d.Constraints.None() || !(errors.Is(err, tables.ErrFalseClaim) || errors.Is(err, ErrLimit) || errors.Is(err, tables.ErrNotPrivate)):
		return err
	}
	d.upper.reach = upperReach(d.Problem)
	d.lower.reach = d.lowerReach(d.options.Gap)
	d.upper.grid.k = d.startCells(upper, d.options.Gap)
	d.lower.grid.k = d.startCells(lower, d.options.Gap)
	if d.Loss.Symmetric() {
		if dual := d.chainDual(d.scale(), d.options.MaxCells); dual != nil {
			d.keepDual(dual)
		}
	}
	d.upper.missed, d.lower.missed = math.Inf(1), math.Inf(1)
	return nil
}

// scale returns the magnitude of the expected loss.
func (d *designer) scale() float64 {
	if d.table == nil || d.loss == 0 {
		return d.typicalLoss()
	}
	return d.loss
}

// expectedLoss returns that of a table to the nearest float64.
func expectedLoss(t *tables.Verified) float64 {
	loss, _ := t.Certificate().ExpectedLoss.Float64()
	return loss
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
	upperGoal  = 0.25 // the shares of the gap the two sides aim at: the upper
	lowerGoal  = 0.65 // program is the cheaper one
	idleShare  = 0.2  // a side that can gain less than this share of the gap waits
)

func (d *designer) gap() float64 {
	if d.loss == 0 {
		return 0
	}
	if d.bound <= 0 {
		return math.Inf(1)
	}
	return (d.loss - d.bound) / d.bound
}

// refine alternates between finer programs of the two bounds until they meet.
// The programs of one cell per sensitivity are solved already, by begin, where
// there are no constraints.
func (d *designer) refine(ctx context.Context) error {
	doUpper := d.upper.grid.k > 1 || d.table == nil || !d.simpleSolves()
	doLower := d.lower.grid.k > 1 || d.bound == 0 || !d.simpleSolves()
	for {
		if doUpper {
			if err := d.advance(ctx, upper, &d.upper); err != nil {
				return err
			}
		}
		if doLower && d.gap() > d.options.Gap {
			if err := d.advance(ctx, lower, &d.lower); err != nil {
				return err
			}
		}
		gap := d.gap()
		if d.options.Progress != nil {
			d.options.Progress(Progress{
				CellsPerSensitivity: max(d.upper.grid.k, d.lower.grid.k),
				ExpectedLoss:        d.loss, LowerBound: d.bound, Gap: gap, Elapsed: time.Since(d.start),
			})
		}
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
	grow := func(b bound, s *side, missed float64) {
		goal := upperGoal * d.options.Gap * d.bound
		if b == lower {
			goal = lowerGoal * d.options.Gap * d.bound
		}
		growth := maxGrowth
		if s.grid.k >= largeStart {
			growth = slowGrowth
		}
		if math.IsInf(s.missed, 1) && d.Epsilon >= alignFrom {
			growth = min(growth, 2) // alignment decides; do not skip the next grid
		}
		if goal > 0 {
			growth = min(max(math.Pow(missed/goal, 1/d.order(b)), minGrowth), growth)
		}
		growth = min(growth, d.affordable(s))
		before := s.grid.k
		s.grid.k = d.aligned(b, int(math.Ceil(float64(s.grid.k)*growth)))
		finest = finest && s.grid.k == before
	}
	if doUpper {
		grow(upper, &d.upper, missedUpper)
	}
	if doLower {
		grow(lower, &d.lower, d.lower.missed)
	}
	if finest && widened == 0 {
		// Cells are points already: only the support is left.
		d.lower.reach *= 1.4
		d.upper.reach *= 1.2
	}
	return doUpper, doLower
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
func (d *designer) advance(ctx context.Context, b bound, s *side) error {
	if d.stuck(s) {
		return check.Errorf("lp", ErrLimit, "cells of single points on all of the support do not reach the gap")
	}
	g := d.extent(b, s.grid.k, s.reach)
	s.grid = g
	if g.n > d.options.MaxCells {
		return check.Errorf("lp", ErrLimit, "%d cells are needed, max-cells = %d", g.n, d.options.MaxCells)
	}
	if int64(g.n)*int64(g.k) > maxProgramWork {
		return check.Errorf("lp", ErrLimit, "%d cells per sensitivity are needed, too many for a linear program: %w", g.k, ErrTooFine)
	}
	previous := g
	if s.hint != nil {
		previous = s.hint.grid
	}
	s.rounds++
	start := time.Now()
	before := s.value
	var err error
	if b == upper {
		s.value, err = d.solveUpper(ctx, g)
	} else {
		s.value, err = d.solveLower(ctx, g)
	}
	s.took = time.Since(start)
	if err != nil {
		return err
	}
	d.learn(b, s, before, previous.k)
	return nil
}

// learn estimates what a side still misses from what its last two programs
// achieved; s.grid is the last one's grid, k the cells per sensitivity of the
// one before.
func (d *designer) learn(b bound, s *side, before float64, k int) {
	s.missed = math.Inf(1)
	if before > 0 && s.value > 0 && s.grid.k > k {
		// An error of e/K^r has lost e/K^r − e/K'^r between two grids.
		ratio := float64(s.grid.k) / float64(k)
		s.missed = math.Abs(s.value-before) / (math.Pow(ratio, d.order(b)) - 1)
	}
}

// maxProgramWork bounds cells times cells per sensitivity of a program, the
// number of its possible terms.
const maxProgramWork = 1 << 25

// order is the assumed order r of convergence of a bound, an error of e/K^r.
// Both are of second order where the optimal density is smooth or its steps
// lie on the grid; for large epsilon some of the upper program's do not.
func (d *designer) order(b bound) float64 {
	if b == upper && d.Epsilon >= alignFrom {
		return 1.5
	}
	if b == lower && (d.Constraints.Support != nil || d.jumping) {
		return 1 // noise may keep to a support, or inside a jump, as if it were a cell wider
	}
	return 2
}

// solveUpper designs a table on the grid and keeps it if it is the best. It
// returns the table's loss, or 0 if this grid gave none; the next may.
func (d *designer) solveUpper(ctx context.Context, g grid) (float64, error) {
	for _, share := range marginShares {
		loss, err := d.tryUpper(ctx, g, share*d.options.Gap)
		switch {
		case errors.Is(err, tables.ErrNotPrivate), errors.Is(err, tables.ErrFalseClaim):
			continue // the margin was too small
		case errors.Is(err, cuts.ErrFailed):
			return 0, nil
		default:
			return loss, err
		}
	}
	return 0, nil
}

func (d *designer) tryUpper(ctx context.Context, g grid, margin float64) (loss float64, err error) {
	epsilon, delta := tightened(d.Problem, g, margin)
	prog, err := newProgram(d.layout(upper, g, epsilon, delta, d.scale(), margin), d.options.NewSolver, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, prog.close()) }()
	status, err := prog.run(ctx, g, d.upper.hint, residualShare*margin, 0)
	d.rounds += prog.relaxation.Rounds()
	switch {
	case err != nil:
		return 0, err
	case status == solver.StatusLimit:
		return 0, ErrLimit
	case status != solver.StatusOptimal:
		return 0, nil // no noise on this support; the next is wider
	}
	d.upper.hint = prog.hint(g)
	t, err := d.makeTable(g, prog.masses(), prog.atomMass())
	if err != nil {
		return 0, err
	}
	loss = expectedLoss(t)
	d.keepTable(t, loss)
	return loss, nil
}

// solveLower proves a bound on the grid, keeps it if it is the best, and
// returns it.
//
// Where the loss or a quantile jumps there are two kinds of cells to choose from,
// around the nodes and between them; the first grid tells which is better.
func (d *designer) solveLower(ctx context.Context, g grid) (bound float64, err error) {
	if !d.jumping || d.Query == dp.IntegerQuery || d.Query == dp.LatticeQuery ||
		!loss.Unimodal(d.Loss) || d.Constraints.Monotone || d.Constraints.Unbiased {
		return d.prove(ctx, g)
	}
	if d.cells != aroundNodes {
		if bound, err = d.prove(ctx, g.betweenNodes()); err != nil {
			return bound, err
		}
	}
	if d.cells != betweenNodes {
		other, err := d.prove(ctx, g)
		if err != nil {
			return max(bound, other), err
		}
		if d.cells == undecided {
			if d.cells = betweenNodes; other > bound {
				d.cells = aroundNodes
			}
		}
		bound = max(bound, other)
	}
	return bound, nil
}

// cellKind says where the cells of the lower programs of a loss that jumps are.
type cellKind int

const (
	undecided cellKind = iota
	aroundNodes
	betweenNodes
)

// prove solves one lower program.
func (d *designer) prove(ctx context.Context, g grid) (bound float64, err error) {
	unit, interior := d.scale(), 0
	if d.Epsilon >= interiorEpsilon && d.Delta <= interiorDelta {
		interior = interiorRows
	}
	prog, err := newProgram(d.layout(lower, g, d.Epsilon, d.Delta, unit, 0), d.options.NewSolver, interior)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, prog.close()) }()
	status, err := prog.run(ctx, g, d.lower.hint, lowerTolerance, stallShare*d.options.Gap)
	d.rounds += prog.relaxation.Rounds()
	if prog.relaxation.Rounds() > 0 {
		// The duals of the last relaxation prove a bound even if a limit
		// or a failure stopped the generation.
		bound = d.keepDual(prog.dual(g, unit))
		d.lower.hint = prog.hint(g)
	}
	switch {
	case errors.Is(err, cuts.ErrFailed):
		return bound, nil
	case err == nil && status == solver.StatusLimit:
		return bound, ErrLimit
	case err == nil && status == solver.StatusInfeasible && !d.Constraints.None():
		return 0, d.conflict(ctx, g.k)
	default:
		return bound, err
	}
}

// The constraint generation of the lower program ends early, since every
// relaxation proves a bound: at a small relative violation, or when a round
// raised the bound by less than this share of the requested gap.
const (
	lowerTolerance = 1e-5
	stallShare     = 0.01
)

// For large epsilon and tiny delta simplex may take tens of thousands of degenerate
// steps in a large relaxation, and interior point without crossover a few dozen. It
// ends off the corners, which is enough for the lower program, whose duals are
// repaired.
const (
	interiorEpsilon = 4    // from here on
	interiorDelta   = 1e-5 // up to here
	interiorRows    = 4001
)

// result puts the best table and the best bound together and certifies both.
func (d *designer) result(stopped error) (*Result, error) {
	if stopped != nil && !errors.Is(stopped, ErrLimit) {
		return nil, stopped
	}
	if d.table == nil {
		return nil, d.nothing(stopped)
	}
	t, err := d.table.Table().WithDual(d.dual)
	if err != nil {
		return nil, check.Errorf("lp", nil, "%w", err)
	}
	v, err := t.Verify()
	if err != nil {
		return nil, check.Errorf("lp", nil, "%w", err)
	}
	r := &Result{Table: v, Rounds: d.rounds, Gap: math.Inf(1), Elapsed: time.Since(d.start)}
	if gap, ok := v.Certificate().Gap(); ok {
		r.Gap = gap
	}
	r.Optimal = r.Gap <= d.options.Gap
	if r.Optimal {
		return r, nil
	}
	if stopped == nil {
		stopped = ErrLimit
	}
	return r, stopped
}
