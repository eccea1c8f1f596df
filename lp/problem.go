// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// Sentinel errors, checked with errors.Is.
var (
	// ErrLimit marks a result that a limit stopped short of the requested
	// gap; what is returned beside it is proven and usable.
	ErrLimit = meet.ErrLimit
	// ErrTooFine marks a limit that more time does not move: the next grids would have too many
	// cells for a linear program, or, of a local randomizer, prove no more. It comes with ErrLimit.
	ErrTooFine = meet.ErrTooFine
	// ErrInfeasible marks constraints that no noise keeps together.
	ErrInfeasible = meet.ErrInfeasible
)

// validate checks the ranges that a design can take, which are narrower than those
// of a dp.Problem. It reports all bad fields together.
func validate(p dp.Problem) error {
	errs := check.In("lp")
	wantPrivacy(errs, p.Epsilon, p.Delta)
	errs.Want(p.Epsilon != 0 || p.Delta != 0, "epsilon", "0 and delta = 0", "one of them above 0, since no noise hides everything")
	sensitivities := Limits.Sensitivity
	errs.Want(sensitivities.Has(p.Sensitivity), "sensitivity", p.Sensitivity, "%v, in the query's units", sensitivities)
	switch p.Query {
	case dp.RealQuery:
	case dp.IntegerQuery:
		whole := p.Sensitivity == math.Trunc(p.Sensitivity) && p.Sensitivity >= 1 && p.Sensitivity <= sensitivities.Max
		errs.Want(whole, "sensitivity", p.Sensitivity, "an integer from 1 to %g for an integer query", sensitivities.Max)
	case dp.LatticeQuery:
		r := p.Sensitivity / p.Step
		errs.Want(!(p.Step > 0) || r >= 1e-6 && r <= sensitivities.Max, "step", p.Step, "a number above 0 of which at most %g make the sensitivity of %g", sensitivities.Max, p.Sensitivity)
	}
	p.Privacy = dp.Privacy{Sensitivity: 1} // its ranges are those above
	errs.Add(p.Validate())
	return errs.Err()
}

// wantPrivacy holds epsilon and delta against the ranges of a design.
func wantPrivacy(errs *check.List, epsilon, delta float64) {
	errs.Want(epsilon == 0 || Limits.Epsilon.Has(epsilon), "epsilon", epsilon, "0, or %v", Limits.Epsilon)
	errs.Want(delta == 0 || Limits.Delta.Has(delta), "delta", delta, "0, or %v", Limits.Delta)
}

// wantDependent checks what kernels and noise by cells promise.
func wantDependent(errs *check.List, p dp.Privacy, l loss.Loss) {
	errs.Add(validate(dp.Problem{Privacy: p, Loss: l}))
	errs.Want(p.Delta != 0, "delta", "0 (pure differential privacy)", "%v for a kernel", Limits.Delta)
}

// wantCap checks a cap on the expected loss of every input.
func wantCap(errs *check.List, instanceCap float64, of loss.Loss) {
	errs.Want(instanceCap == 0 || check.Positive(instanceCap), "instance-cap", instanceCap, "0 for none, or a finite number above 0")
	if of != nil {
		errs.Want(instanceCap != 0, "instance-cap-loss", of.Name(), "none without an instance-cap")
	}
}
