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

// DesignRow is Design for several values of delta at once; p.Delta is ignored.
// It calls done, from the calling goroutine, with the index of each delta and its
// result as soon as that is ready, and stops at the first error done returns. The
// error wraps ErrLimit if a design stopped short of the gap; its Result says so.
// The time limit is for each delta, on average.
//
// From about epsilon = 2 on, where a design is slow, it takes much less time than
// one by one. The programs differ only in how much delta they may spend: they are
// one program, solved with less and less, each time from the last optimum. And
// what proves a bound for one delta proves one for all, and noise for one, mixed
// with an atom, is noise for a larger one. For real queries without constraints.
func DesignRow(ctx context.Context, p dp.Problem, deltas []float64, o Options, done func(i int, r *Result) error) error {
	if err := o.validate(); err != nil {
		return err
	}
	if !p.Constraints.None() || (p.Query != "" && p.Query != dp.RealQuery) {
		return check.Errorf("lp", dp.ErrInvalid, "a row of deltas with constraints or a query on points, want neither")
	}
	o = o.filled()
	if o.TimeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.TimeLimit*time.Duration(len(deltas)))
		defer cancel()
	}
	r := &row{options: o, done: done}
	for i, delta := range deltas {
		p.Delta = delta
		if err := validate(p); err != nil {
			return err
		}
		f, err := newFrame(p)
		if err != nil {
			return check.Errorf("lp", nil, "%w", err)
		}
		d := &designer{frame: f, options: o, start: time.Now()}
		if err := d.begin(); err != nil {
			return err
		}
		r.designers = append(r.designers, &member{designer: d, index: i})
	}
	slices.SortFunc(r.designers, func(a, b *member) int { return cmp.Compare(b.Delta, a.Delta) })
	stopped := r.refine(ctx)
	for _, d := range r.designers {
		if err := r.hand(d, stopped); err != nil {
			return err
		}
	}
	return r.limit
}

// row designs for several deltas.
type row struct {
	options   Options
	designers []*member // the largest delta first
	done      func(i int, r *Result) error
	limit     error // of a design that stopped short
}

// member is the design for one delta.
type member struct {
	*designer
	index  int
	handed bool // to done
}

// hand hands a result out, once.
func (r *row) hand(d *member, stopped error) error {
	if d.handed {
		return nil
	}
	d.handed = true
	result, err := d.result(stopped)
	if result == nil {
		return err
	}
	if err != nil {
		r.limit = err
	}
	return r.done(d.index, result)
}

// open hands out the results that have reached the gap, and returns those of a
// list that have not.
func (r *row) open(list []*member) (open []*member, err error) {
	for _, d := range list {
		if d.gap() > r.options.Gap {
			open = append(open, d)
		} else if err := r.hand(d, nil); err != nil {
			return nil, err
		}
	}
	return open, nil
}

// refine is designer.refine for all that are open, each on the sides it plans.
func (r *row) refine(ctx context.Context) error {
	doUpper, doLower := r.designers, r.designers
	for {
		if err := r.advance(ctx, upper, doUpper); err != nil {
			return err
		}
		if err := r.advance(ctx, lower, doLower); err != nil {
			return err
		}
		open, err := r.open(r.designers)
		if err != nil || len(open) == 0 {
			return err
		}
		if r.options.Progress != nil {
			d := slices.MaxFunc(open, func(a, b *member) int { return cmp.Compare(a.gap(), b.gap()) })
			r.options.Progress(Progress{
				CellsPerSensitivity: max(d.upper.grid.k, d.lower.grid.k),
				ExpectedLoss:        d.loss, LowerBound: d.bound, Gap: d.gap(), Elapsed: time.Since(d.start),
			})
		}
		if ctx.Err() != nil {
			return ErrLimit
		}
		doUpper, doLower = nil, nil
		for _, d := range open {
			before := [2]int{upper: d.upper.grid.k, lower: d.lower.grid.k}
			u, l := d.plan()
			for b, k := range before {
				s := d.side(bound(b))
				s.grid.k = min(s.grid.k, d.aligned(bound(b), int(math.Ceil(rowGrowth(k)*float64(k)))))
			}
			if u {
				doUpper = append(doUpper, d)
			}
			if l {
				doLower = append(doLower, d)
			}
		}
	}
}

// rowGrowth bounds the growth of K. A program takes time like K³ for all deltas
// that are open: coarse grids close the easy ones first, and what the largest
// deltas miss is estimated too cautiously.
func rowGrowth(k int) float64 {
	if k < 100 {
		return 1.6
	}
	return 1.25
}

// side returns one of the two sides.
func (d *designer) side(b bound) *side {
	if b == upper {
		return &d.upper
	}
	return &d.lower
}

// advance solves the programs of a side for those of a list that are open, the
// largest delta first, on the finest and widest grid any of them asks for.
func (r *row) advance(ctx context.Context, b bound, list []*member) error {
	open, err := r.open(list)
	if err != nil || len(open) == 0 {
		return err
	}
	k, reach := 1, 0.0
	for _, d := range open {
		s := d.side(b)
		k, reach = max(k, s.grid.k), max(reach, s.reach)
	}
	g := open[0].extent(b, k, reach)
	if g.n > r.options.MaxCells {
		return check.Errorf("lp", ErrLimit, "%d cells are needed, max-cells = %d", g.n, r.options.MaxCells)
	}
	if int64(g.n)*int64(k) > maxProgramWork {
		return check.Errorf("lp", ErrLimit, "%d cells per sensitivity are needed, too many for a linear program: %w", k, ErrTooFine)
	}
	before := make([]float64, len(open))
	previous := make([]int, len(open))
	for i, d := range open {
		s := d.side(b)
		before[i], previous[i] = s.value, k
		if s.hint != nil {
			previous[i] = s.hint.grid.k
		}
		s.grid, s.value = g, 0
		s.rounds++
	}
	err = r.solve(ctx, b, g, open)
	for i, d := range open {
		d.learn(b, d.side(b), before[i], previous[i])
	}
	return err
}

// solve solves one side for the given designers on a grid. Tables that are not
// private are made again with the next margin.
func (r *row) solve(ctx context.Context, b bound, g grid, open []*member) error {
	if b == lower {
		_, err := r.descend(ctx, b, g, open, 0)
		return err
	}
	defer r.mix()
	for _, share := range marginShares {
		var err error
		if open, err = r.descend(ctx, b, g, open, share*r.options.Gap); err != nil || len(open) == 0 {
			return err
		}
	}
	return nil
}

// descend solves one program for smaller and smaller deltas. It returns those
// whose tables were not private.
func (r *row) descend(ctx context.Context, b bound, g grid, open []*member, margin float64) (failed []*member, err error) {
	last := open[len(open)-1]
	unit := last.scale()
	epsilon, delta := last.Epsilon, last.Delta
	tolerance, stall := lowerTolerance, stallShare*r.options.Gap
	if b == upper {
		epsilon, delta = tightened(last.Problem, g, margin)
		tolerance, stall = residualShare*margin, 0
	}
	l := last.layout(b, g, epsilon, delta, unit, margin)
	l.budget = true
	prog, err := newProgram(l, r.options.NewSolver, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, prog.close()) }()
	rounds := 0
	for i, d := range open {
		delta := d.Delta
		if b == upper {
			_, delta = tightened(d.Problem, g, margin)
		}
		if err := prog.relaxation.Tighten(delta); err != nil {
			return failed, err
		}
		var status solver.Status
		if i == 0 {
			status, err = prog.run(ctx, g, d.side(b).hint, tolerance, stall)
		} else {
			status, err = prog.relaxation.Solve(ctx, tolerance, stall)
		}
		solved := prog.relaxation.Rounds() > rounds
		d.rounds += prog.relaxation.Rounds() - rounds
		rounds = prog.relaxation.Rounds()
		s := d.side(b)
		if solved && b == lower {
			s.value = r.keep(d, prog.dual(g, unit))
		}
		if solved {
			s.hint = prog.hint(g)
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
		}
		if b == lower {
			continue
		}
		t, err := d.makeTable(g, prog.masses(), prog.atomMass())
		switch {
		case errors.Is(err, tables.ErrNotPrivate), errors.Is(err, tables.ErrFalseClaim):
			failed = append(failed, d)
		case err != nil:
			return failed, err
		default:
			s.value = expectedLoss(t)
			d.keepTable(t, s.value)
		}
	}
	return failed, nil
}

// keepTable keeps a certified table if it is the best.
func (d *designer) keepTable(t *tables.Verified, loss float64) {
	if loss < d.loss {
		d.table, d.loss = t, loss
	}
}

// keep certifies what multipliers found for d prove for every delta, and returns
// the bound for d. Some multipliers A − δ·Ση are true for all δ.
func (r *row) keep(d *member, dual *tables.Dual) float64 {
	for _, o := range r.designers {
		if o != d && !o.handed {
			o.keepDual(dual)
		}
	}
	return d.keepDual(dual)
}

// mix offers every table, mixed with an atom, to the larger deltas: with an atom
// of weight t, (ε, δ₀)-private noise is (ε, (1−t)δ₀+t)-private, and its loss is
// smaller by the factor 1−t.
func (r *row) mix() {
	for i := len(r.designers) - 1; i > 0; i-- {
		from, to := r.designers[i], r.designers[i-1]
		if from.table == nil || to.handed {
			continue
		}
		t := (to.Delta - from.Delta) / (1 - from.Delta) * (1 - mixMargin)
		if from.loss*(1-t) >= to.loss*(1-mixGain) {
			continue
		}
		masses, atom := from.table.Table().PMF()
		for j := range masses {
			masses[j] *= 1 - t
		}
		lay := from.table.Table().Grid()
		g := grid{k: lay.CellsPerSensitivity, first: lay.FirstCell, n: len(masses), lay: lay}
		if mixed, err := to.makeTable(g, masses, atom*(1-t)+t); err == nil {
			to.keepTable(mixed, expectedLoss(mixed))
		}
	}
}

const (
	mixMargin = 1e-9 // of an atom's weight, for rounding
	mixGain   = 1e-9 // least relative gain worth certifying
)
