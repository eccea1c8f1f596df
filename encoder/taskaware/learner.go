package taskaware

import (
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/encoder/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
)

// learner is a network with what its descent needs.
type learner struct {
	*dense.Network
	adam dense.Adam
	grad []float64
}

func newLearner(n *dense.Network, a dense.Adam) *learner {
	return &learner{n, a, make([]float64, len(n.Params()))}
}

// descend takes a step against the gradient that was added to grad.
func (l *learner) descend() {
	l.adam.Step(l.Params(), l.grad)
	clear(l.grad)
}

// save puts what the steps to come depend on into the state of a training.
func (l *learner) save(state map[string][]float64, name string) {
	a := l.adam.State()
	state[name], state[name+"-steps"] = l.Params(), []float64{float64(a.Steps)}
	state[name+"-mean"], state[name+"-square"], state[name+"-max"] = a.Mean, a.Square, a.MaxSquare
}

// restore is the reverse, for a descent with the options of an Adam.
func (l *learner) restore(state map[string][]float64, name string, a dense.Adam) error {
	n, steps := len(l.Params()), state[name+"-steps"]
	for _, numbers := range [][]float64{state[name], state[name+"-mean"], state[name+"-square"], state[name+"-max"]} {
		if len(numbers) != 0 && len(numbers) != n {
			return otherTraining(len(numbers), n)
		}
	}
	if len(state[name]) != n || len(steps) != 1 || len(state[name+"-mean"]) != len(state[name+"-square"]) {
		return otherTraining(len(state[name]), n)
	}
	copy(l.Params(), state[name])
	l.adam = a
	l.adam.SetState(dense.AdamState{Steps: int(steps[0]), Mean: state[name+"-mean"], Square: state[name+"-square"], MaxSquare: state[name+"-max"]})
	return nil
}

func otherTraining(got, want int) error {
	return check.Errorf("taskaware", dp.ErrInvalid, "checkpoint of %d parameters, want %d: it is of another training", got, want)
}
