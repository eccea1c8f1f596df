// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"math"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

// bundle DIR KIND [CLASS...] writes a bundle of the features steps and minutes, with a layer
// on the device and an l1 ball: one that decodes to values or classes or by a head to
// features, a filter of this, or one with layers on the device alone.
func bundleCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: bundle dir kind [class...]")
	}
	s := bundle.Spec{
		Features: []string{"steps", "minutes"}, Mean: []float64{5, 30},
		Layers:  []bundle.Layer{{Weights: bundle.Matrix{Rows: 3, Cols: 2, Data: []float64{1, 0.1, -1, 0, 0, 0.2}}, Bias: []float64{0, 0.5, -0.5}, Activation: "tanh"}},
		Encoder: bundle.Matrix{Rows: 2, Cols: 3, Data: []float64{1, -0.5, 0, 0, 0.5, 1}}, Offset: []float64{0, 0.125},
		Axes: []float64{1, 1}, Domain: bundle.L1Ball, ClipOrigin: "made up",
		Noise: noise.Laplace, Promise: bundle.Promise{Epsilon: 4},
		Head:    []bundle.Layer{{Weights: bundle.Matrix{Rows: 3, Cols: 2, Data: []float64{1, 1, -1, 1, 0.5, -2}}, Bias: []float64{0, 0, 1}, Activation: "relu"}},
		Decoder: bundle.Matrix{Rows: 2, Cols: 3, Data: []float64{1, -1, 0.25, 0.5, 2, -1}}, DecoderOffset: []float64{0.25, -0.25},
	}
	ts.Check(s.Calibrate())
	switch args[1] {
	case "head":
	case "layers":
		s.Head, s.Decoder = nil, bundle.Matrix{Rows: 2, Cols: 2, Data: []float64{1, -1, 0.5, 2}}
	case "values":
		s.Output, s.Outputs = bundle.Values, []string{"pulse", "pressure"}
	case "classes":
		s.Output, s.Outputs = bundle.Classes, append([]string{"walks", "runs"}, args[2:]...)[len(args[2:]):]
	case "filter":
		s.Noise, s.Composition, s.Tables, s.TableOf, s.Promise = bundle.None, bundle.None.Composition(), nil, nil, bundle.Promise{Epsilon: math.Inf(1)}
	default:
		ts.Fatalf("no bundle of the kind %s", args[1])
	}
	b, err := bundle.New(s)
	ts.Check(err)
	ts.Check(b.Write(ts.MkAbs(args[0]), true))
}
