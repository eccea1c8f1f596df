package lp

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp/internal/cuts"
	"github.com/noisewright/noisewright/lp/solver"
	"github.com/noisewright/noisewright/tables"
)

// Sweep is Design for several values of delta at once; p.Delta is ignored.
// It calls done, from the calling goroutine, with the index of each delta and its
// result as soon as that is ready, and stops at the first error done returns. The
// error wraps ErrLimit if a design stopped short of the gap; its Result says so.
// The time limit is for each delta, on average.
//
// It takes less time than one by one, as what proves a bound for one delta proves one
// for all, and noise for one, mixed with an atom, is noise for a larger one. Where the
// loss is not symmetric, the programs, which differ only in how much delta they may
// spend, are one program, solved with less and less, each time from the last optimum.
// For real queries without constraints; Options.NewSolver may be nil if the loss is
// symmetric.
func Sweep(ctx context.Context, p dp.Problem, deltas []float64, o Options, done func(i int, r *Result) error) error {
	errs := check.In("lp")
	errs.Add(o.forProblem(p).validate())
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
	s.direct = true
	w := &sweep{options: s.options, done: done}
	for i, delta := range deltas {
		p.Delta = delta
		s.start = time.Now()
		d, err := newDesigner(p, s)
		if err != nil {
			return err
		}
		if err := d.begin(); err != nil {
			return err
		}
		d.offer = w.offer
		w.members = append(w.members, &member{designer: d, index: i})
	}
	slices.SortFunc(w.members, func(a, b *member) int { return cmp.Compare(b.Delta, a.Delta) })
	if p.Loss.Symmetric() && !o.generate {
		return w.each(ctx)
	}
	stopped := w.refine(ctx)
	for _, d := range w.members {
		if err := w.deliver(d, stopped); err != nil {
			return err
		}
	}
	return w.limit
}

// sweep is the state of one Sweep.
type sweep struct {
	options Options
	members []*member // the largest delta first
	done    func(i int, r *Result) error
	limit   error // of a design that stopped short
}

// member is the design for one delta.
type member struct {
	*designer
	index     int
	delivered bool
}

// deliver passes a result to done, once.
func (w *sweep) deliver(d *member, stopped error) error {
	if d.delivered {
		return nil
	}
	d.delivered = true
	result, err := d.result(stopped)
	if result == nil {
		return err
	}
	if err != nil {
		w.limit = err
	}
	return w.done(d.index, result)
}

// open delivers the results that have reached the gap, and returns those of a list
// that have not.
func (w *sweep) open(list []*member) (open []*member, err error) {
	for _, d := range list {
		if d.gap() > w.options.Gap {
			open = append(open, d)
		} else if err := w.deliver(d, nil); err != nil {
			return nil, err
		}
	}
	return open, nil
}

// offer certifies what multipliers found for one delta prove for the others: a bound
// A − δ·Ση is true for all δ.
func (w *sweep) offer(from *designer, dual *tables.Dual) {
	for _, d := range w.members {
		if d.designer != from && !d.delivered {
			d.keepDual(dual)
		}
	}
}

// each designs for one delta after another, the smallest first.
func (w *sweep) each(ctx context.Context) error {
	for i, d := range slices.Backward(w.members) {
		d.offer, d.start = nil, time.Now()
		if i+1 < len(w.members) {
			w.mixInto(i)
			w.prove(i)
		}
		var stopped error
		if d.gap() > w.options.Gap {
			stopped = d.refine(ctx)
		}
		if err := w.deliver(d, stopped); err != nil {
			return err
		}
	}
	return w.limit
}

// prove offers a member the multipliers of smaller deltas that prove most for its own:
// what they prove is A − δ·Ση.
func (w *sweep) prove(i int) {
	to, best, bound := w.members[i], (*tables.Dual)(nil), 0.0
	for _, from := range w.members[i+1:] {
		if from.dual == nil {
			continue
		}
		if b := from.bound - (to.Delta-from.Delta)*priceOf(from.dual); b > bound {
			best, bound = from.dual, b
		}
	}
	if bound > to.bound {
		to.keepDual(best)
	}
}

// priceOf returns the price of delta in multipliers: the sum over shifts of their largest.
func priceOf(d *tables.Dual) float64 {
	var sum float64
	for _, s := range d.Shifts {
		sum += float64(slices.Max(s.Multipliers))
	}
	if d.Mirrored {
		sum *= 2
	}
	return math.Ldexp(sum, d.Exponent)
}

func upperOf(d *member) *side { return &d.upper }
func lowerOf(d *member) *side { return &d.lower }

// refine is designer.refine for all that are open, each on the sides it plans.
func (w *sweep) refine(ctx context.Context) error {
	doUpper, doLower := w.members, w.members
	for {
		err := w.advance(ctx, upperOf, doUpper)
		if len(doUpper) > 0 {
			w.mix()
		}
		if err != nil {
			return err
		}
		if err := w.advance(ctx, lowerOf, doLower); err != nil {
			return err
		}
		open, err := w.open(w.members)
		if err != nil || len(open) == 0 {
			return err
		}
		worst := slices.MaxFunc(open, func(a, b *member) int { return cmp.Compare(a.gap(), b.gap()) })
		worst.report(max(worst.upper.grid.k, worst.lower.grid.k))
		if ctx.Err() != nil {
			return ErrLimit
		}
		doUpper, doLower = nil, nil
		for _, d := range open {
			before := [...]int{d.upper.grid.k, d.lower.grid.k}
			upper, lower := d.worth()
			for i, s := range []*side{&d.upper, &d.lower} {
				missed := [...]float64{upper, lower}[i]
				if missed == 0 {
					continue
				}
				d.finer(s, d.growth(s, missed))
				most := int(math.Ceil(sweepGrowth(before[i]) * float64(before[i])))
				s.grid.k = min(s.grid.k, aligned(s.bound, most))
			}
			if upper > 0 {
				doUpper = append(doUpper, d)
			}
			if lower > 0 {
				doLower = append(doLower, d)
			}
		}
	}
}

// sweepGrowth bounds the growth of K. A program takes time like K³ for all deltas
// that are open: coarse grids close the easy ones first, and what the largest
// deltas miss is estimated too cautiously.
func sweepGrowth(k int) float64 {
	if k < 100 {
		return 1.6
	}
	return 1.25
}

// advance solves the programs of a side for those of a list that are open, the
// largest delta first, on the finest and widest grid any of them asks for.
func (w *sweep) advance(ctx context.Context, of func(*member) *side, list []*member) error {
	open, err := w.open(list)
	if err != nil || len(open) == 0 {
		return err
	}
	k, reach := 1, 0.0
	for _, d := range open {
		k, reach = max(k, of(d).grid.k), max(reach, of(d).reach)
	}
	g := of(open[0]).bound.extent(k, reach)
	if err := w.options.allow(g); err != nil {
		return err
	}
	for _, d := range open {
		of(d).begin(g)
	}
	// Tables that do not keep what they should are made again with the next margin.
	left := open
	for i := 0; i < len(marginShares) && len(left) > 0 && err == nil; i++ {
		left, err = w.descend(ctx, of, g, left, marginShares[i]*w.options.Gap)
	}
	for _, d := range open {
		of(d).learn()
	}
	return err
}

// descend solves one program for smaller and smaller deltas. It returns those
// whose tables do not keep what they should.
func (w *sweep) descend(ctx context.Context, of func(*member) *side, g grid, open []*member, margin float64) (failed []*member, err error) {
	last := open[len(open)-1]
	unit := last.scale()
	l := of(last).bound.layout(g, unit, margin)
	l.budget = true
	tolerance, stall := of(last).bound.effort(w.options.Gap, margin)
	prog, err := newProgram(l, w.options.NewSolver, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, prog.Close()) }()
	rounds := 0
	for i, d := range open {
		s := of(d)
		_, delta := s.bound.privacy(g, margin)
		if err := prog.generation.Tighten(delta); err != nil {
			return failed, err
		}
		var status solver.Status
		if i == 0 {
			status, err = prog.run(ctx, g, s.hint, tolerance, stall)
		} else {
			status, err = prog.generation.Solve(ctx, tolerance, stall)
		}
		var taken error
		if solved := prog.Rounds() - rounds; solved > 0 {
			d.rounds += solved
			rounds += solved
			s.value, taken = s.bound.take(d.designer, prog, g, unit, err == nil && status == solver.StatusOptimal)
		}
		switch {
		case errors.Is(err, cuts.ErrFailed):
			return failed, nil
		case err != nil:
			return failed, err
		case status == solver.StatusLimit:
			return failed, ErrLimit
		case status != solver.StatusOptimal:
			return failed, nil // no noise on this support, nor for a smaller delta
		case notKept(taken):
			failed = append(failed, d)
		case taken != nil:
			return failed, taken
		}
	}
	return failed, nil
}

// mix offers every table to the next larger delta.
func (w *sweep) mix() {
	for i := len(w.members) - 2; i >= 0; i-- {
		w.mixInto(i)
	}
}

// mixInto offers the table of the next smaller delta, mixed with an atom, to a member:
// with an atom of weight t, (ε, δ₀)-private noise is (ε, (1−t)δ₀+t)-private, and its loss
// is smaller by the factor 1−t.
func (w *sweep) mixInto(i int) {
	from, to := w.members[i+1], w.members[i]
	if from.table == nil || to.delivered {
		return
	}
	t := (to.Delta - from.Delta) / (1 - from.Delta) * (1 - mixMargin)
	if from.loss*(1-t) >= to.loss*(1-mixGain) {
		return
	}
	masses, atom := from.table.Table().PMF()
	for j := range masses {
		masses[j] *= 1 - t
	}
	cells := from.table.Table().Grid()
	g := grid{k: cells.CellsPerSensitivity, first: cells.FirstCell, n: len(masses), table: cells}
	if mixed, err := to.makeTable(g, masses, atom*(1-t)+t); err == nil {
		to.keepTable(mixed)
	}
}

const (
	mixMargin = 1e-9 // of an atom's weight, for rounding
	mixGain   = 1e-9 // least relative gain worth certifying
)
