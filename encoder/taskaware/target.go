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

// lossOf is the loss of one of the rows.
func (t *target) lossOf(outputs dense.Matrix, row int) float64 {
	one := func(m dense.Matrix) dense.Matrix {
		return dense.Matrix{Rows: 1, Cols: m.Cols, Stride: m.Stride, Data: dense.Row(m, row)}
	}
	if t.classes > 0 {
		return dense.CrossEntropy(one(outputs), t.labels[row:row+1], dense.Matrix{})
	}
	return dense.SquaredError(one(outputs), one(t.values), dense.Matrix{})
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

// validate checks data to learn from, and that there is a target.
func validate(d *encoder.Data) error {
	if d.Target.Values == nil && d.Target.Labels == nil {
		return check.Field("taskaware", "target", "none", "a number or a class for each person")
	}
	return d.Validate()
}

// sameShape refuses people that an encoder cannot read.
func sameShape(d *encoder.Data, features []string) error {
	if !slices.Equal(d.Features, features) || d.X.Cols != len(features) || d.X.Stride != d.X.Cols || d.X.Rows < 1 || len(d.X.Data) != d.X.Rows*d.X.Cols {
		return check.Field("taskaware", "features", fmt.Sprintf("%d×%d numbers of %d names", d.X.Rows, d.X.Cols, len(d.Features)), fmt.Sprintf("the %d features of the training, in its order, for each person", len(features)))
	}
	if !check.Finite(d.X.Data...) {
		return check.Field("taskaware", "features", "NaN or Inf", "finite numbers")
	}
	return nil
}

// sameTarget returns the target of people that is to be compared with the answers.
func sameTarget(d *encoder.Data, like *encoder.Column) (target, error) {
	t := newTarget(&d.Target)
	answers := len(d.Target.Labels)
	if t.classes == 0 {
		answers = len(d.Target.Values)
	}
	if !slices.Equal(d.Target.Classes, like.Classes) || answers != d.X.Rows || !check.Finite(d.Target.Values...) {
		return t, check.Field("taskaware", "target", fmt.Sprintf("%d answers of %d classes", answers, t.classes), fmt.Sprintf("one for each of %d people, of the %d classes of the training", d.X.Rows, len(like.Classes)))
	}
	for _, y := range t.labels {
		if y < 0 || y >= t.classes {
			return t, check.Field("taskaware", "target", y, fmt.Sprintf("the index of a class, 0 to %d", t.classes-1))
		}
	}
	return t, nil
}
