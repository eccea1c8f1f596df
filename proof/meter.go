// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"context"
	"errors"
	"math"

	"github.com/noisewright/noisewright/internal/check"
)

// defaultWork is the work of a check if none is asked for, see Meter: some ten seconds.
const defaultWork = 1 << 31

// noLimit is more work than any check has.
const noLimit = math.MaxInt64

// Meter counts the work of a check and says when it is to stop: at a limit, or with a context. Work
// is a number of elementary operations, each about the comparison of two weights, some 3 ns; that
// of a loop is spent before the loop, as far as it is known there. It depends on what is checked
// and on nothing else, so one limit holds on every machine.
//
// A meter that has said stop goes on saying so: loops end at once, and what was computed since does
// not count. Ask Err before using a result. The nil Meter has no limit. It is for one goroutine.
type Meter struct {
	ctx         context.Context
	limit, used int64
	looked      int64 // used, when the context was last looked at
	spared      int64 // work that counts though somebody else did it, see Proof.Again
	err         error
}

// between is the work between two looks at the context, less than a millisecond.
const between = 1 << 17

// newMeter returns a meter for so much work, above 0.
func newMeter(ctx context.Context, work int64) *Meter { return &Meter{ctx: ctx, limit: work} }

// Spend announces n >= 0 operations, and reports whether they may be done.
func (m *Meter) Spend(n int64) bool {
	if m == nil {
		return true
	}
	if m.err != nil {
		return false
	}
	if n > m.limit-m.used {
		m.err = ErrWork
		return false
	}
	if m.used += n; m.used-m.looked >= between {
		m.looked = m.used
		m.err = m.ctx.Err()
	}
	return m.err == nil
}

// Go reports whether to go on with work that was announced, of which a millisecond or more
// has been done since it was last asked.
func (m *Meter) Go() bool {
	if m != nil && m.err == nil {
		m.err = m.ctx.Err()
	}
	return m == nil || m.err == nil
}

// Used is the work announced so far; 0 for the nil Meter.
func (m *Meter) Used() int64 {
	if m == nil {
		return 0
	}
	return m.used
}

// total is the work of what was found, whoever did it.
func (m *Meter) total() int64 { return m.Used() + m.spared }

// Err says why it said stop, nil if it has not. The error wraps ErrWork or is that of the context.
func (m *Meter) Err(pkg string) error {
	switch {
	case m == nil || m.err == nil:
		return nil
	case errors.Is(m.err, ErrWork):
		return check.Errorf(pkg, ErrWork, "checking it takes more than %d elementary operations, the most that were allowed: it is not checked", m.limit)
	default:
		return check.Errorf(pkg, nil, "it is not checked: %w", m.err)
	}
}

// once is a value that is found once, by who needs it first, and safe for concurrent use.
type once[T any] struct {
	busy  chan struct{} // holds one while the value is looked for
	found bool
	value T
}

// newOnce returns a value that was not found yet.
func newOnce[T any]() *once[T] { return &once[T]{busy: make(chan struct{}, 1)} }

// Get returns the value, and looks for it with find if nobody has found it. The value
// counts unless find made the meter stop.
func (o *once[T]) Get(pkg string, m *Meter, find func() T) (value T, err error) {
	if !m.Go() {
		return value, m.Err(pkg)
	}
	select {
	case o.busy <- struct{}{}:
		defer func() { <-o.busy }()
	case <-m.ctx.Done(): // while another one looks
		m.Go()
		return value, m.Err(pkg)
	}
	if !o.found {
		value = find()
		if err := m.Err(pkg); err != nil {
			var none T
			return none, err
		}
		o.value, o.found = value, true
	}
	return o.value, nil
}
