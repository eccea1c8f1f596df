package attack

import (
	"context"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/noisewright/noisewright/encoder/internal/dense"
	"github.com/noisewright/noisewright/encoder/internal/regress"
)

// task is what an attacker learns from: encodings with classes, or with numbers if
// classes is 0.
type task struct {
	x       dense.Matrix
	labels  []int
	classes int
	targets dense.Matrix
}

// guesser returns logits of the classes, or the numbers, for the rows of x.
type guesser func(x dense.Matrix) dense.Matrix

const (
	// ridge keeps the weights of the linear attackers finite.
	ridge = 1e-6
	// iterations limits their search.
	iterations = 500
)

func learn(ctx context.Context, a Attacker, t task, r *rand.Rand) (guesser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o := regress.Options{Ridge: ridge, MajorIterations: iterations}
	switch a {
	case Plain:
	case Linear:
		o.Bias, o.Standardize = true, true
	case MLP:
		return learnMLP(ctx, t, r)
	case RBF:
		return learnRBF(ctx, t, r)
	}
	l, err := t.linear(o)
	if err != nil {
		return nil, err
	}
	return l.Apply, nil
}

// linear is softmax regression, or least squares.
func (t task) linear(o regress.Options) (*regress.Linear, error) {
	if t.classes == 0 {
		return regress.FitRidge(t.x, t.targets, o.Ridge)
	}
	s, err := regress.FitSoftmax(t.x, t.labels, t.classes, o)
	if err != nil {
		return nil, err
	}
	return &s.Linear, nil
}

// rows returns the task of some people.
func (t task) rows(which []int) task {
	s := task{x: dense.Pick(t.x, which), classes: t.classes}
	if t.classes == 0 {
		s.targets = dense.Pick(t.targets, which)
		return s
	}
	for _, i := range which {
		s.labels = append(s.labels, t.labels[i])
	}
	return s
}

// outputs is how many numbers a guesser returns for a person.
func (t task) outputs() int {
	if t.classes == 0 {
		return t.targets.Cols
	}
	return t.classes
}

// loss is the mean loss of outputs: cross-entropy, or squared error. d becomes its
// gradient, unless it is empty.
func (t task) loss(out, d dense.Matrix) float64 {
	if t.classes == 0 {
		return dense.SquaredError(out, t.targets, d)
	}
	return dense.CrossEntropy(out, t.labels, d)
}

// labels returns the likeliest class of each row of logits.
func labels(logits dense.Matrix) []int {
	l := make([]int, logits.Rows)
	for i := range l {
		l[i] = floats.MaxIdx(dense.Row(logits, i))
	}
	return l
}

// holdOut splits people at random, one part in parts of them into held.
func holdOut(n, parts int, r *rand.Rand) (rest, held []int) {
	order := r.Perm(n)
	k := max(1, n/parts)
	return order[k:], order[:k]
}

// scaling is x ↦ (x - mean)/deviation for each column; one that does not vary is only
// centered.
type scaling struct{ mean, deviation []float64 }

func newScaling(x dense.Matrix) scaling {
	mean, deviation := dense.Standard(x)
	return scaling{mean, deviation}
}

func (s scaling) apply(x dense.Matrix) dense.Matrix {
	x.Data = slices.Clone(x.Data)
	for i := range x.Rows {
		row := dense.Row(x, i)
		floats.Sub(row, s.mean)
		floats.Div(row, s.deviation)
	}
	return x
}

// undo is the inverse of apply, in place.
func (s scaling) undo(x dense.Matrix) {
	for i := range x.Rows {
		row := dense.Row(x, i)
		floats.Mul(row, s.deviation)
		floats.Add(row, s.mean)
	}
}
