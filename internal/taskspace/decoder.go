// SPDX-License-Identifier: Apache-2.0

package taskspace

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
)

// A Decoder reconstructs features from noisy unit coordinates,
//
//	x̂ = offset + D(u + noise),
//
// for noise of mean zero. For noise of mean m subtract D·m from the offset.
type Decoder struct {
	Matrix *mat.Dense // D, n×Z
	Offset []float64  // n
}

// NewDecoder returns the affine decoder with the least E‖K(x − x̂)‖², for every task matrix K at
// once: D = C_xu(C_uu + V)⁻¹ and offset = E x − D·E u, with V the diagonal of the variances of the
// Z noises (at least 0, independent of u and of each other).
//
// The error wraps ErrInvalid: C_uu + V is not finite, or singular, which takes a
// coordinate that is constant or a function of the others and has no noise.
func NewDecoder(m *EncodedMoments, variances []float64) (*Decoder, error) {
	noisy := addDiagonal(m.Unit, variances)
	var transposed mat.Dense
	if err := solvePositive(&transposed, noisy, m.Cross.T()); err != nil {
		return nil, err
	}
	d := &Decoder{Matrix: mat.DenseCopyOf(transposed.T()), Offset: make([]float64, len(m.FeatureMean))}
	for j := range d.Offset {
		d.Offset[j] = m.FeatureMean[j] - dot(d.Matrix.RawRowView(j), m.UnitMean)
	}
	return d, nil
}

// Loss is an expected loss E‖K(x − x̂)‖² in its parts, in units of the task output squared.
type Loss struct {
	Total  float64   // Signal + Noise
	Signal float64   // of what encoding, clipping and decoding lose
	Noise  float64   // of the privacy noise
	Output []float64 // by row of the task matrix K, m; they add up to Total
}

// ExpectedLoss returns the exact expectation, over the noise, of the mean loss of the rows of data
// (N×n) for the task K (m×n), an encoder and a decoder: the mean over rows of ‖K(x − x̂₀)‖², x̂₀
// the reconstruction without noise, plus Σ_i V_i‖K D_i‖² for noise of mean zero and variances V.
//
// Errors wrap ErrInvalid: data that is empty, not finite or of another number of columns.
func ExpectedLoss(task *mat.Dense, e *Encoder, d *Decoder, data mat.Matrix, variances []float64) (Loss, error) {
	if err := checkData(data); err != nil {
		return Loss{}, err
	}
	if _, cols := data.Dims(); cols != len(e.Mean) {
		return Loss{}, check.Field("latent", "columns of the data", cols, fmt.Sprintf("%d, as the encoder has", len(e.Mean)))
	}
	return DecodedLoss(task, d, data, e.Encode(data), variances), nil
}

// DecodedLoss is ExpectedLoss for signals u (N×Z) in place of the encodings of the rows of
// data, such as the mean answers of randomizers to them, and noise of mean zero around them.
func DecodedLoss(task *mat.Dense, d *Decoder, data mat.Matrix, u *mat.Dense, variances []float64) Loss {
	rows, _ := data.Dims()
	x := mat.DenseCopyOf(data)
	subtractRow(x, d.Offset)
	var decoded, residual, read mat.Dense
	decoded.Mul(u, d.Matrix.T())
	x.Sub(x, &decoded)
	residual.Mul(x, task.T())
	outputs, _ := task.Dims()
	signal := make([]float64, outputs)
	for o := range signal {
		for i := range rows {
			signal[o] += residual.At(i, o) * residual.At(i, o)
		}
		signal[o] /= float64(rows)
	}
	read.Mul(task, d.Matrix)
	return NewLoss(signal, &read, variances)
}

// NewLoss adds to the loss of the signal, by output, that of noise of the given
// variances, given what the task reads of the decoder, KD (m×Z). It keeps signal.
func NewLoss(signal []float64, read *mat.Dense, variances []float64) Loss {
	loss := Loss{Output: signal}
	for o, s := range signal {
		noise := 0.
		for i, v := range read.RawRowView(o) {
			noise += variances[i] * v * v
		}
		loss.Signal += s
		loss.Noise += noise
		loss.Output[o] += noise
	}
	loss.Total = loss.Signal + loss.Noise
	return loss
}

// solvePositive stores S⁻¹B in dst for a positive definite S.
func solvePositive(dst *mat.Dense, s *mat.SymDense, b mat.Matrix) error {
	correlation, deviation := equilibrate(s)
	scaled := mat.DenseCopyOf(b)
	divideRows(scaled, deviation)
	var cholesky mat.Cholesky
	if !cholesky.Factorize(correlation) || !(cholesky.Cond() <= maxCondition) || cholesky.SolveTo(dst, scaled) != nil {
		return check.Errorf("latent", check.ErrInvalid, "the covariance of the noisy coordinates is singular, "+
			"want noise on every coordinate that is constant or a function of the others")
	}
	divideRows(dst, deviation)
	return nil
}

// addDiagonal returns a copy of m with the numbers added to its diagonal.
func addDiagonal(m *mat.SymDense, diagonal []float64) *mat.SymDense {
	sum := mat.NewSymDense(len(diagonal), nil)
	sum.CopySym(m)
	for i, v := range diagonal {
		sum.SetSym(i, i, sum.At(i, i)+v)
	}
	return sum
}

func divideRows(m *mat.Dense, by []float64) {
	m.Apply(func(i, _ int, v float64) float64 { return v / by[i] }, m)
}

// inner returns tr(ABᵀ).
func inner(a, b *mat.Dense) float64 {
	total := 0.
	rows, _ := a.Dims()
	for i := range rows {
		total += dot(a.RawRowView(i), b.RawRowView(i))
	}
	return total
}

func dot(a, b []float64) float64 {
	total := 0.
	for i, v := range a {
		total += v * b[i]
	}
	return total
}
