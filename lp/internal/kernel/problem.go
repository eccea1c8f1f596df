// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// Problem is lp.KernelProblem.
type Problem struct {
	// Privacy and Loss are as in dp.Problem, but Delta is not 0.
	dp.Privacy
	Loss loss.Loss
	// Queries is the range of the query's values, and their weight.
	Queries kernels.Queries
	// Nodes fixes the answers of the kernel, ascending inside the range. Each
	// has a cell of the query values nearest to it. nil: the centers of cells
	// that are equal but for the two at the ends, as many as the gap needs.
	Nodes []float64
	// Cells, if Nodes is nil and it is not 0, fixes the number of cells, of the
	// kernel and of the lower bound.
	Cells int
	// InstanceCap, if not 0, bounds the expected loss of every query value.
	InstanceCap float64
	// CapLoss is the loss that InstanceCap is about; nil: Loss.
	CapLoss loss.Loss
	// CapSlack, from 0 to 1, is the share by which the cap may be larger, if no kernel of
	// the first cells keeps it: it is then the largest loss that noise which does not
	// depend on the query value has when it is rounded to cells.
	CapSlack float64
}

// capLoss is the loss that the cap is about.
func (p Problem) capLoss() loss.Loss { return cmp.Or(p.CapLoss, p.Loss) }

// protected lists the pairs of cells between the edges whose laws are to be close.
func (p Problem) protected(edges []float64) [][2]int {
	return (&kernels.Spec{Privacy: p.Privacy, Edges: edges}).ProtectedPairs()
}

// partition is a split of the range into cells, each with an answer.
type partition struct{ edges, nodes []float64 }

// nearest returns the cells of the values nearest to each node.
func nearest(q kernels.Queries, nodes []float64) partition {
	return partition{slices.Concat([]float64{q.Lower}, middles(nodes), []float64{q.Upper}), nodes}
}

// evenly splits the range into the given number of cells, of which the inner ones have a width of
// 1/K of the sensitivity for some whole K, rounded up to a float64 such that inner edges K apart
// are one sensitivity apart exactly or a hair more. Then values within the sensitivity are in cells
// at most K apart. The two outer cells take what is left; a value in them is near few others.
func evenly(p Problem, cells int) partition {
	q := p.Queries
	width := q.Upper - q.Lower
	per := float64(cells) * p.Sensitivity / width
	step := width / float64(cells)
	edge := func(i int) float64 { return q.Lower + float64(i)*(width/float64(cells)) }
	if k := math.Round(per); per < float64(cells) && cells > 2 {
		// The outer cells want to be about as wide as the others.
		if k < 1 || width-float64(cells-2)*p.Sensitivity/k < step {
			k = math.Floor(per) + 1
		}
		step = p.Sensitivity / k
		grain := max(math.Ldexp(step, -30), math.Ldexp(max(math.Abs(q.Lower), math.Abs(q.Upper)), -51))
		_, exp := math.Frexp(grain)
		grain = math.Ldexp(1, exp)
		step = math.Ceil(step/grain) * grain
		middle := math.Round((q.Lower+width/2)/grain) * grain
		inner := func(i int) float64 { return middle + float64(2*i-cells)*(step/2) }
		if inner(1) > q.Lower && inner(cells-1) < q.Upper {
			edge = inner
		}
	}
	edges := []float64{q.Lower}
	for i := 1; i < cells; i++ {
		edges = append(edges, edge(i))
	}
	edges = append(edges, q.Upper)
	return partition{edges, middles(edges)}
}

// middles returns those between neighbors.
func middles(x []float64) (between []float64) {
	for i := 1; i < len(x); i++ {
		between = append(between, x[i-1]+(x[i]-x[i-1])/2)
	}
	return between
}

// upperLayout lays out the program whose solutions are kernels on the cells. Costs
// are divided by unit.
func upperLayout(p Problem, c partition, epsilon, delta, unit float64) layout {
	n := len(c.nodes)
	l := layout{ratio: math.Exp(epsilon), delta: delta, cost: meet.Matrix(n, n)}
	for k, costs := range p.Queries.AnswerCosts(c.edges, c.nodes, p.Loss) {
		for j, x := range costs {
			f, _ := x.Float64()
			l.cost[k][j] = f / unit
		}
	}
	l.mirrored = p.Queries.Symmetric() && p.Loss.Symmetric() && meet.Mirrored(c.nodes) && meet.Mirrored(c.edges)
	l.protect(p.protected(c.edges))
	return l
}

// lowerLayout lays out the program of which every private mechanism is a
// solution, on equal cells of the range.
func lowerLayout(p Problem, cells int, unit float64) (l layout, ok bool) {
	w, costs, ok := p.Queries.CellCosts(cells, p.Loss)
	if !ok {
		return l, false
	}
	capped := costs
	if p.CapLoss != nil {
		if _, capped, ok = p.Queries.CellCosts(cells, p.CapLoss); !ok {
			return l, false
		}
	}
	l = layout{
		ratio: math.Exp(p.Epsilon), delta: p.Delta, cost: meet.Matrix(cells, cells),
		mirrored: p.Queries.Symmetric() && p.Loss.Symmetric(),
	}
	for k := range cells {
		weight, _ := w[k].Float64()
		terms := make([]capTerm, cells)
		for j, c := range costs[k] {
			f, _ := c.Float64()
			l.cost[k][j] = weight * f / unit
			charged, _ := capped[k][j].Float64()
			terms[j] = capTerm{k, j, charged / p.InstanceCap}
		}
		if p.InstanceCap > 0 && !(l.mirrored && k > cells-1-k) {
			l.caps = append(l.caps, terms)
		}
	}
	reach := p.Queries.Reach(cells, p.Sensitivity)
	var pairs [][2]int
	for k := range cells {
		for m := k + 1; m < min(k+reach+1, cells); m++ {
			pairs = append(pairs, [2]int{k, m})
		}
	}
	l.protect(pairs)
	return l, true
}

// peaks returns, for the sums with which kernels.Kernel.Certify bounds the loss of
// every query value, the worst cap of each cell that its law breaks: Σ ≤ limit.
func peaks(p Problem, c partition, limit float64) func([][]float64) [][]capTerm {
	parts := limits.KernelParts(len(c.nodes))
	// costs[k][part][j] bounds what node j costs on a part of cell k.
	costs := make([][][]float64, len(c.nodes))
	for k := range costs {
		width := (c.edges[k+1] - c.edges[k]) / float64(parts)
		costs[k] = meet.Matrix(parts, len(c.nodes))
		for part := range costs[k] {
			a := c.edges[k] + float64(part)*width
			for j, y := range c.nodes {
				most, ok := loss.Of(p.capLoss()).CeilingUp(exact.Rational(y-a-width), exact.Rational(y-a))
				if !ok {
					most = new(big.Rat) // the certificate refuses such a loss
				}
				costs[k][part][j], _ = most.Float64()
			}
		}
	}
	return func(laws [][]float64) [][]capTerm {
		var broken [][]capTerm
		for k, law := range laws {
			worst, most := -1, limit*(1+capTolerance)
			for part, cost := range costs[k] {
				var sum float64
				for j, m := range law {
					sum += m * cost[j]
				}
				if sum > most {
					most, worst = sum, part
				}
			}
			if worst < 0 {
				continue
			}
			terms := make([]capTerm, len(law))
			for j, cost := range costs[k][worst] {
				terms[j] = capTerm{k, j, cost / limit}
			}
			broken = append(broken, terms)
		}
		return broken
	}
}

// capTolerance is the relative excess over a cap that is left to the margin.
const capTolerance = 1e-8
