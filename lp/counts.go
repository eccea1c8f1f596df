// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"context"

	"github.com/noisewright/noisewright/counts"
	designcounts "github.com/noisewright/noisewright/lp/internal/counts"
)

// DesignCounts returns a strategy for a workload of counts with nearly the least total variance of
// unbiased estimates, for data in which all categories are equally frequent. Up to limits.CountProved
// categories it carries the proof of a lower bound, mostly within a few parts in a thousand; beyond, none.
// It needs no solver. The error wraps dp.ErrInvalid, or is that of the context.
func DesignCounts(ctx context.Context, p counts.Problem) (*counts.Verified, error) {
	return designcounts.Design(ctx, p)
}
