package attack

import (
	"context"
	"math/rand/v2"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/regress"
)

// task is what an attacker learns from: encodings with what is to be guessed.
type task struct {
	x dense.Matrix
	dense.Target
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
	if t.Classes == 0 {
		return regress.FitRidge(t.x, t.Values, o.Ridge)
	}
	s, err := regress.FitSoftmax(t.x, t.Labels, t.Classes, o)
	if err != nil {
		return nil, err
	}
	return &s.Linear, nil
}

// rows returns the task of some people.
func (t task) rows(which []int) task { return task{dense.Pick(t.x, which), t.Pick(which)} }

// holdOut splits people at random, one part in parts of them into held.
func holdOut(n, parts int, r *rand.Rand) (rest, held []int) {
	order := r.Perm(n)
	k := max(1, n/parts)
	return order[k:], order[:k]
}
