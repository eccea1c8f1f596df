// SPDX-License-Identifier: Apache-2.0

package latent_test

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
)

// From training data to the noisy numbers that a device sends, and to what is read of
// them.
func ExampleDesign() {
	// Two features; the task reads the first, which is about twice the second.
	data := mat.NewDense(6, 2, []float64{2, 1.1, 4, 1.9, 6, 3.2, 8, 3.8, 10, 5.1, 12, 5.9})
	r, err := latent.Design(context.Background(), latent.Problem{
		Features: []string{"use", "size"}, Data: data, Task: mat.NewDense(1, 2, []float64{1, 0}),
		Promise: bundle.Promise{Epsilon: 4, Delta: 1e-6}, Domain: bundle.Box, Clip: 1,
	}, latent.Options{})
	if err != nil {
		log.Fatal(err)
	}
	best := r.Best("")
	fmt.Printf("%s noise on %d coordinate: loss %.2f, the baseline %.2f\n", best.Noise, best.Z, best.Loss, r.BaselineLoss)

	b, err := r.Bundle(best)
	if err != nil {
		log.Fatal(err)
	}
	proof, err := latent.Verify(context.Background(), b, proof.Options{})
	if err != nil {
		log.Fatal(err)
	}
	device, err := proof.NewPrivatizer(sampler.Options{})
	if err != nil {
		log.Fatal(err)
	}
	released, err := device.Privatize(nil, []float64{9, 4.6})
	if err != nil {
		log.Fatal(err)
	}
	reconstruction, err := b.Decode(nil, released)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(released), "number released,", len(reconstruction), "features decoded")

	fmt.Println("promise:", b.Promise().Epsilon, b.Promise().Delta)
	// Output:
	// local noise on 1 coordinate: loss 1.99, the baseline 11.67
	// 1 number released, 2 features decoded
	// promise: 4 1e-06
}

// A row far out widens the box that all are clipped to, and with it the noise for everybody.
func ExampleProblem_BestClip() {
	data := mat.NewDense(100, 1, nil)
	for i := range 100 {
		data.Set(i, 0, float64(i%20))
	}
	data.Set(99, 0, 30)
	p := latent.Problem{
		Features: []string{"use"}, Data: data,
		Promise: bundle.Promise{Epsilon: 8}, Domain: bundle.Box,
	}
	for _, best := range []bool{false, true} {
		p.Clip = 1 // no row
		if best {
			var err error
			if p.Clip, err = p.BestClip(context.Background(), noise.Laplace, nil); err != nil {
				log.Fatal(err)
			}
		}
		r, err := latent.Design(context.Background(), p, latent.Options{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("clip %g: loss %.1f\n", p.Clip, r.Best(noise.Laplace).Loss)
	}
	// Output:
	// clip 1: loss 21.5
	// clip 0.7: loss 8.5
}
