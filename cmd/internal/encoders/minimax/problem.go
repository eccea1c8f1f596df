package minimax

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
)

// Data is what a filter is learned from: a row for each person. It is not protected.
type Data struct {
	Features []string       // names of the columns of X
	X        encoder.Matrix // N×n
	Targets  []Task         // what the server is to learn, at least one
	Private  []Task         // what nobody is to learn
}

// Task is what is to be told from what a filter lets through: a class (Labels) or numbers
// (Values).
type Task struct {
	Name    string
	Labels  []int          // N indices of Classes; nil for numbers
	Classes []string       // names, at least 2
	Values  encoder.Matrix // N×k, if there are no labels
	// Weight is that of the task among the targets, or among the private tasks; 0 means 1.
	// The loss is the mean cross-entropy of classes, in nats, and the share of the variance
	// that is left of numbers.
	Weight float64

	reconstructs bool // Values are the features
}

// ColumnTask is the task of telling a column.
func ColumnTask(c encoders.Column) Task {
	if c.Labels != nil {
		return Task{Name: c.Name, Labels: c.Labels, Classes: c.Classes}
	}
	return Task{Name: c.Name, Values: encoder.Matrix{Rows: len(c.Values), Cols: 1, Stride: 1, Data: c.Values}}
}

// Reconstruction is the task of telling all features.
func Reconstruction(x encoder.Matrix) Task {
	return Task{Name: "reconstruction", Values: x, reconstructs: true}
}

// SingleOut are the tasks of telling each class from all others: whether a person is a
// given one. Their weights add up to that of the task.
func SingleOut(t Task) []Task {
	out := make([]Task, len(t.Classes))
	for k, name := range t.Classes {
		labels := make([]int, len(t.Labels))
		for i, l := range t.Labels {
			if l == k {
				labels[i] = 1
			}
		}
		out[k] = Task{Name: t.Name + " " + name, Labels: labels, Classes: []string{"other", name}, Weight: t.weight() / float64(len(t.Classes))}
	}
	return out
}

func (t *Task) target() *dense.Target {
	return &dense.Target{Values: t.Values, Labels: t.Labels, Classes: len(t.Classes)}
}

func (t *Task) outs() int { return t.target().Outputs() }

func (t *Task) weight() float64 {
	if t.Weight == 0 {
		return 1
	}
	return t.Weight
}

// outputs returns the numbers of a task, or an indicator for each of its classes.
func (t *Task) outputs(rows int) *mat.Dense {
	if t.Labels == nil {
		return mat.NewDense(t.Values.Rows, t.Values.Cols, t.Values.Data)
	}
	y := mat.NewDense(rows, len(t.Classes), nil)
	for i, l := range t.Labels {
		y.Set(i, l, 1)
	}
	return y
}

// scaled returns the task with numbers of mean 0 whose variances have the mean 1, so that
// their squared error is the share of the variance that is left.
func (t Task) scaled() Task {
	if t.Labels != nil {
		return t
	}
	y := centered(t.outputs(0))
	length := mat.Norm(y, 2) // Frobenius
	rows, cols := y.Dims()
	y.Scale(math.Sqrt(float64(rows*cols))/length, y)
	t.Values = y.RawMatrix()
	return t
}

// maxWeight bounds weights, and ρ.
const maxWeight = 1e6

func (d *Data) validate() error {
	c := check.In("minimax")
	all := encoders.Data{Features: d.Features, X: d.X}
	for _, t := range slices.Concat(d.Targets, d.Private) {
		c.Want(t.weight() > 0 && t.weight() <= maxWeight, "weight of "+check.Quoted(t.Name), t.Weight, "above 0 and at most %g", float64(maxWeight))
		columns, err := t.columns()
		c.Add(err)
		all.Private = append(all.Private, columns...)
	}
	c.Want(len(d.Targets) != 0, "targets", "none", "at least 1")
	c.Add(all.Validate())
	return c.Err()
}

// columns returns the columns of a task.
func (t *Task) columns() ([]encoders.Column, error) {
	if t.Labels != nil {
		return []encoders.Column{{Name: t.Name, Classes: t.Classes, Labels: t.Labels}}, nil
	}
	v := t.Values
	if v.Cols < 1 || v.Stride != v.Cols || len(v.Data) != v.Rows*v.Cols {
		return nil, check.Field("minimax", "values of "+check.Quoted(t.Name), fmt.Sprintf("%d×%d with a stride of %d", v.Rows, v.Cols, v.Stride), "at least a column, without gaps")
	}
	if t.reconstructs {
		return nil, nil // checked as features
	}
	out := make([]encoders.Column, v.Cols)
	for j := range out {
		out[j] = encoders.Column{Name: t.Name, Values: mat.Col(nil, j, toMat(v))}
	}
	return out, nil
}
