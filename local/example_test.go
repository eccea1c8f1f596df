// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"context"
	"fmt"
	"os"

	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
)

// The mechanism of Duchi, Jordan and Wainwright (2018) for one value in [-1, 1] and odds of
// 3 to 1: the answers 2 and -2, unbiased.
func Example() {
	const quarter = 1 << 62 // of 2^64
	r, err := local.New(context.Background(), local.Spec{
		Epsilon:   1.0986122887, // a little above ln 3
		Values:    local.Values{Kind: local.Real, Lower: -1, Upper: 1},
		Objective: local.Worst,
		Demands:   local.Demands{Unbiased: true},
		Loss:      loss.L2,
		Nodes:     []float64{-1, 1},
		Answers:   []float64{-2, 2},
		Rows:      [][]uint64{{3 * quarter, quarter}, {quarter, 3 * quarter}},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	v, err := r.Verify()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	c := v.Certificate()
	fmt.Println("delta", c.DeltaUpper.RatString(), "bias", c.Bias.RatString())
	fmt.Println("mean loss over uniform values", v.Mechanism().Spec().Claims.MeanLoss)
	fmt.Println("loss of 0.5", r.LossAt(0.5))
	// Output:
	// delta 0 bias 0
	// mean loss over uniform values 3.66666666666667
	// loss of 0.5 3.75
}

// The color of a car, answered truthfully about 71 times of 100.
func ExampleRandomizedResponse() {
	v, err := local.RandomizedResponse([]string{"red", "green", "blue"}, 1.6)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	r, c := v.Mechanism(), v.Certificate()
	wrong, _ := c.MeanLoss.Float64()
	least, _ := c.LowerBound.Float64()
	fmt.Printf("red is answered as %.4f\n", r.PMF(0))
	fmt.Printf("wrong with probability %.4f, at least %.4f for any such mechanism; delta %v\n", wrong, least, c.DeltaUpper.Sign())
	// Output:
	// red is answered as [0.7124 0.1438 0.1438]
	// wrong with probability 0.2876, at least 0.2876 for any such mechanism; delta 0
}
