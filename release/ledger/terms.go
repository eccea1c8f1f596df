package ledger

import (
	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
)

// Terms are what a ledger was made for.
type Terms = account.Terms

func validate(t Terms) error {
	bad := check.In("ledger")
	bad.Budget(t.Epsilon, t.Delta)
	bad.OneOf("neighbors", t.Neighbors, dp.AddRemove, dp.Replace)
	if column, person := t.Person(); t.Unit != dp.Row && (!person || column == "" || !isLine(column)) {
		bad.Bad("unit", check.Quoted(check.Shortened(t.Unit)), dp.Row+" or person:COLUMN")
	}
	return bad.Err()
}
