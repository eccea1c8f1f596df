package minimax

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/encoder/internal/dense"
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
func ColumnTask(c encoder.Column) Task {
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

// outs is the number of outputs of a classifier or regression.
func (t *Task) outs() int {
	if t.Labels == nil {
		return t.Values.Cols
	}
	return len(t.Classes)
}

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

// validate checks the data; bad fields are reported together.
func (d *Data) validate() error {
	c := check.In("minimax")
	rows, n := d.X.Rows, d.X.Cols
	if rows < 2 || n < 1 || d.X.Stride != n || len(d.X.Data) < rows*n {
		c.Badf("x", fmt.Sprintf("%d×%d with a stride of %d", rows, n, d.X.Stride), "at least 2 rows and 1 column, without gaps")
		return c.Err()
	}
	if len(d.Features) != n {
		c.Badf("features", fmt.Sprintf("%d names", len(d.Features)), "%d, one for each column", n)
		return c.Err()
	}
	for j, name := range d.Features {
		constant := true
		for i := range rows {
			v := d.X.Data[i*n+j]
			if !(math.Abs(v) <= maxValue) {
				c.Badf(fmt.Sprintf("feature %s", check.Quoted(name)), v, "numbers of at most %g in magnitude", float64(maxValue))
				constant = false
				break
			}
			constant = constant && v == d.X.Data[j]
		}
		if constant {
			c.Bad("feature "+check.Quoted(name), "the same for all people", "a feature that varies, or none")
		}
	}
	if len(d.Targets) == 0 {
		c.Bad("targets", "none", "at least 1")
	}
	for _, t := range append(append([]Task{}, d.Targets...), d.Private...) {
		c.Add(t.validate(rows))
	}
	return c.Err()
}

// maxValue bounds features, so that their moments are finite.
const maxValue = 1e60

func (t *Task) validate(rows int) error {
	c := check.In("minimax")
	field := "task " + check.Quoted(t.Name)
	if !(t.weight() > 0 && t.weight() <= maxWeight) {
		c.Badf(field+": weight", t.Weight, "above 0 and at most %g", float64(maxWeight))
	}
	if t.Labels == nil {
		t.validateValues(c, field, rows)
		return c.Err()
	}
	if len(t.Labels) != rows || len(t.Classes) < 2 {
		c.Badf(field, fmt.Sprintf("%d labels of %d classes", len(t.Labels), len(t.Classes)), "%d labels, one for each person, and at least 2 classes", rows)
		return c.Err()
	}
	counts := make([]int, len(t.Classes))
	for i, l := range t.Labels {
		if l < 0 || l >= len(t.Classes) {
			c.Badf(fmt.Sprintf("%s: labels[%d]", field, i), l, "0 to %d", len(t.Classes)-1)
			return c.Err()
		}
		counts[l]++
	}
	for k, n := range counts {
		if n < 2 {
			c.Badf(field+": class "+check.Quoted(t.Classes[k]), fmt.Sprintf("%d people", n), "at least 2 people in each class")
			break
		}
	}
	return c.Err()
}

const maxWeight = 1e6

func (t *Task) validateValues(c *check.List, field string, rows int) {
	v := t.Values
	if v.Rows != rows || v.Cols < 1 || v.Stride != v.Cols || len(v.Data) < rows*v.Cols {
		c.Badf(field, fmt.Sprintf("%d×%d values", v.Rows, v.Cols), "%d rows, one for each person, without gaps", rows)
		return
	}
	for i := range rows {
		for _, x := range dense.Row(v, i) {
			if !(math.Abs(x) <= maxValue) {
				c.Badf(fmt.Sprintf("%s: row %d", field, i), x, "numbers of at most %g in magnitude", float64(maxValue))
				return
			}
		}
	}
	for i := 1; i < rows; i++ {
		for j, x := range dense.Row(v, i) {
			if x != v.Data[j] {
				return
			}
		}
	}
	c.Bad(field, "the same for all people", "numbers that vary")
}
