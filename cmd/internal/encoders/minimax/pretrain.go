package minimax

import (
	"context"
	"math"
	"slices"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
)

// The constants of pretraining.
const (
	autoencoderSteps = 300
	autoencoderRate  = 1e-2
	autoencoderDecay = 1e-3 // of the authors' program
	// corruption is the noise of a denoising autoencoder, in standard deviations of its input.
	corruption      = 0.2
	supervisedSteps = 40
	supervisedRate  = 3e-3
)

// newNetwork returns layers of sigmoids: the hidden ones, and d outputs.
func newNetwork(in int, hidden []int, d int) *dense.Network {
	widths := append(append([]int{in}, hidden...), d)
	return dense.New(widths, slices.Repeat([]dense.Activation{dense.Sigmoid}, len(hidden)+1))
}

// pretrain sets a network layer by layer to the encoder of a denoising autoencoder, and then
// trains it for the targets alone.
func pretrain(ctx context.Context, net *dense.Network, x dense.Matrix, d *Data, o *Options) error {
	code := x
	for k := range net.Layers {
		var err error
		if code, err = autoencode(ctx, &net.Layers[k], code, o, k); err != nil {
			return err
		}
	}
	return supervise(ctx, net, x, d.Targets, o)
}

// autoencode trains a layer as the encoder of an autoencoder, and returns its outputs.
func autoencode(ctx context.Context, l *dense.Layer, x dense.Matrix, o *Options, k int) (dense.Matrix, error) {
	in, out := l.Weights.Rows, l.Weights.Cols
	// The decay is of half the sum of squares, and the loss here their mean.
	auto := dense.NewLearner(dense.MLP(in, []int{out}, l.Activation, in), dense.Adam{Rate: autoencoderRate, WeightDecay: 2 * autoencoderDecay / float64(in)})
	auto.Init(encoders.Rand(o.Seed, "autoencoder", k))
	noise := corruption * rootMeanSquare(centered(toMat(x)).RawMatrix())
	noisy, d := dense.NewMatrix(x.Rows, in), dense.NewMatrix(x.Rows, in)
	for step := range autoencoderSteps {
		if err := ctx.Err(); err != nil {
			return x, err
		}
		r := encoders.Rand(o.Seed, "corruption", k*autoencoderSteps+step)
		for i, v := range x.Data[:len(noisy.Data)] {
			noisy.Data[i] = v + noise*r.NormFloat64()
		}
		loss := auto.Fit(noisy, d, func(out, d dense.Matrix) float64 { return dense.SquaredError(out, x, d) })
		if !check.Finite(loss) {
			return x, check.Errorf("minimax", nil, "the loss of the autoencoder is no longer finite: standardized or smaller features help")
		}
	}
	copy(l.Weights.Data, auto.Layers[0].Weights.Data)
	copy(l.Bias, auto.Layers[0].Bias)
	first := &dense.Network{Layers: []dense.Layer{*l}}
	return first.Forward(&dense.Pass{}, x), nil
}

func rootMeanSquare(m dense.Matrix) float64 {
	sum := 0.0
	for _, v := range m.Data {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(m.Data)))
}

// supervise trains the network for the targets alone: one step of Adam for each answer of
// their classifiers.
func supervise(ctx context.Context, net *dense.Network, x dense.Matrix, targets []Task, o *Options) error {
	t := newTrainer(o, x, net, &Data{Targets: targets})
	adam := dense.Adam{Rate: supervisedRate}
	for range supervisedSteps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := t.answer(); err != nil {
			return err
		}
		t.gradient()
		adam.Step(net.Params(), t.grad)
	}
	return nil
}
