// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"math"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/plane"
)

// layout is a design problem with one variable w_o for the weight of all cells that are images of each
// other, those of the cells (i, j) of Norm.Cells:
//
//	minimize   Σ_x (cost_i + cost_j)·w_x
//	subject to Σ_x w_x = 1,  w ≥ 0
//	           Σ_x (w_x − ratio·w_{x−s})₊ ≤ δ    for every shift s,
//
// the sums being over all cells x = (i, j). In a lower program cells without a partner are left out of a
// limit, so that no multiplier is needed beyond the rings.
type layout struct {
	norm           plane.Norm
	rings          int
	lower          bool
	shifts         [][2]int
	cells          [][][2]int // of each limit, the cell that each term is about
	epsilon, delta float64
	decay          float64   // ε per cell, to scale by
	cost           []float64 // by i
}

// solve solves the program.
func (l *layout) solve(ctx context.Context, o *meet.Options, want engine.Want) (*engine.Solution, solver.Status, error) {
	p := cuts.Problem{Ratio: math.Exp(l.epsilon), Delta: l.delta}
	total := cuts.Row{Lower: 1, Upper: 1}
	var start []float64
	for i, j := range l.norm.Cells(l.rings) {
		n := float64(l.norm.Images(i, j))
		p.Cost = append(p.Cost, n*(l.cost[i]+l.cost[max(j, -j)]))
		p.Scale = append(p.Scale, max(math.Exp(-l.decay*float64(i)), l.delta/10))
		start = append(start, max(math.Exp(-0.7*l.decay*float64(i)), l.delta/1000))
		total.Index, total.Value = append(total.Index, len(total.Index)), append(total.Value, n)
	}
	l.cells = nil
	p.Rows = []cuts.Row{total}
	for _, s := range l.shifts {
		limit, cells := l.limit(s)
		p.Limits, l.cells = append(p.Limits, limit), append(l.cells, cells)
	}
	program := engine.OfLaws(p)
	program.Start, program.Complete = start, true
	// Weights fall outwards, so that a cell further out than its partner never gains.
	program.Skip = func(limit, term int) bool {
		if l.norm == plane.Span {
			return false
		}
		x, s := l.cells[limit][term], l.shifts[limit]
		i, j := folded(x[0], x[1])
		a, b := folded(x[0]-s[0], x[1]-s[1])
		return i >= a && j >= b
	}
	return engine.Solve(ctx, o, program, want)
}

// limit states the limit of a shift, and which cell each of its terms is about.
func (l *layout) limit(s [2]int) (limit cuts.Limit, cells [][2]int) {
	n := l.rings
	for i := -n; i <= n; i++ {
		for j := -n; j <= n; j++ {
			gain, lose := l.norm.Index(i, j), -1
			if a, b := i-s[0], j-s[1]; max(a, -a, b, -b) <= n {
				lose = l.norm.Index(a, b)
			}
			if gain == lose || lose < 0 && l.lower {
				continue
			}
			limit.Gain, limit.Lose = append(limit.Gain, gain), append(limit.Lose, lose)
			cells = append(cells, [2]int{i, j})
		}
	}
	return limit, cells
}

// folded returns which of the images of a cell has the weight.
func folded(x, y int) (i, j int) {
	x, y = max(x, -x), max(y, -y)
	return max(x, y), min(x, y)
}

// divergence returns that of masses at a shift.
func (l *layout) divergence(mass []float64, s [2]int) (sum float64) {
	ratio, n := math.Exp(l.epsilon), l.rings
	for i := -n; i <= n; i++ {
		for j := -n; j <= n; j++ {
			lose := 0.0
			if a, b := i-s[0], j-s[1]; max(a, -a, b, -b) <= n {
				lose = mass[l.norm.Index(a, b)]
			}
			sum += max(0, mass[l.norm.Index(i, j)]-ratio*lose)
		}
	}
	return sum
}

// weights rounds masses to weights; the middle pays for what that leaves.
func (l *layout) weights(mass []float64) []uint64 {
	total, most := 0.0, 0
	for i, j := range l.norm.Cells(l.rings) {
		m := mass[l.norm.Index(i, j)]
		total += float64(l.norm.Images(i, j)) * m
		if math.Ldexp(m, 64) >= 1 {
			most = i
		}
	}
	weights := make([]uint64, l.norm.Index(most, most)+1)
	for i, j := range l.norm.Cells(most) {
		if o := l.norm.Index(i, j); o > 0 {
			weights[o] = uint64(math.Ldexp(mass[o]/total*(1-0x1p-48), 64))
			weights[0] -= weights[o] * uint64(l.norm.Images(i, j)) //nolint:gosec // not negative; modulo 2^64
		}
	}
	return weights
}

// dual reads the multipliers of a lower program with so many nodes per sensitivity, in units of the loss.
func (l *layout) dual(s *engine.Solution, nodes int) *plane.Dual {
	const bits = 26 // what is rounded off costs a bracket less than a unit for each shift
	d := &plane.Dual{CellsPerSensitivity: nodes}
	total := 0.0
	for i := range l.shifts {
		total += s.Price(i)
	}
	if !(total > 0) {
		return d
	}
	_, d.Exponent = math.Frexp(total)
	d.Exponent -= bits
	for n, shift := range l.shifts {
		small := max(1, math.Ldexp(s.Price(n), -d.Exponent-17)) // what is left out costs a bracket less
		for t, cell := range l.cells[n] {
			y := int64(math.Ldexp(s.Multiplier(n, t), -d.Exponent))
			if float64(y) >= small {
				d.Add(shift, cell, y)
			}
		}
	}
	return d
}
