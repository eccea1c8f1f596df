// SPDX-License-Identifier: Apache-2.0

package interior

import (
	"math"
	"testing"

	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
)

// squares asks for symmetric noise on cells −n to n with the least mean square, for epsilon
// 5, so many cells per sensitivity and delta 0.1.
func squares(n, k int) (p cuts.Problem, start []float64) {
	p = cuts.Problem{Ratio: math.Exp(5), Delta: 0.1}
	variable := func(cell int) int { return max(cell, -cell) }
	total := cuts.Row{Lower: 1, Upper: 1}
	for v := range n + 1 {
		cells, x := 2.0, float64(v)/float64(k)
		if v == 0 {
			cells = 1
		}
		p.Cost = append(p.Cost, cells*x*x)
		total.Index, total.Value = append(total.Index, v), append(total.Value, cells)
		start = append(start, math.Exp(-5*math.Floor(x+0.85)))
	}
	p.Rows = []cuts.Row{total}
	for shift := 1; shift <= k; shift++ {
		var l cuts.Limit
		for cell := -n; cell <= n; cell++ {
			l.Gain = append(l.Gain, variable(cell))
			if other := cell - shift; -n <= other {
				l.Lose = append(l.Lose, variable(other))
			} else {
				l.Lose = append(l.Lose, -1)
			}
		}
		p.Limits = append(p.Limits, l)
	}
	return p, start
}

// BenchmarkSolve solves programs of some 60, 200 and 400 masses.
func BenchmarkSolve(b *testing.B) {
	for _, size := range []struct {
		name string
		n, k int
	}{{"small", 60, 20}, {"middle", 200, 80}, {"large", 400, 160}} {
		p, start := squares(size.n, size.k)
		b.Run(size.name, func(b *testing.B) {
			steps := 0
			for b.Loop() {
				prog := New(p, Options{Start: start, Step: func(float64) { steps++ }})
				if _, err := prog.Solve(b.Context(), 1e-4, 1e-5); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(steps)/float64(b.N), "iterations")
		})
	}
}
