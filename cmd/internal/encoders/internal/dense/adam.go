// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"cmp"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/internal/check"
)

// Adam is the method of D. Kingma and J. Ba (2015), with the maximum of S. Reddi, S. Kale and S.
// Kumar (2018) if AMSGrad is set. Zero means the number in brackets, which is PyTorch's.
type Adam struct {
	Rate         float64 // [0.001]
	Beta1, Beta2 float64 // [0.9, 0.999]
	Epsilon      float64 // [1e-8]
	// WeightDecay times the parameters is added to the gradient.
	WeightDecay float64
	AMSGrad     bool

	// What it remembers between its steps. The slices are empty before the first one, and are
	// then as long as the parameters; maxSquare stays empty without AMSGrad.
	steps                   int
	mean, square, maxSquare []float64
}

// Step changes the parameters by one step against the gradient, which is left as it is.
// Their number is the same at each step.
func (a *Adam) Step(params, grad []float64) {
	beta1, beta2, epsilon := cmp.Or(a.Beta1, 0.9), cmp.Or(a.Beta2, 0.999), cmp.Or(a.Epsilon, 1e-8)
	if a.steps == 0 {
		a.mean, a.square = make([]float64, len(params)), make([]float64, len(params))
		if a.AMSGrad {
			a.maxSquare = make([]float64, len(params))
		}
	}
	if len(grad) != len(params) || len(a.mean) != len(params) {
		panic(fmt.Sprintf("dense: gradient of %d numbers for %d parameters, which were %d", len(grad), len(params), len(a.mean)))
	}
	a.steps++
	// The running means begin at 0; these divisions make up for it.
	rate := cmp.Or(a.Rate, 1e-3) / (1 - math.Pow(beta1, float64(a.steps)))
	root := math.Sqrt(1 - math.Pow(beta2, float64(a.steps)))
	for i, g := range grad {
		g += a.WeightDecay * params[i]
		a.mean[i] += (1 - beta1) * (g - a.mean[i])
		a.square[i] += (1 - beta2) * (g*g - a.square[i])
		square := a.square[i]
		if a.AMSGrad {
			square = max(square, a.maxSquare[i])
			a.maxSquare[i] = square
		}
		params[i] -= rate * a.mean[i] / (math.Sqrt(square)/root + epsilon)
	}
}

// Learner is a network with what its descent needs.
type Learner struct {
	*Network
	Adam Adam
	Grad []float64 // by the parameters, as it is added up
	pass Pass
}

// NewLearner returns a learner whose Fit is given examples.
func NewLearner(n *Network, a Adam) *Learner {
	return &Learner{Network: n, Adam: a, Grad: make([]float64, len(n.Params())), pass: Pass{NoInput: true}}
}

// Fit takes a step down the loss of the outputs for the rows of x, which sets d to its
// gradient, and returns the loss before it.
func (l *Learner) Fit(x, d Matrix, loss func(outputs, d Matrix) float64) float64 {
	value := loss(l.Forward(&l.pass, x), d)
	l.Backward(&l.pass, d, l.Grad)
	l.Descend()
	return value
}

// Descend takes a step against the gradient that was added to Grad.
func (l *Learner) Descend() {
	l.Adam.Step(l.Params(), l.Grad)
	clear(l.Grad)
}

// Save puts what the steps to come depend on into the state of a training.
func (l *Learner) Save(state map[string][]float64, name string) { l.Adam.Save(state, name, l.Params()) }

// Restore is the reverse.
func (l *Learner) Restore(state map[string][]float64, name string) error {
	return l.Adam.Restore(state, name, l.Params())
}

// Save puts the parameters, and what their steps to come depend on, into the state of a training.
func (a *Adam) Save(state map[string][]float64, name string, params []float64) {
	state[name], state[name+"-steps"] = params, []float64{float64(a.steps)}
	state[name+"-mean"], state[name+"-square"], state[name+"-max"] = a.mean, a.square, a.maxSquare
}

// Restore is the reverse. The options are not restored.
func (a *Adam) Restore(state map[string][]float64, name string, params []float64) error {
	n, steps := len(params), state[name+"-steps"]
	for _, numbers := range [][]float64{state[name], state[name+"-mean"], state[name+"-square"], state[name+"-max"]} {
		if len(numbers) != 0 && len(numbers) != n {
			return OtherTraining(len(numbers), n)
		}
	}
	if len(state[name]) != n || len(steps) != 1 || len(state[name+"-mean"]) != len(state[name+"-square"]) {
		return OtherTraining(len(state[name]), n)
	}
	copy(params, state[name])
	a.steps, a.mean, a.square, a.maxSquare = int(steps[0]), state[name+"-mean"], state[name+"-square"], state[name+"-max"]
	return nil
}

// OtherTraining is the error of a checkpoint with other numbers than are wanted.
func OtherTraining(got, want int) error {
	return check.Errorf("encoder", check.ErrInvalid, "checkpoint of %d parameters, want %d: it is of another training", got, want)
}
