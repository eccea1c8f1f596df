// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"context"

	"github.com/noisewright/noisewright/ball"
	designball "github.com/noisewright/noisewright/lp/internal/ball"
)

// DesignBall returns noise of a vector with nearly the least expected loss of all noise whose density falls with
// the norm, and without a bound on that of others. It needs no solver, and a second or two.
//
// Where that is not worth anything the noise is close to that of the density exp(−ε·norm/Δ), of which it is never
// more than some parts in ten thousand above. The error wraps dp.ErrInvalid, also for a delta of 0 or so small
// that balls of more than 2,048 sensitivities are needed, or is that of the context.
func DesignBall(ctx context.Context, p ball.Problem) (*ball.Verified, error) {
	return designball.Design(ctx, p)
}
