package dense

import (
	"github.com/noisewright/noisewright/internal/check"
)

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
func (l *Learner) Save(state map[string][]float64, name string) {
	a := l.Adam.State()
	state[name], state[name+"-steps"] = l.Params(), []float64{float64(a.Steps)}
	state[name+"-mean"], state[name+"-square"], state[name+"-max"] = a.Mean, a.Square, a.MaxSquare
}

// Restore is the reverse, for a descent with the options of an Adam.
func (l *Learner) Restore(state map[string][]float64, name string, a Adam) error {
	n, steps := len(l.Params()), state[name+"-steps"]
	for _, numbers := range [][]float64{state[name], state[name+"-mean"], state[name+"-square"], state[name+"-max"]} {
		if len(numbers) != 0 && len(numbers) != n {
			return OtherTraining(len(numbers), n)
		}
	}
	if len(state[name]) != n || len(steps) != 1 || len(state[name+"-mean"]) != len(state[name+"-square"]) {
		return OtherTraining(len(state[name]), n)
	}
	copy(l.Params(), state[name])
	l.Adam = a
	l.Adam.SetState(AdamState{Steps: int(steps[0]), Mean: state[name+"-mean"], Square: state[name+"-square"], MaxSquare: state[name+"-max"]})
	return nil
}

// OtherTraining is the error of a checkpoint with other numbers than are wanted.
func OtherTraining(got, want int) error {
	return check.Errorf("encoder", check.ErrInvalid, "checkpoint of %d parameters, want %d: it is of another training", got, want)
}
