package taskaware

import (
	"fmt"
	"slices"

	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/encoder/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
)

// target is what the task asks of each person: a number or a class.
type target struct {
	values  dense.Matrix // people×1; empty for classes
	labels  []int
	classes int
}

func newTarget(c *encoder.Column) target {
	if c.Classes == nil {
		return target{values: dense.Matrix{Rows: len(c.Values), Cols: 1, Stride: 1, Data: c.Values}}
	}
	return target{labels: c.Labels, classes: len(c.Classes)}
}

// outputs is how many numbers answer the task: the number, or a logit for each class.
func (t *target) outputs() int { return max(t.classes, 1) }

// repeat returns the targets of people of whom there are several rows each, next to each
// other.
func (t *target) repeat(times int) target {
	r := target{classes: t.classes}
	if t.classes > 0 {
		for _, label := range t.labels {
			for range times {
				r.labels = append(r.labels, label)
			}
		}
		return r
	}
	r.values = dense.NewMatrix(t.values.Rows*times, 1)
	for i := range r.values.Data {
		r.values.Data[i] = t.values.Data[i/times]
	}
	return r
}

// pick returns the targets of some people.
func (t *target) pick(people []int) target {
	r := target{classes: t.classes}
	if t.classes == 0 {
		r.values = dense.NewMatrix(len(people), 1)
	}
	for i, p := range people {
		if t.classes > 0 {
			r.labels = append(r.labels, t.labels[p])
		} else {
			r.values.Data[i] = t.values.Data[p]
		}
	}
	return r
}

// loss is the mean over the rows of outputs, and d becomes its gradient unless it is empty.
func (t *target) loss(outputs, d dense.Matrix) float64 {
	if t.classes > 0 {
		return dense.CrossEntropy(outputs, t.labels, d)
	}
	return dense.SquaredError(outputs, t.values, d)
}

// wrong is the share of the rows whose largest logit is of another class, 0 for numbers.
func (t *target) wrong(outputs dense.Matrix) float64 {
	if t.classes == 0 {
		return 0
	}
	wrong := 0
	for i, label := range t.labels {
		best, row := 0, dense.Row(outputs, i)
		for y, v := range row {
			if v > row[best] {
				best = y
			}
		}
		if best != label {
			wrong++
		}
	}
	return float64(wrong) / float64(len(t.labels))
}

// pick returns some rows of x.
func pick(x dense.Matrix, people []int) dense.Matrix {
	m := dense.NewMatrix(len(people), x.Cols)
	for i, p := range people {
		copy(dense.Row(m, i), dense.Row(x, p))
	}
	return m
}

// validate checks the data: shapes, finite numbers, no constant feature, and a target that
// says something.
func validate(d *encoder.Data) error {
	c := check.In("taskaware")
	n, rows := len(d.Features), d.X.Rows
	switch {
	case n == 0 || d.X.Cols != n || d.X.Stride != n || len(d.X.Data) != rows*n:
		return check.Field("taskaware", "data", fmt.Sprintf("%d×%d numbers", rows, d.X.Cols), fmt.Sprintf("a row per person and a column for each of %d features", n))
	case rows < minPeople:
		return check.Field("taskaware", "data", fmt.Sprintf("%d rows", rows), fmt.Sprintf("at least %d people", minPeople))
	case !check.Finite(d.X.Data...):
		return check.Field("taskaware", "data", "NaN or Inf", "finite numbers")
	}
	for j, name := range d.Features {
		constant := true
		for i := range rows {
			constant = constant && d.X.Data[i*n+j] == d.X.Data[j]
		}
		if constant {
			c.Badf("feature", check.Quoted(name), "a column that is not the same for all people")
		}
	}
	validateTarget(c, &d.Target, rows)
	return c.Err()
}

// minPeople is the least number of people to learn from.
const minPeople = 10

func validateTarget(c *check.List, t *encoder.Column, rows int) {
	name := check.Quoted(t.Name)
	if t.Classes == nil {
		constant := len(t.Values) > 0
		for _, v := range t.Values {
			constant = constant && v == t.Values[0]
		}
		switch {
		case len(t.Values) != rows || !check.Finite(t.Values...):
			c.Badf("target "+name, fmt.Sprintf("%d numbers", len(t.Values)), "a finite number for each of %d people", rows)
		case constant:
			c.Bad("target "+name, "the same number for all people", "a column that varies")
		}
		return
	}
	counts := make([]int, len(t.Classes))
	if len(t.Classes) < 2 || len(t.Labels) != rows {
		c.Badf("target "+name, fmt.Sprintf("%d labels of %d classes", len(t.Labels), len(t.Classes)), "one of at least 2 classes for each of %d people", rows)
		return
	}
	for _, y := range t.Labels {
		if y < 0 || y >= len(counts) {
			c.Badf("target "+name, y, "the index of a class, 0 to %d", len(counts)-1)
			return
		}
		counts[y]++
	}
	for y, k := range counts {
		if k < 2 {
			c.Badf("target "+name, fmt.Sprintf("%d of class %s", k, check.Quoted(t.Classes[y])), "at least 2 people of each class")
		}
	}
}

// sameShape refuses people that an encoder cannot read.
func sameShape(d *encoder.Data, features []string) error {
	if err := validate(d); err != nil {
		return err
	}
	if !slices.Equal(d.Features, features) {
		return check.Field("taskaware", "features", fmt.Sprintf("%d names", len(d.Features)), "those of the training, in its order")
	}
	return nil
}
