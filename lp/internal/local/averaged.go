// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"math"
	"slices"

	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/lp/internal/engine/ratio"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// The mean loss of real values is bounded from below by densities λ(x) and μ(x) that are
// linear between nodes. The best of them are the prices of a program with a law for every
// value, whose totals and means are right on the average over the hat of each node only:
//
//	∫ hat_i(x)·Σ_j q_xj dx = ∫ hat_i,   ∫ hat_i(x)·(Σ_j q_xj·y_j − x) dx = 0,
//
// and for the ends of the range, where prices gather, themselves. The values are those of
// a quadrature.

const (
	// betweenPoints is how many values there are between two nodes, at least. It is even,
	// so that no value is its own mirror image.
	betweenPoints = 4
	// leastPoints is how many values there are in all, at least.
	leastPoints = 64
)

const (
	// mostJumps is how many jumps of the weight get nodes of their own, at most.
	mostJumps = 64
	// jumpWidth is the distance of the two nodes at a jump.
	jumpWidth = 0x1p-18
)

// averagedNodes returns the nodes of the averaged program: where the density of the values
// jumps so do λ and μ, and there are two nodes next to each other in place of those near.
func (m *model) averagedNodes(intervals int) []float64 {
	nodes := m.nodes(intervals)
	var jumps []float64
	for i, p := range m.density[1:] {
		if p.density != m.density[i].density {
			jumps = append(jumps, math.Round(p.from/m.grain)*m.grain)
		}
	}
	if len(jumps) > mostJumps {
		return nodes
	}
	width := math.Round(jumpWidth/m.grain) * m.grain
	for _, x := range jumps {
		last := len(nodes) - 1
		nodes = slices.DeleteFunc(nodes, func(t float64) bool {
			return math.Abs(t-x) < 0.5*2/float64(intervals) && t != nodes[0] && t != nodes[last] && !slices.Contains(jumps, t)
		})
		other := x + width
		if x > 0 {
			other = x - width
		}
		nodes = append(nodes, x, other)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// between returns the values of a quadrature: the middles of equal parts.
func (m *model) between(nodes []float64) []at {
	count := betweenPoints
	for count*(len(nodes)-1) < leastPoints {
		count += 2
	}
	var points []at
	for i := range len(nodes) - 1 {
		if nodes[i+1]-nodes[i] < 2*jumpWidth {
			continue
		}
		width := (nodes[i+1] - nodes[i]) / float64(count)
		for k := range count {
			points = append(points, at{nodes[i] + width*(float64(k)+0.5), width})
		}
	}
	return points
}

// averagedShape counts laws, of points and of the ends, and rows, of totals and means of the
// nodes and of the ends. Of those that are mirror images of each other there is one.
type averagedShape struct{ points, nodes, means, ends int }

func (m *model) averagedShape(g *grid) averagedShape {
	s := averagedShape{len(g.points), len(g.nodes), 0, 2}
	if m.mirrored {
		s.points, s.nodes, s.ends = s.points/2, (s.nodes+1)/2, 1
	}
	if m.Demands.Unbiased {
		s.means = s.nodes
		if m.mirrored && len(g.nodes)%2 == 1 {
			s.means-- // at the middle, the mean is right by symmetry
		}
	}
	return s
}

// averagedProgram is program for a grid with points. Costs and rows of totals, means and ends
// (totals, then means) come in this order, and then the caps.
func (m *model) averagedProgram(g *grid, answers []float64) ratio.Program {
	shape := m.averagedShape(g)
	p := ratio.Program{Ratio: m.ratio(), Laws: shape.points + shape.ends, Group: m.groups(answers)}
	images := 1.0
	if m.mirrored {
		images = 2
	}
	zero := make([]float64, len(answers))
	costs := meet.Matrix(shape.points, len(answers)) // of a point, without its weight
	for i, x := range g.points[:shape.points] {
		for j, y := range answers {
			costs[i][j] = m.cost(y, []at{{x.x, x.weight}})
		}
		p.Cost = append(p.Cost, scaledBy(costs[i], images*m.densityAt(x.x)))
	}
	for range shape.ends {
		p.Cost = append(p.Cost, zero)
	}
	scaled := scaledBy(answers, 1/m.reach())
	ones := slices.Repeat([]float64{1}, len(answers))
	for i := range shape.nodes {
		p.Rows = append(p.Rows, m.hatRow(g, i, func(_ int, x at, hat float64) ([]float64, float64) {
			return scaledBy(ones, hat*x.weight), hat * x.weight
		}))
	}
	for i := range shape.means {
		p.Rows = append(p.Rows, m.hatRow(g, i, func(_ int, x at, hat float64) ([]float64, float64) {
			return scaledBy(scaled, hat*x.weight), hat * x.weight * x.x / m.reach()
		}))
	}
	ends := func(value []float64, bound func(end float64) float64) {
		for e := range shape.ends {
			end := g.nodes[e*(len(g.nodes)-1)]
			p.Rows = append(p.Rows, ratio.Row{Terms: []ratio.Term{{Law: shape.points + e, Value: value}}, Bound: bound(end)})
		}
	}
	ends(ones, func(float64) float64 { return 1 })
	if m.Demands.Unbiased {
		ends(scaled, func(end float64) float64 { return end / m.reach() })
	}
	if m.Demands.Cap > 0 {
		for i := range shape.nodes {
			row := m.hatRow(g, i, func(k int, x at, hat float64) ([]float64, float64) {
				return scaledBy(costs[k], hat), hat * x.weight * m.Demands.Cap / m.unit
			})
			row.Kind = ratio.AtMost
			p.Rows = append(p.Rows, row)
		}
	}
	return p
}

// hatRow is the row of a node: of each point in its hat, what is asked of it there.
func (m *model) hatRow(g *grid, node int, of func(k int, x at, hat float64) (value []float64, bound float64)) ratio.Row {
	var row ratio.Row
	for k, x := range g.points[:m.averagedShape(g).points] {
		if hat := hatAt(g.nodes, node, x.x); hat > 0 {
			value, bound := of(k, x, hat)
			row.Terms = append(row.Terms, ratio.Term{Law: k, Value: value})
			row.Bound += bound
		}
	}
	return row
}

// hatAt is 1 at a node, 0 at its neighbors, and linear in between.
func hatAt(nodes []float64, node int, x float64) float64 {
	other := node + 1
	if x < nodes[node] {
		other = node - 1
	}
	if other < 0 || other == len(nodes) {
		return 0
	}
	return max(0, 1-(x-nodes[node])/(nodes[other]-nodes[node]))
}

func (m *model) densityAt(x float64) float64 {
	for _, p := range m.density {
		if x < p.to {
			return p.density
		}
	}
	return m.density[len(m.density)-1].density
}

func scaledBy(x []float64, factor float64) []float64 {
	out := make([]float64, len(x))
	for j, v := range x {
		out[j] = factor * v
	}
	return out
}

func (m *model) averagedDual(ctx context.Context, s *priced) *local.Dual {
	shape, n := m.averagedShape(&s.grid), len(s.grid.nodes)
	share := m.unit
	if m.mirrored {
		share /= 2
	}
	price := func(list []float64, i int) (p, sign float64) {
		sign = 1
		if m.mirrored && i > n-1-i {
			i, sign = n-1-i, -1
		}
		if i >= len(list) {
			return 0, sign // the middle of means
		}
		return list[i] * share, sign
	}
	left := s.Prices
	cut := func(rows int) []float64 {
		head := left[:rows]
		left = left[rows:]
		return head
	}
	totals, means := cut(shape.nodes), cut(shape.means)
	endTotals, endMeans := cut(shape.ends), []float64(nil)
	if m.Demands.Unbiased {
		endMeans = cut(shape.ends)
	}
	d := &local.Dual{Nodes: m.spread(s.grid.nodes), Totals: make([]float64, n), PointTotals: make([]float64, n)}
	if m.Demands.Unbiased {
		d.Means, d.PointMeans = make([]float64, n), make([]float64, n)
	}
	if m.Demands.Cap > 0 {
		d.Caps = make([]float64, n)
	}
	for i := range n {
		// Densities are per unit of the problem.
		total, sign := price(totals, i)
		d.Totals[i] = total / m.half
		if d.Means != nil {
			mean, _ := price(means, i)
			d.Means[i] = sign * mean / (m.half * m.half * m.reach())
			d.Totals[i] -= d.Means[i] * m.mid
		}
		if d.Caps != nil {
			limit, _ := price(left, i)
			d.Caps[i] = max(0, -limit/m.unit/m.half)
		}
	}
	for e, i := range []int{0, n - 1} {
		k, sign := e, 1.0
		if m.mirrored {
			k, sign = 0, float64(1-2*e)
		}
		d.PointTotals[i] = endTotals[k] * share
		if d.PointMeans != nil {
			d.PointMeans[i] = sign * endMeans[k] * share / (m.half * m.reach())
			d.PointTotals[i] -= d.PointMeans[i] * m.mid
		}
	}
	m.repair(ctx, d, s)
	return d
}
