package dp

import "github.com/noisewright/noisewright/internal/check"

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
