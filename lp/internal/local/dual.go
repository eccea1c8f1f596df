// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"

	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// dual reads the multipliers of a solved program, in units of the problem. A law that stands for
// two has the prices of both. Whatever the solver's errors, the result proves a true bound.
func (m *model) dual(ctx context.Context, s *priced) *local.Dual {
	if s.grid.points != nil {
		return m.averagedDual(ctx, s)
	}
	n, laws := len(s.grid.nodes), m.laws(&s.grid)
	d := &local.Dual{Totals: make([]float64, n)}
	if m.Values.Kind != local.Category {
		d.Nodes = m.spread(s.grid.nodes)
	}
	if m.Demands.Unbiased {
		d.Means = make([]float64, n)
	}
	loss := make([]float64, n) // prices of the loss at nodes, or of its mean around them
	for i, p := range s.grid.places {
		loss[p.node] += max(0, -s.Prices[len(s.Prices)-len(s.grid.places)+i])
	}
	weights := make([]float64, n)
	for i := range n {
		law, share, sign := m.image(i, n)
		total := s.Prices[law] * share
		if m.Demands.Unbiased {
			slope := sign * s.Prices[laws+law] * share / (m.half * m.reach())
			d.Means[i] = slope
			total -= slope * m.mid
		}
		d.Totals[i] = total
		weights[i] = loss[law] * share / m.unit
	}
	switch {
	case m.Objective == local.Worst:
		// Their sum is 1 but for rounding, and G of all multipliers in proportion keeps its sign.
		sum := meet.Total(weights)
		for _, list := range [][]float64{weights, d.Totals, d.Means} {
			for i := range list {
				list[i] /= sum
			}
		}
		d.Weights = weights
	case m.Demands.Cap > 0:
		d.Caps = weights
	}
	m.repair(ctx, d, s)
	return d
}

// image returns the node, of n, whose law stands for that of another too, the share of its
// prices that is of this one, times unit, and the sign of that of the mean: 0 in the middle,
// where it is averaged with its mirror image.
func (m *model) image(node, n int) (law int, share, sign float64) {
	switch image := n - 1 - node; {
	case !m.mirrored:
		return node, m.unit, 1
	case node == image:
		return node, m.unit, 0
	case node > image:
		return image, m.unit / 2, -1
	}
	return node, m.unit / 2, 1
}

func (m *model) averaged() bool { return m.Objective == local.Mean && m.Values.Kind == local.Real }

func (m *model) spread(nodes []float64) []float64 {
	out := make([]float64, len(nodes))
	for i, t := range nodes {
		switch {
		case m.Values.Kind == local.Integer:
			out[i] = m.Values.Lower + float64(i)
		case i == 0:
			out[i] = m.Values.Lower
		case i+1 == len(nodes):
			out[i] = m.Values.Upper
		default:
			out[i] = m.value(t)
		}
	}
	return out
}
