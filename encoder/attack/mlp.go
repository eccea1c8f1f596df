package attack

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/noisewright/noisewright/encoder/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
)

const (
	hidden   = 64
	batch    = 64
	patience = 20     // epochs without a lower loss of the people held out
	maxSteps = 20_000 // of all epochs
	decay    = 1e-4
	rate     = 2e-3
)

func learnMLP(ctx context.Context, t task, r *rand.Rand) (guesser, error) {
	in := newScaling(t.x)
	t.x = in.apply(t.x)
	var out scaling
	if t.classes == 0 {
		out = newScaling(t.targets)
		t.targets = out.apply(t.targets)
	}
	rest, heldRows := holdOut(t.x.Rows, 10, r)
	held := t.rows(heldRows)
	n := dense.New([]int{t.x.Cols, hidden, t.outputs()}, []dense.Activation{dense.ReLU, dense.Identity})
	n.Init(r)
	best, bestLoss, since := n.Clone(), math.Inf(1), 0
	adam := dense.Adam{Rate: rate, WeightDecay: decay}
	grad := make([]float64, len(n.Params()))
	pass, heldPass := dense.Pass{NoInput: true}, dense.Pass{}
	for steps := 0; steps < maxSteps && since < patience; since++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		for from := 0; from < len(rest); from += batch {
			some := t.rows(rest[from:min(from+batch, len(rest))])
			clear(grad)
			d := dense.NewMatrix(some.x.Rows, t.outputs())
			some.loss(n.Forward(&pass, some.x), d)
			n.Backward(&pass, d, grad)
			adam.Step(n.Params(), grad)
			steps++
		}
		loss := held.loss(n.Forward(&heldPass, held.x), dense.Matrix{})
		if !check.Finite(loss) {
			return nil, check.Errorf("attack", nil, "the loss of attacker %s is not finite after %d steps", MLP, steps)
		}
		if loss < bestLoss {
			bestLoss, since = loss, -1
			copy(best.Params(), n.Params())
		}
	}
	return func(x dense.Matrix) dense.Matrix {
		y := best.Forward(new(dense.Pass), in.apply(x))
		if t.classes == 0 {
			out.undo(y)
		}
		return y
	}, nil
}
