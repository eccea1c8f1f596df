// SPDX-License-Identifier: Apache-2.0

package design

import (
	"context"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/plan"
)

// The range in which ForError looks for epsilon, and how close it comes.
const (
	leastEpsilon, mostEpsilon = 1e-3, 30
	closeEpsilon              = 1e-3
)

// ForError returns a plan that is good enough, of the least epsilon that was found: within a part in a
// thousand of one that is not. p.Epsilon is not used. The error wraps dp.ErrInvalid if none up to 30 is.
func ForError(ctx context.Context, p Problem, good func(*plan.Verified) bool, o Options) (*Result, error) {
	s, err := newStudy(ctx, p, o)
	if err != nil {
		return nil, err
	}
	low, high := math.Log(leastEpsilon), math.Log(mostEpsilon)
	var best *Result
	for high-low > closeEpsilon {
		middle := (low + high) / 2
		if best == nil {
			middle = high
		}
		r, err := s.at(ctx, dp.Budget{Epsilon: math.Exp(middle), Delta: p.Delta})
		switch {
		case err != nil:
			return nil, err
		case good(r.Plan):
			best, high = r, middle
		case best == nil:
			return nil, check.Field("design", "max-error", "less", fmt.Sprintf("an error that is reached at an epsilon of at most %d", mostEpsilon))
		default:
			low = middle
		}
	}
	return best, nil
}
