// SPDX-License-Identifier: Apache-2.0

package dense_test

import (
	"math"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
)

func TestSquaredError(t *testing.T) {
	r := seeded(1)
	pred, target, d := normal(r, 4, 3), normal(r, 4, 3), dense.NewMatrix(4, 3)
	want := 0.0
	for i, v := range pred.Data {
		want += (v - target.Data[i]) * (v - target.Data[i]) / 12
	}
	if got := dense.SquaredError(pred, target, d); math.Abs(got-want) > 1e-15 {
		t.Errorf("loss = %g, want %g", got, want)
	}
	compare(t, "pred", pred.Data, d.Data, func() float64 { return dense.SquaredError(pred, target, dense.Matrix{}) })
}

// The loss is that of equation 8 with probabilities, and the gradient softmax less
// posterior.
func TestNoisyCrossEntropy(t *testing.T) {
	labels := []int{1, 3, 0, 0, 2}
	for _, flip := range []float64{0, 0.1, 0.75, 0.99} {
		z, d := normal(seeded(2), 5, 4), dense.NewMatrix(5, 4)
		got := dense.NoisyCrossEntropy(z, labels, flip, d)
		want := 0.0
		for i, label := range labels {
			sum, noisy := 0.0, 0.0
			var p [4]float64
			for y, v := range dense.Row(z, i) {
				sum += math.Exp(v)
				p[y] = flip / 3
				if y == label {
					p[y] = 1 - flip
				}
				p[y] *= math.Exp(v)
				noisy += p[y]
			}
			want -= math.Log(noisy/sum) / 5
			for y, v := range dense.Row(z, i) {
				if want := (math.Exp(v)/sum - p[y]/noisy) / 5; math.Abs(d.Data[i*4+y]-want) > 1e-16 {
					t.Errorf("flip %g: gradient[%d][%d] = %g, want %g", flip, i, y, d.Data[i*4+y], want)
				}
			}
		}
		if math.Abs(got-want) > 1e-14 {
			t.Errorf("flip %g: loss = %.15g, want %.15g", flip, got, want)
		}
		compare(t, "logits", z.Data, d.Data, func() float64 { return dense.NoisyCrossEntropy(z, labels, flip, dense.Matrix{}) })
	}
}

// Logits of any size give a finite loss and gradient.
func TestCrossEntropyOfLargeLogits(t *testing.T) {
	z := dense.Matrix{Rows: 2, Cols: 3, Stride: 3, Data: []float64{1e4, -1e4, 0, 800, 801, 802}}
	d := dense.NewMatrix(2, 3)
	if got, want := dense.CrossEntropy(z, []int{1, 2}, d), (2e4+math.Log(1+math.Exp(-1)+math.Exp(-2)))/2; math.Abs(got-want) > 1e-10 {
		t.Errorf("loss = %.15g, want %.15g", got, want)
	}
	if !check.Finite(d.Data...) || d.Data[0] != 0.5 || d.Data[1] != -0.5 {
		t.Errorf("gradient = %g, want it finite and ±1/2 in the first row", d.Data)
	}
	if got := dense.NoisyCrossEntropy(z, []int{1, 2}, 0.25, d); math.Abs(got-(math.Log(8)+math.Log((1+math.Exp(-1)+math.Exp(-2))/(0.75+0.125*math.Exp(-1)+0.125*math.Exp(-2))))/2) > 1e-12 {
		t.Errorf("noisy loss = %.15g", got)
	}
}

// The divergence is the integral of p·log(p/q), by the midpoint rule with an error of some
// (step/b)².
func TestLaplaceKL(t *testing.T) {
	const b0 = dense.LaplacePrior
	density := func(x, b float64) float64 { return math.Exp(-math.Abs(x)/b) / (2 * b) }
	for _, c := range []struct{ mu, b float64 }{{0, b0}, {0, 0.1}, {1.5, 0.5}, {-0.3, 2}, {5, 1}} {
		const step = 1e-3
		want := 0.0
		for i := -60_000; i < 60_000; i++ {
			x := (float64(i) + 0.5) * step
			if p := density(x-c.mu, c.b); p > 0 {
				want += step * p * (math.Log(b0/c.b) - math.Abs(x-c.mu)/c.b + math.Abs(x)/b0)
			}
		}
		mean := dense.Matrix{Rows: 1, Cols: 1, Stride: 1, Data: []float64{c.mu}}
		if got := dense.LaplaceKL(mean, []float64{math.Log(c.b)}, dense.Matrix{}, nil); math.Abs(got-want) > step*step/(c.b*c.b) {
			t.Errorf("mean %g, scale %g: %.9g, want %.9g", c.mu, c.b, got, want)
		}
	}
	mean, d := normal(seeded(4), 5, 3), dense.NewMatrix(5, 3)
	scales, dScales := []float64{-2, 0.1, 1.5}, make([]float64, 3)
	loss := func() float64 { return dense.LaplaceKL(mean, scales, dense.Matrix{}, nil) }
	if got := dense.LaplaceKL(mean, scales, d, dScales); got != loss() {
		t.Errorf("loss = %g with gradients, want %g", got, loss())
	}
	compare(t, "mean", mean.Data, d.Data, loss)
	compare(t, "logScale", scales, dScales, loss)
	mean.Data[0] = 0
	if dense.LaplaceKL(mean, scales, d, nil); d.Data[0] != 0 {
		t.Errorf("gradient at mean 0 = %g, want 0", d.Data[0])
	}
}
