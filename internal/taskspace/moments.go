// SPDX-License-Identifier: Apache-2.0

package taskspace

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
)

// Moments are the mean and the covariance of n features. NewMoments and GivenMoments make them.
type Moments struct {
	Mean       []float64     // n, in the units of the features
	Covariance *mat.SymDense // n×n, positive semidefinite
}

const (
	// symmetryTolerance bounds |Σij − Σji|/√(Σii Σjj) of a given covariance: one
	// that was printed with ten digits passes, a transposed block does not.
	symmetryTolerance = 1e-9
	// negativeTolerance bounds how far below zero the smallest eigenvalue of a
	// given correlation matrix may lie, per feature, for the same reason.
	negativeTolerance = 1e-9
)

// NewMoments estimates the moments of data (N×n, a row per person, N ≥ 1). The covariance divides
// by N. Sums are taken relative to the first row, so that a constant feature has a variance of
// exactly zero. Errors wrap ErrInvalid: no rows or columns, or a number that is not finite.
func NewMoments(data mat.Matrix) (Moments, error) {
	if err := checkData(data); err != nil {
		return Moments{}, err
	}
	x := mat.DenseCopyOf(data)
	rows, n := x.Dims()
	origin := mat.Row(nil, 0, x)
	shift := columnMeans(x, origin)
	// Twice, not once by the mean, which is rounded where the two parts are not.
	subtractRow(x, origin)
	subtractRow(x, shift)
	m := Moments{Mean: origin, Covariance: mat.NewSymDense(n, nil)}
	for j, v := range shift {
		m.Mean[j] += v
	}
	m.Covariance.SymOuterK(1/float64(rows), x.T())
	return m, m.checkFinite()
}

// GivenMoments returns moments with the given mean (n) and covariance (n×n) after checking
// them; both are copied. The covariance may be asymmetric and indefinite by rounding (1e-9 in
// units of correlation); it is symmetrized. Errors wrap ErrInvalid.
func GivenMoments(mean []float64, covariance mat.Matrix) (Moments, error) {
	n := len(mean)
	if rows, cols := covariance.Dims(); n == 0 || rows != n || cols != n {
		return Moments{}, check.Field("latent", "covariance", fmt.Sprintf("%d×%d matrix", rows, cols),
			fmt.Sprintf("a square one for the %d features of the mean, at least one", n))
	}
	m := Moments{Mean: slices.Clone(mean), Covariance: mat.NewSymDense(n, nil)}
	for i := range n {
		for j := i; j < n; j++ {
			m.Covariance.SetSym(i, j, covariance.At(i, j)/2+covariance.At(j, i)/2)
		}
	}
	if err := m.checkFinite(); err != nil {
		return Moments{}, err
	}
	for i := range n {
		for j := range i {
			gap := math.Abs(covariance.At(i, j) - covariance.At(j, i))
			scale := math.Sqrt(m.Covariance.At(i, i)) * math.Sqrt(m.Covariance.At(j, j))
			if !(gap <= symmetryTolerance*scale) {
				return Moments{}, check.Field("latent", fmt.Sprintf("covariance(%d,%d)", i, j), covariance.At(i, j),
					fmt.Sprintf("covariance(%d,%d) = %v, the matrix is symmetric", j, i, covariance.At(j, i)))
			}
		}
	}
	correlation, _ := equilibrate(m.Covariance)
	var eigen mat.EigenSym
	if !eigen.Factorize(correlation, false) {
		return Moments{}, check.Errorf("latent", check.ErrInvalid, "the eigenvalues of the covariance did not converge")
	}
	if least := eigen.Values(nil)[0]; least < -negativeTolerance*float64(n) {
		return Moments{}, check.Field("latent", "smallest eigenvalue of the covariance (as correlations)", least,
			"at least 0, a covariance is positive semidefinite")
	}
	return m, nil
}

// ridged returns the covariance with ridge·tr(Σ)/n added to its diagonal.
func ridged(covariance *mat.SymDense, ridge float64) *mat.SymDense {
	n := covariance.SymmetricDim()
	return addDiagonal(covariance, slices.Repeat([]float64{ridge * mat.Trace(covariance) / float64(n)}, n))
}

// checkFinite refuses numbers that are not finite and negative variances.
func (m Moments) checkFinite() error {
	for i, mean := range m.Mean {
		if !check.Finite(mean) {
			return check.Field("latent", fmt.Sprintf("mean[%d]", i), mean, "a finite number")
		}
		if v := m.Covariance.At(i, i); v < 0 {
			return check.Field("latent", fmt.Sprintf("covariance(%d,%d)", i, i), v, "at least 0, it is a variance")
		}
	}
	return checkEntries("covariance", m.Covariance)
}

// checkEntries refuses numbers that are not finite.
func checkEntries(name string, m mat.Matrix) error {
	rows, cols := m.Dims()
	for i := range rows {
		for j := range cols {
			if v := m.At(i, j); !check.Finite(v) {
				return check.Field("latent", fmt.Sprintf("%s(%d,%d)", name, i, j), v, "a finite number")
			}
		}
	}
	return nil
}

// checkData refuses data that is empty or holds a number that is not finite.
func checkData(data mat.Matrix) error {
	if rows, cols := data.Dims(); rows == 0 || cols == 0 {
		return check.Field("latent", "data", fmt.Sprintf("%d×%d matrix", rows, cols), "at least one row and one column")
	}
	return checkEntries("data", data)
}

// equilibrate returns S⁻¹ΣS⁻¹ and the diagonal of S, the standard deviations (1 where the variance
// is zero). With it, decisions about conditioning do not depend on the units of the features.
func equilibrate(covariance *mat.SymDense) (correlation *mat.SymDense, deviation []float64) {
	n := covariance.SymmetricDim()
	deviation = make([]float64, n)
	for i := range n {
		deviation[i] = 1
		if v := covariance.At(i, i); v > 0 {
			deviation[i] = math.Sqrt(v)
		}
	}
	correlation = mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			correlation.SetSym(i, j, covariance.At(i, j)/deviation[i]/deviation[j])
		}
	}
	return correlation, deviation
}

// columnMeans returns the mean of the rows of x less the origin.
func columnMeans(x *mat.Dense, origin []float64) []float64 {
	rows, cols := x.Dims()
	means := make([]float64, cols)
	for i := range rows {
		for j, v := range x.RawRowView(i) {
			means[j] += v - origin[j]
		}
	}
	for j := range means {
		means[j] /= float64(rows)
	}
	return means
}

// subtractRow subtracts row from every row of x.
func subtractRow(x *mat.Dense, row []float64) {
	x.Apply(func(_, j int, v float64) float64 { return v - row[j] }, x)
}
