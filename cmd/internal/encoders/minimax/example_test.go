// SPDX-License-Identifier: Apache-2.0

package minimax_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/minimax"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
)

// People have three features: one tells whether they smile, one their group, and one is
// nothing. The filter sends one number, with noise of which a bundle proves the promise.
func Example() {
	r := rand.New(rand.NewPCG(1, 1))
	d := minimax.Data{Features: []string{"a", "b", "c"}, X: encoder.Matrix{Rows: 200, Cols: 3, Stride: 3}}
	smile := minimax.Task{Column: encoders.Column{Name: "smile", Classes: []string{"no", "yes"}}}
	group := minimax.Task{Column: encoders.Column{Name: "group", Classes: []string{"x", "y"}}}
	for i := range d.X.Rows {
		s, g := i%2, i/2%2
		smile.Labels, group.Labels = append(smile.Labels, s), append(group.Labels, g)
		d.X.Data = append(d.X.Data, r.NormFloat64()+4*float64(s), r.NormFloat64()+4*float64(g), r.NormFloat64())
	}
	d.Targets, d.Private = []minimax.Task{smile}, []minimax.Task{group}

	filter, err := minimax.Train(context.Background(), d, minimax.Options{Coordinates: 1})
	if err != nil {
		log.Fatal(err)
	}
	noisy, err := filter.AddNoise(context.Background(), minimax.NoiseOptions{Kind: noise.Laplace, Promise: bundle.Promise{Epsilon: 4}, Clip: 0.5})
	if err != nil {
		log.Fatal(err)
	}
	b, err := noisy.Bundle()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := latent.Verify(context.Background(), b, proof.Options{}); err != nil {
		log.Fatal(err)
	}
	s := b.Spec()
	fmt.Println("epsilon", s.Promise.Epsilon, "proved, answers:", s.Outputs)
	// Output: epsilon 4 proved, answers: [no yes]
}
