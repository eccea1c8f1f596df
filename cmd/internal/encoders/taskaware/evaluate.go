// SPDX-License-Identifier: Apache-2.0

package taskaware

import (
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// Evaluation is what is expected on people, over their noise.
type Evaluation struct {
	// Loss is the mean squared error or the cross entropy in nats, the mean of all draws. Of several
	// targets it is the sum of what they lose times their weights, squared errors in variances.
	Loss float64
	// StandardError is that of Loss, over people like these; 0 for one.
	StandardError float64
	// Wrong is the share of answers that are another class; 0 for numbers and several targets.
	Wrong float64
	// Parts are what each of several targets loses, without its weight.
	Parts []float64
}

// Evaluate draws the noise of the schedule for other people, so many times for each.
//
// Errors wrap [dp.ErrInvalid].
func (r *Scheduled) Evaluate(d *encoders.Data, draws int, seed uint64) (Evaluation, error) {
	t, err := compared(d, r.features, &r.like)
	if err != nil {
		return Evaluation{}, err
	}
	u := d.X
	if r.encoder != nil {
		u = r.encoder.Forward(&dense.Pass{}, d.X)
	}
	draw := encoders.Rand(seed, "evaluation", 0)
	return evaluate(&reader{net: r.reader.net, task: r.reader.task}, u, &t, draws, func(dst, u []float64) {
		laplace(dst, r.Scale, draw)
		for i, v := range u {
			dst[i] += v
		}
	}), nil
}

// evaluate averages over releases of codes.
func evaluate(r *reader, codes dense.Matrix, t *dense.Target, draws int, release func(dst, u []float64)) Evaluation {
	released := dense.NewMatrix(codes.Rows, codes.Cols)
	losses := make([]float64, codes.Rows) // of each person, over the draws
	e := Evaluation{Parts: make([]float64, len(t.Parts))}
	for range draws {
		release(released.Data, codes.Data)
		out := r.answer(released)
		for i := range losses {
			losses[i] += lossOf(t, out, i) / float64(draws)
		}
		e.Wrong += t.Wrong(out) / float64(draws)
		for k, from := 0, 0; k < len(t.Parts); k++ {
			var block dense.Matrix
			block, from = t.Parts[k].Block(out, from)
			e.Parts[k] += t.Parts[k].Loss(block, dense.Matrix{}) / float64(draws)
		}
	}
	n := float64(len(losses))
	for _, loss := range losses {
		e.Loss += loss / n
	}
	squares := 0.0
	for _, loss := range losses {
		squares += (loss - e.Loss) * (loss - e.Loss)
	}
	e.StandardError = math.Sqrt(squares / max(n-1, 1) / n)
	return e
}

// repeated returns the targets of people of whom there are several rows each, next to each other.
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
	if t.Parts != nil {
		person := t.Pick([]int{row})
		return person.Loss(one(outputs), dense.Matrix{})
	}
	if t.Classes > 0 {
		return dense.CrossEntropy(one(outputs), t.Labels[row:row+1], dense.Matrix{})
	}
	return dense.SquaredError(one(outputs), one(t.Values), dense.Matrix{})
}

func validate(d *encoders.Data) error {
	if d.Target.Values == nil && d.Target.Labels == nil {
		return check.Field("taskaware", "target", "none", "a number or a class for each person")
	}
	return d.Validate()
}

// compared returns the target of other people, and refuses people that an encoder cannot read,
// or of whom the answers cannot be compared.
func compared(d *encoders.Data, features []string, like *encoders.Column) (t dense.Target, err error) {
	if !slices.Equal(d.Features, features) || d.X.Cols != len(features) || d.X.Stride != d.X.Cols || d.X.Rows < 1 || len(d.X.Data) != d.X.Rows*d.X.Cols {
		return t, check.Field("taskaware", "features", fmt.Sprintf("%d×%d numbers of %d names", d.X.Rows, d.X.Cols, len(d.Features)), fmt.Sprintf("the %d features of the training, in its order, for each person", len(features)))
	}
	if !check.Finite(d.X.Data...) {
		return t, check.Field("taskaware", "features", "NaN or Inf", "finite numbers")
	}
	t = d.Target.Target()
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

// reader is the server's side in training: what reads the released numbers.
type reader struct {
	net  *dense.Network // trained: a head, or a decoder if there is a task
	task *dense.Network // frozen, reads what net decodes; nil: net answers the task

	netPass, taskPass dense.Pass
	answers           dense.Matrix // of the last loss
	gradient          dense.Matrix // of that loss, by them
}

// answer returns what the task gets of released numbers.
func (r *reader) answer(u dense.Matrix) dense.Matrix {
	out := r.net.Forward(&r.netPass, u)
	if r.task != nil {
		out = r.task.Forward(&r.taskPass, out)
	}
	return out
}

// loss returns that of released numbers, and remembers its gradient.
func (r *reader) loss(u dense.Matrix, t *dense.Target) float64 {
	out := r.answer(u)
	r.answers = out
	if r.gradient.Rows != out.Rows {
		r.gradient = dense.NewMatrix(out.Rows, out.Cols)
	}
	return t.Loss(out, r.gradient)
}

// backward returns the gradient of the last loss by the released numbers, and adds that by
// the parameters to grad, unless it is nil.
func (r *reader) backward(grad []float64) dense.Matrix {
	d := r.gradient
	if r.task != nil {
		d = r.task.Backward(&r.taskPass, d, nil)
	}
	return r.net.Backward(&r.netPass, d, grad)
}

// constant says if all answers are the same: a ReLU that is 0 for every input stays so.
func constant(answers dense.Matrix) bool {
	for i := 1; i < answers.Rows; i++ {
		if !slices.Equal(dense.Row(answers, i), dense.Row(answers, 0)) {
			return false
		}
	}
	return true
}

var activations = []dense.Activation{dense.Identity, dense.Sigmoid, dense.ReLU, dense.Tanh}

// network is that of the layers of a bundle, from in to out numbers.
func network(layers []bundle.Layer, in, out int) (*dense.Network, error) {
	bad := func(value any, rule string) error { return check.Field("taskaware", "task network", value, rule) }
	widths, functions := []int{in}, make([]dense.Activation, 0, len(layers))
	for k, l := range layers {
		if !slices.Contains(activations, l.Activation) || l.Weights.Rows < 1 || l.Weights.Cols != widths[k] || len(l.Weights.Data) != l.Weights.Rows*l.Weights.Cols || len(l.Bias) != l.Weights.Rows {
			return nil, bad(fmt.Sprintf("layer %d of %d×%d numbers", k+1, l.Weights.Rows, l.Weights.Cols), fmt.Sprintf("a layer that reads %d numbers", widths[k]))
		}
		widths, functions = append(widths, l.Weights.Rows), append(functions, l.Activation)
	}
	if widths[len(widths)-1] != out || len(layers) == 0 {
		return nil, bad(fmt.Sprintf("%d layers with %d answers", len(layers), widths[len(widths)-1]), fmt.Sprintf("layers with %d", out))
	}
	n := dense.New(widths, functions)
	for k, l := range n.Layers {
		for i := range l.Weights.Rows {
			for j := range l.Weights.Cols {
				l.Weights.Data[i*l.Weights.Stride+j] = layers[k].Weights.Data[j*layers[k].Weights.Cols+i]
			}
		}
		copy(l.Bias, layers[k].Bias)
	}
	if !check.Finite(n.Params()...) {
		return nil, bad("NaN or Inf", "finite numbers")
	}
	return n, nil
}
