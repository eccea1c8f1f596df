// SPDX-License-Identifier: Apache-2.0

package shapes_test

import (
	"fmt"
	"log"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

func show(v *tables.Verified, err error) {
	if err != nil {
		log.Fatal(err)
	}
	p := v.Mechanism().Privacy()
	l, _ := v.Certificate().ExpectedLoss.Float64()
	fmt.Printf("(%g, %.6g)-private, %d cells, expected loss %.4f\n", p.Epsilon, p.Delta, v.Mechanism().Cells(), l)
}

var query = dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-6, Sensitivity: 1}, Loss: loss.L1}

func ExampleLaplace() {
	show(shapes.Laplace(query, tables.Grid{}))
	// Output: (1, 0)-private, 1345 cells, expected loss 1.0000
}

func ExampleTruncatedLaplace() {
	show(shapes.TruncatedLaplace(query, tables.Grid{}))
	// Output: (1, 1e-06)-private, 875 cells, expected loss 0.9999
}

// Noise for a query of integers is drawn from integers.
func ExampleStaircase() {
	p := query
	p.Query, p.Sensitivity = dp.IntegerQuery, 5
	show(shapes.Staircase(p, 0, tables.Grid{}))
	// Output: (1, 0)-private, 13 cells, expected loss 4.7863
}

func ExampleGaussian() {
	sigma, err := noise.GaussianSigma(query.Privacy)
	if err != nil {
		log.Fatal(err)
	}
	show(shapes.Gaussian(query, sigma, tables.Grid{}))
	// Output: (1, 9.99934e-07)-private, 2435 cells, expected loss 3.3708
}

func ExampleExponentialPower() {
	show(shapes.ExponentialPower(query, 1.5, 3, tables.Grid{}))
	// Output: (1, 3.67134e-06)-private, 2431 cells, expected loss 1.9784
}
