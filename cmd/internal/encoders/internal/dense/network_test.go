// SPDX-License-Identifier: Apache-2.0

package dense_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/latent/bundle"
)

// Parameters are one slice that the layers share.
func TestParams(t *testing.T) {
	n := dense.New([]int{3, 2, 4}, []dense.Activation{dense.ReLU, dense.Identity})
	if got, want := len(n.Params()), 3*2+2+2*4+4; got != want {
		t.Fatalf("%d parameters, want %d", got, want)
	}
	if n.In() != 3 || n.Out() != 4 {
		t.Errorf("%d inputs and %d outputs, want 3 and 4", n.In(), n.Out())
	}
	for i := range n.Params() {
		n.Params()[i] = float64(i)
	}
	if w, b := n.Layers[1].Weights.Data, n.Layers[1].Bias; w[0] != 8 || w[7] != 15 || b[0] != 16 || b[3] != 19 {
		t.Errorf("second layer = %g and %g, want 8 to 15 and 16 to 19", w, b)
	}
	c := n.Clone()
	if !slices.Equal(c.Params(), n.Params()) || c.Layers[0].Activation != dense.ReLU {
		t.Errorf("clone = %+v, want %+v", c, n)
	}
	c.Layers[0].Weights.Data[0] = 99
	if n.Params()[0] != 0 || c.Params()[0] != 99 {
		t.Error("a clone shares memory with its network, or not with its layers")
	}
}

func TestInit(t *testing.T) {
	n := dense.New([]int{100, 50, 4}, []dense.Activation{dense.ReLU, dense.Identity})
	n.Init(seeded(1))
	for k, in := range []float64{100, 50} {
		l := n.Layers[k]
		all := append(slices.Clone(l.Weights.Data), l.Bias...)
		if limit := 1 / math.Sqrt(in); slices.Max(all) > limit || slices.Min(all) < -limit || slices.Max(all) < 0.9*limit || slices.Min(all) > -0.9*limit {
			t.Errorf("layer %d in [%g, %g], want nearly ±%g", k, slices.Min(all), slices.Max(all), limit)
		}
	}
}

// apply computes the layers of a bundle with plain loops.
func apply(layers []bundle.Layer, x []float64) []float64 {
	for _, l := range layers {
		y := make([]float64, l.Weights.Rows)
		for i := range y {
			y[i] = l.Bias[i]
			for j, v := range x {
				y[i] += l.Weights.Row(i)[j] * v
			}
			switch l.Activation {
			case "identity":
			case "sigmoid":
				y[i] = 1 / (1 + math.Exp(-y[i]))
			case "relu":
				y[i] = max(0, y[i])
			case "tanh":
				y[i] = math.Tanh(y[i])
			}
		}
		x = y
	}
	return x
}

func TestBundleLayers(t *testing.T) {
	for i, a := range activations {
		r := seeded(uint64(i))
		n, x := network(r, 3, 2, a, a), normal(r, 5, 3)
		out := n.Forward(new(dense.Pass), x)
		layers := n.BundleLayers()
		for i := range x.Rows {
			for j, want := range apply(layers, dense.Row(x, i)) {
				if got := dense.Row(out, i)[j]; math.Abs(got-want) > 1e-15 {
					t.Errorf("activation %s: output %d of row %d = %.17g, want %.17g", a, j, i, got, want)
				}
			}
		}
		layers[0].Bias[0]++
		if slices.Equal(layers[0].Bias, n.Layers[0].Bias) {
			t.Error("the layers of a bundle share memory with the network")
		}
	}
}

func TestShapesPanic(t *testing.T) {
	n := dense.New([]int{3, 2}, []dense.Activation{dense.Identity})
	forward := func() *dense.Pass {
		var p dense.Pass
		n.Forward(&p, dense.NewMatrix(4, 3))
		return &p
	}
	for name, f := range map[string]func(){
		"no layer":   func() { dense.New([]int{3}, nil) },
		"width 0":    func() { dense.New([]int{3, 0}, []dense.Activation{dense.ReLU}) },
		"input":      func() { n.Forward(new(dense.Pass), dense.NewMatrix(4, 2)) },
		"gradient":   func() { n.Backward(forward(), dense.NewMatrix(3, 2), nil) },
		"parameters": func() { n.Backward(forward(), dense.NewMatrix(4, 2), make([]float64, 7)) },
		"norms":      func() { n.GradientNorms(forward(), dense.NewMatrix(4, 2), make([]float64, 3)) },
		"target":     func() { dense.SquaredError(dense.NewMatrix(4, 2), dense.NewMatrix(4, 1), dense.Matrix{}) },
		"labels":     func() { dense.CrossEntropy(dense.NewMatrix(4, 2), make([]int, 3), dense.Matrix{}) },
		"flip":       func() { dense.NoisyCrossEntropy(dense.NewMatrix(1, 2), []int{0}, 1, dense.Matrix{}) },
		"scales":     func() { dense.LaplaceKL(dense.NewMatrix(4, 2), []float64{0}, dense.Matrix{}, nil) },
		"head":       func() { dense.SquaredError(dense.NewMatrix(4, 2), dense.NewMatrix(4, 2), dense.NewMatrix(4, 3)) },
		"adam":       func() { new(dense.Adam).Step(make([]float64, 2), make([]float64, 3)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// training is one of the networks of the benchmarks.
type training struct {
	name    string
	network *dense.Network
	x       dense.Matrix
	head    func(out, d dense.Matrix) float64
}

func trainings(r *rand.Rand) []training {
	repeat := func(a dense.Activation, n int) []dense.Activation {
		return append(slices.Repeat([]dense.Activation{a}, n), dense.Identity)
	}
	auto := func(name string, rows int, widths []int, a []dense.Activation) training {
		x := normal(r, rows, widths[0])
		return training{name, dense.New(widths, a), x, func(out, d dense.Matrix) float64 { return dense.SquaredError(out, x, d) }}
	}
	classify := func(name string, rows int, widths []int, a []dense.Activation) training {
		labels := make([]int, rows)
		for i := range labels {
			labels[i] = r.IntN(widths[len(widths)-1])
		}
		return training{
			name, dense.New(widths, a), normal(r, rows, widths[0]),
			func(out, d dense.Matrix) float64 { return dense.CrossEntropy(out, labels, d) },
		}
	}
	list := []training{
		auto("30-30-3-30-30_400", 400, []int{30, 30, 3, 30, 30}, repeat(dense.Sigmoid, 3)),
		auto("30-30-3-30-30_64", 64, []int{30, 30, 3, 30, 30}, repeat(dense.Sigmoid, 3)),
		classify("561-10-6_128", 128, []int{561, 10, 6}, repeat(dense.Sigmoid, 1)),
		classify("100-10_5000", 5000, []int{100, 10}, repeat(dense.Identity, 0)),
		auto("784-400-150-50-8-50-150-400-784_64", 64, []int{784, 400, 150, 50, 8, 50, 150, 400, 784}, repeat(dense.ReLU, 7)),
	}
	for _, t := range list {
		t.network.Init(r)
	}
	return list
}

// stepper returns a function that makes one step of the training and returns the loss.
func (t training) stepper() func() float64 {
	p := dense.Pass{NoInput: true}
	adam := dense.Adam{}
	d, grad := dense.NewMatrix(t.x.Rows, t.network.Out()), make([]float64, len(t.network.Params()))
	return func() float64 {
		clear(grad)
		loss := t.head(t.network.Forward(&p, t.x), d)
		t.network.Backward(&p, d, grad)
		adam.Step(t.network.Params(), grad)
		return loss
	}
}

// The number of processors changes no bit of a training.
func TestDeterministic(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want [][]float64
	for _, procs := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(procs)
		for k, tr := range trainings(seeded(5)) {
			step := tr.stepper()
			for range 3 {
				step()
			}
			if procs == 1 {
				want = append(want, tr.network.Params())
			} else if !slices.Equal(tr.network.Params(), want[k]) {
				t.Errorf("%s: other parameters with %d processors than with 1", tr.name, procs)
			}
		}
	}
}

// A step allocates nothing of its own. Products that are split among goroutines do.
func TestStepAllocatesNothing(t *testing.T) {
	tr := trainings(seeded(5))[1]
	step := tr.stepper()
	if n := testing.AllocsPerRun(20, func() { step() }); n != 0 {
		t.Errorf("%g allocations per step, want 0", n)
	}
}

// Even random labels are learned.
func TestTraining(t *testing.T) {
	step := trainings(seeded(6))[2].stepper()
	first, last := step(), 0.0
	for range 150 {
		last = step()
	}
	if !(last < first/2) {
		t.Errorf("loss %g after 150 steps from %g, want half of it", last, first)
	}
}

func BenchmarkStep(b *testing.B) {
	for _, tr := range trainings(seeded(5)) {
		b.Run(tr.name, func(b *testing.B) {
			step := tr.stepper()
			step()
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
		})
	}
}
