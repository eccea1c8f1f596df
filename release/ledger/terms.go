// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
)

// validate fills in the delimiter.
func validate(t *account.Terms) error {
	bad := check.In("ledger")
	bad.Budget(t.Epsilon, t.Delta)
	bad.OneOf("neighbors", t.Neighbors, dp.AddRemove, dp.Replace)
	if column, person := t.Person(); t.Unit != dp.Row && (!person || column == "" || !isLine(column)) {
		bad.Bad("unit", check.Quoted(check.Shortened(t.Unit)), dp.Row+" or person:COLUMN")
	}
	d := csvfile.ParseDelimiter(cmp.Or(t.Delimiter, ","))
	bad.If(d == 0, "delimiter", check.Quoted(check.Shortened(t.Delimiter)), csvfile.WantDelimiter)
	t.Delimiter = string(rune(d))
	return bad.Err()
}
