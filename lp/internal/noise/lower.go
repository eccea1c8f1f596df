// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"context"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/tables"
)

// lower is the program that every noise solves: the masses are the averages of cell probabilities
// over random translations of the grid, costs are the nodes of a piecewise linear function below
// the loss, and events are restricted to cells K away from an open end. For an integer or lattice
// query it is about noise on its points, and the same as upper where cells are single points.
//
// Where the loss or a quantile jumps, and only there, the program has a second form,
// whose cells lie between the nodes and do not move.
type lower struct {
	*model
	kind cellKind
}

// cellKind says where the cells are if the loss jumps: the first grid tells which is better.
type cellKind int

const (
	undecided cellKind = iota
	aroundNodes
	betweenNodes
)

func (l *lower) cells(k int) grid {
	g := grid{k: k, inner: true}
	if l.points > 0 {
		g.table = l.pointCells(l.points / int64(k))
	}
	return g
}

func (l *lower) coarse(points int64) (k int64, ok bool) { return l.points / points, true }

// extent takes a sensitivity more on either side, beyond the events that are constrained.
func (l *lower) extent(k int, reach float64) grid {
	g := l.cells(k)
	from, to := l.around(k, reach)
	first, last := math.Floor(from-float64(k)), math.Ceil(to+float64(k))
	lo, hi := math.Inf(-1), math.Inf(1)
	if s := l.Constraints.Support; s != nil {
		lo, hi = l.reached(&g, *s)
		if l.peak > 0 && !math.IsInf(lo, 0) {
			first = min(first, lo) // it is the end that keeps noise from 0
		}
		if l.peak < 0 && !math.IsInf(hi, 0) {
			last = max(last, hi)
		}
	}
	return g.between(first, last, lo, hi)
}

// reached returns the first and the last node that noise on the support reaches: less than a cell
// from it, or in it if the nodes are all points there are.
func (l *lower) reached(g *grid, s dp.Interval) (lo, hi float64) {
	end := func(x float64) float64 {
		if math.IsInf(x, 0) {
			return x
		}
		r := exact.Rational(x)
		return floorFloat(r.Quo(r, l.nodeStep(g)), l.exactNodes(g))
	}
	return end(s.Lower), -end(-s.Upper)
}

// exactNodes reports whether the nodes are all points there are.
func (l *lower) exactNodes(g *grid) bool { return l.points > 0 && g.table.PointsPerCell == 1 }

// nodeStep returns the distance of the nodes.
func (l *lower) nodeStep(g *grid) *big.Rat {
	if l.points > 0 {
		step := new(big.Rat).SetInt64(g.table.PointsPerCell)
		return step.Mul(step, l.unit)
	}
	step := exact.Rational(l.Sensitivity)
	return step.Quo(step, new(big.Rat).SetInt64(int64(g.k)))
}

// align: marks are best at a node other than 0.
func (l *lower) align([]float64, int) (offset, first float64) { return 0, 1 }

// reach is that of the events. Constraints further out hardly move the bound: the loss
// there is a small part of the gap if the density falls like e^(−ε|x|). Too small a
// reach weakens the bound, which stays true.
func (l *lower) reach(gap float64) float64 {
	const nearFrom = 4 // from here on events more than little beyond a sensitivity say next to nothing
	p := l.Problem
	if fromZero(p) {
		return 1/p.Delta + 2
	}
	a := SupportBound(p)
	if p.Epsilon == 0 {
		return 2.5*a + 1
	}
	if from, ok := l.standIn(); ok {
		return math.Ceil(from) + 1
	}
	if l.jumping {
		// Far out a loss that jumps may not grow, and all mass there is as
		// good as on cells without constraints.
		return tailReach(p, gap/4) + 1
	}
	r := min(2.5*a, a+3/p.Epsilon) + 1
	if p.Epsilon >= nearFrom && l.folded && l.points == 0 && l.unshaped() && p.Loss.At(p.Sensitivity) > 0 {
		// Measured for l1 and l2; a loss that grows faster weighs more further out. What lies beyond falls like the
		// density.
		const coarse = 1e-3 // the gap it was measured at
		power := math.Log2(p.Loss.At(2*p.Sensitivity) / p.Loss.At(p.Sensitivity))
		r = min(r, 1+(max(4, 1+1.5*power)+max(0, math.Log(coarse/gap)))/p.Epsilon)
		// Those beyond the first step say what helps beside the loss of a sensitivity further out.
		if second := math.Exp(-p.Epsilon) * (power + 1) * math.Exp2(power); l.core != nil && second < gap {
			// But what lies where the loss is 0 yet is held back by events there alone.
			if near := 1.3 * l.core.Width / 2; p.Loss.At(near*p.Sensitivity) > 0 {
				r = near
			}
		}
	}
	return min(r, tailReach(p, gap/2)+1)
}

// standIn returns from where on, in sensitivities, cells may stand for all further out. Where delta is large, the masses there
// fall faster than by e^ε.
func (l *lower) standIn() (from float64, ok bool) {
	from, ok = l.flat()
	c := l.Constraints
	c.Symmetric, c.Monotone, c.Unbiased = false, false, false // which cells between nodes make no use of
	return from, ok && l.Delta <= largeDelta && l.folded && l.Epsilon > 0 && l.edgesAllowed() && c.None()
}

// order: noise may keep to a support, or inside a jump, as if it were a cell wider.
func (l *lower) order() float64 {
	if l.Constraints.Support != nil || l.jumping {
		return 1
	}
	return 2
}

func (l *lower) goal() float64 { return 0.65 }

// cost is the value of the node, or the least loss inside a cell between two.
func (l *lower) cost(g *grid, loss loss.Loss, i int) float64 {
	v, _ := l.node(g, loss, g.first+i).Float64()
	return v
}

func (l *lower) node(g *grid, of loss.Loss, j int) *big.Rat {
	step := l.nodeStep(g)
	x := new(big.Rat).SetInt64(int64(j))
	x.Mul(x, step)
	switch {
	case of == nil && !g.edges:
		return x
	case l.spread != nil && step.Cmp(l.spread) > 0 && !g.edges:
		node := func(j int64) *big.Rat { return of.LowerNode(j, step) }
		return tables.SpreadNode(int64(j), step, l.spread, node, of.AtDown)
	case g.edges:
		side := 1
		if j < 0 {
			x, side = x.Add(x, step), -1
		}
		return loss.Of(of).LimitDown(x, side)
	case l.exactNodes(g):
		return of.AtDown(x)
	default:
		return of.LowerNode(int64(j), step)
	}
}

func (l *lower) privacy(grid, float64) (epsilon, delta float64) { return l.Epsilon, l.Delta }

func (l *lower) effort(gap, _ float64) engine.Want {
	return engine.Want{Excess: meet.LowerTolerance, Stall: meet.StallShare * gap, Bound: true}
}

func (l *lower) layout(g grid, unit, _ float64) layout {
	out := baseLayout(l, g, unit, 0)
	out.atom = g.edges
	if _, ok := l.standIn(); ok && g.edges {
		out.tail = g.k
	}
	if !g.inner {
		out.outside = func(i int) float64 { return foldedCost(l, &g, l.Loss, i) / unit }
	}
	// See tables.Dual for the nodes at which the order is known.
	from := 1
	if l.folded && (l.slope == 0 || l.points == 0) || l.exactNodes(&g) {
		from = 0
	}
	if !g.edges && l.spread == nil { // which have no multipliers of monotony
		out.decreasing = l.monotonePairs(&g, out.variable, from)
	}
	if at := -g.first; l.Constraints.Monotone && from == 1 && !g.edges && l.spread == nil && at > 0 && at+1 < g.n {
		r := momentRow{kind: middleMoment, upper: math.Inf(1), scale: 1, coefficient: make([]float64, len(out.cost))}
		for i, weight := range []float64{-1, 2, -1} { // of variables that stand for a cell and its mirror image, too
			r.coefficient[out.variable[at-1+i]] = weight
		}
		out.moments = append(out.moments, r)
	}
	return out
}

// edgesAllowed reports whether cells may lie between the nodes: multipliers of the mean, which are 0 where
// noise may be taken symmetric, may not be about these.
func (m *model) edgesAllowed() bool {
	return m.points == 0 && loss.Of(m.Loss).Unimodal() && (!m.Constraints.Unbiased || m.folded && m.slope == 0)
}

// solve proves a bound on the grid, keeps it if it is the best, and returns it.
func (l *lower) solve(ctx context.Context, d *designer, g grid) (bound float64, err error) {
	// For a large ε a kink is nearly a jump: what is free below it is nearly all of the core.
	if !(l.jumping || l.Epsilon >= closedFrom && len(loss.Of(l.Loss).Kinks()) > 0) || !l.edgesAllowed() {
		return l.prove(ctx, d, g)
	}
	if l.kind != aroundNodes {
		between := g
		between.edges, between.n = true, g.n-1
		if bound, err = l.prove(ctx, d, between); err != nil {
			return bound, err
		}
	}
	if l.kind != betweenNodes {
		other, err := l.prove(ctx, d, g)
		if err != nil {
			return max(bound, other), err
		}
		if l.kind == undecided {
			if l.kind = betweenNodes; other > bound {
				l.kind = aroundNodes
			}
		}
		bound = max(bound, other)
	}
	return bound, nil
}

// prove solves one program. The duals of its last relaxation prove a bound even if a limit
// or a failure stopped the generation.
func (l *lower) prove(ctx context.Context, d *designer, g grid) (bound float64, err error) {
	bound, status, err := d.solveEnded(ctx, &d.lower, g, 0)
	if err == nil && status == solver.StatusInfeasible && !l.Constraints.None() {
		return 0, d.conflict(ctx, g.k)
	}
	if err == nil && d.table == nil && l.Constraints.MaxDistinguishing > 0 && l.Constraints.Support != nil {
		// There may be no noise, which the program of the bound does not know.
		var excluded bool
		if excluded, err = d.excluded(ctx, d.Problem, g.k); excluded {
			return 0, d.conflict(ctx, g.k)
		}
	}
	return bound, err
}

// certify certifies the bound that the multipliers prove, complete or not.
func (l *lower) certify(d *designer, p *program, g grid, unit float64, complete bool) (float64, error) {
	bound := d.keepDual(p.dual(g, unit))
	d.lower.again = l.learn(d, p, g, unit, bound, complete)
	return bound, nil
}
