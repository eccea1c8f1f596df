// SPDX-License-Identifier: Apache-2.0

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
	"github.com/noisewright/noisewright/internal/check"
)

// guesser returns logits of the classes, or the numbers, for the rows of x.
type guesser func(x dense.Matrix) dense.Matrix

const (
	// ridge keeps the weights of the linear attackers finite.
	ridge = 1e-6
	// iterations limits their search.
	iterations = 500
)

func learn(ctx context.Context, a Attacker, t People, r *rand.Rand) (guesser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o := regress.Options{Ridge: ridge, MajorIterations: iterations}
	switch a {
	case Plain:
	case Linear:
		o.Bias, o.Standardize = true, true
	case MLP:
		return learnMLP(ctx, t, r)
	case RBF:
		return learnRBF(ctx, t, r)
	}
	l, err := regress.Fit(t.X, t.Target, o)
	if err != nil {
		return nil, err
	}
	return l.Apply, nil
}

func (t People) rows(which []int) People { return People{dense.Pick(t.X, which), t.Pick(which)} }

// holdOut splits people at random, one part in parts of them into held.
func holdOut(n, parts int, r *rand.Rand) (rest, held []int) {
	order := r.Perm(n)
	k := max(1, n/parts)
	return order[k:], order[:k]
}

const (
	hidden   = 64
	batch    = 64
	patience = 20     // epochs without a lower loss of the people held out
	maxSteps = 20_000 // of all epochs
	decay    = 1e-4
	rate     = 2e-3
)

func learnMLP(ctx context.Context, t People, r *rand.Rand) (guesser, error) {
	in := dense.Standardize(t.X)
	t.X = in.Apply(t.X)
	var out dense.Scaling
	if t.Classes == 0 {
		out = dense.Standardize(t.Values)
		t.Values = out.Apply(t.Values)
	}
	rest, heldRows := holdOut(t.X.Rows, 10, r)
	held := t.rows(heldRows)
	n := dense.NewLearner(dense.MLP(t.X.Cols, []int{hidden}, dense.ReLU, t.Outputs()), dense.Adam{Rate: rate, WeightDecay: decay})
	n.Init(r)
	best, bestLoss, since := n.Clone(), math.Inf(1), 0
	heldPass := dense.Pass{}
	for steps := 0; steps < maxSteps && since < patience; since++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		for from := 0; from < len(rest); from += batch {
			some := t.rows(rest[from:min(from+batch, len(rest))])
			n.Fit(some.X, dense.NewMatrix(some.X.Rows, t.Outputs()), some.Loss)
			steps++
		}
		loss := held.Loss(n.Forward(&heldPass, held.X), dense.Matrix{})
		if !check.Finite(loss) {
			return nil, check.Errorf("attack", nil, "the loss of attacker %s is not finite after %d steps", MLP, steps)
		}
		if loss < bestLoss {
			bestLoss, since = loss, -1
			copy(best.Params(), n.Params())
		}
	}
	return func(x dense.Matrix) dense.Matrix {
		y := best.Forward(new(dense.Pass), in.Apply(x))
		if t.Classes == 0 {
			out.Undo(y)
		}
		return y
	}, nil
}

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
func learnRBF(ctx context.Context, t People, r *rand.Rand) (guesser, error) {
	if t.X.Rows > maxPeople {
		t = t.rows(r.Perm(t.X.Rows)[:maxPeople])
	}
	in := dense.Standardize(t.X)
	t.X = in.Apply(t.X)
	directions := dense.NewMatrix(t.X.Cols, frequencies)
	for i := range directions.Data {
		directions.Data[i] = r.NormFloat64()
	}
	median := medianDistance(t.X, r)
	rest, held := holdOut(t.X.Rows, 5, r)
	fit := func(t People, width, ridge float64) (guesser, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l, err := regress.Fit(features(t.X, directions, width*median), t.Target, regress.Options{Ridge: ridge, Bias: true, MajorIterations: rbfIterations})
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
		if loss := to.mistakes(guess(to.X)); loss < least {
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

// mistakes is the share of people whose class is not the likeliest, or the mean squared error.
func (t People) mistakes(out dense.Matrix) float64 {
	if t.Classes == 0 {
		return t.Loss(out, dense.Matrix{})
	}
	return t.Wrong(out)
}

// features are cos and sin of x·directions/width: their products are about the Gaussian kernel.
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
