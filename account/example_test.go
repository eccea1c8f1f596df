// SPDX-License-Identifier: Apache-2.0

package account_test

import (
	"context"
	"fmt"
	"log"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// A thousand releases of Gaussian noise, and ten of Laplace noise.
func ExampleCompose() {
	gaussian, err := account.Gaussian(100)
	if err != nil {
		log.Fatal(err)
	}
	laplace, err := account.Laplace(0.1)
	if err != nil {
		log.Fatal(err)
	}
	c, err := account.Compose([]account.Release{
		{PLD: gaussian, Times: 1000},
		{PLD: laplace, Times: 10},
	}, account.Options{})
	if err != nil {
		log.Fatal(err)
	}
	epsilon, err := c.Epsilon(1e-6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d releases are (%.2f, 1e-6)-private\n", c.Count(), epsilon.Upper)
	// Output:
	// 1010 releases are (1.90, 1e-6)-private
}

func ExampleComposition_Delta() {
	m, err := account.RandomizedResponse(0.5, 2)
	if err != nil {
		log.Fatal(err)
	}
	c, err := account.Compose([]account.Release{{PLD: m, Times: 20}}, account.Options{})
	if err != nil {
		log.Fatal(err)
	}
	delta, err := c.Delta(5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("delta at epsilon 5 is %.3g\n", delta.Upper)
	// Output:
	// delta at epsilon 5 is 0.0544
}

// The noise of 30 counts with a total budget. Truncated Laplace noise stands for the
// best noise there is, which lp.Design finds.
func ExampleCalibrate() {
	target := account.Target{
		Problem: dp.Problem{
			Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-6, Sensitivity: 1},
			Query:   dp.IntegerQuery,
			Loss:    loss.L1,
		},
		Releases: 30,
	}
	design := func(_ context.Context, p dp.Problem, _ float64) (*tables.Verified, error) {
		if p.Delta == 0 {
			return shapes.Laplace(p, tables.Grid{})
		}
		return shapes.TruncatedLaplace(p, tables.Grid{})
	}
	c, err := account.Calibrate(context.Background(), target, design, account.CalibrateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	p := c.Table.Mechanism().Privacy()
	fmt.Printf("each (%.3f, %.2g)-private, together (%.3f, 1e-6); exponent %g\n", p.Epsilon, p.Delta, c.Composed.Upper, c.Exponent)
	// Output:
	// each (0.120, 1.7e-08)-private, together (1.000, 1e-6); exponent 1.5
}

// A thousand steps of DP-SGD on batches of about one person in a hundred, and the noise that
// a smaller total takes.
func ExampleSubsampledGaussian() {
	step, err := account.SubsampledGaussian(1, 0.01)
	if err != nil {
		log.Fatal(err)
	}
	c, err := account.Compose([]account.Release{{PLD: step, Times: 1000}}, account.Options{})
	if err != nil {
		log.Fatal(err)
	}
	epsilon, err := c.Epsilon(1e-5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("1000 steps are (%.2f, 1e-5)-private\n", epsilon.Upper)
	multiplier, _, err := account.SubsampledMultiplier(0.01, 1000, 1, 1e-5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("for epsilon 1 the noise has to be %.2f times the norm\n", multiplier)
	// Output:
	// 1000 steps are (1.83, 1e-5)-private
	// for epsilon 1 the noise has to be 1.42 times the norm
}
