// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"context"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/lp/internal/noise"
	"github.com/noisewright/noisewright/tables"
)

// Designer is Design with the options for package account: a gap of 0 is that of the options.
func Designer(o Options) func(ctx context.Context, p dp.Problem, gap float64) (*tables.Verified, error) {
	return func(ctx context.Context, p dp.Problem, gap float64) (*tables.Verified, error) {
		own := o
		if gap > 0 {
			own.Gap = gap
		}
		r, err := Design(ctx, p, own)
		if r == nil {
			return nil, err
		}
		return r.Verified, err
	}
}

// Design finds noise whose expected loss is within the requested gap of the best possible. If a
// limit stops it first, or the context ends, the best proven result is returned beside an error
// that wraps ErrLimit; other errors come without a result.
//
// Guarantee: the table's privacy, loss and bound are those of its exact
// certificate, whatever the solver did.
func Design(ctx context.Context, p dp.Problem, o Options) (*Result[tables.Verified], error) {
	return designed(ctx, p, validate(p), o, Limits.Gap.Default, Limits.MaxCells.Default, noise.Design)
}
