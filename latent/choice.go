// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"cmp"
	"context"
	"slices"
)

const (
	// maxEvaluated bounds of how many candidates, ranked by theory, the loss is computed, and
	// evaluationWork the floating-point operations for it; the first leastEvaluated anyway.
	maxEvaluated   = 48
	leastEvaluated = 3
	evaluationWork = 1 << 31
)

// bestOf computes the real loss of the candidates of the least theoretical one, and
// returns the best; nil if there are none.
func (r *Result) bestOf(ctx context.Context, cs []*Candidate) (*Candidate, error) {
	slices.SortStableFunc(cs, func(a, b *Candidate) int { return cmp.Compare(a.UnclippedLoss, b.UnclippedLoss) })
	cs = slices.DeleteFunc(cs, func(c *Candidate) bool { return c.Z == 0 })
	var best *Candidate
	work := 0.
	for k, c := range cs {
		if k >= maxEvaluated || k >= leastEvaluated && work > evaluationWork {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if c.Loss, err = r.loss(c); err != nil {
			return nil, err
		}
		if best == nil || c.Loss < best.Loss {
			best = c
		}
		work += float64(c.Z) * float64(len(r.Lambda)) * (float64(c.Z) + r.outside)
	}
	return best, nil
}

// loss returns that of a candidate of task coordinates, with the best decoder.
func (r *Result) loss(c *Candidate) (float64, error) {
	return r.objective.Loss(c.axes, c.radii, c.variances)
}
