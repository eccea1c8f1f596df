// SPDX-License-Identifier: Apache-2.0

package design

import (
	"fmt"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/plan"
)

func TestTry(t *testing.T) {
	for _, text := range []string{"prefix:12", "prefix:24", "prefix:52", "ranges:100", "prefix:100", "marginals:sex=2,race=5,workclass=9:2"} {
		w, err := plan.ParseWorkload(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, eps := range []float64{1, 3, 5} {
			start := time.Now()
			r, err := Design(t.Context(), Problem{Budget: dp.Budget{Epsilon: eps, Delta: 1e-6}, Neighbors: dp.AddRemove, MaxPerPerson: 1, Workload: w}, Options{Noise: lp.Designer(lp.Options{})})
			if err != nil {
				t.Fatal(text, err)
			}
			fmt.Println(text, eps, r.Strategy, time.Since(start), r.NumberByNumber)
			for _, c := range r.Candidates {
				fmt.Printf("   %-30s %.6g %.6g %v\n", c.Name, c.MeanSquaredError, c.Bound, c.Made != nil)
			}
		}
	}
}
