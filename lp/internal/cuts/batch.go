package cuts

import (
	"math"

	"github.com/noisewright/noisewright/lp/solver"
)

// columns is a batch of columns to append, each from 0 to infinity.
type columns struct{ solver.Columns }

// add starts a column.
func (c *columns) add(cost float64) {
	c.Cost = append(c.Cost, cost)
	c.Lower = append(c.Lower, 0)
	c.Upper = append(c.Upper, math.Inf(1))
	c.Start = append(c.Start, len(c.Index))
}

// entry adds an entry to the last column.
func (c *columns) entry(row int, value float64) {
	c.Index = append(c.Index, row)
	c.Value = append(c.Value, value)
}

// rows is a batch of rows to append.
type rows struct{ solver.Rows }

// add starts a row.
func (r *rows) add(lower, upper float64) {
	r.Lower = append(r.Lower, lower)
	r.Upper = append(r.Upper, upper)
	r.Start = append(r.Start, len(r.Index))
}

// entry adds an entry to the last row.
func (r *rows) entry(column int, value float64) {
	r.Index = append(r.Index, column)
	r.Value = append(r.Value, value)
}
