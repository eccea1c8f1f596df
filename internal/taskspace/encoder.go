// SPDX-License-Identifier: Apache-2.0

package taskspace

import (
	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/latent/bundle"
)

// An Encoder maps n features to Z unit coordinates,
//
//	u = W(x − μ) + offset,
//
// and clips them to a body.
type Encoder struct {
	Rows   *mat.Dense // W, Z×n
	Mean   []float64  // μ, n, that of the features
	Offset []float64  // Z; nil is zero
	// Low and High are public bounds that the features are clipped to first, n each; nil for none.
	Low, High []float64
	// Axes are the Z semi-axes of the body to which u is clipped, positive; nil for no clipping.
	Axes   []float64
	Domain bundle.Domain
}

// Encode returns the clipped unit coordinates (N×Z) of the rows of data (N×n).
func (e *Encoder) Encode(data mat.Matrix) *mat.Dense {
	x := mat.DenseCopyOf(data)
	x.Apply(func(_, j int, v float64) float64 {
		if e.Low != nil {
			v = min(max(v, e.Low[j]), e.High[j])
		}
		return v - e.Mean[j]
	}, x)
	var u mat.Dense
	u.Mul(x, e.Rows.T())
	rows, _ := u.Dims()
	for i := range rows {
		row := u.RawRowView(i)
		for k, v := range e.Offset {
			row[k] += v
		}
		e.Domain.Clip(row, e.Axes)
	}
	return &u
}

// EncodedMoments are the joint second moments of features x and their unit
// coordinates u after clipping: all that the best affine decoder depends on.
type EncodedMoments struct {
	FeatureMean []float64     // E x, n
	UnitMean    []float64     // E u, Z
	Unit        *mat.SymDense // C_uu = Cov(u), Z×Z
	Cross       *mat.Dense    // C_xu = Cov(x, u), n×Z
}

// Moments returns the moments of the rows of data (N×n) and their clipped unit
// coordinates, divided by N. The features are those of the data, also where the
// encoder clips them to bounds: the loss is against what a person really has.
func (e *Encoder) Moments(data mat.Matrix) *EncodedMoments {
	return e.MomentsOf(data, e.Encode(data))
}

// MomentsOf is Moments with u (N×Z) in place of the unit coordinates of the rows of data,
// such as the mean answers of randomizers to them. It overwrites u.
func (e *Encoder) MomentsOf(data mat.Matrix, u *mat.Dense) *EncodedMoments {
	x := mat.DenseCopyOf(data)
	// Relative to the encoder's mean, which is near that of the features.
	mean := columnMeans(x, e.Mean)
	for j, v := range e.Mean {
		mean[j] += v
	}
	subtractRow(x, mean)
	m := pairMoments(x, u)
	m.FeatureMean = mean
	return m
}

// pairMoments returns the moments of rows x (N×n) of mean 0 and u (N×Z). It overwrites u.
func pairMoments(x, u *mat.Dense) *EncodedMoments {
	rows, z := u.Dims()
	m := &EncodedMoments{UnitMean: columnMeans(u, make([]float64, z)), Unit: new(mat.SymDense), Cross: new(mat.Dense)}
	subtractRow(u, m.UnitMean)
	m.Unit.SymOuterK(1/float64(rows), u.T())
	m.Cross.Mul(x.T(), u)
	m.Cross.Scale(1/float64(rows), m.Cross)
	return m
}

// of returns the moments, but for the means, with some of the unit coordinates alone.
func (m *EncodedMoments) of(used []int) *EncodedMoments {
	n, _ := m.Cross.Dims()
	part := &EncodedMoments{Unit: mat.NewSymDense(len(used), nil), Cross: mat.NewDense(n, len(used), nil)}
	for k, i := range used {
		for l, h := range used {
			part.Unit.SetSym(k, l, m.Unit.At(i, h))
		}
		for j := range n {
			part.Cross.Set(j, k, m.Cross.At(j, i))
		}
	}
	return part
}

// UnclippedMoments returns the moments that follow from those of the features
// alone if nothing is clipped: C_uu = WΣWᵀ, C_xu = ΣWᵀ.
func (e *Encoder) UnclippedMoments(m Moments) *EncodedMoments {
	z, _ := e.Rows.Dims()
	encoded := &EncodedMoments{FeatureMean: m.Mean, UnitMean: make([]float64, z), Unit: mat.NewSymDense(z, nil), Cross: new(mat.Dense)}
	copy(encoded.UnitMean, e.Offset)
	encoded.Cross.Mul(m.Covariance, e.Rows.T())
	var unit mat.Dense
	unit.Mul(e.Rows, encoded.Cross)
	for i := range z {
		for j := i; j < z; j++ {
			encoded.Unit.SetSym(i, j, (unit.At(i, j)+unit.At(j, i))/2)
		}
	}
	return encoded
}

// Gain returns by how much the decoder of [NewDecoder] for these moments, and no other, lowers the
// expected loss for the task (m×n) from that of releasing nothing, tr(KΣKᵀ): tr(K D C_xuᵀ Kᵀ).
func (m *EncodedMoments) Gain(task *mat.Dense, d *Decoder) float64 {
	var decoded, covered mat.Dense
	decoded.Mul(task, d.Matrix)
	covered.Mul(task, m.Cross)
	return inner(&decoded, &covered)
}
