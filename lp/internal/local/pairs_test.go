// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package local

import (
	"math"
	"testing"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// TestCompletePairs: programs of pairs solved complete have the optimum that constraint
// generation finds, whatever the worst loss is known to be at most.
func TestCompletePairs(t *testing.T) {
	for _, unbiased := range []bool{true, false} {
		for _, objective := range []local.Objective{local.Worst, local.Mean} {
			m := newModel(Problem{
				Epsilon: 1, Delta: 0.01, Loss: loss.L2, Values: local.Values{Kind: local.Real, Lower: 0, Upper: 5},
				Objective: objective, Demands: local.Demands{Unbiased: unbiased},
			})
			value := func(o meet.Options, most float64) (sum float64) {
				p := m.newPairs(6, m.pairsAt())
				of := p.program(most)
				s, status, err := engine.Solve(t.Context(), &o, of, engine.Want{Gap: 1e-5, Excess: 1e-5})
				if err != nil || status != solver.StatusOptimal {
					t.Fatalf("unbiased %v, %s: %v, %v", unbiased, objective, status, err)
				}
				for v, c := range of.Cost {
					sum += c * s.Masses()[v]
				}
				return sum
			}
			want := value(meet.Options{NewSolver: highs.New, Generate: true}, 1)
			for _, most := range []float64{1.01 * want, 10} {
				if got := value(meet.Options{}, most); math.Abs(got-want) > 1e-4*want {
					t.Errorf("unbiased %v, %s, at most %g: %.9g complete, %.9g by constraint generation", unbiased, objective, most, got, want)
				}
			}
		}
	}
}
