// SPDX-License-Identifier: Apache-2.0

package taskspace

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// maxCondition is the largest condition number of the (ridged) correlation matrix that is inverted.
// Beyond it the smallest coordinates have fewer than four correct digits, and are differences of
// features that are copies of each other for every practical purpose.
const maxCondition = 1e12

// Coordinates are the task coordinates of n features,
//
//	y = A(x − μ),   A = QᵀL⁻¹,   x = μ + A⁻¹y,   A⁻¹ = LQ,
//
// with Σ = LLᵀ (Cholesky), P = KL and PᵀP = QΛQᵀ, so that ‖K(x − x̂)‖² = Σ λ_i (y_i − ŷ_i)².
// They are not to be modified, and safe for concurrent use.
type Coordinates struct {
	Mean []float64  // μ, n
	Task *mat.Dense // K, m×n
	// Lambda are the n prices, descending and at least 0, in units of the task
	// loss. Their sum is the loss of releasing nothing.
	Lambda    []float64
	Analysis  *mat.Dense // A, n×n
	Synthesis *mat.Dense // A⁻¹, n×n
}

// NewCoordinates returns the task coordinates of features with moments m for the task matrix K
// (m×n); nil is the identity. They are those of the covariance Σ + ridge·tr(Σ)/n·I, ridge >= 0: a
// small one (1e-6) makes the coordinates of features that are constant or copies of each other well
// defined. Each row of A has its entry of largest magnitude positive, so signs are reproducible.
//
// Errors wrap ErrInvalid: a task of another size or with numbers that are not finite, and a
// covariance that is singular or whose correlation matrix has a condition number
// above 1e12; the text says which feature is constant, if one is, and to use a ridge.
//
// Source: Cheng, Tang and Chinchali (2022), section 4.1.
func NewCoordinates(m Moments, task *mat.Dense, ridge float64) (*Coordinates, error) {
	if !(ridge >= 0) || !check.Finite(ridge) {
		return nil, check.Field("latent", "ridge", ridge, "a finite number of at least 0")
	}
	n := len(m.Mean)
	task, err := checkTask(task, n)
	if err != nil {
		return nil, err
	}
	lower, err := choleskyFactor(ridged(m.Covariance, ridge))
	if err != nil {
		return nil, err
	}

	var p mat.Dense
	p.Mul(task, lower)
	gram := mat.NewSymDense(n, nil)
	gram.SymOuterK(1, p.T())
	if v := mat.Trace(gram); !check.Finite(v) {
		return nil, check.Field("latent", "largest price of a coordinate", v, "a finite number; rescale the task matrix")
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return nil, check.Errorf("latent", check.ErrInvalid, "the eigenvalues of the task's prices did not converge")
	}
	lambda := eigen.Values(nil)
	slices.Reverse(lambda)
	for i, v := range lambda {
		lambda[i] = max(v, 0) // PᵀP has no negative ones; rounding may
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	q := mat.NewDense(n, n, nil)
	for i := range n { // ascending to descending
		for j, v := range vectors.RawRowView(i) {
			q.Set(i, n-1-j, v)
		}
	}

	c := &Coordinates{
		Mean: m.Mean, Task: task, Lambda: lambda,
		Analysis: new(mat.Dense), Synthesis: new(mat.Dense),
	}
	var transposed mat.Dense // Aᵀ = L⁻ᵀQ
	if err := lower.SolveTo(&transposed, true, q); err != nil {
		return nil, check.Errorf("latent", check.ErrInvalid, "the covariance cannot be inverted (%w), use a ridge", err)
	}
	c.Analysis.CloneFrom(transposed.T())
	c.Synthesis.Mul(lower, q)
	c.fixSigns()
	return c, nil
}

// fixSigns makes the entry of largest magnitude in each row of A positive.
func (c *Coordinates) fixSigns() {
	for i := range c.Lambda {
		row := c.Analysis.RawRowView(i)
		largest := 0.
		for _, v := range row {
			if math.Abs(v) > math.Abs(largest) {
				largest = v
			}
		}
		if largest >= 0 {
			continue
		}
		for j := range row {
			row[j] = -row[j]
			c.Synthesis.Set(j, i, -c.Synthesis.At(j, i))
		}
	}
}

// choleskyFactor returns the lower triangular L with LLᵀ = covariance, or an
// error that says what to do about a covariance that has none.
func choleskyFactor(covariance *mat.SymDense) (*mat.TriDense, error) {
	for i := range covariance.SymmetricDim() {
		if covariance.At(i, i) == 0 {
			return nil, check.Errorf("latent", check.ErrInvalid, "feature %d has zero variance, want a positive one: drop the feature or use a ridge", i)
		}
	}
	correlation, deviation := equilibrate(covariance)
	var cholesky mat.Cholesky
	if !cholesky.Factorize(correlation) {
		return nil, check.Errorf("latent", check.ErrInvalid, "the covariance is singular (a feature is a linear function of the others), use a ridge")
	}
	if condition := cholesky.Cond(); !(condition <= maxCondition) {
		return nil, check.Errorf("latent", check.ErrInvalid, "condition number of the correlation matrix = %.3g, want at most %g: use a ridge", condition, maxCondition)
	}
	var lower mat.TriDense
	cholesky.LTo(&lower)
	for i, s := range deviation {
		for j := range i + 1 {
			lower.SetTri(i, j, s*lower.At(i, j))
		}
	}
	return &lower, nil
}

// checkTask returns a copy of a task matrix for n features, the identity for nil.
func checkTask(task *mat.Dense, n int) (*mat.Dense, error) {
	if task == nil {
		return Identity(n), nil
	}
	rows, cols := task.Dims()
	if rows == 0 || cols != n {
		return nil, check.Field("latent", "task", fmt.Sprintf("%d×%d matrix", rows, cols), fmt.Sprintf("a column for each of %d features", n))
	}
	return mat.DenseCopyOf(task), checkEntries("task", task)
}

// Identity returns the n×n identity.
func Identity(n int) *mat.Dense {
	m := mat.NewDense(n, n, nil)
	for i := range n {
		m.Set(i, i, 1)
	}
	return m
}

// Transform returns the coordinates (N×n) of the rows of data (N×n).
func (c *Coordinates) Transform(data mat.Matrix) *mat.Dense { return c.all().Encode(data) }

// all is the encoder that releases the coordinates as they are.
func (c *Coordinates) all() *Encoder { return &Encoder{Rows: c.Analysis, Mean: c.Mean} }

// Encoder returns the encoder of unit coordinates u_i = (s_i/r_i)·y_i for body
// semi-axes s (see [Scaling.SemiAxes]), at least 0 and not all 0, and as many clipping
// radii r of the first coordinates, positive. Coordinates with s_i = 0 are not released.
// For [bundle.Ball] all radii are the radius of the ball.
func (c *Coordinates) Encoder(domain bundle.Domain, axes, radii []float64) *Encoder {
	e := &Encoder{Mean: c.Mean, Domain: domain}
	var entries []float64
	for i, s := range axes {
		if s == 0 {
			continue
		}
		e.Axes = append(e.Axes, s)
		for _, a := range c.Analysis.RawRowView(i) {
			entries = append(entries, s/radii[i]*a)
		}
	}
	e.Rows = mat.NewDense(len(e.Axes), len(c.Mean), entries)
	return e
}

// BallRadii returns, for every z = 1…n (at index z−1), the smallest radius of a ball that leaves at
// least the share clip of the rows of y (N×n task coordinates) unclipped when the first z are
// released: that quantile of the norms of (y_1…y_z). 0 < clip ≤ 1; 1 gives the largest norm.
func BallRadii(y *mat.Dense, clip float64) []float64 { return radii(y, clip, math.Hypot) }

// CoordinateRadii returns the smallest c_i, i = 1…n, such that at least the share
// clip of the rows of y has |y_i| ≤ c_i, one coordinate at a time.
func CoordinateRadii(y *mat.Dense, clip float64) []float64 {
	return radii(y, clip, func(_, v float64) float64 { return math.Abs(v) })
}

// radii returns quantiles of sizes of the rows, each from the one before and a coordinate.
func radii(y *mat.Dense, clip float64, size func(before, v float64) float64) []float64 {
	rows, n := y.Dims()
	sizes, radii := make([]float64, rows), make([]float64, n)
	for j := range n {
		for i := range sizes {
			sizes[i] = size(sizes[i], y.At(i, j))
		}
		radii[j] = quantile(slices.Clone(sizes), clip)
	}
	return radii
}

// quantile sorts values and returns the smallest that a share (0 < share ≤ 1) does not exceed.
func quantile(values []float64, share float64) float64 {
	slices.Sort(values)
	// Not from ⌈share·N⌉: 0.07·100 is above 7 in float64, 7/100 is 0.07.
	k := sort.Search(len(values)-1, func(k int) bool { return float64(k+1)/float64(len(values)) >= share })
	return values[k]
}
