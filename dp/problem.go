package dp

import "github.com/noisewright/noisewright/loss"

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
	// Loss is what is minimised.
	Loss loss.Loss
	// Constraints restrict the noise further, and what the lower bound is about.
	Constraints Constraints
}
