// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/noisewright/noisewright/lp/internal/meet"
)

// A design decides what to do next by a horizon. Where the time limit is further away than the first one, what would not be done
// by then waits for the next, for which the design goes on from where it is. So a longer limit adds to what a short one does,
// and a program that takes far longer than was expected costs little of it.

// horizons are those of the first stages; that of the last is the time limit.
var horizons = []time.Duration{100 * time.Millisecond}

// nextHorizon returns the horizon after one.
func (d *designer) nextHorizon(h time.Duration) time.Duration {
	for _, next := range horizons {
		if next > h && next < d.Options.TimeLimit {
			return next
		}
	}
	return d.Options.TimeLimit
}

// stages goes from stage to stage until the bounds meet, or nothing is left that a later one would do.
func (d *designer) stages(ctx context.Context) error {
	for {
		d.waiting = false
		err := d.stage(ctx)
		switch {
		case d.Gap() <= d.Options.Gap:
			return nil
		case err != nil && !errors.Is(err, meet.ErrLimit), !d.waiting, ctx.Err() != nil, d.last():
			return err
		}
		d.horizon = d.nextHorizon(max(d.horizon, d.Elapsed()))
	}
}

// stage does what there is to do before the horizon.
func (d *designer) stage(ctx context.Context) error {
	if err := d.begin(); err != nil || d.Gap() <= d.Options.Gap {
		return err
	}
	for _, s := range d.sides() {
		s.closed = nil
	}
	for _, way := range []func(context.Context) error{d.meetSpread, d.meetJumps, d.refine} {
		if err := way(ctx); err != nil || d.Gap() <= d.Options.Gap {
			return err
		}
	}
	return nil
}

// last reports whether no horizon follows.
func (d *designer) last() bool { return d.horizon >= d.Options.TimeLimit }

// left returns the time up to the horizon.
func (d *designer) left() time.Duration {
	if d.Options.TimeLimit == 0 {
		return math.MaxInt64
	}
	return d.horizon - d.Elapsed()
}

// share returns a part of the time that is left, or, where that is more, of half of the horizon.
func (d *designer) share(part float64) time.Duration {
	return time.Duration(part * float64(max(d.left(), d.horizon/2)))
}

// within reports whether something would take no longer than a share of the time that is left. What would waits.
func (d *designer) within(seconds, share float64) bool {
	ok := d.Options.TimeLimit == 0 || seconds <= share*d.left().Seconds()
	d.waiting = d.waiting || !ok
	return ok
}

// program returns a context for one program, and what to call when it has ended: that leaves a reserve, and gives up what takes
// far longer than was expected.
func (d *designer) program(ctx context.Context, reserve time.Duration) (context.Context, func()) {
	const times = 2 // the horizon
	if d.Options.TimeLimit == 0 {
		return ctx, func() {}
	}
	most := times * d.horizon
	ctx, end := d.Within(ctx, reserve)
	own, stop := context.WithCancel(ctx)
	if d.Options.Clock == nil {
		own, stop = context.WithTimeout(ctx, most-d.Elapsed())
	}
	step := d.Options.Step
	d.Options.Step = func(work float64) {
		if step != nil {
			step(work)
		}
		if d.Elapsed() > most {
			stop()
		}
	}
	return own, func() {
		d.Options.Step = step
		stop()
		end()
	}
}
