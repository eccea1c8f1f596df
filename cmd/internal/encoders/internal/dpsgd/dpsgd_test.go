// SPDX-License-Identifier: Apache-2.0

package dpsgd

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/sampler"
)

var good = Options{People: 2000, Batch: 100, Steps: 150, Parameters: 6, Clip: 1, Epsilon: 3, Delta: 1e-5}

// mustNoise returns noise whose samples and draws are the same in every run.
func mustNoise(t *testing.T, o Options) *Noise {
	t.Helper()
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if o.Random == nil {
		n.choices = rand.NewChaCha8([32]byte{1})
		if n.normal, err = sampler.NewGaussian(n.deviation, sampler.Options{Entropy: rand.NewChaCha8([32]byte{2})}); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestPlan: the noise is what account finds for the exact rate and all steps, enlarged for
// rounding by less than a millionth; a step more is refused.
func TestPlan(t *testing.T) {
	n := mustNoise(t, good)
	m, err := account.SubsampledGaussian(n.multiplier, math.Ldexp(float64(n.threshold), -64))
	if err != nil {
		t.Fatal(err)
	}
	c, err := account.Compose([]account.Release{{PLD: m, Times: good.Steps}}, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Epsilon(good.Delta)
	if err != nil || e.Upper > 3 || e.Upper < 2.99 || n.Bounds() != e {
		t.Errorf("epsilon %v, %v, of the plan %v, want 3", e, err, n.Bounds())
	}
	if excess := n.Deviation()/n.multiplier - 1; excess < 0 || excess > 1e-6 {
		t.Errorf("the noise is a relative %g above what the clip needs", excess)
	}
	if n.deviation < 1<<gridBits || n.deviation >= 1<<(gridBits+1)*(1+1e-6) {
		t.Errorf("the deviation is %g steps", n.deviation)
	}
	g := make([]float64, 6)
	if err := n.Release(g); !errors.Is(err, ErrSpent) {
		t.Errorf("a release without a sample: %v", err)
	}
	for range good.Steps {
		if _, err := n.Sample(); err != nil {
			t.Fatal(err)
		}
		if err := n.Release(g[:2], g[2:]); err != nil {
			t.Fatal(err)
		}
		if err := n.Release(g); !errors.Is(err, ErrSpent) {
			t.Fatalf("a second release of a sample: %v", err)
		}
	}
	if _, err := n.Sample(); !errors.Is(err, ErrSpent) {
		t.Errorf("a step more than planned: %v", err)
	}
}

// TestSample: each person is in a sample with the rate, by themselves. The sizes and how
// often one person is there lie within 6 standard deviations.
func TestSample(t *testing.T) {
	o := good
	o.Steps = 2000
	n := mustNoise(t, o)
	total, person, squares := 0.0, 0.0, 0.0
	for range o.Steps {
		sample, err := n.Sample()
		if err != nil {
			t.Fatal(err)
		}
		n.sampled = false
		total += float64(len(sample))
		squares += math.Pow(float64(len(sample))-100, 2)
		for _, i := range sample {
			if i == 17 {
				person++
			}
		}
	}
	steps := float64(o.Steps)
	if d := math.Abs(total/steps-100) / math.Sqrt(95/steps); d > 6 {
		t.Errorf("samples have %g people on average, want 100", total/steps)
	}
	if d := math.Abs(person/steps-0.05) / math.Sqrt(0.05*0.95/steps); d > 6 {
		t.Errorf("a person is in %g of the samples, want 0.05", person/steps)
	}
	if v := squares / steps; math.Abs(v-95) > 6*95*math.Sqrt(2/steps) {
		t.Errorf("the sizes have the variance %g, want 95", v)
	}
	all := mustNoise(t, Options{People: 5, Batch: 5, Steps: 1, Parameters: 1, Clip: 1, Epsilon: 1, Delta: 1e-5})
	if sample, err := all.Sample(); err != nil || len(sample) != 5 {
		t.Errorf("a sample of all: %v, %v", sample, err)
	}
}

// TestRelease: noise of the deviation, on the sum, over the batch; nothing that is not finite.
func TestRelease(t *testing.T) {
	o := good
	o.Parameters = 60000
	for _, random := range []*rand.Rand{nil, rand.New(rand.NewPCG(1, 2))} {
		o.Random = random
		n := mustNoise(t, o)
		if _, err := n.Sample(); err != nil {
			t.Fatal(err)
		}
		g := make([]float64, o.Parameters)
		for i := range g {
			g[i] = 0.5
		}
		if err := n.Release(g); err != nil {
			t.Fatal(err)
		}
		sum, squares := 0.0, 0.0
		for _, x := range g {
			x = x*100 - 0.5
			sum += x
			squares += x * x
		}
		count, deviation := float64(o.Parameters), n.Deviation()
		if math.Abs(sum/count) > 6*deviation/math.Sqrt(count) || math.Abs(squares/count/(deviation*deviation)-1) > 6*math.Sqrt(2/count) {
			t.Errorf("noise of mean %g and mean square %g, want 0 and %g", sum/count, squares/count, deviation*deviation)
		}
	}
	n := mustNoise(t, good)
	if n.steps(math.NaN()) != 0 || n.steps(math.Inf(1)) != 1<<52 || n.steps(-1e300) != -(1<<52) || n.steps(1.49*n.step) != 1 {
		t.Error("sums that are not finite, or too large, do not stay on the grid")
	}
	g := []float64{1, 2}
	if _, err := n.Sample(); err != nil {
		t.Fatal(err)
	}
	if err := n.Release(g); !errors.Is(err, check.ErrInvalid) || g[0] != 0 || g[1] != 0 {
		t.Errorf("gradients of another length: %v, %v", g, err)
	}
}

// TestSensitivity: what one person more moves the sums by, on the grid, is covered by the
// noise, whatever the sizes of the gradients.
func TestSensitivity(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	network := dense.New([]int{3, 4, 2}, []dense.Activation{dense.Tanh, dense.Identity})
	network.Init(r)
	o := good
	o.Parameters = len(network.Params())
	n := mustNoise(t, o)
	for trial := range 100 {
		network.Layers[0].Activation = []dense.Activation{dense.Tanh, dense.ReLU}[trial%2]
		x, d := dense.NewMatrix(41, 3), dense.NewMatrix(41, 2)
		for _, m := range []dense.Matrix{x, d} {
			for i := range m.Data {
				m.Data[i] = r.NormFloat64() * math.Pow(10, 8*r.Float64()-4)
			}
		}
		if trial%5 == 0 { // the hidden layer overflows
			for j := range 3 {
				dense.Row(x, 40)[j] = math.MaxFloat64
			}
		}
		sums := [2][]float64{}
		for i, rows := range []int{40, 41} {
			var p dense.Pass
			part := func(m dense.Matrix) dense.Matrix {
				return dense.Matrix{Rows: rows, Cols: m.Cols, Stride: m.Cols, Data: m.Data[:rows*m.Cols]}
			}
			sums[i] = make([]float64, o.Parameters)
			network.Forward(&p, part(x))
			network.ClippedGradient(&p, part(d), o.Clip, sums[i])
		}
		moved := 0.0
		for i := range sums[0] {
			if !check.Finite(sums[0][i], sums[1][i]) {
				t.Fatalf("trial %d: sums %g and %g", trial, sums[0][i], sums[1][i])
			}
			k := float64(n.steps(sums[1][i]) - n.steps(sums[0][i]))
			moved += k * k
		}
		if moved = math.Sqrt(moved); moved*n.multiplier > n.deviation {
			t.Errorf("a person moves the sums by %g steps, the noise covers %g", moved, n.deviation/n.multiplier)
		}
	}
}

// TestTraining: a small network learns to tell two clusters apart by DP-Adam.
func TestTraining(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	network := dense.New([]int{2, 8, 2}, []dense.Activation{dense.Tanh, dense.Identity})
	network.Init(r)
	o := good
	o.Parameters = len(network.Params())
	n := mustNoise(t, o)
	x, labels := dense.NewMatrix(o.People, 2), make([]int, o.People)
	for i := range labels {
		labels[i] = i % 2
		dense.Row(x, i)[0] = float64(2*labels[i]-1) + r.NormFloat64()/2
		dense.Row(x, i)[1] = r.NormFloat64()
	}
	adam, gradient := dense.Adam{Rate: 0.02}, make([]float64, o.Parameters)
	for range o.Steps {
		sample, err := n.Sample()
		if err != nil {
			t.Fatal(err)
		}
		clear(gradient)
		if len(sample) > 0 {
			batch, picked := dense.NewMatrix(len(sample), 2), make([]int, len(sample))
			for i, k := range sample {
				copy(dense.Row(batch, i), dense.Row(x, k))
				picked[i] = labels[k]
			}
			var p dense.Pass
			d := dense.NewMatrix(len(sample), 2)
			dense.CrossEntropy(network.Forward(&p, batch), picked, d)
			for i := range d.Data {
				d.Data[i] *= float64(len(sample)) // of people, not of their mean
			}
			network.ClippedGradient(&p, d, o.Clip, gradient)
		}
		if err := n.Release(gradient); err != nil {
			t.Fatal(err)
		}
		adam.Step(network.Params(), gradient)
	}
	var p dense.Pass
	right, out := 0, network.Forward(&p, x)
	for i, y := range labels {
		if row := dense.Row(out, i); (row[1] > row[0]) == (y == 1) {
			right++
		}
	}
	// The best there is has 0.977.
	if share := float64(right) / float64(o.People); share < 0.93 {
		t.Errorf("accuracy %g, want 0.93", share)
	}
}

func TestRefuses(t *testing.T) {
	for _, x := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.People = 0 }, "people = 0"},
		{func(o *Options) { o.Batch = 2001 }, "batch = 2001"},
		{func(o *Options) { o.Steps = 0 }, "steps = 0"},
		{func(o *Options) { o.Parameters = 0 }, "parameters = 0"},
		{func(o *Options) { o.Clip = math.NaN() }, "clip = NaN"},
		{func(o *Options) { o.Epsilon = 0 }, "epsilon = 0"},
		{func(o *Options) { o.Delta = 1 }, "delta = 1"},
		{func(o *Options) { o.Epsilon, o.Steps, o.Delta = 1e-9, 1000, 1e-12 }, "no multiplier"},
	} {
		o := good
		x.change(&o)
		if _, err := New(o); !errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v, want an error with %q", err, x.want)
		}
	}
}
