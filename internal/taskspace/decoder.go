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

// NewDecoder returns the affine decoder with the least E‖K(x − x̂)‖², for every
// task matrix K at once: D = C_xu(C_uu + V)⁻¹ and offset = E x − D·E u, with V the
// diagonal of the variances of the Z noises (at least 0, independent of u and of
// each other).
//
// Errors wrap ErrInvalid: lengths, a variance that is negative or not finite,
// and C_uu + V singular, which takes a coordinate that is constant or a function of the
// others and has no noise.
func NewDecoder(m *EncodedMoments, variances []float64) (*Decoder, error) {
	z := m.Unit.SymmetricDim()
	if err := checkVariances(variances, z); err != nil {
		return nil, err
	}
	noisy := mat.NewSymDense(z, nil)
	noisy.CopySym(m.Unit)
	for i, v := range variances {
		noisy.SetSym(i, i, noisy.At(i, i)+v)
	}
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

// Loss is an expected loss E‖K(x − x̂)‖² in its parts, in units of the task
// output squared.
type Loss struct {
	Total  float64   // Signal + Noise
	Signal float64   // of what encoding, clipping and decoding lose
	Noise  float64   // of the privacy noise
	Output []float64 // by row of the task matrix K, m; they add up to Total
}

// ExpectedLoss returns the exact expectation, over the noise, of the mean loss of
// the rows of data (N×n) for a given encoder and decoder: the mean over rows of
// ‖K(x − x̂₀)‖², x̂₀ the reconstruction without noise, plus Σ_i V_i‖K D_i‖² for noise
// of mean zero and variances V. No noise is drawn.
//
// The task K is m×n, nil for the identity. Errors wrap ErrInvalid. The cost is
// O(N·n·(Z + m)).
func ExpectedLoss(task *mat.Dense, e *Encoder, d *Decoder, data mat.Matrix, variances []float64) (Loss, error) {
	rows, err := e.check(data)
	if err != nil {
		return Loss{}, err
	}
	task, read, err := d.check(task, e, variances)
	if err != nil {
		return Loss{}, err
	}
	outputs, _ := task.Dims()
	signal := make([]float64, outputs)
	var decoded, residual mat.Dense
	for x, u := range e.pairs(data) {
		subtractRow(x, d.Offset)
		decoded.Reset()
		decoded.Mul(u, d.Matrix.T())
		x.Sub(x, &decoded)
		residual.Reset()
		residual.Mul(x, task.T())
		count, _ := residual.Dims()
		for i := range count {
			for o, v := range residual.RawRowView(i) {
				signal[o] += v * v
			}
		}
	}
	for o := range signal {
		signal[o] /= float64(rows)
	}
	return NewLoss(signal, read, variances), nil
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

// check refuses sizes that do not fit an encoder that was checked. It returns
// the task matrix and KD.
func (d *Decoder) check(task *mat.Dense, e *Encoder, variances []float64) (k, read *mat.Dense, err error) {
	z, n := e.Rows.Dims()
	if err := checkVariances(variances, z); err != nil {
		return nil, nil, err
	}
	if k, err = checkTask(task, n); err != nil {
		return nil, nil, err
	}
	if err := d.checkSize(n, z); err != nil {
		return nil, nil, err
	}
	read = new(mat.Dense)
	read.Mul(k, d.Matrix)
	return k, read, nil
}

func (d *Decoder) checkSize(n, z int) error {
	if rows, cols := d.Matrix.Dims(); rows != n || cols != z || len(d.Offset) != n {
		return check.Field("latent", "decoder", fmt.Sprintf("%d×%d matrix with %d offsets", rows, cols, len(d.Offset)),
			fmt.Sprintf("%d×%d with %d, to fit the encoder", n, z, n))
	}
	return nil
}

func checkVariances(variances []float64, z int) error {
	if len(variances) != z {
		return check.Field("latent", "number of noise variances", len(variances), fmt.Sprintf("%d, one for each coordinate", z))
	}
	for i, v := range variances {
		if !(v >= 0) || !check.Finite(v) {
			return check.Field("latent", fmt.Sprintf("noise variance %d", i), v, "a finite number of at least 0")
		}
	}
	return nil
}

// solvePositive stores S⁻¹B in dst for a positive definite S.
func solvePositive(dst *mat.Dense, s *mat.SymDense, b mat.Matrix) error {
	correlation, deviation := equilibrate(s)
	var cholesky mat.Cholesky
	if !cholesky.Factorize(correlation) || !(cholesky.Cond() <= maxCondition) {
		return check.Errorf("latent", check.ErrInvalid, "the covariance of the noisy coordinates is singular, "+
			"want noise on every coordinate that is constant or a function of the others")
	}
	scaled := mat.DenseCopyOf(b)
	divideRows(scaled, deviation)
	if err := cholesky.SolveTo(dst, scaled); err != nil {
		return check.Errorf("latent", check.ErrInvalid, "decoder: %w", err)
	}
	divideRows(dst, deviation)
	return nil
}

func divideRows(m *mat.Dense, by []float64) {
	for i, s := range by {
		row := m.RawRowView(i)
		for j := range row {
			row[j] /= s
		}
	}
}

func dot(a, b []float64) float64 {
	total := 0.
	for i, v := range a {
		total += v * b[i]
	}
	return total
}
