// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"context"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	designplane "github.com/noisewright/noisewright/lp/internal/plane"
	"github.com/noisewright/noisewright/plane"
)

func validatePlane(p plane.Problem) error {
	errs := check.In("lp")
	wantPrivacy(errs, p.Epsilon, p.Delta)
	errs.Want(p.Delta != 0, "delta", "0 (pure differential privacy)", "%v for noise in the plane", Limits.Delta)
	errs.Want(Limits.Sensitivity.Has(p.Sensitivity), "sensitivity", p.Sensitivity, "%v, in the query's units", Limits.Sensitivity)
	if p.Query == dp.IntegerQuery && p.Norm != plane.LInf {
		errs.Want(p.Sensitivity <= limits.PlaneCells, "sensitivity", p.Sensitivity, "at most %d for whole numbers and the norm %s", limits.PlaneCells, p.Norm)
	}
	errs.Add(p.Validate())
	return errs.Err()
}

// DesignPlane finds noise for two numbers whose expected loss, summed over both, is within the requested
// gap of the best possible for noise that is added to them, of any law. Options.MaxCells bounds the cells along an
// axis, and Progress reports cells per sensitivity.
func DesignPlane(ctx context.Context, p plane.Problem, o Options) (*Result[plane.Verified], error) {
	return designed(ctx, p, validatePlane(p), o, Limits.PlaneGap.Default, 143, designplane.Design)
}
