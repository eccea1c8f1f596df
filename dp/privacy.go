package dp

import (
	"math"

	"github.com/noisewright/noisewright/internal/check"
)

// Privacy is the promise about additive noise on a scalar query, or about a table
// of it. It is a plain value, and its numbers are meant exactly.
type Privacy struct {
	// Epsilon is ε, finite and >= 0, without unit.
	Epsilon float64 `json:"epsilon"`
	// Delta is δ, 0 <= δ < 1, a probability.
	Delta float64 `json:"delta"`
	// Sensitivity is Δ, the largest difference between the query's values on
	// neighboring data sets, in query units; finite and > 0.
	Sensitivity float64 `json:"sensitivity"`
}

// Validate returns nil if every field is in its range. Otherwise it reports all
// bad fields together, each error wrapping [ErrInvalid].
func (p Privacy) Validate() error {
	bad := check.In("dp")
	bad.If(!(p.Epsilon >= 0) || math.IsInf(p.Epsilon, 1), "epsilon", p.Epsilon, "a finite number >= 0")
	bad.Delta("delta", p.Delta)
	bad.If(!(p.Sensitivity > 0) || math.IsInf(p.Sensitivity, 1), "sensitivity", p.Sensitivity, "a finite number > 0 (query units)")
	return bad.Err()
}
