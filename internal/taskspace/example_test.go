// SPDX-License-Identifier: Apache-2.0

package taskspace_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
)

// From the moments of two correlated features, of which the task reads the first
// twice as strongly, to a decoder for Laplace noise on a ball, without any data.
func Example() {
	moments, err := taskspace.GivenMoments([]float64{10, 20}, mat.NewDense(2, 2, []float64{4, 1, 1, 1}))
	if err != nil {
		fmt.Println(err)
		return
	}
	task := mat.NewDense(2, 2, []float64{2, 0, 0, 1})
	coordinates, err := taskspace.NewCoordinates(moments, task, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	const radius, epsilon = 3, 20
	scaling, err := taskspace.Waterfill(coordinates.Lambda, radius, epsilon)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("prices %.3f, coordinates used: %d\n", coordinates.Lambda, scaling.Z)

	encoder := coordinates.Encoder(bundle.Ball, scaling.SemiAxes(), []float64{radius, radius})
	// The body of unit coordinates has an l1 sensitivity of 1.
	variances := make([]float64, scaling.Z)
	for i := range variances {
		variances[i] = 2. / (epsilon * epsilon) // of Laplace noise of scale 1/epsilon
	}
	encoded := encoder.UnclippedMoments(moments)
	decoder, err := taskspace.NewDecoder(encoded, variances)
	if err != nil {
		fmt.Println(err)
		return
	}
	const baseline = 4*4 + 1 // of releasing nothing: the variances, as the task weighs them
	fmt.Printf("closed form %.6f, of the decoder %.6f\n", scaling.Loss, baseline-encoded.Gain(task, decoder))
	// Output:
	// prices [16.262 0.738], coordinates used: 2
	// closed form 3.166968, of the decoder 3.166968
}

func ExampleWaterfill() {
	a, err := taskspace.Waterfill([]float64{4, 1, 1, 1}, 1, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("Z' = %d, loss %.4f, scales squared %.3f\n", a.Z, a.Loss, a.Sigma2)
	// Output:
	// Z' = 4, loss 1.5152, scales squared [0.448 0.184 0.184 0.184]
}
