// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"sort"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// symmetric reports whether noise and its mirror image are equally good, so
// that the best noise may be taken symmetric; or has to be.
func symmetric(p *dp.Problem) bool {
	return p.Constraints.Symmetric || (p.Loss.Symmetric() && p.Constraints.Mirrored())
}

// nodes are the points of a lower bound's grid and what the loss is there.
type nodes struct {
	problem *dp.Problem
	step    *big.Rat // β, the distance of neighboring nodes
	points  bool     // noise takes values at nodes only
	edges   bool     // cell j lies between nodes j and j+1
	spread  *big.Rat // the distance of points over which noise is spread; nil: it is not
	// first and last are the nodes that noise on the support reaches; nil: all.
	first, last *big.Int
	mean        *big.Rat // multipliers of the dual
	moments     []moment
	constant    *big.Rat // what the moments' bounds cost
}

// moment is a term λ·g of the Lagrangian.
type moment struct {
	loss   loss.Loss
	lambda *big.Rat
}

// newNodes lays the nodes of a dual over the problem, and returns nil if the
// multipliers are not those of the problem. For an integer or lattice query a shift by
// K nodes may not be longer than the noise has to bear.
func newNodes(d *Dual, p *dp.Problem) *nodes {
	n := &nodes{problem: p, edges: d.Edges, constant: new(big.Rat)}
	isReal := p.Query == "" || p.Query == dp.RealQuery
	if d.Edges && (isReal == d.Spread || !loss.Of(p.Loss).Unimodal()) {
		return nil // only there the atoms may be taken to lie at 0
	}
	if d.Spread && (isReal || p.Constraints.Support != nil) {
		return nil
	}
	sensitivity := exact.Rational(p.Privacy.Sensitivity)
	k := big.NewInt(int64(d.CellsPerSensitivity))
	if isReal {
		n.step = sensitivity.Quo(sensitivity, new(big.Rat).SetInt(k))
	} else {
		step := new(big.Rat).SetInt64(1) // of the points that noise may take
		if p.Query == dp.LatticeQuery {
			if !(p.Step > 0 && p.Step <= math.MaxFloat64) {
				return nil // no problem
			}
			step.SetFloat64(p.Step)
		}
		points := exact.Ceil(sensitivity.Quo(sensitivity, step)) // that values may be apart
		if d.Spread {
			if n.spread = step; !d.Edges && k.Cmp(points) >= 0 {
				return nil // nodes have to be further apart than points
			}
			n.step = new(big.Rat).SetFrac(points, k)
			n.step.Mul(n.step, step)
			return n.of(d)
		}
		stride := points.Div(points, k)
		if stride.Sign() == 0 {
			return nil // more cells than points per sensitivity
		}
		n.points = stride.IsInt64() && stride.Int64() == 1
		n.step = new(big.Rat).SetInt(stride)
		n.step.Mul(n.step, step)
	}
	return n.of(d)
}

// of returns the nodes with the multipliers of a dual, or nil if these are not those of the problem.
func (n *nodes) of(d *Dual) *nodes {
	n.limit()
	if !n.lagrangian(d) || !n.monotone(d) {
		return nil
	}
	return n
}

// limit finds the nodes that noise on the support reaches: those within less
// than a step of it, or in it if noise takes values at nodes only.
func (n *nodes) limit() {
	s := n.problem.Constraints.Support
	if s == nil {
		return
	}
	at := func(end float64) *big.Rat {
		r := exact.Rational(end)
		if r == nil {
			return nil // infinite
		}
		return r.Quo(r, n.step)
	}
	if a := at(s.Lower); a != nil {
		if n.first = exact.Floor(a); n.points {
			n.first = exact.Ceil(a)
		}
	}
	if b := at(s.Upper); b != nil {
		switch n.last = exact.Ceil(b); {
		case n.points:
			n.last = exact.Floor(b)
		case n.edges:
			n.last.Sub(n.last, big.NewInt(1))
		}
	}
}

// lagrangian adds the moment constraints of the problem with the multipliers of
// the dual to the loss, and reports whether there is a constraint for each.
func (n *nodes) lagrangian(d *Dual) bool {
	c := n.problem.Constraints
	if d.Mean != 0 && !c.Unbiased || d.Variance != 0 && c.MaxVariance == 0 || len(d.Quantiles) > len(c.Quantiles) {
		return false
	}
	if d.Mean != 0 {
		n.mean = exact.Rational(d.Mean)
	}
	add := func(loss loss.Loss, lambda float64, bound *big.Rat) {
		if lambda == 0 {
			return
		}
		m := moment{loss, exact.Rational(lambda)}
		n.moments = append(n.moments, m)
		n.constant.Add(n.constant, bound.Mul(bound, m.lambda))
	}
	add(loss.L2, d.Variance, exact.Rational(c.MaxVariance))
	for i, lambda := range d.Quantiles {
		loss, err := c.Quantiles[i].Loss()
		if err != nil {
			return false
		}
		one := new(big.Rat).SetInt64(1)
		add(loss, lambda, one.Sub(one, exact.Rational(c.Quantiles[i].Probability)))
	}
	return true
}

// one returns l_j of a loss.
func (n *nodes) one(l loss.Loss, j int64) *big.Rat {
	if !n.edges && !n.points {
		return l.LowerNode(j, n.step)
	}
	side := 1
	if n.edges && j < 0 { // the end nearer to 0, seen from inside the cell
		j, side = j+1, -1
	}
	x := new(big.Rat).SetInt64(j)
	x.Mul(x, n.step)
	switch {
	case n.spread != nil: // the point that the end is rounded to, from inside
		x = nearest(x.Abs(x), n.spread)
		x.Mul(x, big.NewRat(int64(side), 1))
	case n.edges:
		return loss.Of(l).LimitDown(x, side)
	}
	return l.AtDown(x)
}

// sum combines what f says of the loss and of the moments, and the slope of the mean at x.
func (n *nodes) sum(f func(loss.Loss) *big.Rat, x *big.Rat) *big.Rat {
	total := f(n.problem.Loss)
	for _, m := range n.moments {
		part := f(m.loss)
		total.Add(total, part.Mul(part, m.lambda))
	}
	if n.mean != nil {
		total.Add(total, new(big.Rat).Mul(x, n.mean))
	}
	return total
}

// at returns l_j of the Lagrangian; growth bounds how much it grows from j
// outwards. Symmetric noise pays the average of j and -j.
func (n *nodes) at(j int64) *big.Rat {
	if n.spread == nil || n.edges {
		return n.symmetrized(j, n.node)
	}
	return n.symmetrized(j, func(j int64) *big.Rat {
		value := func(x *big.Rat) *big.Rat {
			return n.sum(func(l loss.Loss) *big.Rat { return l.AtDown(x) }, x)
		}
		return SpreadNode(j, n.step, n.spread, n.node, value)
	})
}

func (n *nodes) node(j int64) *big.Rat {
	return n.sum(func(l loss.Loss) *big.Rat { return n.one(l, j) }, new(big.Rat).Mul(new(big.Rat).SetInt64(j), n.step))
}

func (n *nodes) growth(j int64) *big.Rat {
	if n.edges {
		return new(big.Rat) // neither the loss nor the moments decrease
	}
	return n.symmetrized(j, func(j int64) *big.Rat {
		outwards := new(big.Rat).Set(n.step)
		if j < 0 {
			outwards.Neg(outwards)
		}
		return n.sum(func(l loss.Loss) *big.Rat { return l.Growth(j, n.step) }, outwards)
	})
}

func (n *nodes) symmetrized(j int64, f func(int64) *big.Rat) *big.Rat {
	v := f(j)
	mirror := -j
	if n.edges {
		mirror = -1 - j
	}
	if n.problem.Constraints.Symmetric && mirror != j && !n.plain() {
		v.Add(v, f(mirror)).Mul(v, big.NewRat(1, 2))
	}
	return v
}

// plain reports whether the Lagrangian is symmetric by itself.
func (n *nodes) plain() bool { return n.mean == nil && n.problem.Loss.Symmetric() }

// halves reports whether the cells on the left of 0 are mirror images of those on the right, which say the same.
func (n *nodes) halves(d *Dual) bool {
	return d.Mirrored && n.plain() && n.first == nil && n.last == nil && (n.spread == nil || n.edges)
}

// reached reports whether noise reaches node j.
func (n *nodes) reached(j int64) bool {
	b := big.NewInt(j)
	return (n.first == nil || n.first.Cmp(b) <= 0) && (n.last == nil || n.last.Cmp(b) >= 0)
}

// coefficient is what the multipliers add to one cell: Σ_k y_{k,j} and the
// monotone multiplier from further in, and Σ_k y_{k,j+k} and the cell's own
// monotone multiplier, which come without and with the factor e^ε.
type coefficient struct {
	cell            int64
	own, from, step int64
}

// coefficients collects the cells with a coefficient, from the first one on, sorted. Its size is at most
// four times the number of multipliers, and usually far smaller: shifts share their cells.
func (d *Dual) coefficients(first int64) []coefficient {
	var all []coefficient
	place := make(map[int64]int)
	var ignored coefficient
	at := func(cell int64) *coefficient {
		if cell < first {
			return &ignored
		}
		i, ok := place[cell]
		if !ok {
			i = len(all)
			place[cell] = i
			all = append(all, coefficient{cell: cell})
		}
		return &all[i]
	}
	mirror := int64(0)
	if d.Edges {
		mirror = -1
	}
	add := func(k, j, y int64) {
		if y != 0 {
			at(j).own += y
			at(j - k).from += y
		}
	}
	for _, s := range d.Shifts {
		for i, y := range s.Multipliers {
			j := int64(s.FirstCell) + int64(i)
			add(int64(s.Shift), j, y)
			if d.Mirrored {
				add(-int64(s.Shift), mirror-j, y)
			}
		}
	}
	run := func(r *DualRun, side int64) {
		if r == nil {
			return
		}
		for i, y := range r.Multipliers {
			if j := int64(r.FirstCell) + int64(i); y != 0 {
				at(side * j).step -= y
				at(side * (j + 1)).step += y
			}
		}
	}
	run(d.MonotoneRight, 1)
	if d.Mirrored {
		run(d.MonotoneRight, -1)
	} else {
		run(d.MonotoneLeft, -1)
	}
	slices.SortFunc(all, func(a, b coefficient) int { return cmp.Compare(a.cell, b.cell) })
	return all
}

// monotoneFrom returns the least |j| at which cell j of monotone noise certainly weighs at least as
// much as the next one outwards. The middle cell of nodes between points gathers noise from both
// sides of 0, and does so only if the sides are alike.
func (n *nodes) monotoneFrom() int {
	if n.points || symmetric(n.problem) {
		return 0
	}
	return 1
}

// monotone reports whether multipliers of monotony are about cells of monotone noise.
func (n *nodes) monotone(d *Dual) bool {
	right, left, from := d.MonotoneRight, d.MonotoneLeft, n.monotoneFrom()
	first := func(r *DualRun) int64 {
		if r == nil || r.FirstCell > 0 || len(r.Multipliers) == 0 {
			return 0
		}
		return r.Multipliers[0]
	}
	if first(right) == first(left) {
		from = 0 // twice the middle cell weighs at least as much as the two next to it
	}
	for _, r := range []*DualRun{right, left} {
		if r != nil && !(n.problem.Constraints.Monotone && r.FirstCell >= from) {
			return false
		}
	}
	return true
}

// maxWalk bounds how far beyond the multipliers a bound looks for the cell from
// which the loss only grows.
const maxWalk = 1 << 21

// LowerBound returns the bound the multipliers prove on E c(X) for every noise X that keeps the
// promise, at every shift up to the sensitivity, and the constraints (docs/proofs/lower-bound.md):
//
//	min_j [ l_j + m_{j∓1} − m_j + Σ_k ( y_{k,j} − e^ε·y_{k,j+k} ) ] − δ·Σ_k max_j y_{k,j} − Σ_i λ_i b_i
//
// over the cells j that noise on the support reaches. l_j is the lower node of c + Σ_i λ_i g_i, for
// constraints E g_i(X) <= b_i with multipliers λ_i, rounded down; m are the multipliers of
// monotony; e^ε is rounded up; the rest is exact. If the dual has Edges, l_j is instead the least
// loss inside cell j, and the minimum is also over the atom at 0, whose coefficient is Σ_k max_j
// y_{k,j}. It is never below 0, which bounds every loss. A nil or malformed Dual proves 0, and
// so do multipliers of constraints the problem does not have.
func (d *Dual) LowerBound(p dp.Problem) *big.Rat {
	if d == nil || d.validate() != nil {
		return new(big.Rat)
	}
	return d.lowerBound(p, nil)
}

// lowerBound is LowerBound. It does not count if the meter says stop.
func (d *Dual) lowerBound(p dp.Problem, meter *proof.Meter) *big.Rat {
	zero := new(big.Rat)
	if d == nil {
		return zero
	}
	n := newNodes(d, &p)
	if n == nil {
		return zero
	}
	m := minimum{nodes: n, meter: meter, exponent: d.Exponent, up: exact.ExpUp(p.Epsilon, exact.RatioBits)}
	sides, first := []int64{1, -1}, int64(math.MinInt64)
	if n.halves(d) {
		sides, first = sides[:1], 0
	}
	if !m.prepare(d) || !m.over(d.coefficients(first), sides) || m.least == nil {
		return zero
	}
	price := new(big.Int)
	for i := range d.Shifts {
		price.Add(price, big.NewInt(formfile.Largest(d.Shifts[i].Multipliers)))
	}
	if d.Mirrored {
		price.Lsh(price, 1)
	}
	if d.Edges {
		// An atom at 0 counts at every shift; its loss is at least 0.
		if atom := new(big.Int).Lsh(price, exact.RatioBits); atom.Cmp(m.least) < 0 {
			m.least = atom
		}
	}
	bound := new(big.Rat).SetInt(m.least)
	bound.Mul(bound, exact.PowerOfTwo(d.Exponent-exact.RatioBits))

	cost := new(big.Rat).SetInt(price)
	cost.Mul(cost, exact.PowerOfTwo(d.Exponent))
	cost.Mul(cost, exact.Rational(p.Delta))
	if bound.Sub(bound, cost).Sub(bound, n.constant); bound.Sign() < 0 {
		return zero
	}
	return bound
}

// minimum is the least of l_j and what the multipliers add, over the cells that were considered: in
// units of 2^(x−96), x the exponent of the multipliers, so that the added part of cell j is (own +
// step)·2^96 − up·from, and l_j is rounded down to a whole unit, which only lowers the bound.
type minimum struct {
	*nodes
	meter    *proof.Meter
	work     loss.Work // of a cell
	exponent int
	up       *big.Int // e^ε·2^96, rounded up
	least    *big.Int // nil: none was considered
}

// multiplierWork is what a multiplier costs beside the loss at its cell: coefficients
// lists it up to four times, and sorts the list.
const multiplierWork = 500

// prepare finds what a cell costs, and announces what the multipliers and the pieces of the
// losses do, once in either direction.
func (m *minimum) prepare(d *Dual) bool {
	size := exact.Bits(m.step) + 64
	for i := range len(m.moments) + 1 {
		l := m.problem.Loss
		if i > 0 {
			l = m.moments[i-1].loss
		}
		w := loss.Of(l).Work(size)
		m.work.Bound += w.Bound + 4*exact.RationalWork(2*size)
		m.work.Growth += w.Growth
		m.work.Pass += 4 * w.Pass
	}
	if m.spread != nil && !m.edges {
		m.work.Bound, m.work.Pass = 5*m.work.Bound, 5*m.work.Pass
	}
	if m.problem.Constraints.Symmetric {
		m.work = loss.Work{Bound: 2 * m.work.Bound, Pass: 2 * m.work.Pass, Growth: 2 * m.work.Growth}
	}
	multipliers := 0
	for _, s := range d.Shifts {
		multipliers += len(s.Multipliers)
	}
	for _, r := range []*DualRun{d.MonotoneRight, d.MonotoneLeft} {
		if r != nil {
			multipliers += len(r.Multipliers)
		}
	}
	return m.meter.Spend(m.work.Pass + multiplierWork*int64(multipliers))
}

func (m *minimum) consider(j int64, k coefficient) {
	if !m.reached(j) || !m.meter.Spend(m.work.Bound) {
		return
	}
	l := m.at(j)
	c := new(big.Int)
	if s := exact.RatioBits - m.exponent; s >= 0 {
		c.Lsh(l.Num(), uint(s))
		c.Div(c, l.Denom())
	} else {
		c.Div(l.Num(), new(big.Int).Lsh(l.Denom(), uint(-s)))
	}
	part := big.NewInt(k.own)
	part.Add(part, big.NewInt(k.step))
	c.Add(c, part.Lsh(part, exact.RatioBits))
	part.SetInt64(k.from)
	c.Sub(c, part.Mul(part, m.up))
	if m.least == nil || c.Cmp(m.least) < 0 {
		m.least = c
	}
}

// grows reports whether the Lagrangian does not decrease from j outwards.
func (m *minimum) grows(j int64) bool { return m.meter.Spend(m.work.Growth) && m.growth(j).Sign() >= 0 }

// within reports whether there are cells with multipliers beyond j.
func within(coeffs []coefficient, j, side int64) bool {
	return len(coeffs) > 0 && (side > 0 && coeffs[len(coeffs)-1].cell > j || side < 0 && coeffs[0].cell < j)
}

// over considers all cells on the sides of 0, of which coeffs are those with multipliers. It returns
// false if it does not find where the others only grow.
func (m *minimum) over(coeffs []coefficient, sides []int64) bool {
	for _, c := range coeffs {
		m.consider(c.cell, c)
	}
	touched := func(j int64) bool {
		i := sort.Search(len(coeffs), func(i int) bool { return coeffs[i].cell >= j })
		return i < len(coeffs) && coeffs[i].cell == j
	}
	if !touched(0) {
		m.consider(0, coefficient{})
	}
	// Cells without multipliers have l_j alone. On either side, the first one
	// from which it only grows stands for all those further out.
	for _, side := range sides {
		// Growth does not decrease outwards: if there is none at the limit, there
		// is none before, and no use in walking there.
		if far := side * (maxWalk + 1); m.reached(far) && !m.grows(far) {
			return false
		}
		walked := 0
		for j := side; m.reached(j) && m.meter.Spend(1); j += side {
			if touched(j) {
				continue
			}
			m.consider(j, coefficient{})
			// A loss of many knots takes long to find its growth, and it does
			// no harm to look at more cells: ask after 1, 2, 4, … of them.
			walked++
			last := j*side > maxWalk
			inside := m.spread != nil && within(coeffs, j, side)
			if !inside && (last || walked&(walked-1) == 0) && m.grows(j) {
				break
			}
			if last {
				return false
			}
		}
	}
	return true
}
