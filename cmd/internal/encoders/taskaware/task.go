// SPDX-License-Identifier: Apache-2.0

package taskaware

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/regress"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// TaskOptions say how a task network is trained.
type TaskOptions struct {
	// Hidden are the widths of its hidden layers, ReLU; nil means none. A linear network,
	// without ReLU and Batch either, is fitted, and the steps and the rate do not matter.
	Hidden []int
	// ReLU is applied to its answers too, as in the paper's networks. Answers that are 0
	// for everybody are detected, and training begins anew.
	ReLU  bool
	Steps int     // 0 means 2000
	Batch int     // how many people a step is about; 0 means all of them
	Rate  float64 // of Adam; 0 means 0.001
	// Scale has features, and a target of numbers, scaled to the range from 0 to 1 for the
	// training. The layers read and answer in the units of the data either way.
	Scale bool
	Seed  uint64
}

// ErrDead marks a training after each start of which the answers are the same for everybody,
// as the ReLUs of the task network are 0: another network may do better.
var ErrDead = errors.New("the answers are the same for everybody")

// taskStarts is how often the training of a task network begins anew before it gives up.
const taskStarts = 10

// TrainTask trains a network that reads features, without noise, and returns its layers: the
// task that an encoder is then to serve, frozen, as Options.Task.
//
// Errors wrap [dp.ErrInvalid] for bad data; a training whose answers are the same for
// everybody at every start is an error too, and so is one that ends in NaN.
func TrainTask(ctx context.Context, d *encoders.Data, o TaskOptions) ([]bundle.Layer, error) {
	if err := validate(d); err != nil {
		return nil, err
	}
	if n := 1 + len(d.More); n > 1 {
		return nil, check.Field("taskaware", "targets", n, "one for a task network")
	}
	if o.Scale {
		return trainScaledTask(ctx, d, o)
	}
	t := d.Target.Target()
	if len(o.Hidden) == 0 && !o.ReLU && o.Batch == 0 {
		return fitTask(d, &t)
	}
	o.Steps = cmp.Or(o.Steps, 2000)
	for start := range taskStarts {
		n := dense.NewLearner(dense.MLP(d.X.Cols, o.Hidden, dense.ReLU, t.Outputs()), dense.Adam{Rate: o.Rate})
		if o.ReLU {
			n.Layers[len(n.Layers)-1].Activation = dense.ReLU
		}
		n.Init(encoders.Rand(o.Seed, "task network", start))
		if err := o.descend(ctx, n, d.X, &t); err != nil {
			return nil, err
		}
		if !constant(n.Forward(&dense.Pass{}, d.X)) {
			return n.BundleLayers(), nil
		}
	}
	return nil, check.Errorf("taskaware", ErrDead, "the answers of the task network are the same for everybody after each of %d starts: its ReLUs died", taskStarts)
}

func (o *TaskOptions) descend(ctx context.Context, n *dense.Learner, all dense.Matrix, t *dense.Target) error {
	passes := 0
	var rest [][]int // batches of the pass
	for range o.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		x, of := all, t
		if o.Batch > 0 && o.Batch < all.Rows {
			if len(rest) == 0 {
				rest = batches(encoders.Rand(o.Seed, "task batches", passes), all.Rows, o.Batch)
				passes++
			}
			picked := t.Pick(rest[0])
			x, of, rest = dense.Pick(all, rest[0]), &picked, rest[1:]
		}
		if loss := n.Fit(x, dense.NewMatrix(x.Rows, t.Outputs()), of.Loss); !check.Finite(loss) {
			return notFinite("task network", loss)
		}
	}
	return nil
}

// batches divides people in a random order into batches of one size; some may be left over.
func batches(r *rand.Rand, people, size int) [][]int {
	return slices.Collect(slices.Chunk(r.Perm(people)[:people/size*size], size))
}

const fitRidge = 1e-4

// fitTask is TrainTask for a linear network: the training is a convex problem.
func fitTask(d *encoders.Data, t *dense.Target) ([]bundle.Layer, error) {
	n := dense.MLP(d.X.Cols, nil, dense.Identity, t.Outputs())
	fit, err := regress.Fit(d.X, *t, regress.Options{Ridge: fitRidge, Bias: true, MajorIterations: 100})
	if err != nil {
		return nil, check.Errorf("taskaware", nil, "%w", err)
	}
	copy(n.Layers[0].Weights.Data, fit.Weights.Data)
	copy(n.Layers[0].Bias, fit.Bias)
	return n.BundleLayers(), nil
}

// trainScaledTask is TrainTask with Scale.
func trainScaledTask(ctx context.Context, d *encoders.Data, o TaskOptions) ([]bundle.Layer, error) {
	o.Scale = false
	inputs, scaled := dense.Range(d.X), *d
	scaled.X = inputs.Apply(d.X)
	t := d.Target.Target()
	var outputs dense.Scaling
	if t.Classes == 0 {
		outputs = dense.Range(t.Values)
		scaled.Target.Values = outputs.Apply(t.Values).Data
	}
	layers, err := TrainTask(ctx, &scaled, o)
	if err != nil {
		return nil, err
	}
	n, err := network(layers, d.X.Cols, t.Outputs())
	if err != nil {
		return nil, err
	}
	n = inputs.Raw(n)
	if t.Classes == 0 {
		// (y' - a)/b with a = -low/width and b = 1/width is y'·width + low.
		low, width := outputs.Mean[0], outputs.Scale[0]
		n = dense.Scaling{Mean: []float64{-low / width}, Scale: []float64{1 / width}}.Answering(n)
	}
	return n.BundleLayers(), nil
}

// notFinite is the error of a training that leaves the numbers.
func notFinite(what string, loss float64) error {
	return check.Errorf("taskaware", nil, "the training of the %s diverged at the loss %g, want finite losses and parameters: try a smaller rate", what, loss)
}
