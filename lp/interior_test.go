// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package lp_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
)

var problems = flag.Int("problems", 40, "random problems of TestInteriorAgreesWithGeneration")

// TestInteriorAgreesWithGeneration designs for random problems with both methods: their
// certified intervals meet.
func TestInteriorAgreesWithGeneration(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range *problems {
		p := dp.Problem{Privacy: dp.Privacy{
			Epsilon: math.Exp(math.Log(0.05) + r.Float64()*math.Log(80)), Delta: math.Exp(-12*r.Float64()*r.Float64()) / 2,
			Sensitivity: 0.5 + r.Float64(),
		}, Loss: []loss.Loss{loss.L1, loss.L2}[r.IntN(2)]}
		switch r.IntN(4) {
		case 0:
			p.Constraints.Monotone = true
		case 1:
			p.Constraints.Quantiles = []dp.Quantile{{Probability: 0.5, Magnitude: 3 * p.Sensitivity / min(p.Epsilon, 1)}}
		}
		name := fmt.Sprintf("%g, %g, %s, %+v", p.Epsilon, p.Delta, p.Loss.Name(), p.Constraints)
		o := lp.Options{Gap: 1e-2, NewSolver: highs.New}
		a, err := lp.Design(t.Context(), p, o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, err := lp.DesignGenerating(t.Context(), p, o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		one, other := a.Verified.Certificate(), b.Verified.Certificate()
		if one.ExpectedLoss.Cmp(other.LowerBound) < 0 || other.ExpectedLoss.Cmp(one.LowerBound) < 0 {
			t.Errorf("%s: the intervals of two designs do not meet", name)
		}
	}
}
