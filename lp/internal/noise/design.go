// SPDX-License-Identifier: Apache-2.0

// Package noise designs noise that does not depend on the value; see lp.Design.
//
// The upper and the lower program are two types with one interface: upper.go,
// lower.go, and in bound.go what is asked of both. model.go is the problem as they
// see it. Solutions become tables in table.go, duals become proofs in dual.go. The loop over
// finer and finer grids is in design.go and balance.go, and the tables and bounds it starts
// from, which need no solver, in start.go. With delta = 0 none of these is needed: pure.go.
package noise

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/lp/internal/noise/staircase"
	"github.com/noisewright/noisewright/tables"
)

// Design finds noise and a bound that meet to the requested gap.
func Design(ctx context.Context, p dp.Problem, s *meet.Search) (*tables.Verified, meet.Outcome, error) {
	if p.Delta == 0 {
		return designPure(ctx, p, s)
	}
	d, err := newDesigner(p, s)
	if err != nil {
		return nil, meet.Outcome{}, err
	}
	if err := d.begin(); err != nil {
		return nil, meet.Outcome{}, err
	}
	if d.Gap() > d.Options.Gap {
		if err := d.meet(ctx); err != nil || d.Gap() > d.Options.Gap {
			return d.result(err)
		}
	}
	return d.result(d.finish(ctx))
}

// meet tries one way after the other until the bounds meet.
func (d *designer) meet(ctx context.Context) error {
	for _, way := range []func(context.Context) error{d.meetSpread, d.meetJumps, d.refine} {
		if err := way(ctx); err != nil || d.Gap() <= d.Options.Gap {
			return err
		}
	}
	return nil
}

// designer is the state of one Design.
type designer struct {
	*model
	meet.Search  // for table and dual
	upper, lower side
	last         *side           // that was advanced
	before       float64         // what was left before, if it was advanced alone
	start        *staircase.Core // of the table to begin with; nil: as for a small epsilon
	unclosed     bool            // multipliers in closed form are known to prove little
	table        *tables.Table
	dual         *tables.Dual
	rounds       int
	ends         *ends      // of the noise, as far as they are known
	endsFrom     int        // K of the program that told them
	endless      bool       // they are known to be wrong
	allowance    float64    // of work for what was not asked for; 0: all is
	finest       int        // the most nodes per sensitivity that prove something; 0: any number does
	proves       dp.Problem // what bounds are about
}

// side is the progress of one of the two bounds.
type side struct {
	bound  bound
	grid   grid
	reach  float64   // half-width in sensitivities
	value  float64   // what the last program achieved; 0: nothing
	missed float64   // estimate of what finer grids can still gain
	same   int       // programs with cells of single points
	shape  *shape    // of the last program; nil: nothing to tell ties from
	loose  float64   // unknowns per cell of a sensitivity of the last program with ties
	untied []float64 // where it was wrong, in sensitivities
	free   bool      // ties were wrong
	again  bool      // the last program says so
	closed error     // why no more of its programs are solved, if not
	took   time.Duration
	slows  float64 // the power of nK that the time of the next program is expected to grow with
	// certify is the part of took in which what it gave was made and certified.
	certify time.Duration
	solved  int      // K of the last program
	aim     float64  // that it was solved for
	before  struct { // the one before it
		value float64
		k     int
	}
}

func newDesigner(p dp.Problem, s *meet.Search) (*designer, error) {
	m, err := newModel(p)
	if err != nil {
		return nil, check.Errorf("lp", nil, "%w", err)
	}
	d := &designer{model: m, Search: *s, proves: p}
	d.upper.bound, d.lower.bound = upper{m}, &lower{model: m}
	d.refinePoints()
	return d, nil
}

// unhurried reports whether there is time for ties, which may prove wrong. With less, what is lost to programs that
// have to be solved again is most of it: pinball:0.8 at (0.3, 1e-6), where 1e-4 is asked for, would end at .065 % after .4 s, and
// at .038 % after .02 s.
func (d *designer) unhurried() bool {
	return d.Options.TimeLimit == 0 || d.Options.TimeLimit >= time.Second
}

// refinePoints lets cells have as many points as what is aimed for needs. Finer ones take longer to check.
func (d *designer) refinePoints() {
	d.bits = max(pointsBits(d.Aim()), d.jumpBits(d.Options.Gap))
}

// begin finds the table to start from: one that needs no solver, unless the constraints exclude it.
func (d *designer) begin() error {
	d.findCore()
	t, err := d.simpleTable()
	switch {
	case err == nil:
		d.keepTable(t)
	case d.Constraints.None() || !(meet.NotKept(err) || errors.Is(err, meet.ErrLimit)):
		return err
	}
	aim := d.Aim()
	for _, s := range d.sides() {
		s.reach = s.bound.reach(aim)
		s.grid.k = startCells(s.bound, aim)
		s.missed = math.Inf(1)
	}
	if d.Loss.Symmetric() {
		// Its nodes reach as far as noise with a cell per sensitivity.
		far := SupportBound(d.Problem) + 10
		for _, x := range loss.Of(d.Loss).Kinks() {
			far = max(far, math.Abs(x)/d.Sensitivity)
		}
		const times = 20 // as far as noise reaches, or kinks are: beyond it levels that are out of reach are looked at
		most := int(min(float64(d.Options.MaxCells), float64(d.affordableNodes(d.Loss, 1)), times*far))
		if dual, level, price := d.chainDual(d.scale(), most); dual != nil {
			d.keepDual(dual)
			// Of the prices that are as good, this is the least: one more node has e^ε times it.
			price *= math.Exp(d.Epsilon)
			if e, ok := d.endsAt(level, price, price); ok {
				d.ends, d.endsFrom = &e, 1
			}
		}
	}
	if d.core != nil && d.Epsilon >= closedFrom && !d.unclosed {
		d.closedDual()
	}
	return nil
}

// scale returns the magnitude of the expected loss.
func (d *designer) scale() float64 {
	if d.table == nil || d.Best == 0 {
		return d.typicalLoss()
	}
	return d.Best
}

// keepDual certifies the bound that the multipliers prove, keeps them if it is
// the best, and returns it.
func (d *designer) keepDual(dual *tables.Dual) float64 {
	if d.slope != 0 {
		dual = unfolded(dual)
		dual.Mean -= d.slope
	}
	return d.keepProof(dual)
}

// keepProof is keepDual of multipliers that no slope was left out of.
func (d *designer) keepProof(dual *tables.Dual) float64 {
	dual.Spread = d.spread != nil
	bound, _ := dual.LowerBound(d.proves).Float64()
	if bound > d.Bound {
		d.dual, d.Bound = dual, bound
	}
	return bound
}

// Tuning of the refinement; any values give correct results.
const (
	firstShare = 3    // start with a third of the cells expected to be needed
	minGrowth  = 1.25 // of K in a round
	maxGrowth  = 3.0  // while K is below largeStart; then
	slowGrowth = 1.8
	leapsEnd   = 12   // with a time limit, the K from which growth is slow: a much larger program may take too long
	farApart   = 0.1  // the gap from which estimates of what sides miss are good for nothing
	idleShare  = 0.2  // a side that can gain less than this share of the gap waits
	cheapShare = 0.1  // unless its program takes less than this share of the work of the other one's
	fineFrom   = 1e-3 // the gap below which programs are solved less closely,
	fineShare  = 3    // by so much
	worthless  = 0.02 // and one that gains less than this is not refined at all
)

// refine alternates between finer programs of the two bounds until they meet.
func (d *designer) refine(ctx context.Context) error {
	if d.Gap() < farApart && d.tooNarrow() {
		return check.Errorf("lp", meet.ErrLimit, "linear programs as fine as the core of the noise would not be done in time")
	}
	turn := d.firstSides()
	for {
		if err := d.advanceAll(ctx, turn); err != nil {
			return err
		}
		d.Report(max(d.upper.grid.k, d.lower.grid.k))
		if d.Gap() <= d.Options.Gap {
			return nil
		}
		if ctx.Err() != nil {
			return meet.ErrLimit
		}
		if turn = d.balance(); len(turn) > 0 {
			continue
		}
		next, err := d.plan()
		if err != nil {
			return err
		}
		turn = []*side{next}
	}
}

// tooNarrow reports whether the core is narrower than the cells of all programs that there is time for.
func (d *designer) tooNarrow() bool {
	const few = 2 // cells
	if d.core == nil || d.points > 0 {
		return false
	}
	g := d.lower.bound.extent(int(few/d.core.Width), 1)
	return !d.inTime(g)
}

// firstSides returns those whose first program is to be solved. Where simpleTable and
// chainDual solve those of one cell per sensitivity, begin has done so already.
func (d *designer) firstSides() (first []*side) {
	simple := d.Loss.Symmetric() && d.Constraints.None() && d.points != 1
	if d.upper.value == 0 && (d.upper.grid.k > 1 || d.table == nil || !simple) {
		first = append(first, &d.upper)
	}
	if d.lower.value == 0 && (d.lower.grid.k > 1 || d.Bound == 0 || !simple) {
		first = append(first, &d.lower)
	}
	return first
}

// plan returns the side to advance next and refines its grid. Where both are worth it
// they take turns. A side whose next program would not end in time is not begun: what
// it would gain is lost then, and the time with it.
func (d *designer) plan() (*side, error) {
	const beside = 3 // gaps, that a wider support does not make up for
	if d.finest > 0 && d.lower.solved >= d.finest && meet.RelativeGap(d.Best-d.upper.expected(), d.Bound) > beside*d.Options.Gap {
		return nil, check.Errorf("lp", meet.ErrLimit, "nodes would have to be as close as points")
	}
	var worth, patient []*side // those that wait come last
	upper, lower := d.worth()
	missed := map[*side]float64{&d.upper: upper, &d.lower: lower}
	for _, s := range d.sides() {
		switch {
		case missed[s] == 0:
			if missed[s] = s.missed; s.missed > worthless*d.remaining() {
				patient = append(patient, s)
			}
		case s == d.last:
			worth = append(worth, s)
		default:
			worth = slices.Insert(worth, 0, s)
		}
	}
	err := check.Errorf("lp", meet.ErrLimit, "finer grids would not be done in time")
	for i, s := range slices.Concat(worth, patient, worth) {
		power := 1.5
		// Nothing is worth more than a bound, of which part of a program proves one, too.
		if s == &d.lower && (i >= len(worth)+len(patient) || d.Gap() > farApart) {
			power = 1
		}
		switch {
		case s.closed != nil:
			err = s.closed
		case d.finerInTime(s, missed[s], power):
			return s, nil
		}
	}
	return nil, err
}

// worth returns how much of what is left each side is estimated to miss, which is known
// after two programs; 0: so little that it waits. The lower side goes first, because
// what it does not miss the upper one does.
func (d *designer) worth() (upper, lower float64) {
	left := d.remaining()
	if d.Gap() > farApart {
		return max(d.upper.missed, left/2), max(d.lower.missed, left/2)
	}
	lower = d.lower.missed
	upper = min(d.upper.missed, max(left-lower, 0))
	if lower <= idleShare*left || d.lower.value+lower < d.Bound { // it is not expected to get to the bound there is
		lower = 0
	}
	if upper <= idleShare*left {
		upper = 0
	}
	if !d.Options.Generate {
		// A program that costs little beside the last one of the other side is worth more
		// than an estimate of what it gains.
		if u, l := d.workOf(&d.upper, d.upper.grid), d.workOf(&d.lower, d.lower.grid); upper == 0 && u < cheapShare*l {
			upper = left / 2
		} else if lower == 0 && l < cheapShare*u {
			lower = left / 2
		}
	}
	if lower == 0 && upper == 0 {
		// Both look converged and yet do not meet: the supports are to blame, or the estimates are.
		d.widen(&d.upper, &d.lower)
		upper, lower = left/2, left/2
	}
	return upper, lower
}

func (d *designer) remaining() float64 {
	if left := d.Best - d.Bound; !math.IsInf(left, 1) {
		return left
	}
	return d.scale() // nothing is known yet
}

// widen takes more of the support into the next programs of sides.
func (d *designer) widen(sides ...*side) {
	for _, s := range sides {
		if s == &d.upper {
			s.reach *= 1.2
		} else {
			s.reach *= 1.4
		}
	}
}

// finerInTime refines the grid of a side, which is estimated to miss so much, as far as
// its next program can be expected to end in time, and reports whether it can: half of
// what is left is enough for it. The smallest step may take all that is left, and is counted on to take a power of nK, of n cells
// of which K make up a sensitivity: 1.5 is what it often is, and 1 for what else the time would be lost to;
// and a program that proves a bound may take longer, as what is done of it proves one too.
func (d *designer) finerInTime(s *side, missed, power float64) bool {
	const narrow = 1.2 // what is not done in time on a grid on which jumps lie well may be on one next to it
	before, reach := s.grid, s.reach
	// refined returns how many times as much time there is as the program of a refined grid takes, that growing with a power of nK.
	refined := func(growth, span, power float64) float64 {
		s.grid.k, s.reach = before.k, reach
		d.finer(s, max(growth, minGrowth), span)
		if d.Options.TimeLimit == 0 || s.took == 0 {
			return math.Inf(1)
		}
		g := d.extent(s, s.grid.k)
		ratio := float64(g.n) * float64(g.k) / (float64(before.n) * float64(before.k))
		return float64(d.Left()-d.closing(s)) / float64(s.took) / math.Pow(ratio, power)
	}
	for _, span := range []float64{jumpSpan, narrow} {
		for growth := d.growth(s, missed); ; growth *= 0.7 {
			if refined(growth, span, s.slows) >= 2 {
				return true
			}
			if growth <= minGrowth {
				break
			}
		}
	}
	enough := 1.0
	if s == &d.lower {
		enough /= 1.5
	}
	if refined(minGrowth, narrow, power) >= enough {
		return true
	}
	s.grid, s.reach = before, reach
	return false
}

// finer refines the grid of a side; where cells are points already, only its support. Where a loss jumps, span is
// how many times finer still it may become.
func (d *designer) finer(s *side, growth, span float64) {
	before := s.grid.k
	s.reach = max(s.reach, s.bound.reach(d.Aim()))
	s.grid.k = d.nextCells(s, int(math.Ceil(float64(before)*growth)), span)
	if s == &d.lower && d.finest > 0 {
		s.grid.k = min(s.grid.k, max(d.finest, before))
	}
	if s.grid.k == before {
		d.widen(s)
	}
}

// growth returns how much finer the next program of a side that misses so much should be.
func (d *designer) growth(s *side, missed float64) float64 {
	growth := maxGrowth
	if s.grid.k >= largeStart || d.Options.TimeLimit > 0 && s.grid.k >= leapsEnd {
		growth = slowGrowth
	}
	if math.IsInf(s.missed, 1) && d.Epsilon >= alignFrom {
		growth = min(growth, 2) // alignment decides; do not skip the next grid
	}
	if goal := s.bound.goal() * d.Aim() * d.Bound; goal > 0 {
		growth = min(max(math.Pow(missed/goal, 1/s.bound.order()), minGrowth), growth)
	}
	return growth
}

// closing returns the time to certify what a side's next program gives, and at last the result.
func (d *designer) closing(s *side) time.Duration {
	return d.upper.certify + d.lower.certify + s.certify*5/2
}

func (d *designer) advance(ctx context.Context, s *side) error {
	if int64(s.grid.k) == d.points {
		const most = 12 // times that a side widens the support of cells that cannot become finer
		if s.same++; s.same > most {
			return check.Errorf("lp", meet.ErrLimit, "cells of single points on all of the support do not reach the gap")
		}
	}
	g := d.extent(s, s.grid.k)
	const mostWork = 1 << 25 // cells times cells per sensitivity: the possible terms
	switch {
	case g.n > d.Options.MaxCells:
		return check.Errorf("lp", meet.ErrLimit, "%d cells are needed, max-cells = %d", g.n, d.Options.MaxCells)
	case int64(g.n)*int64(g.k) > mostWork, d.Options.NewSolver == nil && !d.fits(g) && d.unknowns(s, g) == d.masses(g):
		return tooFine(g)
	}
	if s.value > 0 && g.k == s.solved && g == s.grid && d.Aim() == s.aim {
		s.closed = check.Errorf("lp", meet.ErrLimit, "a wider support is no other, and cells cannot become finer")
		return nil
	}
	for s.solved == 0 && d.points == 0 && s.grid.k > 1 && d.hopeless(s, g) { // a coarse grid tells something where nothing is known
		s.grid.k /= 2
		g = d.extent(s, s.grid.k)
	}
	if d.hopeless(s, g) {
		s.closed = check.Errorf("lp", meet.ErrLimit, "a linear program of %d cells would not be done in time", g.n)
		return nil
	}
	if err := d.allow(s, g); err != nil {
		return err
	}
	if d.Options.Clock == nil {
		var cancel context.CancelFunc
		ctx, cancel = d.Within(ctx, d.closing(s))
		defer cancel()
	}
	s.aim = d.Aim()
	before, took := s.grid, s.took
	s.before.value, s.before.k, s.solved = s.value, s.solved, g.k
	s.grid, s.value = g, 0
	start := d.Elapsed()
	var err error
	s.value, err = s.bound.solve(ctx, d, g)
	s.took = d.Elapsed() - start
	s.slows = slowing(took, s.took, float64(g.n)*float64(g.k)/(float64(before.n)*float64(before.k)))
	d.learn(s)
	return err
}

// slowing returns the power of nK that the time of a side's next program is expected to
// grow with: somewhat more than between the last two of them, of which nK grew by the given
// ratio, and 2 if that says nothing.
func slowing(before, took time.Duration, ratio float64) float64 {
	if before <= 0 || !(ratio > minGrowth) {
		return 2
	}
	return min(max(math.Log(float64(took)/float64(before))/math.Log(ratio)+0.5, 1), 2)
}

// hopeless reports whether a program would not end in the time that is left, however
// easy: solving takes time like the square of the cells at least.
func (d *designer) hopeless(s *side, g grid) bool {
	const perSquare = 1e-7 // seconds
	n := float64(g.n) * float64(d.unknowns(s, g)) / float64(max(d.masses(g), 1))
	least := perSquare * n * n
	return d.Options.TimeLimit > 0 && d.table != nil && least > d.Left().Seconds()
}

// solve solves a program of a side and keeps what it gives. That the methods gave up is no error.
func (d *designer) solve(ctx context.Context, s *side, g grid, margin float64) (value float64, status solver.Status, err error) {
	unit := d.scale()
	l := s.bound.layout(g, unit, margin)
	d.tie(s, &l, g)
	want := s.bound.effort(d.Aim(), margin)
	if want.Gap = meet.StallShare * d.Aim(); d.Aim() < fineFrom {
		want.Gap *= fineShare // the last digits take most iterations, where the grid is fine
	}
	prog, status, err := l.solve(ctx, &d.Options, g, want)
	if errors.Is(err, meet.ErrTooFine) {
		err = tooFine(g)
	}
	if prog == nil {
		return 0, status, err
	}
	d.rounds += prog.Rounds()
	var refused error
	if prog.Rounds() > 0 {
		start := d.Elapsed()
		value, refused = s.bound.certify(d, prog, g, unit, err == nil && status == solver.StatusOptimal)
		s.certify = d.Elapsed() - start
	}
	switch {
	case status == solver.StatusFailed && err == nil:
		return value, status, nil
	case err == nil && status == solver.StatusLimit:
		return value, status, meet.ErrLimit
	}
	return value, status, cmp.Or(err, refused)
}

// solveTied is solve, again as long as masses were tied that should not have been.
func (d *designer) solveTied(ctx context.Context, s *side, g grid, margin float64) (value float64, status solver.Status, err error) {
	const most = 3 // times that some are untied before all are
	for i := 0; ; i++ {
		s.again = false
		now, status, err := d.solve(ctx, s, g, margin)
		if value == 0 || s == &d.lower {
			value = max(value, now)
		} else if now > 0 {
			value = min(value, now)
		}
		again := s.again || s.loose > 0 && status == solver.StatusInfeasible
		if err != nil || !again || ctx.Err() != nil {
			return value, status, err
		}
		s.free = s.free || i >= most || !s.again
	}
}

func tooFine(g grid) error {
	return check.Errorf("lp", meet.ErrLimit, "%d cells, %d per sensitivity, are needed, too many for a linear program: %w", g.n, g.k, meet.ErrTooFine)
}

// learn estimates what a side still misses from what its last two programs achieved.
func (d *designer) learn(s *side) {
	s.missed = math.Inf(1)
	if s.before.value <= 0 || s.value <= 0 {
		return
	}
	var was, now float64 // that it misses because of jumps
	if d.byJumps() {
		was, now = d.jumpsMiss(s, s.before.k), d.jumpsMiss(s, s.grid.k)
	}
	switch gained := math.Abs(s.value - s.before.value); {
	case s.grid.k == s.before.k: // by its support alone
		s.missed = gained
	case now < was:
		s.missed = gained * now / (was - now)
	case s.grid.k > s.before.k:
		// An error of e/K^r has lost e/K^r − e/K'^r between two grids.
		ratio := float64(s.grid.k) / float64(s.before.k)
		s.missed = gained / (math.Pow(ratio, s.bound.order()) - 1)
	}
}

func (d *designer) keepTable(t *tables.Verified) float64 { return meet.Keep(&d.Search, &d.table, t) }

func (d *designer) result(stopped error) (*tables.Verified, meet.Outcome, error) {
	return meet.Finish(&d.Search, d.table, d.dual, d.rounds, stopped, func() error { return d.noTable(stopped) })
}
