package noise

import (
	"errors"
	"fmt"
	"math"
)

// Parameters are the privacy parameters of additive noise on a scalar query. It
// is a plain value.
type Parameters struct {
	// Epsilon is ε, finite and >= 0, without unit.
	Epsilon float64
	// Delta is δ, 0 <= δ < 1, a probability.
	Delta float64
	// Sensitivity is Δ, the largest difference between the query's values on
	// neighbouring data sets, in query units; finite and > 0.
	Sensitivity float64
}

// Validate returns nil if every field is in its range. Otherwise it reports all
// bad fields together, each error wrapping [ErrInvalid].
func (p Parameters) Validate() error {
	var errs []error
	if !(p.Epsilon >= 0) || math.IsInf(p.Epsilon, 1) {
		errs = append(errs, fmt.Errorf("noise: epsilon = %g, want a finite number >= 0: %w", p.Epsilon, ErrInvalid))
	}
	if !(p.Delta >= 0 && p.Delta < 1) {
		errs = append(errs, fmt.Errorf("noise: delta = %g, want a probability, 0 <= delta < 1: %w", p.Delta, ErrInvalid))
	}
	if !(p.Sensitivity > 0) || math.IsInf(p.Sensitivity, 1) {
		errs = append(errs, fmt.Errorf("noise: sensitivity = %g, want a finite number > 0 (query units): %w", p.Sensitivity, ErrInvalid))
	}
	return errors.Join(errs...)
}

// checkLoss refuses a missing loss at the boundary.
func checkLoss(loss Loss) error {
	if loss == nil {
		return fmt.Errorf("noise: loss = <nil>, want a loss such as L1 or L2: %w", ErrInvalid)
	}
	return nil
}
