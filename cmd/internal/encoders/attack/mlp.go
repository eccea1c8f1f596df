package attack

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
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
	in := dense.Standardize(t.x)
	t.x = in.Apply(t.x)
	var out dense.Scaling
	if t.Classes == 0 {
		out = dense.Standardize(t.Values)
		t.Values = out.Apply(t.Values)
	}
	rest, heldRows := holdOut(t.x.Rows, 10, r)
	held := t.rows(heldRows)
	n := dense.NewLearner(dense.MLP(t.x.Cols, []int{hidden}, dense.ReLU, t.Outputs()), dense.Adam{Rate: rate, WeightDecay: decay})
	n.Init(r)
	best, bestLoss, since := n.Clone(), math.Inf(1), 0
	heldPass := dense.Pass{}
	for steps := 0; steps < maxSteps && since < patience; since++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		for from := 0; from < len(rest); from += batch {
			some := t.rows(rest[from:min(from+batch, len(rest))])
			n.Fit(some.x, dense.NewMatrix(some.x.Rows, t.Outputs()), some.Loss)
			steps++
		}
		loss := held.Loss(n.Forward(&heldPass, held.x), dense.Matrix{})
		if !check.Finite(loss) {
			return nil, check.Errorf("attack", nil, "the loss of attacker %s is not finite after %d steps", MLP, steps)
		}
		if loss < bestLoss {
			bestLoss, since = loss, -1
			copy(best.Params(), n.Params())
		}
	}
	return func(x dense.Matrix) dense.Matrix {
		y := best.Forward(new(dense.Pass), in.Apply(x))
		if t.Classes == 0 {
			out.Undo(y)
		}
		return y
	}, nil
}
