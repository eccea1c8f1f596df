// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

const (
	// maxDistanceWork bounds the additions for one distance: 2^28 take a fraction of a
	// second, and reach 24 features.
	maxDistanceWork = 1 << 28
	// rowsTogether is how many rows are tried together when all are too many.
	rowsTogether = 12
)

// featureDistance returns the largest distance of the features of two points of the domain, in the
// norm of the noise, or where that takes too long an upper bound on it. It is in floating point:
// only the benchmark agnostic asks for it. For the ball of radius r it is, for x = μ + A⁻¹y, 2r·max
// ‖A⁻ᵀs‖₂ over signs s for ℓ1, and 2r·‖A⁻¹‖₂ for ℓ2.
func (r *Result) featureDistance(kind bundle.Kind) (float64, error) {
	p, n := &r.problem, len(r.Lambda)
	synthesis := r.coordinates.Synthesis
	norm := 2.0
	if kind == noise.Laplace {
		norm = 1
	}
	switch {
	case p.Domain == bundle.Bounds:
		widths := make([]float64, n)
		for i := range widths {
			widths[i] = p.High[i] - p.Low[i]
		}
		return mat.Norm(mat.NewVecDense(n, widths), norm), nil
	case p.Domain == bundle.Box:
		// x − x′ is between ± the columns of A⁻¹ times the sides 2c, each by itself.
		columns := mat.NewDense(n, n, nil)
		columns.Apply(func(i, j int, _ float64) float64 { return synthesis.At(j, i) * (2 * r.Radii[i]) }, columns)
		return signMaximum(columns, norm)
	case kind == noise.Laplace:
		largest, err := signMaximum(synthesis, 2)
		return 2 * r.Radii[n-1] * largest, err
	default:
		largest, err := spectralNorm(synthesis)
		return 2 * r.Radii[n-1] * largest, err
	}
}

// signMaximum returns the largest norm, 1 or 2, of Σ ±b_i over the signs of the rows of b
// (n×n), or if these are too many the least of three upper bounds: by the triangle inequality
// that of its blocks of rows together, and the norm of Σ |b_i|, entry by entry; and by the
// spectral norm √n‖b‖₂, which is √n times as much in ℓ1.
func signMaximum(b *mat.Dense, norm float64) (float64, error) {
	n, _ := b.Dims()
	enumerate := exact.SignMaximumL2
	if norm == 1 {
		enumerate = exact.SignMaximumL1
	}
	rows, sums := make([][]float64, n), make([]float64, n)
	for i := range rows {
		rows[i] = b.RawRowView(i)
		for j, v := range rows[i] {
			sums[j] += math.Abs(v)
		}
	}
	if n <= 30 && n <= maxDistanceWork>>(n-1) {
		return enumerate(rows), nil
	}
	blocks := 0.0
	for block := range slices.Chunk(rows, rowsTogether) {
		blocks += enumerate(block)
	}
	spectral, err := spectralNorm(b)
	return min(blocks, enumerate([][]float64{sums}), math.Pow(float64(n), 1/norm)*spectral), err
}

// spectralNorm returns the largest singular value.
func spectralNorm(m *mat.Dense) (float64, error) {
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDNone) {
		return 0, check.Errorf("latent", check.ErrInvalid, "the singular values of the coordinates did not converge")
	}
	return svd.Values(nil)[0], nil
}
