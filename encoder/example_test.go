// SPDX-License-Identifier: Apache-2.0

package encoder_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
)

// Noise to train with, and the proof of the bundle that it comes into.
func Example() {
	body := encoder.Body{Domain: bundle.L1Ball, Radius: 1, Coordinates: 2}
	noise, err := encoder.NewNoise(context.Background(), noise.Laplace, body, bundle.Promise{Epsilon: 2}, nil)
	if err != nil {
		log.Fatal(err)
	}
	// A step of a training: encode, clip, add noise. Here an encoding is the features.
	u := encoder.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: []float64{3, -1}}
	body.Clip(u)
	fmt.Println("clipped to", u.Data)
	noise.Release(u.Data, u.Data, rand.New(rand.NewPCG(1, 2))) // fresh at each step

	// The bundle of what was trained.
	spec := bundle.Spec{
		Features: []string{"a", "b"}, Mean: []float64{0, 0}, Offset: []float64{0, 0}, DecoderOffset: []float64{0, 0},
		Encoder: bundle.Matrix{Rows: 2, Cols: 2, Data: []float64{1, 0, 0, 1}},
		Decoder: bundle.Matrix{Rows: 2, Cols: 2, Data: []float64{1, 0, 0, 1}},
	}
	noise.Install(&spec)
	b, err := bundle.New(spec)
	if err != nil {
		log.Fatal(err)
	}
	proof, err := latent.Verify(context.Background(), b, proof.Options{})
	if err != nil {
		log.Fatal(err)
	}
	epsilon, _ := proof.EpsilonUpper().Float64()
	fmt.Printf("proved: epsilon %.3f\n", epsilon)
	// Output:
	// clipped to [0.75 -0.25]
	// proved: epsilon 2.000
}
