package taskspace

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// maxCondition is the largest condition number of the (ridged) correlation
// matrix that is inverted. Beyond it the smallest coordinates have fewer than
// four correct digits, and are differences of features that are copies of each
// other for every practical purpose.
const maxCondition = 1e12

// Coordinates are the task coordinates of n features,
//
//	y = A(x − μ),   A = QᵀL⁻¹,   x = μ + A⁻¹y,   A⁻¹ = LQ,
//
// with Σ = LLᵀ (Cholesky), P = KL and PᵀP = QΛQᵀ. They are uncorrelated and of
// variance one under the moments they were made from, and
// ‖K(x − x̂)‖² = Σ λ_i (y_i − ŷ_i)²: each has its own price.
//
// Coordinates are immutable and safe for concurrent use.
type Coordinates struct {
	mean      []float64
	task      *mat.Dense // m×n
	lambda    []float64  // n, descending
	analysis  *mat.Dense // A, n×n
	synthesis *mat.Dense // A⁻¹, n×n
}

// NewCoordinates returns the task coordinates of features with moments m (n
// features) for the task matrix K (m×n; what is read of x is Kx). A nil task is
// the identity.
//
// The ridge, finite and at least 0, is relative to the mean variance: the
// coordinates are those of Σ + ridge·tr(Σ)/n·I. Zero means none. A small one (1e-6)
// makes the coordinates of features that are constant or copies of each other well
// defined.
//
// Each row of A has its entry of largest magnitude positive, so that the signs
// are reproducible.
//
// Errors wrap ErrInvalid: sizes that differ, numbers that are not finite, and a
// covariance that is singular or whose correlation matrix has a condition number
// above 1e12; the text says which feature is constant, if one is, and to use a ridge.
//
// The cost is O(n³ + mn²): a few seconds for n = m = 1000.
//
// Source: Cheng, Tang and Chinchali (2022), section 4.1.
func NewCoordinates(m Moments, task *mat.Dense, ridge float64) (*Coordinates, error) {
	if err := m.checkFinite(); err != nil {
		return nil, err
	}
	if !(ridge >= 0) || !check.Finite(ridge) {
		return nil, check.Field("latent", "ridge", ridge, "a finite number of at least 0")
	}
	n := len(m.Mean)
	task, err := checkTask(task, n)
	if err != nil {
		return nil, err
	}
	lower, err := choleskyFactor(m.ridged(ridge))
	if err != nil {
		return nil, err
	}

	var p mat.Dense
	p.Mul(task, lower)
	gram := mat.NewSymDense(n, nil)
	gram.SymOuterK(1, p.T())
	for i := range n {
		if v := gram.At(i, i); !check.Finite(v) {
			return nil, check.Field("latent", "largest price of a coordinate", v, "a finite number; rescale the task matrix")
		}
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
		mean: slices.Clone(m.Mean), task: task, lambda: lambda,
		analysis: new(mat.Dense), synthesis: new(mat.Dense),
	}
	var transposed mat.Dense // Aᵀ = L⁻ᵀQ
	if err := lower.SolveTo(&transposed, true, q); err != nil {
		return nil, check.Errorf("latent", check.ErrInvalid, "the covariance cannot be inverted (%w), use a ridge", err)
	}
	c.analysis.CloneFrom(transposed.T())
	c.synthesis.Mul(lower, q)
	c.fixSigns()
	return c, nil
}

// fixSigns makes the entry of largest magnitude in each row of A positive.
func (c *Coordinates) fixSigns() {
	for i := range c.lambda {
		row := c.analysis.RawRowView(i)
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
			c.synthesis.Set(j, i, -c.synthesis.At(j, i))
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
	for i := range rows {
		for j, v := range task.RawRowView(i) {
			if !check.Finite(v) {
				return nil, check.Field("latent", fmt.Sprintf("task(%d,%d)", i, j), v, "a finite number")
			}
		}
	}
	return mat.DenseCopyOf(task), nil
}

// Identity returns the n×n identity.
func Identity(n int) *mat.Dense {
	m := mat.NewDense(n, n, nil)
	for i := range n {
		m.Set(i, i, 1)
	}
	return m
}

// Len returns n, the number of features and of coordinates.
func (c *Coordinates) Len() int { return len(c.lambda) }

// Mean returns a copy of the mean of the features.
func (c *Coordinates) Mean() []float64 { return slices.Clone(c.mean) }

// Lambda returns a copy of the n prices of the coordinates, descending and at
// least 0, in units of the task loss. Their sum is the loss of releasing nothing.
func (c *Coordinates) Lambda() []float64 { return slices.Clone(c.lambda) }

// Task returns a copy of the task matrix K, m×n.
func (c *Coordinates) Task() *mat.Dense { return mat.DenseCopyOf(c.task) }

// Analysis returns a copy of A (n×n), y = A(x − μ).
func (c *Coordinates) Analysis() *mat.Dense { return mat.DenseCopyOf(c.analysis) }

// Synthesis returns a copy of A⁻¹ (n×n), x = μ + A⁻¹y.
func (c *Coordinates) Synthesis() *mat.Dense { return mat.DenseCopyOf(c.synthesis) }

// Transform returns the coordinates (N×n) of the rows of data (N×n). Errors wrap
// ErrInvalid: sizes that differ, numbers that are not finite.
func (c *Coordinates) Transform(data mat.Matrix) (*mat.Dense, error) {
	all := &Encoder{Rows: c.analysis, Mean: c.mean}
	return all.Encode(data)
}

// Encoder returns the encoder of unit coordinates u_i = (s_i/r_i)·y_i for body
// semi-axes s (see [Scaling.SemiAxes]) and clipping radii r of the
// coordinates; both have the same length, at most n. Coordinates with s_i = 0
// are not released. For [bundle.Ball] all radii are the radius of the ball.
//
// Errors wrap ErrInvalid: lengths, an axis that is negative, a radius that is
// not positive, no positive axis at all.
func (c *Coordinates) Encoder(domain bundle.Domain, axes, radii []float64) (*Encoder, error) {
	if len(axes) != len(radii) || len(axes) > c.Len() {
		return nil, check.Field("latent", "number of semi-axes and radii", fmt.Sprintf("%d and %d", len(axes), len(radii)),
			fmt.Sprintf("equal and at most %d", c.Len()))
	}
	e := &Encoder{Mean: c.Mean(), Domain: domain}
	var entries []float64
	for i, s := range axes {
		if s == 0 {
			continue
		}
		if !(s > 0) || !check.Finite(s) || !(radii[i] > 0) || !check.Finite(radii[i]) {
			return nil, check.Field("latent", fmt.Sprintf("semi-axis and radius %d", i), fmt.Sprintf("%g and %g", s, radii[i]),
				"finite, the axis at least 0 and the radius positive")
		}
		e.Axes = append(e.Axes, s)
		for _, a := range c.analysis.RawRowView(i) {
			entries = append(entries, s/radii[i]*a)
		}
	}
	if len(e.Axes) == 0 {
		return nil, check.Field("latent", "semi-axes", axes, "at least one positive")
	}
	e.Rows = mat.NewDense(len(e.Axes), c.Len(), entries)
	return e, nil
}
