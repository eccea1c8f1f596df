// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"context"
	"errors"
	"time"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// finish goes on beyond the gap that was asked for, if that is no small one, as long as it costs next to nothing: a design
// would otherwise end anywhere below it.
func (d *designer) finish(ctx context.Context) error {
	const (
		most  = 6e6 // multiplications of an iteration of all its programs: some 0.1 s
		share = 0.3 // of the time that there is, which may be gone before
		least = 2 * time.Second
	)
	limit := d.Options.TimeLimit
	late := limit > 0 && (limit < least || float64(d.Left()) < (1-share)*float64(limit))
	if late || d.Options.Gap < fineFrom || d.Options.Generate || d.points > 0 || !d.endsMatter() {
		return nil
	}
	asked := d.Options.Gap
	defer func() { d.Options.Gap, d.allowance = asked, 0 }()
	d.allowance = most
	for _, share := range []float64{0.25, 0.5, 0.75} {
		d.Options.Gap = share * asked
		if d.Gap() <= d.Options.Gap {
			return nil
		}
		d.upper.same, d.lower.same = 0, 0
		if err := d.refine(ctx); err != nil && !errors.Is(err, meet.ErrLimit) {
			return err // what was asked for is proved
		}
	}
	return nil
}

// allow takes the work of a program from what finish may do, if there is enough left.
func (d *designer) allow(s *side, g grid) error {
	const perTerm = 100 // multiplications of an iteration for each term
	if d.allowance == 0 {
		return nil
	}
	n := float64(d.unknowns(s, g))
	work := d.workOf(s, g) + perTerm*n*float64(g.k)
	if work >= d.allowance {
		return check.Errorf("lp", meet.ErrLimit, "what was asked for is proved")
	}
	d.allowance -= work
	return nil
}
