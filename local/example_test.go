package local_test

import (
	"fmt"
	"os"

	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
)

// The mechanism of Duchi, Jordan and Wainwright (2018) for one value in [-1, 1] and odds of
// 3 to 1: the answers 2 and -2, unbiased.
func Example() {
	const quarter = 1 << 62 // of 2^64
	r, err := local.New(local.Spec{
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
	fmt.Println("mean loss over uniform values", v.Randomizer().Spec().Claims.MeanLoss)
	fmt.Println("loss of 0.5", r.LossAt(0.5))
	// Output:
	// delta 0 bias 0
	// mean loss over uniform values 3.66666666666667
	// loss of 0.5 3.75
}
