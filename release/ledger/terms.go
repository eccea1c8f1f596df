package ledger

import (
	"math"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
)

// The values of Terms.Neighbors.
const (
	AddRemove = "add-remove" // one unit more or less
	Replace   = "replace"    // one unit in place of another
)

// The values of Terms.Unit.
const (
	Row    = "row"     // a row each
	Person = "person:" // followed by the column that tells persons apart
)

// Terms are what a ledger was made for.
type Terms struct {
	// Epsilon and Delta are the total: Epsilon > 0 and finite, 0 <= Delta < 1.
	Epsilon, Delta float64
	// Neighbors is AddRemove or Replace. One release under each would add up different
	// things, so all releases have those of the ledger.
	Neighbors string
	// Unit is whose influence is hidden: Row, or Person and a column.
	Unit string
	// Adaptive is for noise that is chosen in view of earlier answers. The sums of the
	// epsilons and of the deltas promised are then kept within the total, which allows any
	// such choice. Otherwise the releases are composed exactly by package account, which
	// allows more of them, on a condition: the mechanisms of the releases, their noise and
	// how often it is used, were not chosen in view of earlier answers. What is asked
	// otherwise may be.
	Adaptive bool
}

func (t Terms) validate() error {
	bad := check.In("ledger")
	if !(t.Epsilon > 0) || math.IsInf(t.Epsilon, 1) {
		bad.Bad("epsilon", t.Epsilon, "a finite number above 0")
	}
	if !(t.Delta >= 0 && t.Delta < 1) {
		bad.Bad("delta", t.Delta, "a probability, at least 0 and below 1")
	}
	if t.Neighbors != AddRemove && t.Neighbors != Replace {
		bad.Bad("neighbors", check.Quoted(t.Neighbors), AddRemove+" or "+Replace)
	}
	if column, person := strings.CutPrefix(t.Unit, Person); t.Unit != Row && (!person || column == "" || !isLine(column)) {
		bad.Bad("unit", check.Quoted(check.Shortened(t.Unit)), Row+" or "+Person+"COLUMN")
	}
	return bad.Err()
}
