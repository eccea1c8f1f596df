// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package cells

import (
	"fmt"
	"math"
	"testing"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// TestComplete: programs solved complete cost what constraint generation finds, and the
// multipliers of the lower ones prove as much.
func TestComplete(t *testing.T) {
	pinball, err := loss.New("pinball", 0.7)
	if err != nil {
		t.Fatal(err)
	}
	inf := math.Inf(1)
	for _, p := range []Problem{
		{Loss: loss.L1, Edges: []float64{-inf, 0, inf}},
		{Loss: loss.L1, Edges: []float64{-inf, -0.5, 0.5, inf}},
		{Loss: loss.L2, Edges: []float64{0, 0.5, 2}, InstanceCap: 5},
		{Loss: pinball, Edges: []float64{-inf, 0, 1}},
		{Loss: loss.L1, Edges: []float64{-1, 0, 1}, InstanceCap: 4, CapLoss: loss.L2},
	} {
		p.Privacy = dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}
		d := &designer{problem: p}
		const k, gap = 3, 1e-7
		half := d.half(k)
		for name, l := range map[string]layout{
			"upper": upperLayout(p, binGrid(1, k), k, half, p.Epsilon, p.Delta, 1, p.InstanceCap),
			"lower": lowerLayout(p, k, half, 1),
		} {
			name = fmt.Sprintf("%s, %s, edges %g", name, p.Loss.Name(), p.Edges)
			solve := func(o meet.Options) (*program, float64) {
				prog, status, err := l.solve(t.Context(), &o, k, binLaws{}, engine.Want{Gap: gap, Excess: gap})
				if err != nil || status != solver.StatusOptimal {
					t.Fatalf("%s: %v, %v", name, status, err)
				}
				var sum float64
				for cell, law := range prog.laws() {
					total := 0.0
					for j, m := range law {
						sum += l.weight[cell] * l.cost[j] * m
						total += m
					}
					if math.Abs(total-1) > 1e-8 {
						t.Errorf("%s: a law of mass %g", name, total)
					}
				}
				return prog, sum
			}
			complete, a := solve(meet.Options{})
			_, b := solve(meet.Options{NewSolver: highs.New, Generate: true})
			if math.Abs(a-b) > 1e-5*b {
				t.Errorf("%s: %.9g complete, %.9g by constraint generation", name, a, b)
			}
			if l.sums == 0 {
				continue
			}
			proved := cells.Spec{
				Privacy: p.Privacy, Loss: p.Loss, Edges: p.Edges, Weight: p.weight(),
				InstanceCap: p.InstanceCap, CapLoss: p.CapLoss, Dual: complete.dual(k, 1, p.InstanceCap),
			}
			if bound, _ := proved.LowerBound().Float64(); bound < a*(1-1e-4) || bound > b*(1+1e-4) {
				t.Errorf("%s: bound %.9g of %.9g", name, bound, a)
			}
		}
	}
}
