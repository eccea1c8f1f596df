// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// TestCompleteKernels: programs of kernels solved complete cost what constraint generation
// finds, and the multipliers of the lower ones prove as much.
func TestCompleteKernels(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 3))
	for trial := range 24 {
		p := Problem{
			Privacy: dp.Privacy{Epsilon: math.Exp(4*random.Float64() - 2), Delta: math.Exp(-7*random.Float64() - 0.7), Sensitivity: 1 + 2*random.Float64()},
			Loss:    []loss.Loss{loss.L1, loss.L2}[trial%2], Queries: kernels.Queries{Lower: 0, Upper: 4},
		}
		if trial%3 == 0 {
			p.Queries.Lower, p.Queries.Upper = -1, 2.5
			p.InstanceCap = 3 // never binds, but is there
		}
		if trial%4 == 3 {
			var err error
			if p.Loss, err = loss.Parse("pinball:0.7"); err != nil {
				t.Fatal(err)
			}
		}
		cells := 3 + random.IntN(8)
		lower, ok := lowerLayout(p, cells, 1)
		if !ok {
			t.Fatal("no lower program")
		}
		for name, l := range map[string]layout{"upper": upperLayout(p, evenly(p, cells), p.Epsilon, p.Delta, 1), "lower": lower} {
			if len(l.limits) == 0 { // no cells are near enough
				continue
			}
			const gap = 1e-6
			complete, status, err := l.solve(t.Context(), &meet.Options{}, nil, engine.Want{Gap: gap, Excess: gap})
			if err != nil || status != solver.StatusOptimal {
				t.Fatalf("%s %+v, %d cells: %v, %v", name, p, cells, status, err)
			}
			generated, status, err := l.solve(t.Context(), &meet.Options{NewSolver: highs.New, Generate: true}, nil, engine.Want{Excess: gap})
			if err != nil || status != solver.StatusOptimal {
				t.Fatalf("%s %+v, %d cells: %v, %v", name, p, cells, status, err)
			}
			cost := func(k *program) (sum float64) {
				for i, law := range k.Of(k.Masses()) {
					total := 0.0
					for j, m := range law {
						sum += l.cost[i][j] * m
						total += m
					}
					if math.Abs(total-1) > 1e-8 {
						t.Errorf("%s %+v: a law of mass %g", name, p, total)
					}
				}
				return sum
			}
			a, b := cost(complete), cost(generated)
			if math.Abs(a-b) > 1e-4*b {
				t.Errorf("%s %+v, %d cells: %.9g complete, %.9g by constraint generation", name, p, cells, a, b)
			}
			if name == "lower" {
				proved := kernels.Spec{Privacy: p.Privacy, Queries: p.Queries, Loss: p.Loss, InstanceCap: p.InstanceCap, Dual: complete.dual(1, p.InstanceCap)}
				bound, _ := proved.LowerBound().Float64()
				if bound < a*(1-1e-4) || bound > b*(1+1e-4) {
					t.Errorf("%+v, %d cells: bound %.9g of %.9g", p, cells, bound, a)
				}
			}
		}
	}
}
