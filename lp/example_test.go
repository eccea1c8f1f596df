// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package lp_test

import (
	"context"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
)

// Tables for three values of delta.
func ExampleDesign_deltas() {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 3, Sensitivity: 1}, Loss: loss.L1}
	for _, p.Delta = range []float64{1e-3, 0.1, 0.5} {
		r, err := lp.Design(context.Background(), p, lp.Options{NewSolver: highs.New, Gap: 0.01})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("delta %g: expected loss about %s\n", p.Delta, r.Verified.Certificate().ExpectedLoss.FloatString(2))
	}
	// Output:
	// delta 0.001: expected loss about 0.23
	// delta 0.1: expected loss about 0.21
	// delta 0.5: expected loss about 0.12
}

// Between noise for which errors to the right are three times as bad and noise for which
// those to the left are.
func ExampleFront() {
	var losses [2]loss.Loss
	for i, name := range []string{"asymmetric:1,3", "asymmetric:3,1"} {
		var err error
		if losses[i], err = loss.Parse(name); err != nil {
			fmt.Println(err)
			return
		}
	}
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}}
	r, err := lp.Front(context.Background(), p, losses, lp.FrontOptions{
		Options: lp.Options{NewSolver: highs.New, Gap: 0.02}, Points: 3,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, point := range r.Points {
		first, _ := point.Expected[0].Float64()
		second, _ := point.Expected[1].Float64()
		fmt.Printf("share %.1f: about %.1f in all\n", point.Share, point.Share*first+(1-point.Share)*second)
	}
	fmt.Printf("no noise with 1.4 of the first has less than %g of the second\n", math.Floor(10*r.OuterBound(1.4))/10)
	// Output:
	// share 1.0: about 1.2 in all
	// share 0.5: about 1.4 in all
	// share 0.0: about 1.2 in all
	// no noise with 1.4 of the first has less than 1.3 of the second
}

// The best way to answer a query with values from 0 to 4.
func ExampleDesignKernel() {
	p := lp.KernelProblem{
		Privacy: dp.Privacy{Epsilon: 0.2, Delta: 0.05, Sensitivity: 2}, Loss: loss.L1,
		Queries: kernels.Queries{Lower: 0, Upper: 4},
	}
	r, err := lp.DesignKernel(context.Background(), p, lp.Options{NewSolver: highs.New, Gap: 0.02})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d answers, expected loss about %s\n", r.Verified.Mechanism().Cells(), r.Verified.Certificate().ExpectedLoss.FloatString(2))
	// Output:
	// 10 answers, expected loss about 0.95
}
