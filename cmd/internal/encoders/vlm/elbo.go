package vlm

import (
	"math"
	"math/rand/v2"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
)

// elbo is the negative evidence lower bound of a batch, but for a constant, and its gradients:
// per person
//
//	-E log p(x | z) + KL(Laplace(μ, b) ‖ Laplace(0, 1/√2)),  z = μ + b·ξ,
//
// with μ the encoder's output clipped to the l1 ball, one draw of ξ for each person, and
// -log p(x | z) half the squared error of the decoder (Gaussian) or the cross-entropy of
// its log-odds (Bernoulli), summed over the features.
type elbo struct {
	m                *Model
	encoded, decoded dense.Pass

	x, mu, z, output    encoder.Matrix
	noise               encoder.Matrix // b·ξ
	logScale            []float64
	dOutput, dMu        encoder.Matrix
	dLogKL              []float64
	raw                 encoder.Matrix
	reconstruction, gap float64 // the two terms of the loss
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

// draw draws the noise of a step.
func (e *elbo) draw(logScale []float64, r *rand.Rand) {
	e.logScale = logScale
	for i := range e.noise.Rows {
		for j, s := range logScale {
			e.noise.Data[i*e.noise.Stride+j] = math.Exp(s) * laplace(r)
		}
	}
}

// forward returns the loss, the mean over the rows.
func (e *elbo) forward(x encoder.Matrix) float64 {
	e.x = x
	e.raw = e.m.encoder.Forward(&e.encoded, x)
	copy(e.mu.Data, e.raw.Data)
	e.m.Body.Clip(e.mu)
	for i, v := range e.mu.Data {
		e.z.Data[i] = v + e.noise.Data[i]
	}
	e.output = e.m.decoder.Forward(&e.decoded, e.z)
	e.reconstruction = e.likelihoodLoss()
	e.gap = dense.LaplaceKL(e.mu, e.logScale, e.dMu, e.dLogKL)
	return e.reconstruction + e.gap
}

// likelihoodLoss returns -E log p(x | z) and fills dOutput with its gradient.
func (e *elbo) likelihoodLoss() float64 {
	if e.m.likelihood == Gaussian {
		half := float64(e.x.Cols) / 2 // of a mean over entries, for a sum over features
		loss := half * dense.SquaredError(e.output, e.x, e.dOutput)
		for i := range e.dOutput.Data {
			e.dOutput.Data[i] *= half
		}
		return loss
	}
	sum, n := 0.0, float64(e.x.Rows)
	for i, v := range e.output.Data {
		x := e.x.Data[i]
		// log(1 + e^v) - x·v, without overflow.
		sum += max(v, 0) + math.Log1p(math.Exp(-math.Abs(v))) - x*v
		e.dOutput.Data[i] = (1/(1+math.Exp(-v)) - x) / n
	}
	return sum / n
}

// backward adds the gradients of the last forward; nil is for a part that stays as it is.
func (e *elbo) backward(encode, decode, logScale []float64) {
	e.toMean(e.m.decoder.Backward(&e.decoded, e.dOutput, decode), logScale)
	e.m.encoder.Backward(&e.encoded, e.dMu, encode)
}

// toMean turns the gradient by z into that by the encoder's output, dMu, and adds that by the
// logarithms of the scales.
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

// laplace returns a draw of scale 1. The uniform number is inside of (-1/2, 1/2), where the
// logarithm is finite: a draw at its end would be infinite.
func laplace(r *rand.Rand) float64 {
	u := (float64(r.Uint64()>>12) + 0.5) / (1 << 52)
	if u < 0.5 {
		return math.Log(2 * u)
	}
	return -math.Log(2 - 2*u)
}
