// SPDX-License-Identifier: Apache-2.0

package lp_test

import (
	"context"
	"fmt"

	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
)

// Unbiased private answers to a rating from 0 to 5, with the least variance that the worst
// rating can have.
func ExampleDesignLocal() {
	p := lp.LocalProblem{
		Epsilon: 2, Values: local.Values{Kind: local.Real, Lower: 0, Upper: 5},
		Loss: loss.L2, Objective: local.Worst, Demands: local.Demands{Unbiased: true},
	}
	r, err := lp.DesignLocal(context.Background(), p, lp.Options{Gap: 0.005})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := r.Verified.Certificate()
	fmt.Printf("variance at most %s, and no mechanism has less than %s\n", c.WorstLoss.FloatString(1), c.LowerBound.FloatString(1))
	// Output:
	// variance at most 5.4, and no mechanism has less than 5.4
}
