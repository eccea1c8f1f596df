// SPDX-License-Identifier: Apache-2.0

package minimax

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/regress"
	"github.com/noisewright/noisewright/internal/check"
)

// player is a task with the linear classifier or regression of codes that answers it best.
type player struct {
	target dense.Target
	factor float64 // of its loss in Φ: ρ·weight for targets, -weight for private tasks
	regress.Linear
	numbers []float64    // the weights by rows, then the bias: views into them are the Linear
	output  dense.Matrix // N×k
	dOut    dense.Matrix
}

func newPlayer(task Task, factor float64, rows, in int) *player {
	out := task.outs()
	numbers := make([]float64, (in+1)*out)
	weights := dense.Matrix{Rows: in, Cols: out, Stride: out, Data: numbers[:in*out]}
	return &player{
		target: task.scaled(), factor: factor * task.weight(), Linear: regress.Linear{Weights: weights, Bias: numbers[in*out:]},
		numbers: numbers, output: dense.NewMatrix(rows, out), dOut: dense.NewMatrix(rows, out),
	}
}

// trainer does the alternation: the best answers to a filter, then a step of the filter
// against them, whose length is found by Armijo's rule. It implements encoders.Training.
//
// The answers stay as they are during the step: the gradient of Φ is that with the best answers
// fixed (Danskin). So the step may raise Φ itself, and the filter kept is that of the least Φ.
type trainer struct {
	o       *Options
	x       dense.Matrix
	net     *dense.Network
	initial []float64 // parameters before noise
	players []*player
	pass    dense.Pass
	dCode   dense.Matrix // gradient of Φ by the codes
	grad    []float64

	length float64   // of the last step
	failed float64   // line searches in a row without success
	best   []float64 // parameters of the least Φ
	value  float64   // that
}

func newTrainer(o *Options, x dense.Matrix, net *dense.Network, d *Data) *trainer {
	t := &trainer{o: o, x: x, net: net, initial: slices.Clone(net.Params()), value: math.Inf(1)}
	t.pass.NoInput = true
	t.grad = make([]float64, len(net.Params()))
	t.best = slices.Clone(net.Params())
	t.dCode = dense.NewMatrix(x.Rows, net.Out())
	for _, side := range []struct {
		tasks  []Task
		factor float64
	}{{d.Targets, o.Rho}, {d.Private, -1}} {
		for _, task := range side.tasks {
			t.players = append(t.players, newPlayer(task, side.factor, x.Rows, net.Out()))
		}
	}
	return t
}

func (t *trainer) Step(step int) (float64, error) {
	if step%t.o.Steps == 0 {
		t.start(encoders.Rand(t.o.Seed, "minimax start", step))
	}
	phi, err := t.answer()
	if err != nil {
		return 0, err
	}
	t.gradient()
	t.descend(phi, encoders.Rand(t.o.Seed, "minimax restart", step))
	if step%t.o.Steps == t.o.Steps-1 { // the last filter of a start has not been answered yet
		if phi, err = t.answer(); err != nil {
			return 0, err
		}
	}
	return phi, nil
}

func (t *trainer) start(r *rand.Rand) {
	p := t.net.Params()
	copy(p, t.initial)
	t.perturb(r)
	t.length, t.failed = firstLength, 0
	for _, one := range t.players {
		clear(one.numbers)
	}
}

// The constants of the line search.
const (
	firstLength = 1.0
	armijo      = 1e-4 // share of the decrease of the tangent that is demanded
	halvings    = 30
	// perturbation is the noise that a start and a restart add, relative to the size of the
	// parameters: the columns of a linear filter have length 1.
	perturbation = 1e-3
)

func (t *trainer) perturb(r *rand.Rand) {
	for _, l := range t.net.Layers {
		for i := range l.Weights.Data {
			l.Weights.Data[i] += perturbation * r.NormFloat64()
		}
	}
}

// answer fits the heads to the filter, and returns Φ. It keeps the filter if it is the best.
func (t *trainer) answer() (float64, error) {
	code := t.net.Forward(&t.pass, t.x)
	for _, p := range t.players {
		if err := p.fit(code, t.o); err != nil {
			return 0, err
		}
	}
	phi := t.phi(code, true)
	if !check.Finite(phi) {
		return 0, check.Errorf("minimax", nil, "the objective became %g: smaller features or fewer steps may help", phi)
	}
	if phi < t.value {
		t.value = phi
		copy(t.best, t.net.Params())
	}
	return phi, nil
}

// phi returns Φ for codes with the heads as they are, and the regularization of the
// filter. If gradient, it also sets dCode.
func (t *trainer) phi(code dense.Matrix, gradient bool) float64 {
	if gradient {
		clear(t.dCode.Data)
	}
	sum := 0.0
	for _, v := range t.net.Params() {
		sum += v * v
	}
	sum *= t.o.Ridge / 2
	for _, p := range t.players {
		sum += p.factor * p.loss(code, t.dCode, gradient)
	}
	return sum
}

// gradient sets grad to that of Φ by the parameters, after answer.
func (t *trainer) gradient() {
	clear(t.grad)
	t.net.Backward(&t.pass, t.dCode, t.grad)
	for i, v := range t.net.Params() {
		t.grad[i] += t.o.Ridge * v
	}
	if t.o.Hidden == nil { // a linear filter has no bias, as the paper's
		clear(t.grad[len(t.grad)-t.net.Out():])
	}
}

// descend goes down the gradient as far as Armijo's rule allows, with the heads as they are.
// Where no step helps, the next ones start from the best filter, with noise.
func (t *trainer) descend(phi float64, r *rand.Rand) {
	slope := 0.0
	for _, g := range t.grad {
		slope += g * g
	}
	p := t.net.Params()
	at := slices.Clone(p)
	length := 2 * t.length
	for range halvings {
		for i, g := range t.grad {
			p[i] = at[i] - length*g
		}
		if v := t.phi(t.net.Forward(&t.pass, t.x), false); v <= phi-armijo*length*slope && slope > 0 {
			t.length, t.failed = length, 0
			return
		}
		length /= 2
	}
	copy(p, at)
	t.length = firstLength
	if t.failed++; t.failed > 1 {
		copy(p, t.best)
		t.failed = 0
	}
	t.perturb(r)
}

func (t *trainer) State() map[string][]float64 {
	s := map[string][]float64{
		"filter": t.net.Params(), "best": t.best, "search": {t.length, t.failed, t.value},
	}
	for i, p := range t.players {
		s[fmt.Sprintf("head-%d", i)] = p.numbers
	}
	return s
}

func (t *trainer) Restore(s map[string][]float64) error {
	search := make([]float64, 3)
	for name, numbers := range t.State() {
		if len(s[name]) != len(numbers) {
			return check.Errorf("minimax", check.ErrInvalid, "the checkpoint has %d numbers for %s, want %d", len(s[name]), name, len(numbers))
		}
		if name == "search" {
			numbers = search
		}
		copy(numbers, s[name])
	}
	t.length, t.failed, t.value = search[0], search[1], search[2]
	return nil
}

// innerIterations are those of classifiers at each step, from where they were.
const innerIterations = 50

// fit improves the answers to codes, from what it was: by iterations of a classifier, or by
// the least squares of a regression.
func (p *player) fit(code dense.Matrix, o *Options) error {
	l, err := regress.Fit(code, p.target, regress.Options{
		Ridge: o.Ridge, Bias: !o.NoIntercept, MajorIterations: innerIterations, Start: &regress.Softmax{Linear: p.Linear},
	})
	if err != nil {
		return err
	}
	copy(p.Weights.Data, l.Weights.Data)
	copy(p.Bias, l.Bias)
	return nil
}

// loss returns the player's loss for codes, without its factor; if gradient, it adds the
// gradient times the factor to dCode.
func (p *player) loss(code, dCode dense.Matrix, gradient bool) float64 {
	for i := range p.output.Rows {
		copy(dense.Row(p.output, i), p.Bias)
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, code, p.Weights, 1, p.output)
	d := dense.Matrix{}
	if gradient {
		d = p.dOut
	}
	v := p.target.Loss(p.output, d)
	if gradient {
		blas64.Gemm(blas.NoTrans, blas.Trans, p.factor, d, p.Weights, 1, dCode)
	}
	return v
}

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

// supervise trains for the targets alone: one step of Adam for each answer of their classifiers.
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
