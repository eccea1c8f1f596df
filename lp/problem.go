package lp

import (
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// Sentinel errors, checked with errors.Is.
var (
	// ErrLimit marks a result that a limit stopped short of the requested
	// gap; what is returned beside it is proven and usable.
	ErrLimit = meet.ErrLimit
	// ErrTooFine marks a limit that more time does not move: the next grids would
	// have too many cells for a linear program, or, of a local randomizer, prove
	// no more. It comes with ErrLimit.
	ErrTooFine = meet.ErrTooFine
	// ErrInfeasible marks constraints that no noise keeps together.
	ErrInfeasible = meet.ErrInfeasible
)

// Limits of the problems that can be designed for. Below MinEpsilon the noise has more cells than a table
// may have.
const (
	MinEpsilon     = 1e-3
	MaxEpsilon     = 20
	MinDelta       = 1e-12
	MaxDelta       = 0.9
	MinSensitivity = 1e-6
	MaxSensitivity = 1e9
	// MaxIntegerSensitivity bounds the sensitivity of integer queries, and
	// that of lattice queries in steps.
	MaxIntegerSensitivity = MaxSensitivity
)

// validate checks the ranges that a design can take, which are narrower than those
// of a dp.Problem. It reports all bad fields together.
func validate(p dp.Problem) error {
	errs := check.In("lp")
	if p.Epsilon != 0 && !(p.Epsilon >= MinEpsilon && p.Epsilon <= MaxEpsilon) {
		errs.Badf("epsilon", p.Epsilon, "0, or a number from %g to %d", MinEpsilon, MaxEpsilon)
	}
	if p.Delta == 0 {
		if p.Epsilon == 0 {
			errs.Bad("epsilon", "0 and delta = 0", "one of them above 0, since no noise hides everything")
		}
	} else if !(p.Delta >= MinDelta && p.Delta <= MaxDelta) {
		errs.Badf("delta", p.Delta, "0, or a number from %g to %g", MinDelta, MaxDelta)
	}
	if !(p.Sensitivity >= MinSensitivity && p.Sensitivity <= MaxSensitivity) {
		errs.Badf("sensitivity", p.Sensitivity, "a number from %g to %g, in the query's units", MinSensitivity, MaxSensitivity)
	}
	switch p.Query {
	case dp.RealQuery:
	case dp.IntegerQuery:
		if p.Sensitivity != math.Trunc(p.Sensitivity) || p.Sensitivity < 1 || p.Sensitivity > MaxIntegerSensitivity {
			errs.Badf("sensitivity", p.Sensitivity, "an integer from 1 to %g for an integer query", float64(MaxIntegerSensitivity))
		}
	case dp.LatticeQuery:
		if r := p.Sensitivity / p.Step; p.Step > 0 && !(r >= 1e-6 && r <= MaxIntegerSensitivity) {
			errs.Badf("step", p.Step, "a number above 0 of which at most %g make the sensitivity of %g", float64(MaxIntegerSensitivity), p.Sensitivity)
		}
	}
	p.Privacy = dp.Privacy{Sensitivity: 1} // its ranges are those above
	errs.Add(p.Validate())
	return errs.Err()
}
