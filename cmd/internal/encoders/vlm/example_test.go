// SPDX-License-Identifier: Apache-2.0

package vlm_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/vlm"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
)

// A network is trained on people without a task in mind, and becomes a bundle for devices, whose
// promise is proved. A classifier is trained on what people send.
func Example() {
	ctx := context.Background()
	const people = 2000
	x := encoder.Matrix{Rows: people, Cols: 6, Stride: 6, Data: make([]float64, people*6)}
	classes := make([]int, people)
	r := encoders.Rand(1, "example", 0)
	for i := range classes {
		classes[i] = r.IntN(3)
		for j := range 6 {
			x.Data[6*i+j] = 2*math.Cos(float64((classes[i]+1)*(2*j+1))) + 0.4*r.NormFloat64()
		}
	}

	m, err := vlm.Train(ctx, x, vlm.Options{Coordinates: 3, TrainingEpsilon: 15, Encoder: []int{16}, Rate: 5e-3})
	if err != nil {
		log.Fatal(err)
	}
	noise, err := encoder.NewNoise(ctx, noise.Laplace, m.Body, bundle.Promise{Epsilon: 7}, nil)
	if err != nil {
		log.Fatal(err)
	}
	b, err := m.Bundle([]string{"a", "b", "c", "d", "e", "f"}, noise, vlm.Server{Level: vlm.Latent})
	if err != nil {
		log.Fatal(err)
	}
	v, err := latent.Verify(context.Background(), b, proof.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("proved: ε = %g, δ = %g\n", v.Bundle().Promise().Epsilon, v.Bundle().Promise().Delta)

	// A study of a collection: each person sends an encoding with ε = 7 and a class with ε = 3.
	z := m.Encode(x)
	noise.Release(z.Data, z.Data, r)
	flip := vlm.FlipProbability(3, 3)
	c, err := vlm.TrainClassifier(ctx, z, vlm.Flip(classes, 3, flip, r), vlm.ClassifierOptions{Classes: 3, Flip: flip})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("right about nine of ten clean people:", c.Accuracy(m.Encode(x), classes) > 0.9)
	// Output:
	// proved: ε = 7, δ = 0
	// right about nine of ten clean people: true
}
