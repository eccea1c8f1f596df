// SPDX-License-Identifier: Apache-2.0

package dense_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func normal(r *rand.Rand, rows, cols int) dense.Matrix {
	m := dense.NewMatrix(rows, cols)
	for i := range m.Data {
		m.Data[i] = r.NormFloat64()
	}
	return m
}

// compare checks a gradient against central differences of a loss in the numbers x.
// With h = 1e-5 their error is some 1e-10 by the third derivative and 1e-11 by rounding.
func compare(t *testing.T, what string, x, gradient []float64, loss func() float64) {
	t.Helper()
	const h, tolerance = 1e-5, 1e-8
	for i, at := range x {
		x[i] = at + h
		above := loss()
		x[i] = at - h
		below := loss()
		x[i] = at
		if want := (above - below) / (2 * h); !(math.Abs(gradient[i]-want) <= tolerance*(1+math.Abs(want))) {
			t.Errorf("gradient by %s[%d] = %.12g, want %.12g", what, i, gradient[i], want)
		}
	}
}

func network(r *rand.Rand, in, out int, hidden, last dense.Activation) *dense.Network {
	n := dense.New([]int{in, 5, 4, out}, []dense.Activation{hidden, hidden, last})
	n.Init(r)
	return n
}

var activations = []dense.Activation{dense.Identity, dense.Sigmoid, dense.ReLU, dense.Tanh}

func TestGradients(t *testing.T) {
	labels := []int{2, 0, 1, 2, 1, 0}
	for i, hidden := range activations {
		for j, last := range activations {
			r := seeded(uint64(i)*10 + uint64(j)) //nolint:gosec // small
			n, x, target := network(r, 3, 3, hidden, last), normal(r, 6, 3), normal(r, 6, 3)
			heads := map[string]func(out, d dense.Matrix) float64{
				"squared error": func(out, d dense.Matrix) float64 { return dense.SquaredError(out, target, d) },
				"cross-entropy": func(out, d dense.Matrix) float64 { return dense.CrossEntropy(out, labels, d) },
				"noisy":         func(out, d dense.Matrix) float64 { return dense.NoisyCrossEntropy(out, labels, 0.3, d) },
			}
			for name, head := range heads {
				t.Run(fmt.Sprint(hidden, last, name), func(t *testing.T) {
					var p dense.Pass
					d, grad := dense.NewMatrix(6, 3), make([]float64, len(n.Params()))
					head(n.Forward(&p, x), d)
					dx := n.Backward(&p, d, grad)
					loss := func() float64 { return head(n.Forward(new(dense.Pass), x), dense.Matrix{}) }
					compare(t, "parameter", n.Params(), grad, loss)
					compare(t, "input", x.Data, dx.Data, loss)
				})
			}
		}
	}
}

// Backward adds to the gradient, leaves dOut alone, and returns the same gradient of the
// input for a network that stays as it is.
func TestBackwardAdds(t *testing.T) {
	r := seeded(1)
	n, x, d := network(r, 3, 2, dense.Tanh, dense.Sigmoid), normal(r, 4, 3), normal(r, 4, 2)
	before := slices.Clone(d.Data)
	var p dense.Pass
	n.Forward(&p, x)
	once, twice := make([]float64, len(n.Params())), make([]float64, len(n.Params()))
	dx := slices.Clone(n.Backward(&p, d, once).Data)
	n.Backward(&p, d, twice)
	n.Backward(&p, d, twice)
	for i, g := range once {
		if math.Abs(twice[i]-2*g) > 1e-15 {
			t.Errorf("gradient[%d] = %g after two passes, want twice %g", i, twice[i], g)
		}
	}
	if frozen := n.Backward(&p, d, nil); !slices.Equal(frozen.Data, dx) {
		t.Errorf("gradient of the input = %g without that of the parameters, want %g", frozen.Data, dx)
	}
	if !slices.Equal(d.Data, before) {
		t.Errorf("dOut = %g, want it as it was, %g", d.Data, before)
	}
	p.NoInput = true
	again := make([]float64, len(once))
	if dx := n.Backward(&p, d, again); dx.Data != nil || !slices.Equal(again, once) {
		t.Errorf("with NoInput: %v and %v, want no gradient of the input and %v", dx, again, once)
	}
}

// single returns the gradients by the parameters of each example alone.
func single(n *dense.Network, x, d dense.Matrix) [][]float64 {
	var list [][]float64
	for i := range x.Rows {
		var p dense.Pass
		one := dense.Matrix{Rows: 1, Cols: x.Cols, Stride: x.Cols, Data: dense.Row(x, i)}
		n.Forward(&p, one)
		grad := make([]float64, len(n.Params()))
		n.Backward(&p, dense.Matrix{Rows: 1, Cols: d.Cols, Stride: d.Cols, Data: dense.Row(d, i)}, grad)
		list = append(list, grad)
	}
	return list
}

func norm(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

func TestGradientNorms(t *testing.T) {
	for i, a := range activations {
		r := seeded(uint64(i)) //nolint:gosec // small
		n, x, d := network(r, 3, 2, a, dense.Identity), normal(r, 7, 3), normal(r, 7, 2)
		var p dense.Pass
		n.Forward(&p, x)
		squares := make([]float64, 7)
		squares[2] = 1 // they are added to
		n.GradientNorms(&p, d, squares)
		squares[2]--
		for i, g := range single(n, x, d) {
			if want := norm(g) * norm(g); math.Abs(squares[i]-want) > 1e-13*want+1e-15 {
				t.Errorf("activation %s: squared norm of example %d = %.15g, want %.15g", a, i, squares[i], want)
			}
		}
	}
}

// Gradients are clipped where the square of one factor is too small for a float64, and the
// other factor makes up for it.
func TestClippedGradientOfUnderflow(t *testing.T) {
	n := dense.New([]int{1, 1}, []dense.Activation{dense.Identity})
	for _, delta := range []float64{1e-170, 1e-163, 1e-160, 1e-155} {
		const limit = 1e-17
		var p dense.Pass
		n.Forward(&p, dense.Matrix{Rows: 1, Cols: 1, Stride: 1, Data: []float64{1e153}})
		grad := make([]float64, 2)
		n.ClippedGradient(&p, dense.Matrix{Rows: 1, Cols: 1, Stride: 1, Data: []float64{delta}}, limit, grad)
		if size := math.Hypot(grad[0], grad[1]); size > limit {
			t.Errorf("norm of the gradient with delta %g = %g, want at most %g", delta, size, limit)
		}
	}
}

// The sum of clipped gradients is that of the single ones, each scaled back to the limit;
// what is not finite is left out.
func TestClippedGradient(t *testing.T) {
	r := seeded(3)
	n, x, d := network(r, 3, 2, dense.Sigmoid, dense.Identity), normal(r, 7, 3), normal(r, 7, 2)
	gradients := single(n, x, d)
	norms := make([]float64, len(gradients))
	for i, g := range gradients {
		norms[i] = norm(g)
	}
	sorted := slices.Sorted(slices.Values(norms))
	for _, limit := range []float64{sorted[0] / 2, (sorted[3] + sorted[4]) / 2, 2 * sorted[6]} {
		want := make([]float64, len(n.Params()))
		for i, g := range gradients {
			for j, v := range g {
				want[j] += v * min(1, limit/norms[i])
			}
		}
		var p dense.Pass
		n.Forward(&p, x)
		got := make([]float64, len(want))
		n.ClippedGradient(&p, d, limit, got)
		for j := range got {
			// The limit is kept with a margin of 1e-6.
			if math.Abs(got[j]-want[j]) > 1e-5*limit {
				t.Errorf("limit %g: gradient[%d] = %.12g, want %.12g", limit, j, got[j], want[j])
			}
		}
		for i := range gradients {
			alone := make([]float64, len(want))
			one := dense.Matrix{Rows: 1, Cols: 3, Stride: 3, Data: dense.Row(x, i)}
			n.Forward(&p, one)
			n.ClippedGradient(&p, dense.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: dense.Row(d, i)}, limit, alone)
			if size := norm(alone); size > limit {
				t.Errorf("norm of example %d = %.17g, want at most %g", i, size, limit)
			}
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), 1e200} {
		var p dense.Pass
		n.Forward(&p, x)
		with, without := make([]float64, len(n.Params())), make([]float64, len(n.Params()))
		d := dense.Matrix{Rows: 7, Cols: 2, Stride: 2, Data: slices.Clone(d.Data)}
		d.Data[5] = 0
		d.Data[4] = 0
		n.ClippedGradient(&p, d, 0.1, without)
		d.Data[5] = bad
		n.ClippedGradient(&p, d, 0.1, with)
		if !slices.Equal(with, without) {
			t.Errorf("an example with the gradient %g changes the sum, want it left out", bad)
		}
	}
}
