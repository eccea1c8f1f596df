package taskaware

import (
	"fmt"
	"slices"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
)

// newTarget returns what the task asks of each person: a number or a class.
func newTarget(c *encoders.Column) dense.Target {
	if c.Classes == nil {
		return dense.Target{Values: dense.Matrix{Rows: len(c.Values), Cols: 1, Stride: 1, Data: c.Values}}
	}
	return dense.Target{Labels: c.Labels, Classes: len(c.Classes)}
}

// repeated returns the targets of people of whom there are several rows each, next to each
// other.
func repeated(t *dense.Target, people, times int) dense.Target {
	rows := make([]int, people*times)
	for i := range rows {
		rows[i] = i / times
	}
	return t.Pick(rows)
}

// lossOf is the loss of one of the rows.
func lossOf(t *dense.Target, outputs dense.Matrix, row int) float64 {
	one := func(m dense.Matrix) dense.Matrix {
		return dense.Matrix{Rows: 1, Cols: m.Cols, Stride: m.Stride, Data: dense.Row(m, row)}
	}
	if t.Classes > 0 {
		return dense.CrossEntropy(one(outputs), t.Labels[row:row+1], dense.Matrix{})
	}
	return dense.SquaredError(one(outputs), one(t.Values), dense.Matrix{})
}

// validate checks data to learn from, and that there is a target.
func validate(d *encoders.Data) error {
	if d.Target.Values == nil && d.Target.Labels == nil {
		return check.Field("taskaware", "target", "none", "a number or a class for each person")
	}
	return d.Validate()
}

// sameShape refuses people that an encoder cannot read.
func sameShape(d *encoders.Data, features []string) error {
	if !slices.Equal(d.Features, features) || d.X.Cols != len(features) || d.X.Stride != d.X.Cols || d.X.Rows < 1 || len(d.X.Data) != d.X.Rows*d.X.Cols {
		return check.Field("taskaware", "features", fmt.Sprintf("%d×%d numbers of %d names", d.X.Rows, d.X.Cols, len(d.Features)), fmt.Sprintf("the %d features of the training, in its order, for each person", len(features)))
	}
	if !check.Finite(d.X.Data...) {
		return check.Field("taskaware", "features", "NaN or Inf", "finite numbers")
	}
	return nil
}

// sameTarget returns the target of people that is to be compared with the answers.
func sameTarget(d *encoders.Data, like *encoders.Column) (dense.Target, error) {
	t := newTarget(&d.Target)
	answers := len(d.Target.Labels)
	if t.Classes == 0 {
		answers = len(d.Target.Values)
	}
	if !slices.Equal(d.Target.Classes, like.Classes) || answers != d.X.Rows || !check.Finite(d.Target.Values...) {
		return t, check.Field("taskaware", "target", fmt.Sprintf("%d answers of %d classes", answers, t.Classes), fmt.Sprintf("one for each of %d people, of the %d classes of the training", d.X.Rows, len(like.Classes)))
	}
	for _, y := range t.Labels {
		if y < 0 || y >= t.Classes {
			return t, check.Field("taskaware", "target", y, fmt.Sprintf("the index of a class, 0 to %d", t.Classes-1))
		}
	}
	return t, nil
}
