// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"context"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/internal/check"
	designball "github.com/noisewright/noisewright/lp/internal/ball"
)

// DesignBall returns noise of a vector with nearly the least expected loss of all noise whose density falls with
// the norm, and without a bound on that of others. It needs no solver, and a second or two.
//
// Where that is not worth anything the noise is close to that of the density exp(−ε·norm/Δ), of which it is never
// more than some parts in ten thousand above. The error wraps dp.ErrInvalid, also for a delta of 0 or so small
// that balls of more than 2,048 sensitivities are needed, or is that of the context.
func DesignBall(ctx context.Context, p ball.Problem) (*ball.Verified, error) {
	errs := check.In("lp")
	errs.Add(p.Validate())
	if errs.None() {
		errs.Want(p.Epsilon == 0 || Limits.Epsilon.Has(p.Epsilon), "epsilon", p.Epsilon, "0, or %v", Limits.Epsilon)
		errs.Want(Limits.Delta.Has(p.Delta), "delta", p.Delta, "%v: balls have an end", Limits.Delta)
		errs.Want(Limits.Sensitivity.Has(p.Sensitivity), "sensitivity", p.Sensitivity, "%v", Limits.Sensitivity)
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return designball.Design(ctx, p)
}
