package noise

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/tables"
)

// Sweep is Design for several values of delta at once; it calls done with the index of
// each and what was found.
func Sweep(ctx context.Context, p dp.Problem, deltas []float64, s *meet.Search, done func(i int, v *tables.Verified, o meet.Outcome) error) error {
	s.Direct = true
	w := &sweep{options: s.Options, done: done}
	for i, delta := range deltas {
		p.Delta = delta
		s.Start = time.Now()
		d, err := newDesigner(p, s)
		if err != nil {
			return err
		}
		if err := d.begin(); err != nil {
			return err
		}
		w.members = append(w.members, &member{designer: d, index: i})
	}
	slices.SortFunc(w.members, func(a, b *member) int { return cmp.Compare(b.Delta, a.Delta) })
	return w.each(ctx)
}

// sweep is the state of one Sweep.
type sweep struct {
	options meet.Options
	members []*member // the largest delta first
	done    func(i int, v *tables.Verified, o meet.Outcome) error
	limit   error // of a design that stopped short
}

// member is the design for one delta.
type member struct {
	*designer
	index int
}

// deliver passes a result to done.
func (w *sweep) deliver(d *member, stopped error) error {
	v, o, err := d.result(stopped)
	if v == nil {
		return err
	}
	if err != nil {
		w.limit = err
	}
	return w.done(d.index, v, o)
}

// each designs for one delta after another, the smallest first.
func (w *sweep) each(ctx context.Context) error {
	for i, d := range slices.Backward(w.members) {
		d.Start = time.Now()
		if i+1 < len(w.members) {
			w.mixInto(i)
			w.prove(i)
			d.resemble(w.members[i+1].designer)
		}
		var stopped error
		if d.Gap() > w.options.Gap {
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
		if b := from.Bound - (to.Delta-from.Delta)*priceOf(from.dual); b > bound {
			best, bound = from.dual, b
		}
	}
	if bound > to.Bound {
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

// mixInto offers the table of the next smaller delta, mixed with an atom, to a member:
// with an atom of weight t, (ε, δ₀)-private noise is (ε, (1−t)δ₀+t)-private, and its loss
// is smaller by the factor 1−t.
func (w *sweep) mixInto(i int) {
	from, to := w.members[i+1], w.members[i]
	if from.table == nil {
		return
	}
	t := (to.Delta - from.Delta) / (1 - from.Delta) * (1 - mixMargin)
	if from.Best*(1-t) >= to.Best*(1-mixGain) {
		return
	}
	masses, atom := from.table.PMF()
	for j := range masses {
		masses[j] *= 1 - t
	}
	cells := from.table.Grid()
	g := grid{k: cells.CellsPerSensitivity, first: cells.FirstCell, n: len(masses), table: cells}
	if mixed, err := to.makeTable(g, masses, atom*(1-t)+t); err == nil {
		to.keepTable(mixed)
	}
}

const (
	mixMargin = 1e-9 // of an atom's weight, for rounding
	mixGain   = 1e-9 // least relative gain worth certifying
)
