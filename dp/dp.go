// SPDX-License-Identifier: Apache-2.0

// Package dp is the statement of a problem. A [Problem] is the [Privacy] that is
// promised (epsilon, delta and the sensitivity), the values the [Query] takes, the
// loss to minimize (package loss), and the [Constraints] that the noise keeps.
package dp

import (
	"errors"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
)

// ErrInvalid marks an input outside its stated range, in every package here; use errors.Is.
var ErrInvalid = check.ErrInvalid

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
	var errs []error // no check.List: it allocates, and searches validate at every step
	if !(p.Epsilon >= 0) || math.IsInf(p.Epsilon, 1) {
		errs = append(errs, check.Field("dp", "epsilon", p.Epsilon, "a finite number >= 0"))
	}
	if err := check.Delta("dp", "delta", p.Delta); err != nil {
		errs = append(errs, err)
	}
	if !check.Positive(p.Sensitivity) {
		errs = append(errs, check.Field("dp", "sensitivity", p.Sensitivity, "a finite number > 0 (query units)"))
	}
	return errors.Join(errs...)
}

// Budget is what all that is released about the same people may cost one unit of privacy
// together: it is to be (Epsilon, Delta)-differentially private.
type Budget struct {
	// Epsilon is ε, finite and above 0, without unit.
	Epsilon float64
	// Delta is δ, 0 <= δ < 1, a probability.
	Delta float64
}

// Validate reports all bad fields together, each error wrapping [ErrInvalid].
func (b Budget) Validate() error {
	bad := check.In("dp")
	bad.Budget(b.Epsilon, b.Delta)
	return bad.Err()
}

// What neighboring data sets differ in.
const (
	AddRemove = "add-remove" // one unit more or less
	Replace   = "replace"    // one unit in place of another
)

// Row is a unit of privacy, whose influence is hidden: a row each. The other one is a person,
// "person:" followed by the column that tells persons apart.
const Row = "row"

// Problem asks for the additive noise with the smallest expected loss that makes a
// query private as promised. It is what a design solves, what a table was made for
// and what its lower bound is about. It is a plain value.
type Problem struct {
	// Privacy is the promise. A Delta of 0, pure differential privacy, needs unbounded noise.
	Privacy
	// Query says what values the query takes; the zero value is RealQuery. The
	// sensitivity of an integer query is an integer.
	Query Query
	// Step is that of a lattice query, in query units: the released values are
	// the multiples of Step. Other queries have none.
	Step float64
	// Loss is what is minimized.
	Loss loss.Loss
	// Constraints restrict the noise further, and what the lower bound is about.
	Constraints Constraints
}

// Validate reports all bad fields together, each error wrapping [ErrInvalid].
func (p Problem) Validate() error {
	errs := check.In("dp")
	errs.Add(p.Privacy.Validate())
	switch p.Query {
	case "", RealQuery, LatticeQuery:
	case IntegerQuery:
		errs.If(p.Sensitivity > 0 && p.Sensitivity != math.Trunc(p.Sensitivity), "sensitivity", p.Sensitivity, "an integer for an integer query")
	default:
		errs.Bad("query", fmt.Sprintf("%.40q", string(p.Query)), "real, integer or lattice")
	}
	switch lattice := p.Query == LatticeQuery; {
	case lattice && !(p.Step > 0 && p.Step <= math.MaxFloat64):
		errs.Bad("step", p.Step, "a finite number > 0 (query units)")
	case !lattice && p.Step != 0:
		errs.Bad("step", p.Step, "none but for a lattice query")
	}
	errs.If(p.Loss == nil, "loss", "none", "a loss")
	errs.Add(p.Constraints.Validate())
	return errs.Err()
}
