// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"context"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/internal/check"
	designball "github.com/noisewright/noisewright/lp/internal/ball"
)

// DesignBall returns noise of a vector with nearly the least expected loss of all noise whose density falls with
// the norm, and without a bound on that of others, see BoundBall. It needs no solver, and a second or two.
//
// Where there is next to nothing to win the noise is close to that of the density exp(−ε·norm/Δ), with a little less of it
// where the norm is large. The error wraps dp.ErrInvalid, also for a delta of 0 or so small that balls of more than 2,048
// sensitivities are needed, or is that of the context.
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

// BoundBall returns the noise with multipliers that prove a lower bound on the loss of all noise of its promise, of any
// law; as it is where none was found. It takes some seconds, and so does a proof of what it returns. The error wraps
// dp.ErrInvalid for other than two or three coordinates and the losses l1 and l2, or is that of the context.
func BoundBall(ctx context.Context, v *ball.Verified) (*ball.Verified, error) {
	s := v.Mechanism().Spec()
	errs := check.In("lp")
	power, _ := s.Power()
	errs.If(s.Dimension > 3, "dimension", s.Dimension, "2 or 3 for a bound")
	errs.If(power != 1 && power != 2, "loss", s.Loss.Name(), "l1 or l2 for a bound")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return designball.Bound(ctx, v)
}
