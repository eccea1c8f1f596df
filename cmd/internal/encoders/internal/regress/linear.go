package regress

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
)

// Linear turns an input x, a row, into x·Weights + Bias.
type Linear struct {
	Weights dense.Matrix // in×out
	Bias    []float64    // out
}

// Apply returns the outputs for the rows of x.
func (l *Linear) Apply(x dense.Matrix) dense.Matrix {
	out := dense.NewMatrix(x.Rows, l.Weights.Cols)
	for i := range out.Rows {
		copy(dense.Row(out, i), l.Bias)
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, x, l.Weights, 1, out)
	return out
}

// FitRidge returns the weights W and the bias b of least
//
//	mean over rows of ‖y - x·W - b‖² + ridge·‖W‖²
//
// for a ridge that is finite and not negative. Where columns of x depend on each other
// and ridge is 0, the least ridge with which the system can be solved takes its place.
//
// Errors wrap check.ErrInvalid: shapes that do not fit, numbers that are not finite.
func FitRidge(x, y dense.Matrix, ridge float64) (*Linear, error) {
	list := check.In("regress")
	checkInputs(list, x, ridge)
	list.Want(y.Rows == x.Rows && y.Cols >= 1 && y.Stride == y.Cols, "target", size(y), "%d whole rows, as many as the features, and a column", x.Rows)
	list.Want(check.Finite(y.Data...), "target", "NaN or infinite", "finite numbers")
	if err := list.Err(); err != nil {
		return nil, err
	}
	x, xMean := centered(x)
	y, yMean := centered(y)
	n, in := float64(x.Rows), x.Cols
	gram := mat.NewSymDense(in, nil)
	blas64.Syrk(blas.Trans, 1/n, x, 0, gram.RawSymmetric())
	l := &Linear{Weights: dense.NewMatrix(in, y.Cols), Bias: yMean}
	blas64.Gemm(blas.Trans, blas.NoTrans, 1/n, x, y, 0, l.Weights)
	c, err := factor(gram, ridge)
	if err != nil {
		return nil, err
	}
	w := mat.NewDense(in, y.Cols, l.Weights.Data)
	if err := c.SolveTo(w, w); err != nil && !isCondition(err) {
		return nil, check.Errorf("regress", nil, "least squares: %w", err)
	}
	blas64.Gemv(blas.Trans, -1, l.Weights, vector(xMean), 1, vector(l.Bias))
	return l, nil
}

// factor returns the Cholesky factors of gram + ridge·I, with a larger ridge if need be.
func factor(gram *mat.SymDense, ridge float64) (*mat.Cholesky, error) {
	in := gram.SymmetricDim()
	mean := mat.Trace(gram) / float64(in)
	// The rounding of a Gram matrix is some 1e-16 of its trace; the factors are worth
	// something where the ridge is well above it.
	for least := 1e-13 * mean; ; least *= 10 {
		shifted := mat.NewSymDense(in, nil)
		shifted.CopySym(gram)
		for i := range in {
			shifted.SetSym(i, i, gram.At(i, i)+ridge)
		}
		var c mat.Cholesky
		if c.Factorize(shifted) && c.Cond() < 1e13 {
			return &c, nil
		}
		if mean == 0 {
			least = 1 // no feature varies: all weights are 0
		}
		if !(least <= math.MaxFloat64) {
			return nil, check.Errorf("regress", check.ErrInvalid, "the features are too large for least squares")
		}
		ridge = max(ridge, least)
	}
}

func isCondition(err error) bool {
	_, ok := err.(mat.Condition) //nolint:errorlint // as it is returned
	return ok
}

func centered(x dense.Matrix) (dense.Matrix, []float64) {
	mean := dense.Means(x)
	c := x
	c.Data = slices.Clone(x.Data)
	for i := range c.Rows {
		floats.Sub(dense.Row(c, i), mean)
	}
	return c, mean
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }
