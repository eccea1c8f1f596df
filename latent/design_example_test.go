package latent_test

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/sampler"
)

// From training data to the noisy numbers that a device sends, and to what is read of
// them.
func ExampleDesign() {
	// Two features; the task reads the first, which is about twice the second.
	data := mat.NewDense(6, 2, []float64{2, 1.1, 4, 1.9, 6, 3.2, 8, 3.8, 10, 5.1, 12, 5.9})
	r, err := latent.Design(context.Background(), latent.Problem{
		Features: []string{"use", "size"}, Data: data, Task: mat.NewDense(1, 2, []float64{1, 0}),
		Epsilon: 4, Delta: 1e-6, Domain: bundle.Box, Clip: 1,
	}, latent.DesignOptions{})
	if err != nil {
		log.Fatal(err)
	}
	best := r.Best("")
	fmt.Printf("%s noise on %d coordinate: loss %.2f, %.2f for nothing\n", best.Noise, best.Z, best.Loss, r.Nothing)

	b, err := r.Bundle(best)
	if err != nil {
		log.Fatal(err)
	}
	device, err := latent.NewPrivatizer(b, sampler.Options{})
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
	// laplace noise on 1 coordinate: loss 6.03, 11.67 for nothing
	// 1 number released, 2 features decoded
	// promise: 4 1e-06
}
