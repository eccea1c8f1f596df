// SPDX-License-Identifier: Apache-2.0

package taskaware_test

import (
	"context"
	"fmt"
	"log"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/taskaware"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
)

// people have three features, of which the server wants to know the sum of two.
func people(n int, seed uint64) *encoders.Data {
	r := encoders.Rand(seed, "people", 0)
	d := &encoders.Data{Features: []string{"a", "b", "c"}, X: encoder.Matrix{Rows: n, Cols: 3, Stride: 3}, Target: encoders.Column{Name: "sum"}}
	for range n {
		a, b, c := r.Float64(), r.Float64(), r.Float64()
		d.X.Data = append(d.X.Data, a, b, c)
		d.Target.Values = append(d.Target.Values, a+b)
	}
	return d
}

// One number, clipped to ±1, with noise that is private for all people, whoever they are.
func ExampleTrain() {
	ctx := context.Background()
	body := encoder.Body{Domain: bundle.Box, Radius: 1, Coordinates: 1}
	noise, err := encoder.NewNoise(ctx, noise.Staircase, body, bundle.Promise{Epsilon: 8}, nil)
	if err != nil {
		log.Fatal(err)
	}
	r, err := taskaware.Train(ctx, people(200, 1), body, noise, taskaware.Options{Restarts: 1, Seed: 1}, encoders.Run{})
	if err != nil {
		log.Fatal(err)
	}
	e, err := r.Evaluate(people(200, 2), 100, 1)
	if err != nil {
		log.Fatal(err)
	}
	b, err := r.Bundle()
	if err != nil {
		log.Fatal(err)
	}
	proof, err := latent.Verify(context.Background(), b, proof.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("less than a third of the variance:", e.Loss < 1.0/6/3)
	fmt.Println("epsilon", proof.Bundle().Promise().Epsilon)
	// Output:
	// less than a third of the variance: true
	// epsilon 8
}
