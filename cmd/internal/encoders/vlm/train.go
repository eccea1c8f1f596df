// SPDX-License-Identifier: Apache-2.0

package vlm

import (
	"math"
	"math/rand/v2"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
)

// training is the first stage: encoder, decoder and perhaps the scales, together.
type training struct {
	m        *Model
	x        encoder.Matrix
	o        Options
	batches  int // in an epoch
	logScale []float64

	epoch   int // that order is of
	order   []int
	batch   encoder.Matrix
	e       elbo
	grads   [3][]float64 // of encoder, decoder and scales
	adams   [3]dense.Adam
	learned bool // the scales
	frozen  bool // the encoder
}

func newTraining(m *Model, x encoder.Matrix, o Options) *training {
	o.Batch = min(o.Batch, x.Rows)
	t := &training{
		m: m, x: x, o: o, batches: x.Rows / o.Batch, epoch: -1,
		logScale: make([]float64, o.Coordinates), learned: o.TrainingEpsilon == 0,
		batch: dense.NewMatrix(o.Batch, x.Cols),
	}
	t.e = newElbo(m, o.Batch)
	for j := range t.logScale {
		// A learned scale begins at that of the prior.
		t.logScale[j] = math.Log(dense.LaplacePrior)
		if !t.learned {
			t.logScale[j] = math.Log(2 * o.Radius / o.TrainingEpsilon)
		}
	}
	m.encoder.Init(encoders.Rand(o.Run.Seed, "encoder", 0))
	m.decoder.Init(encoders.Rand(o.Run.Seed, "decoder", 0))
	for i, params := range t.parameters() {
		t.grads[i] = make([]float64, len(params))
		t.adams[i].Rate = o.Rate
	}
	return t
}

func (t *training) parameters() [3][]float64 {
	return [3][]float64{t.m.encoder.Params(), t.m.decoder.Params(), t.logScale}
}

func (t *training) Step(step int) (loss float64, err error) {
	if epoch := step / t.batches; epoch != t.epoch {
		t.epoch, t.order = epoch, encoders.Rand(t.o.Run.Seed, "order", epoch).Perm(t.x.Rows)
	}
	from := step % t.batches * t.o.Batch
	for i, row := range t.order[from : from+t.o.Batch] {
		copy(dense.Row(t.batch, i), dense.Row(t.x, row))
	}
	for _, g := range t.grads {
		clear(g)
	}
	t.e.draw(t.logScale, encoders.Rand(t.o.Run.Seed, "noise", step))
	loss = t.e.forward(t.batch)
	t.e.backward(t.grads[0], t.grads[1], t.grads[2])
	for i, params := range t.parameters() {
		if (i == 0 && t.frozen) || (i == 2 && !t.learned) {
			continue
		}
		t.adams[i].Step(params, t.grads[i])
	}
	if !check.Finite(loss) {
		return loss, check.Errorf("vlm", ErrDiverged, "the loss is %g in step %d: a smaller rate, or features that are standardized, may help", loss, step+1)
	}
	return loss, nil
}

// parts are the names of the parameters in a checkpoint.
var parts = [3]string{"encoder", "decoder", "scales"}

func (t *training) State() map[string][]float64 {
	s := map[string][]float64{}
	for i, params := range t.parameters() {
		t.adams[i].Save(s, parts[i], params)
	}
	return s
}

func (t *training) Restore(state map[string][]float64) error {
	for i, params := range t.parameters() {
		if err := t.adams[i].Restore(state, parts[i], params); err != nil {
			return err
		}
	}
	return nil
}

// elbo is the negative evidence lower bound of a batch, up to a constant, and gradients: per person
//
//	-E log p(x | z) + KL(Laplace(μ, b) ‖ Laplace(0, 1/√2)),  z = μ + b·ξ,
//
// with μ the encoder's output clipped to the l1 ball, one draw of ξ for each person, and
// -log p(x | z) half the squared error of the decoder, summed over the features.
type elbo struct {
	m                *Model
	encoded, decoded dense.Pass

	mu, z, raw   encoder.Matrix
	noise        encoder.Matrix // b·ξ
	logScale     []float64
	dOutput, dMu encoder.Matrix
	dLogKL       []float64
}

func newElbo(m *Model, rows int) elbo {
	d, n := m.Body.Coordinates, m.decoder.Out()
	e := elbo{
		m: m, mu: dense.NewMatrix(rows, d), z: dense.NewMatrix(rows, d), noise: dense.NewMatrix(rows, d),
		dOutput: dense.NewMatrix(rows, n), dMu: dense.NewMatrix(rows, d), dLogKL: make([]float64, d),
	}
	e.encoded.NoInput = true
	return e
}

func (e *elbo) draw(logScale []float64, r *rand.Rand) {
	e.logScale = logScale
	for i := range e.noise.Rows {
		for j, s := range logScale {
			e.noise.Data[i*e.noise.Stride+j] = math.Exp(s) * Laplace(r)
		}
	}
}

// forward returns the loss, the mean over the rows.
func (e *elbo) forward(x encoder.Matrix) float64 {
	e.raw = e.m.encoder.Forward(&e.encoded, x)
	copy(e.mu.Data, e.raw.Data)
	e.m.Body.Clip(e.mu)
	for i, v := range e.mu.Data {
		e.z.Data[i] = v + e.noise.Data[i]
	}
	half := float64(x.Cols) / 2 // of a mean over entries, for a sum over features
	loss := half * dense.SquaredError(e.m.decoder.Forward(&e.decoded, e.z), x, e.dOutput)
	for i := range e.dOutput.Data {
		e.dOutput.Data[i] *= half
	}
	return loss + dense.LaplaceKL(e.mu, e.logScale, e.dMu, e.dLogKL)
}

// backward adds the gradients of the last forward; nil is for a part that stays as it is.
func (e *elbo) backward(encode, decode, logScale []float64) {
	e.toMean(e.m.decoder.Backward(&e.decoded, e.dOutput, decode), logScale)
	e.m.encoder.Backward(&e.encoded, e.dMu, encode)
}

// toMean turns the gradient by z into that by the output, dMu, and adds that by the log-scales.
func (e *elbo) toMean(dz encoder.Matrix, logScale []float64) {
	for i := range dz.Rows {
		for j, v := range dense.Row(dz, i) {
			at := i*e.dMu.Stride + j
			e.dMu.Data[at] += v
			if logScale != nil {
				logScale[j] += v * e.noise.Data[at]
			}
		}
	}
	for j := range logScale {
		logScale[j] += e.dLogKL[j]
	}
	e.m.Body.ClipBackward(e.raw, e.dMu)
}

// Laplace returns a draw of scale 1. The uniform number is inside of (-1/2, 1/2), where the
// logarithm is finite: a draw at its end would be infinite.
func Laplace(r *rand.Rand) float64 {
	u := (float64(r.Uint64()>>12) + 0.5) / (1 << 52)
	if u < 0.5 {
		return math.Log(2 * u)
	}
	return -math.Log(2 - 2*u)
}
