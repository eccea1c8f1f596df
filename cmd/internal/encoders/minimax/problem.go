// SPDX-License-Identifier: Apache-2.0

package minimax

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// Data is what a filter is learned from: a row for each person. It is not protected.
type Data struct {
	Features []string       // names of the columns of X
	X        encoder.Matrix // N×n
	Targets  []Task         // what the server is to learn, at least one
	Private  []Task         // what nobody is to learn
}

// Task is what is to be told from what a filter lets through: a column, or all features.
type Task struct {
	encoders.Column
	// Weight is that among the targets, or the private tasks; 0 means 1. The loss is the mean
	// cross-entropy of classes, in nats, and the share of the variance that is left of numbers.
	Weight float64

	features encoder.Matrix // of Reconstruction
}

// Reconstruction is the task of telling all features.
func Reconstruction(x encoder.Matrix) Task {
	return Task{Column: encoders.Column{Name: "reconstruction"}, features: x}
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
		out[k] = Task{Column: encoders.Column{Name: t.Name + " " + name, Labels: labels, Classes: []string{"other", name}}, Weight: t.weight() / float64(len(t.Classes))}
	}
	return out
}

func (t *Task) reconstructs() bool { return t.features.Data != nil }

func (t *Task) target() dense.Target {
	if t.reconstructs() {
		return dense.Target{Values: t.features}
	}
	return t.Column.Target()
}

func (t *Task) outs() int {
	target := t.target()
	return target.Outputs()
}

func (t *Task) weight() float64 { return cmp.Or(t.Weight, 1) }

// outputs returns the numbers of a task, or an indicator for each of its classes.
func (t *Task) outputs(rows int) *mat.Dense {
	if t.Labels == nil {
		return toMat(t.target().Values)
	}
	y := mat.NewDense(rows, len(t.Classes), nil)
	for i, l := range t.Labels {
		y.Set(i, l, 1)
	}
	return y
}

// scaled returns the target with numbers of mean 0 whose variances have the mean 1, so that
// their squared error is the share of the variance that is left.
func (t *Task) scaled() dense.Target {
	target := t.target()
	if t.Labels == nil {
		y := centered(toMat(target.Values))
		length := mat.Norm(y, 2) // Frobenius
		rows, cols := y.Dims()
		y.Scale(math.Sqrt(float64(rows*cols))/length, y)
		target.Values = y.RawMatrix()
	}
	return target
}

// maxWeight bounds weights, and ρ.
const maxWeight = 1e6

func (d *Data) validate() error {
	c := check.In("minimax")
	all := encoders.Data{Features: d.Features, X: d.X}
	for _, t := range slices.Concat(d.Targets, d.Private) {
		c.Want(t.weight() > 0 && t.weight() <= maxWeight, "weight of "+check.Quoted(t.Name), t.Weight, "above 0 and at most %g", float64(maxWeight))
		if !t.reconstructs() { // checked as features
			all.Private = append(all.Private, t.Column)
		}
	}
	c.Want(len(d.Targets) != 0, "targets", "none", "at least 1")
	c.Add(all.Validate())
	return c.Err()
}

// Method is how a filter is found.
type Method string

// The methods. All but Minimax are what the paper compares with, or its closed form.
const (
	// Minimax is the filter of the least Φ that an alternation finds (Algorithm 1).
	Minimax Method = "minimax"
	// ClosedForm is the best filter if all tasks are least squares, (4.1).
	ClosedForm Method = "closed-form"
	// LDS is Privacy LDS, a discriminant subspace (62), and where Minimax begins.
	LDS Method = "lds"
	// PPLS is private partial least squares.
	PPLS Method = "ppls"
	// PCA are the principal components of features that are not centered.
	PCA Method = "pca"
	// Random is a random subspace.
	Random Method = "random"
	// Masked multiplies each feature by a number of Options.Mask, as DDD does.
	Masked Method = "mask"
)

// Methods are all methods.
var Methods = []Method{Minimax, ClosedForm, LDS, PPLS, PCA, Random, Masked}

// Options say how a filter is learned. Zero values mean what is in brackets.
type Options struct {
	encoders.Run // the seed, checkpoints and progress
	Method       Method
	Coordinates  int       // numbers that the filter lets through; the features for Masked
	Mask         []float64 // for Masked: a factor for each feature
	// Hidden are the widths of layers of sigmoids before the output, which then is one of
	// sigmoids too; nil is a linear filter. Only for Minimax.
	Hidden []int
	// Standardize gives features the mean 0 and the variance 1 before anything else.
	Standardize bool
	Rho         float64 // ρ, what target losses count against private ones [10]
	// Ridge λ adds λ/2·‖w‖² to each loss, w being the parameters of a classifier, and to Φ,
	// w being those of the filter [1e-6].
	Ridge float64
	// NoIntercept takes the bias from classifiers: the paper's have none.
	NoIntercept bool
	Steps       int // of the filter, for each start [60]
	Starts      int // the filter of the least Φ of all is kept [1]
}

// NoiseOptions say what is added to a filter's output.
type NoiseOptions struct {
	Kind    bundle.Kind    // "" and bundle.None are no noise
	Promise bundle.Promise // of a release
	// Domain is the body that outputs are clipped to: "" means what suits the noise. Clip is
	// the share of the training data within it [1: all]. The promise depends on neither.
	Domain bundle.Domain
	Clip   float64
	// AroundZero leaves the mean where it is, as the paper does, which wastes a part of the
	// body. Otherwise the mean of the training data becomes the center of the body.
	AroundZero bool
	Design     encoder.Design // of tables; see encoder.NewNoise
}

func (o *Options) fill() {
	o.Method = cmp.Or(o.Method, Minimax)
	if o.Method == Masked {
		o.Coordinates = cmp.Or(o.Coordinates, len(o.Mask))
	}
	o.Rho = cmp.Or(o.Rho, 10)
	o.Ridge = cmp.Or(o.Ridge, 1e-6)
	o.Steps = cmp.Or(o.Steps, 60)
	o.Starts = cmp.Or(o.Starts, 1)
}

func (o *NoiseOptions) fill() {
	o.Kind = cmp.Or(o.Kind, bundle.None)
	o.Clip = cmp.Or(o.Clip, 1)
	o.Domain = cmp.Or(o.Domain, encoder.BestDomain(o.Kind))
}

// Limits of options: what takes hours is likely a mistake.
const (
	maxSteps = 100_000
	maxWidth = 1 << 12
)

// validate checks filled options for so many features.
func (o *Options) validate(d *Data) error {
	c := check.In("minimax")
	features := d.X.Cols
	c.Want(slices.Contains(Methods, o.Method), "method", fmt.Sprintf("%.40q", string(o.Method)), "one of %v", Methods)
	most := min(features, maxWidth)
	if o.Hidden != nil {
		most = maxWidth
	}
	c.Want(o.Coordinates >= 1 && o.Coordinates <= most, "coordinates", o.Coordinates, "1 to %d", most)
	c.Want(o.Method != Masked || (len(o.Mask) == features && o.Coordinates == features && check.Finite(o.Mask...)), "mask", fmt.Sprintf("%d numbers for %d coordinates", len(o.Mask), o.Coordinates), "%d finite numbers, one for each feature, and as many coordinates", features)
	c.Want(len(o.Hidden) == 0 || o.Method == Minimax, "hidden", o.Hidden, "none for the method %s", o.Method)
	for _, w := range o.Hidden {
		c.Want(w >= 1 && w <= maxWidth, "hidden", w, "widths from 1 to %d", maxWidth)
	}
	c.Want(o.Rho > 0 && o.Rho <= maxWeight, "rho", o.Rho, "above 0 and at most %g", float64(maxWeight))
	c.Want(o.Ridge > 0 && o.Ridge <= 1, "ridge", o.Ridge, "above 0 and at most 1")
	for _, v := range []struct {
		name  string
		value int
	}{{"steps", o.Steps}, {"starts", o.Starts}} {
		c.Want(v.value >= 1 && v.value <= maxSteps, v.name, v.value, "1 to %d", maxSteps)
	}
	c.Want(len(d.Private) != 0 || !slices.Contains([]Method{Minimax, ClosedForm, LDS, PPLS}, o.Method), "private tasks", "none", "at least 1 for the method %s", o.Method)
	return c.Err()
}
