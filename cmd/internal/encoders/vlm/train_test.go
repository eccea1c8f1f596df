// SPDX-License-Identifier: Apache-2.0

package vlm

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
)

// clusters are people of some classes: each class has its own mean of six features.
func clusters(people, classes int, seed uint64) (encoder.Matrix, []int) {
	r := encoders.Rand(seed, "clusters", 0)
	x, labels := dense.NewMatrix(people, 6), make([]int, people)
	for i := range labels {
		y := r.IntN(classes)
		labels[i] = y
		for j := range 6 {
			mean := 2 * math.Cos(float64((y+1)*(2*j+1)))
			x.Data[i*6+j] = mean + 0.4*r.NormFloat64()
		}
	}
	return x, labels
}

var small = Options{Coordinates: 3, Radius: 5, TrainingEpsilon: 15, Encoder: []int{16}, Rate: 5e-3, Epochs: 12}

// TestGradient compares the gradient of the loss with finite differences, with
// scales to learn, and encodings inside and outside of the ball.
func TestGradient(t *testing.T) {
	x, _ := clusters(5, 2, 1)
	for i := range x.Data {
		x.Data[i] = 1 / (1 + math.Exp(-x.Data[i]))
	}
	o := Options{Coordinates: 3, Radius: 0.7, Encoder: []int{4}, Batch: 5}.filled()
	m := newModel(x, o)
	tr := newTraining(m, x, o)
	tr.logScale = []float64{-1, 0, 0.3}
	// The hidden units stay away from the kink of ReLU: one is at 0 for no person.
	loss := func() float64 {
		tr.e.draw(tr.logScale, encoders.Rand(1, "noise", 0))
		return tr.e.forward(x)
	}
	loss()
	outside := 0
	for i := range x.Rows {
		norm := 0.0
		for _, v := range dense.Row(tr.e.raw, i) {
			norm += math.Abs(v)
		}
		if norm > o.Radius {
			outside++
		}
	}
	if outside == 0 || outside == x.Rows {
		t.Errorf("%d of %d encodings are outside of the ball, want some", outside, x.Rows)
	}
	tr.e.backward(tr.grads[0], tr.grads[1], tr.grads[2])
	for i, params := range tr.parameters() {
		for j, v := range params {
			const h = 1e-6
			params[j] = v + h
			up := loss()
			params[j] = v - h
			slope := (up - loss()) / (2 * h)
			params[j] = v
			if math.Abs(slope-tr.grads[i][j]) > 1e-6*(1+math.Abs(slope)) {
				t.Errorf("parameter %d of part %d: gradient %g, difference quotient %g", j, i, tr.grads[i][j], slope)
			}
		}
	}
}

// TestTrain: classes that are far apart survive the noise, at both levels, and the result
// is the same in a second run.
func TestTrain(t *testing.T) {
	x, labels := clusters(1500, 4, 1)
	test, truth := clusters(500, 4, 2)
	o := small
	steps := 0
	o.Run.Progress = func(step, of int, _ float64) { steps = of - step }
	m, err := Train(t.Context(), x, o)
	if err != nil {
		t.Fatal(err)
	}
	if steps != 0 || m.Scales[0] != 2*5.0/15 || m.Body.Radius != 5 {
		t.Errorf("%d steps left, scales %v, body %v", steps, m.Scales, m.Body)
	}
	again, err := Train(t.Context(), x, o)
	if err != nil || !slices.Equal(again.encoder.Params(), m.encoder.Params()) {
		t.Errorf("a second run differs: %v", err)
	}
	u := m.Encode(x)
	for i := range u.Rows {
		norm := 0.0
		for _, v := range dense.Row(u, i) {
			norm += math.Abs(v)
		}
		if norm > 5*(1+1e-12) {
			t.Fatalf("encoding of norm %g in a ball of radius 5", norm)
		}
	}
	const epsilon, share = 8, 0.7
	scale := 2 * 5 / (share * epsilon)
	r := encoders.Rand(1, "release", 0)
	for i := range u.Data {
		u.Data[i] += scale * Laplace(r)
	}
	flip := FlipProbability(4, (1-share)*epsilon)
	classifierOptions := ClassifierOptions{Classes: 4, Flip: flip, Epochs: 20}
	flipped := Flip(labels, 4, flip, r)
	c, err := TrainClassifier(t.Context(), u, flipped, classifierOptions)
	if err != nil {
		t.Fatal(err)
	}
	latent := c.Accuracy(m.Encode(test), truth)
	if c, err = TrainClassifier(t.Context(), m.Decode(u), flipped, classifierOptions); err != nil {
		t.Fatal(err)
	}
	features := c.Accuracy(test, truth)
	if latent < 0.8 || features < 0.8 {
		t.Errorf("accuracies %g of encodings, %g of features, want 0.8", latent, features)
	}
}

// TestLearnedScales: without an ε, the scales are learned, and features of other units are
// standardized.
func TestLearnedScales(t *testing.T) {
	x, _ := clusters(600, 4, 1)
	for i := range x.Rows {
		x.Data[i*x.Stride] = 1000 + 300*x.Data[i*x.Stride]
	}
	o := small
	o.TrainingEpsilon, o.Standardize, o.Epochs = 0, true, 40
	m, err := Train(t.Context(), x, o)
	if err != nil {
		t.Fatal(err)
	}
	if s := slices.Min(m.Scales); !(s > 0 && s < 0.5) {
		t.Errorf("scales %v, want one that was learned to be small", m.Scales)
	}
	back := m.Decode(m.Encode(x))
	_, spread := dense.Moments(x)
	sum := 0.0
	for i := range x.Rows {
		d := (back.Data[i*6] - x.Data[i*6]) / spread[0]
		sum += d * d / float64(x.Rows)
	}
	if !(sum < 0.3) {
		t.Errorf("the first feature is decoded with a share of %g of its variance, want 0.3", sum)
	}
}

// TestCollapse: features with a hundredth of the decoder's deviation are not worth a
// message, and much noise hides what the encoder says. The training says so.
func TestCollapse(t *testing.T) {
	x, _ := clusters(400, 4, 1)
	noisy := small
	noisy.TrainingEpsilon, noisy.Epochs = 0.1, 30
	if _, err := Train(t.Context(), x, noisy); !errors.Is(err, ErrCollapsed) {
		t.Errorf("much noise: %v, want a collapse", err)
	}
	for i := range x.Data {
		x.Data[i] /= 100
	}
	o := small
	o.Epochs = 40
	if _, err := Train(t.Context(), x, o); !errors.Is(err, ErrCollapsed) || !strings.Contains(err.Error(), "say the same of everybody") {
		t.Errorf("small features: %v, want a collapse", err)
	}
}

// TestDiverged: numbers that overflow stop the training with a sentence.
func TestDiverged(t *testing.T) {
	x, labels := clusters(400, 4, 1)
	o := small
	o.Rate = 1e200
	if _, err := Train(t.Context(), x, o); !errors.Is(err, ErrDiverged) {
		t.Errorf("%v, want a divergence", err)
	}
	if _, err := TrainClassifier(t.Context(), x, labels, ClassifierOptions{Classes: 4, Rate: 1e200}); !errors.Is(err, ErrDiverged) {
		t.Errorf("classifier: %v, want a divergence", err)
	}
}

func TestTrainRefuses(t *testing.T) {
	x, labels := clusters(10, 2, 1)
	nan := dense.NewMatrix(10, 2)
	nan.Data[3] = math.NaN()
	for _, c := range []struct {
		o    Options
		x    encoder.Matrix
		want string
	}{
		{Options{Radius: -1}, x, "radius = -1"},
		{Options{TrainingEpsilon: math.Inf(1)}, x, "epsilon of the training = +Inf"},
		{Options{Coordinates: -2}, x, "coordinates = -2"},
		{Options{Encoder: []int{0}}, x, "width of a layer = 0"},
		{Options{Batch: -1}, x, "batch and epochs = -1"},
		{Options{}, nan, "NaN or infinite"},
		{Options{}, dense.NewMatrix(1, 2), "at least 2 people"},
	} {
		if _, err := Train(t.Context(), c.x, c.o); !errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want an error with %q", c.o, err, c.want)
		}
	}
	for _, c := range []struct {
		o      ClassifierOptions
		labels []int
		want   string
	}{
		{ClassifierOptions{}, labels, "classes = 0"},
		{ClassifierOptions{Classes: 2, Flip: 0.6}, labels, "flip = 0.6"},
		{ClassifierOptions{Classes: 2}, labels[1:], "labels = 9"},
		{ClassifierOptions{Classes: 2}, slices.Repeat([]int{2}, 10), "labels[0] = 2"},
	} {
		if _, err := TrainClassifier(t.Context(), x, c.labels, c.o); !errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want an error with %q", c.o, err, c.want)
		}
	}
}

// TestResume: a training that was interrupted goes on from its checkpoint, and its result is
// that of an unbroken one bit for bit, learned scales included.
func TestResume(t *testing.T) {
	x, _ := clusters(300, 4, 1)
	o := small
	o.TrainingEpsilon = 0
	whole, err := Train(t.Context(), x, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Run.Directory = filepath.Join(t.TempDir(), "checkpoint")
	for stop := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		o.Run.Progress = func(step, _ int, _ float64) {
			if step == 7*(stop+1) {
				cancel()
			}
		}
		if _, err := Train(ctx, x, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted: %v", err)
		}
		cancel()
	}
	o.Run.Progress = nil
	m, err := Train(t.Context(), x, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2][]float64{{whole.encoder.Params(), m.encoder.Params()}, {whole.decoder.Params(), m.decoder.Params()}, {whole.Scales, m.Scales}} {
		if !slices.Equal(pair[0], pair[1]) {
			t.Error("the result differs from that of an unbroken training")
		}
	}
	o.Coordinates = 2
	if _, err := Train(t.Context(), x, o); err == nil || !strings.Contains(err.Error(), "checkpoint") {
		t.Errorf("another network: %v, want a refusal of the checkpoint", err)
	}
}
