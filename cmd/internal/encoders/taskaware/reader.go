package taskaware

import (
	"fmt"
	"slices"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

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

// constant reports whether all answers are the same: a ReLU that is 0 for every input
// stays so, as its gradient is 0.
func constant(answers dense.Matrix) bool {
	for i := 1; i < answers.Rows; i++ {
		for j, v := range dense.Row(answers, i) {
			if v != answers.Data[j] {
				return false
			}
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
