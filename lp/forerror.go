// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

// closeEpsilon is how close ForError comes to the least epsilon of designs: a part in a thousand.
const closeEpsilon = 1 + 1e-3

// ForError designs the noise whose expected loss, as it is proved, is at most so much, for the least
// epsilon at which designs reach that: some part in a thousand above that of the best noise. The epsilon of
// the problem is not used.
//
// The error wraps dp.ErrInvalid for a bad problem, or a loss that is not reached at the largest epsilon. Other
// errors are those of Design.
func ForError(ctx context.Context, p dp.Problem, most float64, o Options) (*Result[tables.Verified], error) {
	if !check.Positive(most) {
		return nil, check.Field("lp", "max-error", most, "a finite number above 0")
	}
	var best *Result[tables.Verified]
	var limit error // of a design that counts
	var low, lowLoss, high, highLoss float64
	at := 1.0
	for range 60 {
		p.Epsilon = at
		r, err := Design(ctx, p, o)
		if r == nil || err != nil && !errors.Is(err, ErrLimit) || ctx.Err() != nil {
			return nil, err
		}
		value := exact.FloatUp(r.Verified.Certificate().ExpectedLoss)
		if value <= most {
			best, high, highLoss, limit = r, at, value, err
		} else {
			low, lowLoss = at, value
		}
		switch {
		case low >= Limits.Epsilon.Max:
			return nil, check.Field("lp", "max-error", most, fmt.Sprintf("an expected loss that is reached at an epsilon of at most %g: at it, %.6g is", Limits.Epsilon.Max, lowLoss))
		case high > 0 && (high <= Limits.Epsilon.Min || low > 0 && high <= low*closeEpsilon):
			return best, limit
		}
		at = nextEpsilon(low, lowLoss, high, highLoss, most, value > most)
	}
	return best, limit
}

// nextEpsilon returns where the loss is guessed to be the one that is wanted, a hair on the side where it was
// not last, between ends that are known or, if one is not, beyond the other.
func nextEpsilon(low, lowLoss, high, highLoss, most float64, above bool) float64 {
	const hair = 4e-4
	switch {
	case low == 0:
		return math.Max(Limits.Epsilon.Min, high*math.Max(highLoss/most*(1-hair), 1.0/8))
	case high == 0:
		return math.Min(Limits.Epsilon.Max, low*math.Min(lowLoss/most*(1+hair), 8))
	}
	width := math.Log(high / low)
	t := 0.5
	if highLoss > 0 { // as a power of epsilon
		t = math.Log(lowLoss/most) / math.Log(lowLoss/highLoss)
	}
	at := low * math.Exp(width*math.Min(math.Max(t, 0.02), 0.98))
	if above {
		at *= 1 + hair
	} else {
		at *= 1 - hair
	}
	edge := math.Min(hair/2, width/4)
	return math.Min(math.Max(at, low*(1+edge)), high*(1-edge))
}
