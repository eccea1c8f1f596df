package attack

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/regress"
)

const (
	// frequencies is the number of random ones; each gives two features.
	frequencies = 512
	// maxPeople bounds the memory of the features: 8192·1024 numbers are 64 MB.
	maxPeople = 8192
	// rbfIterations limits the searches, which the ridge makes short.
	rbfIterations = 50
)

// The choices that are tried, widths in units of the median distance of two people: all
// widths with the first ridge, and then the other ridges with the best of them.
var (
	widths = []float64{0.5, 0.25, 1}
	ridges = []float64{1e-4, 1e-3, 1e-5}
)

// learnRBF picks width and ridge with people held out, and learns again from all.
func learnRBF(ctx context.Context, t task, r *rand.Rand) (guesser, error) {
	if t.x.Rows > maxPeople {
		t = t.rows(r.Perm(t.x.Rows)[:maxPeople])
	}
	in := dense.Standardize(t.x)
	t.x = in.Apply(t.x)
	directions := dense.NewMatrix(t.x.Cols, frequencies)
	for i := range directions.Data {
		directions.Data[i] = r.NormFloat64()
	}
	median := medianDistance(t.x, r)
	rest, held := holdOut(t.x.Rows, 5, r)
	fit := func(t task, width, ridge float64) (guesser, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t.x = features(t.x, directions, width*median)
		l, err := t.linear(regress.Options{Ridge: ridge, Bias: true, MajorIterations: rbfIterations})
		if err != nil {
			return nil, err
		}
		return func(x dense.Matrix) dense.Matrix { return l.Apply(features(x, directions, width*median)) }, nil
	}
	from, to := t.rows(rest), t.rows(held)
	least, bestWidth, bestRidge := math.Inf(1), 0.0, 0.0
	try := func(width, ridge float64) error {
		guess, err := fit(from, width, ridge)
		if err != nil {
			return err
		}
		if loss := to.mistakes(guess(to.x)); loss < least {
			least, bestWidth, bestRidge = loss, width, ridge
		}
		return nil
	}
	for _, w := range widths {
		if err := try(w, ridges[0]); err != nil {
			return nil, err
		}
	}
	for w, k := bestWidth, 1; k < len(ridges); k++ {
		if err := try(w, ridges[k]); err != nil {
			return nil, err
		}
	}
	guess, err := fit(t, bestWidth, bestRidge)
	if err != nil {
		return nil, err
	}
	return func(x dense.Matrix) dense.Matrix { return guess(in.Apply(x)) }, nil
}

// mistakes is the share of people whose class is not the likeliest, or the mean squared
// error.
func (t task) mistakes(out dense.Matrix) float64 {
	if t.Classes == 0 {
		return t.Loss(out, dense.Matrix{})
	}
	return t.Wrong(out)
}

// features returns cos and sin of x·directions/width: inner products of rows are about
// the Gaussian kernel of that width.
func features(x, directions dense.Matrix, width float64) dense.Matrix {
	angles := dense.NewMatrix(x.Rows, directions.Cols)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1/width, x, directions, 0, angles)
	f := dense.NewMatrix(x.Rows, 2*directions.Cols)
	scale := 1 / math.Sqrt(float64(directions.Cols))
	for i, a := range angles.Data {
		sin, cos := math.Sincos(a)
		f.Data[2*i], f.Data[2*i+1] = scale*cos, scale*sin
	}
	return f
}

// medianDistance is that of some pairs of rows, and 1 if most are the same.
func medianDistance(x dense.Matrix, r *rand.Rand) float64 {
	distances := make([]float64, 2000)
	for i := range distances {
		distances[i] = floats.Distance(dense.Row(x, r.IntN(x.Rows)), dense.Row(x, r.IntN(x.Rows)), 2)
	}
	slices.Sort(distances)
	if m := distances[len(distances)/2]; m > 0 {
		return m
	}
	return 1
}
