// SPDX-License-Identifier: Apache-2.0

package vlm

import (
	"context"
	crand "crypto/rand"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dpsgd"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
)

// Central protects the people of the training data, by DP-Adam: Poisson sampling, clipping
// of each person's gradient to an l2 norm, normal noise on their sum, and Adam on the
// result (Abadi et al. 2016). A zero value means what is in brackets.
//
// Guarantee: the parts that are trained with it, together, are (Epsilon, Delta)-private for
// data sets that differ by one person who is added or removed, by account.SubsampledGaussian.
// Samples and noise are drawn exactly, and rounding is covered (docs/proofs/dpsgd.md).
// The number of people and the options count as public.
//
// The paper trains without privacy first, freezes one part, and trains the other one again
// with DP-Adam. The frozen part knows the people of the training data, and so does what is
// trained against it, whatever noise its gradients have: that order is private for nobody.
// Here encoder and decoder are trained by DP-Adam together, from their random beginning. If
// Parts has not the decoder, it is trained again after that, without noise and with the
// encoder frozen, for who may see the data; the encoder is as it was.
type Central struct {
	// Epsilon is above 0, Delta above 0 and below 1.
	Epsilon, Delta float64
	Parts          Parts // that others see; the encoder is one of them
	// PublishedOrder trains as the paper does, to compare: the parts of Parts by DP-Adam, against
	// what was trained without. IT IS WITHOUT GUARANTEE, and the model's CentralEpsilon infinite.
	PublishedOrder bool
	// Planned, if not nil, is told before the first step how many there are going to be, the
	// standard deviation of the noise on a sum of gradients, and the epsilon of all together.
	Planned func(steps int, deviation, epsilon float64)
	// Random is for samples and noise in studies, which are to be the same again. There is no
	// guarantee then, as somebody knows the numbers, and the model's CentralEpsilon is infinite.
	Random *rand.Rand
}

func (c *Central) check(o Options) error {
	bad := check.In("vlm")
	bad.Want(check.Positive(c.Epsilon), "central epsilon", c.Epsilon, "a finite number above 0")
	bad.Want(c.Delta > 0 && c.Delta < 1, "central delta", c.Delta, "a number above 0 and below 1")
	bad.Want(c.Parts.Encoder || c.PublishedOrder, "parts", c.Parts, "the encoder among them: what people send is computed by it")
	bad.Want(c.Parts != (Parts{}), "parts", c.Parts, "at least one")
	bad.Want(o.TrainingEpsilon != 0, "epsilon of the training", 0, "a number, for scales are not learned privately")
	bad.Want(!o.Standardize, "standardize", true, "features of one scale, for means and deviations of the training data are not private")
	return bad.Err()
}

// private is a stage of DP-Adam.
type private struct {
	m        *Model
	x        encoder.Matrix
	o        Options
	parts    Parts // that are trained
	noise    *dpsgd.Noise
	random   *rand.Rand // of encodings
	logScale []float64
	adams    [2]dense.Adam
	batch    encoder.Matrix
	e        elbo
}

// steps is how many there are, of an expected batch each.
func (p *private) steps() int { return p.o.Epochs * max(1, p.x.Rows/p.o.Batch) }

// protect trains the model by DP-Adam. It has been trained before if the order is the paper's.
func (m *Model) protect(ctx context.Context, x encoder.Matrix, o Options) error {
	c := o.Central
	p := &private{m: m, x: x, o: o, parts: Parts{true, true}, random: c.Random, logScale: make([]float64, o.Coordinates)}
	if c.PublishedOrder {
		p.parts = c.Parts
	}
	p.o.Batch = min(o.Batch, x.Rows)
	parameters := 0
	for _, n := range p.trained {
		parameters += len(n.Params())
	}
	var err error
	p.noise, err = dpsgd.New(dpsgd.Options{
		People: x.Rows, Batch: p.o.Batch, Steps: p.steps(), Parameters: parameters,
		Clip: clip, Epsilon: c.Epsilon, Delta: c.Delta, Random: c.Random,
	})
	if err != nil {
		return check.Errorf("vlm", nil, "noise of the training: %w", err)
	}
	epsilon := p.noise.Bounds().Upper
	if c.Planned != nil {
		c.Planned(p.steps(), p.noise.Deviation(), epsilon)
	}
	if !c.PublishedOrder && c.Random == nil {
		m.CentralEpsilon, m.CentralDelta = epsilon, c.Delta
	}
	if p.random == nil {
		var seed [32]byte
		if _, err := crand.Read(seed[:]); err != nil {
			return check.Errorf("vlm", nil, "no entropy: %w", err)
		}
		p.random = rand.New(rand.NewChaCha8(seed)) //nolint:gosec // a cipher, with a seed of the system
	}
	for j := range p.logScale {
		p.logScale[j] = math.Log(2 * o.Radius / o.TrainingEpsilon)
		m.Scales[j] = 2 * o.Radius / o.TrainingEpsilon
	}
	for i, n := range p.trained {
		n.Init(encoders.Rand(o.Run.Seed, "private "+parts[i], 0))
		p.adams[i].Rate = o.Rate
	}
	if err := p.run(ctx); err != nil {
		return err
	}
	if !c.Parts.Decoder && !c.PublishedOrder {
		return m.retrainDecoder(ctx, x, o)
	}
	return nil
}

// run does all steps. There are no checkpoints: they would have to be kept secret, the state
// of the random numbers above all.
func (p *private) run(ctx context.Context) error {
	var gradients [2][]float64
	for i, n := range p.trained {
		gradients[i] = make([]float64, len(n.Params()))
	}
	for step := range p.steps() {
		if err := ctx.Err(); err != nil {
			return err
		}
		sample, err := p.noise.Sample()
		if err != nil {
			return err
		}
		p.step(sample, gradients)
		if err := p.add(gradients); err != nil {
			return err
		}
		if p.o.Run.Progress != nil {
			p.o.Run.Progress(step+1, p.steps(), math.NaN()) // the loss is not private
		}
	}
	return nil
}

// trained passes what is trained: 0 and the encoder, 1 and the decoder.
func (p *private) trained(yield func(int, *dense.Network) bool) {
	if !p.parts.Encoder || yield(0, p.m.encoder) {
		if p.parts.Decoder {
			yield(1, p.m.decoder)
		}
	}
}

// clip is the norm that a person's gradient is clipped to.
const clip = 1.0

// together is how many people are computed at a time, always: the arithmetic of a person must
// not depend on how many others there are, as the way in which matrices are multiplied does.
const together = 64

// step sums the clipped gradients of a sample.
func (p *private) step(sample []int, gradients [2][]float64) {
	clear(gradients[0])
	clear(gradients[1])
	if p.batch.Data == nil {
		p.batch, p.e = dense.NewMatrix(together, p.x.Cols), newElbo(p.m, together)
	}
	for people := range slices.Chunk(sample, together) {
		for i := range together { // the last places are filled with people who are there already
			copy(dense.Row(p.batch, i), dense.Row(p.x, people[i%len(people)]))
		}
		p.e.draw(p.logScale, p.random)
		p.e.forward(p.batch)
		// The loss is a mean; the gradients of people are wanted.
		for _, d := range []encoder.Matrix{p.e.dOutput, p.e.dMu} {
			for i := range d.Data {
				d.Data[i] *= together
			}
			clear(d.Data[len(people)*d.Stride:])
		}
		p.e.toMean(p.m.decoder.Backward(&p.e.decoded, p.e.dOutput, nil), nil)
		p.clipped(gradients)
	}
}

// clipped adds the clipped gradients of the sample. A person's gradients by the parts are
// clipped one by one, each to a norm so that both together keep to clip.
func (p *private) clipped(gradients [2][]float64) {
	limit := clip
	if p.parts.Encoder && p.parts.Decoder {
		limit /= math.Sqrt2
	}
	passes, outputs := [2]*dense.Pass{&p.e.encoded, &p.e.decoded}, [2]encoder.Matrix{p.e.dMu, p.e.dOutput}
	for i, n := range p.trained {
		n.ClippedGradient(passes[i], outputs[i], limit, gradients[i])
	}
}

// add adds noise to the sums and takes a step of Adam with the mean of a sample as expected.
func (p *private) add(gradients [2][]float64) error {
	if err := p.noise.Release(gradients[0], gradients[1]); err != nil {
		return err
	}
	for i, n := range p.trained {
		p.adams[i].Step(n.Params(), gradients[i])
		if !check.Finite(n.Params()...) {
			return check.Errorf("vlm", ErrDiverged, "the parameters of the private training are no longer finite: a smaller rate may help")
		}
	}
	return nil
}

// retrainDecoder trains the decoder again, for the data's holder, against the private encoder.
func (m *Model) retrainDecoder(ctx context.Context, x encoder.Matrix, o Options) error {
	o.Run.Directory = ""
	kept := slices.Clone(m.encoder.Params())
	t := newTraining(m, x, o)
	copy(m.encoder.Params(), kept)
	t.frozen = true
	return o.Run.Train(ctx, t, o.Epochs*t.batches)
}
