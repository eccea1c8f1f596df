// SPDX-License-Identifier: Apache-2.0

package vlm

import (
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
)

var names = []string{"a", "b", "c", "d", "e", "f"}

// TestBundle: with noise of every kind the promise is proved, and at every level the bundle
// encodes and decodes as the model does, but for the grid.
func TestBundle(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	x, labels := clusters(600, 3, 1)
	for _, o := range []Options{
		small, {Coordinates: 2, Encoder: []int{8}, Rate: 1e-2, Epochs: 30, Standardize: true},
	} {
		data := dense.NewMatrix(x.Rows, x.Cols)
		for i, v := range x.Data {
			data.Data[i] = v
			if o.Standardize {
				data.Data[i] = 100 + 30*v
			}
		}
		m, err := Train(t.Context(), data, o)
		if err != nil {
			t.Fatal(err)
		}
		u := m.Encode(data)
		c, err := TrainClassifier(t.Context(), u, labels, ClassifierOptions{Classes: 3, Epochs: 3})
		if err != nil {
			t.Fatal(err)
		}
		decoded := map[Level]encoder.Matrix{Latent: u, Features: m.Decode(u), Classes: probabilities(c, u)}
		for _, kind := range []bundle.Kind{noise.Laplace, noise.Gaussian, noise.Staircase, bundle.LocalUnbiased} {
			promise := bundle.Promise{Epsilon: 4}
			if kind == noise.Gaussian {
				promise.Delta = 1e-6
			}
			noise, err := encoder.NewNoise(t.Context(), kind, m.Body, promise, nil)
			if err != nil {
				t.Fatal(err)
			}
			for level, want := range decoded {
				b, err := m.Bundle(names, noise, Server{level, c, []string{"p", "q", "r"}})
				if err != nil {
					t.Fatal(err)
				}
				v, err := latent.Verify(t.Context(), b, proof.Options{})
				if err != nil || v.Bundle().Promise() != promise {
					t.Fatalf("%s, %s: %v", kind, level, err)
				}
				agrees(t, b, data, u, want)
			}
		}
	}
}

// agrees compares a bundle with a model on some people.
func agrees(t *testing.T, b *bundle.Bundle, x, u, decoded encoder.Matrix) {
	t.Helper()
	for i := 0; i < x.Rows; i += 37 {
		code, err := b.Encode(nil, dense.Row(x, i))
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range dense.Row(u, i) {
			if math.Abs(code[j]-v) > 0.2 { // the coarsest grid has steps of 1/8
				t.Fatalf("person %d is encoded as %v, want %v", i, code, dense.Row(u, i))
			}
		}
		back, err := b.Decode(nil, dense.Row(u, i))
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range dense.Row(decoded, i) {
			if math.Abs(back[j]-v) > 1e-9*(1+math.Abs(v)) {
				t.Fatalf("person %d is decoded as %v, want %v", i, back, dense.Row(decoded, i))
			}
		}
	}
}

func probabilities(c *Classifier, z encoder.Matrix) encoder.Matrix {
	logits := byParts(c.network, c.scaling.Apply(z))
	for i := range logits.Rows {
		row, sum := dense.Row(logits, i), 0.0
		for y, v := range row {
			row[y] = math.Exp(v)
			sum += row[y]
		}
		for y := range row {
			row[y] /= sum
		}
	}
	return logits
}

func TestBundleRefuses(t *testing.T) {
	x, labels := clusters(200, 3, 1)
	m, err := Train(t.Context(), x, small)
	if err != nil {
		t.Fatal(err)
	}
	noise, err := encoder.NewNoise(t.Context(), noise.Laplace, m.Body, bundle.Promise{Epsilon: 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ofFeatures, err := TrainClassifier(t.Context(), x, labels, ClassifierOptions{Classes: 3, Epochs: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		names  []string
		server Server
	}{
		{names[1:], Server{Level: Latent}},
		{names, Server{Level: "x"}},
		{names, Server{Level: Classes}},
		{names, Server{Classes, ofFeatures, []string{"p", "q", "r"}}},
	} {
		if _, err := m.Bundle(c.names, noise, c.server); !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%v, %+v: %v, want an invalid input", c.names, c.server, err)
		}
	}
}
