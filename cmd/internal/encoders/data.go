// SPDX-License-Identifier: Apache-2.0

package encoders

import (
	"fmt"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
)

// Data is what an encoder is trained on: a row for each person. It is not protected: only
// people whose features are encoded later are.
type Data struct {
	Features []string // the names of the columns of X
	X        encoder.Matrix
	Target   Column   // what the server wants to know; the zero value: nothing in particular
	More     []Column // what else it wants to know
	Private  []Column // what a filter is to hide
	// Weights are what the losses of Target and of each of More count; nil: 1 each.
	Weights []float64
}

// Weight is what the loss of a target counts: 0 is Target, and others are of More.
func (d *Data) Weight(k int) float64 {
	if d.Weights == nil {
		return 1
	}
	return d.Weights[k]
}

// Columns are Target and More.
func (d *Data) Columns() []Column { return append([]Column{d.Target}, d.More...) }

// Wanted is what networks learn: Target, or with More all of them.
func (d *Data) Wanted() dense.Target {
	if len(d.More) == 0 {
		return d.Target.Target()
	}
	var all dense.Target
	for k, c := range d.Columns() {
		all.Parts = append(all.Parts, dense.Part{Target: c.Target(), Weight: d.Weight(k)})
	}
	return all
}

// Column is a number or a class for each person.
type Column struct {
	Name    string
	Values  []float64 // numbers; nil for classes
	Classes []string  // their names, distinct; nil for numbers
	Labels  []int     // the class of each person, an index of Classes
}

// Target is the column as networks and regressions learn it.
func (t *Column) Target() dense.Target {
	if t.Classes == nil {
		return dense.Target{Values: encoder.Matrix{Rows: len(t.Values), Cols: 1, Stride: 1, Data: t.Values}}
	}
	return dense.Target{Labels: t.Labels, Classes: len(t.Classes)}
}

// Answers are the names of the outputs for the column beside those for others: its name, or for each
// class "name = class".
func (t *Column) Answers() []string {
	if t.Classes == nil {
		return []string{t.Name}
	}
	names := make([]string, len(t.Classes))
	for k, class := range t.Classes {
		names[k] = t.Name + " = " + class
	}
	return names
}

// MinPeople is the least number of people to learn from.
const MinPeople = 10

// Validate returns what is wrong with the data: shapes, numbers that are not finite, columns
// that are the same for all people, classes with fewer than two. It wraps dp.ErrInvalid.
func (d *Data) Validate() error {
	c := check.In("encoder")
	n, rows := len(d.Features), d.X.Rows
	if n == 0 || d.X.Cols != n || d.X.Stride != n || len(d.X.Data) != rows*n {
		return check.Field("encoder", "data", fmt.Sprintf("%d×%d numbers", rows, d.X.Cols), fmt.Sprintf("a row for each person and a column for each of %d features, at least one", n))
	}
	if rows < MinPeople {
		return check.Field("encoder", "data", fmt.Sprintf("%d rows", rows), fmt.Sprintf("at least %d people", MinPeople))
	}
	for j, name := range d.Features {
		column := make([]float64, rows)
		for i := range column {
			column[i] = d.X.Data[i*n+j]
		}
		numbers(c, "column "+check.Quoted(name), column)
	}
	if d.Target.Name != "" || d.Target.Values != nil || d.Target.Labels != nil {
		d.Target.validate(c, "target ", rows)
	}
	for k := range d.More {
		d.More[k].validate(c, "target ", rows)
	}
	c.Want(d.Weights == nil || len(d.Weights) == 1+len(d.More), "weights", fmt.Sprintf("%d numbers", len(d.Weights)), "one for each of %d targets", 1+len(d.More))
	for _, w := range d.Weights {
		c.Want(w > 0 && check.Finite(w), "weight", w, "a finite number above 0")
	}
	for k := range d.Private {
		d.Private[k].validate(c, "private ", rows)
	}
	return c.Err()
}

// Pick returns a copy of some rows.
func (d *Data) Pick(rows []int) *Data {
	n := d.X.Cols
	some := &Data{Features: d.Features, X: encoder.Matrix{Rows: len(rows), Cols: n, Stride: n, Data: make([]float64, 0, len(rows)*n)}, Target: d.Target.pick(rows), Weights: d.Weights}
	for _, i := range rows {
		some.X.Data = append(some.X.Data, d.row(i)...)
	}
	for k := range d.More {
		some.More = append(some.More, d.More[k].pick(rows))
	}
	for k := range d.Private {
		some.Private = append(some.Private, d.Private[k].pick(rows))
	}
	return some
}

func (t *Column) pick(rows []int) Column {
	return Column{Name: t.Name, Classes: t.Classes, Labels: dense.Chosen(t.Labels, rows), Values: dense.Chosen(t.Values, rows)}
}

func numbers(c *check.List, field string, values []float64) {
	constant := true
	for i, v := range values {
		if !check.Finite(v) {
			c.Bad(field, fmt.Sprintf("%v in row %d", v, i+1), "finite numbers")
			return
		}
		constant = constant && v == values[0]
	}
	c.Want(!constant, field, "the same for all people", "a column that varies, or none")
}

func (t *Column) validate(c *check.List, role string, rows int) {
	field := role + check.Quoted(t.Name)
	if t.Classes == nil {
		if len(t.Values) != rows {
			c.Badf(field, fmt.Sprintf("%d numbers", len(t.Values)), "%d, one for each person", rows)
			return
		}
		numbers(c, field, t.Values)
		return
	}
	if len(t.Labels) != rows {
		c.Badf(field, fmt.Sprintf("%d labels", len(t.Labels)), "%d, one for each person", rows)
		return
	}
	people := make([]int, len(t.Classes))
	for i, k := range t.Labels {
		if k < 0 || k >= len(people) {
			c.Badf(field, fmt.Sprintf("class %d in row %d", k, i+1), "the index of a class, 0 to %d", len(people)-1)
			return
		}
		people[k]++
	}
	c.Want(len(people) >= 2, field, "the same for all people", "at least 2 classes")
	for k, count := range people {
		c.Want(count >= 2 || len(people) <= 1, field, fmt.Sprintf("%d of class %s", count, check.Quoted(t.Classes[k])), "at least 2 people of each class")
	}
}
