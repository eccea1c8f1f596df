// SPDX-License-Identifier: Apache-2.0

package vlm

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
)

func centralOptions(c Central) Options {
	o := small
	o.Epochs, o.Batch = 25, 100
	c.Random = rand.New(rand.NewPCG(1, 2))
	o.Central = &c
	return o
}

// TestCentral: with a generous ε the private encoder still tells classes apart; what is
// claimed is what account makes of the steps; the decoder that is trained after it leaves
// the encoder alone.
func TestCentral(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	x, labels := clusters(3000, 3, 1)
	planned := 0.0
	promise := Central{Epsilon: 20, Delta: 1e-5, Parts: Parts{Encoder: true, Decoder: true}, Planned: func(steps int, deviation, epsilon float64) {
		if planned = epsilon; steps != 25*30 || !(deviation > 0.3) {
			t.Errorf("planned are %d steps with noise of %g, want 750", steps, deviation)
		}
	}}
	both, err := Train(t.Context(), x, centralOptions(promise))
	if err != nil {
		t.Fatal(err)
	}
	_, bounds, err := account.SubsampledMultiplier(100.0/3000, 25*30, 20, 1e-5)
	if err != nil || planned != bounds.Upper || planned > 20 {
		t.Errorf("planned is ε = %g, want %g: %v", planned, bounds.Upper, err)
	}
	if !math.IsInf(both.CentralEpsilon, 1) {
		t.Errorf("central ε = %g with numbers that a test knows, want no guarantee", both.CentralEpsilon)
	}
	secret := centralOptions(promise)
	secret.Central.Random, secret.Central.Planned, secret.Epochs = nil, nil, 1
	_, bounds, err = account.SubsampledMultiplier(100.0/3000, 30, 20, 1e-5)
	if m, err2 := Train(t.Context(), x, secret); err != nil || err2 != nil || m.CentralEpsilon != bounds.Upper || m.CentralEpsilon > 20 || m.CentralDelta != 1e-5 {
		t.Errorf("central ε = %g, δ = %g, want %g: %v, %v", m.CentralEpsilon, m.CentralDelta, bounds.Upper, err, err2)
	}
	c, err := TrainClassifier(t.Context(), both.Encode(x), labels, ClassifierOptions{Classes: 3, Epochs: 10})
	if err != nil {
		t.Fatal(err)
	}
	test, truth := clusters(500, 3, 2)
	if a := c.Accuracy(both.Encode(test), truth); a < 0.7 {
		t.Errorf("accuracy %g of encodings by a private encoder, want 0.7", a)
	}
	promise.Parts.Decoder = false
	one, err := Train(t.Context(), x, centralOptions(promise))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one.encoder.Params(), both.encoder.Params()) || slices.Equal(one.decoder.Params(), both.decoder.Params()) {
		t.Error("the decoder's training without noise changed the encoder, or not the decoder")
	}
	if a, b := squaredError(one, x), squaredError(both, x); !(a < b) {
		t.Errorf("the decoder has the error %g after a training without noise, %g with", a, b)
	}
	promise.PublishedOrder = true
	if m, err := Train(t.Context(), x, centralOptions(promise)); err != nil || !math.IsInf(m.CentralEpsilon, 1) {
		t.Errorf("the order of the paper claims ε = %g, %v, want no guarantee", m.CentralEpsilon, err)
	}
}

// squaredError is that of features decoded from encodings with the noise of the training.
func squaredError(m *Model, x encoder.Matrix) (sum float64) {
	r := encoders.Rand(1, "noise of a test", 0)
	z := m.Encode(x)
	for i := range z.Data {
		z.Data[i] += m.Scales[0] * Laplace(r)
	}
	for i, v := range m.Decode(z).Data {
		sum += (v - x.Data[i]) * (v - x.Data[i])
	}
	return sum
}

// TestCentralSensitivity: the gradient of each person, by both parts together, is at most the
// clip, and features a million times as large do not change that.
func TestCentralSensitivity(t *testing.T) {
	x, _ := clusters(20, 3, 1)
	for i := range x.Data {
		x.Data[i] *= math.Pow(10, float64(i%7))
	}
	o := small.filled()
	m := untrained(x, o)
	for _, parts := range []Parts{{true, true}, {Encoder: true}, {Decoder: true}} {
		for i := range x.Rows {
			person := encoder.Matrix{Rows: 1, Cols: 6, Stride: 6, Data: x.Data[6*i : 6*i+6]}
			p := &private{m: m, x: person, o: o, parts: parts, random: rand.New(rand.NewPCG(3, 4)), logScale: make([]float64, 3)}
			gradients := [2][]float64{make([]float64, len(m.encoder.Params())), make([]float64, len(m.decoder.Params()))}
			p.step([]int{0}, gradients)
			sum := 0.0
			for _, g := range slices.Concat(gradients[0], gradients[1]) {
				sum += g * g
			}
			if norm := math.Sqrt(sum); !(norm <= clip) || norm == 0 {
				t.Errorf("person %d, %s: a gradient of norm %g, want at most 1, and not 0", i, parts, norm)
			}
		}
	}
}

// untrained returns a model with random parameters.
func untrained(x encoder.Matrix, o Options) *Model {
	m := newModel(x, o)
	newTraining(m, x, o)
	return m
}

func TestCentralRefuses(t *testing.T) {
	x, _ := clusters(200, 3, 1)
	good := Central{Epsilon: 5, Delta: 1e-5, Parts: Parts{Encoder: true}}
	for _, c := range []struct {
		change func(*Central, *Options)
		want   string
	}{
		{func(c *Central, _ *Options) { c.Epsilon = 0 }, "central epsilon = 0"},
		{func(c *Central, _ *Options) { c.Delta = 1 }, "central delta = 1"},
		{func(c *Central, _ *Options) { c.Parts = Parts{Decoder: true} }, "the encoder among them"},
		{func(_ *Central, o *Options) { o.TrainingEpsilon = 0 }, "scales are not learned privately"},
		{func(_ *Central, o *Options) { o.Standardize = true }, "means and deviations of the training data are not private"},
	} {
		o := centralOptions(good)
		c.change(o.Central, &o)
		if _, err := Train(t.Context(), x, o); !errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want an error with %q", err, c.want)
		}
	}
}
