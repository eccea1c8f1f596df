package dp

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
)

// Problem asks for the additive noise with the smallest expected loss that makes a
// query private as promised. It is what a design solves, what a table was made for
// and what its lower bound is about. It is a plain value.
type Problem struct {
	// Privacy is the promise. A Delta of 0, pure differential privacy, needs
	// unbounded noise.
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
