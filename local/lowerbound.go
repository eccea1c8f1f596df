// SPDX-License-Identifier: Apache-2.0

package local

import (
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// lowerBound returns what the multipliers prove on the loss of the objective of every
// mechanism that keeps the promise and the demands (docs/proofs/local-lower-bound.md). It
// is never below 0, and 0 without a dual. It does not count if the meter says stop.
func (s *Spec) lowerBound(m *proof.Meter) *big.Rat {
	bound := new(big.Rat)
	if s.Dual == nil {
		return bound
	}
	p := newPricing(s, m)
	proved, ok := p.proved()
	if !ok {
		return bound
	}
	bound.Set(at(proved, p.bits))
	if bound.Sub(bound, p.prices()); bound.Sign() < 0 {
		bound.SetInt64(0)
	}
	return bound
}

// weightBits is the number of binary places of weights.
const weightBits = 96

// pricing holds the multipliers in fixed point. Lengths are in units of 2^-grid; range
// bits r, with 2^r at least the range, make products of lengths and prices costs.
//
// Any multipliers give a true bound, so they are rounded once, and what is computed from
// them is a bound for those that were rounded. A weight of the objective is rounded down.
type pricing struct {
	spec   *Spec
	meter  *proof.Meter
	bits   int // binary places of costs
	grid   int
	reach  int // r
	ratio  *big.Int
	places []place
	bound  int64 // work of a tangent of the loss
	// useful, if there is one, is how large a shortfall may be before the bound is 0.
	useful *big.Int
	// lattice are the answers, if there are but few.
	lattice []*big.Int
	// subtract is Σ weight·variance of the cells of pairShortfall.
	subtract *big.Rat
	spare    [3]big.Int // for what is forgotten at once
}

// place is a node, or an interval on which the multipliers are densities that are linear and the
// weight is constant. A node is an interval whose ends agree and whose width counts as 2^r.
type place struct {
	ends        [2]*big.Int
	width       *big.Int // in units of the grid
	weight, cap *big.Int // times 2^weightBits
	total       [2]*big.Int
	mean        [2]*big.Int // times 2^(bits+r)
	costs       []*big.Int  // of categories
	// edges, if there are, are those of a cell: the cost is the least in it.
	edges *[2]*big.Int
}

// halvingBits is how many times a part of the line may be halved before it is off the grid.
const halvingBits = 48

func newPricing(s *Spec, m *proof.Meter) *pricing {
	p := &pricing{
		spec: s, meter: m, bits: s.costBits(), ratio: exact.ExpUp(s.Epsilon, exact.RatioBits), subtract: new(big.Rat),
	}
	if s.Values.Kind == Category {
		p.categories()
		return p
	}
	d := s.Dual
	starts := []float64{s.Values.Lower, s.Values.Upper}
	for _, piece := range s.Values.Weight {
		starts = append(starts, piece.From)
	}
	points := s.Demands.points()
	p.grid = halvingBits + gridBits(d.Nodes, d.Answers, starts, points, []float64{s.Demands.Lower, s.Demands.Upper})
	for _, y := range points {
		p.lattice = append(p.lattice, floorAt(exact.Rational(y), p.grid))
	}
	width := new(big.Rat).Sub(exact.Rational(s.Values.Upper), exact.Rational(s.Values.Lower))
	for p.reach = -p.grid; exact.PowerOfTwo(p.reach).Cmp(width) < 0; {
		p.reach++
	}
	work := loss.Of(s.Loss).Work(2 * p.grid)
	if p.bound = work.Bound/2 + 600; s.Loss == loss.L2 { // a tangent is less than a bound
		p.bound = 400 + int64(p.grid)*int64(p.grid)/256
	}
	m.Spend(int64(len(d.Nodes)+len(points)) * exact.RationalWork(4*p.grid) * 8)
	switch {
	case !s.averaged():
		p.nodes(s.atomWeights(), exact.Rationals(d.Nodes))
	case s.inCells():
		p.cells()
	default:
		p.densities()
		p.points()
	}
	return p
}

// points adds the nodes that have multipliers beside the densities. They have no weight.
func (p *pricing) points() {
	d := p.spec.Dual
	for i, x := range d.Nodes {
		total, mean := multiplier(d.PointTotals, i), multiplier(d.PointMeans, i)
		if total.Sign() == 0 && mean.Sign() == 0 {
			continue
		}
		a := p.charged(total, mean)
		at := floorAt(exact.Rational(x), p.grid)
		a.ends = [2]*big.Int{at, at}
		p.places = append(p.places, a)
	}
}

// atomWeights are those of nodes: of the worst case, which sum to at most 1, or the values' shares.
func (s *Spec) atomWeights() []*big.Rat {
	if s.Objective == Mean {
		return s.Values.shares()
	}
	weights := exact.Rationals(s.Dual.Weights)
	sum := new(big.Rat)
	for _, w := range weights {
		sum.Add(sum, w)
	}
	for _, w := range weights {
		w.Quo(w, sum)
	}
	return weights
}

// multiplier returns number i of a list that may be empty, for zeros.
func multiplier(list []float64, i int) *big.Rat {
	if len(list) == 0 {
		return new(big.Rat)
	}
	return exact.Rational(list[i])
}

func (p *pricing) categories() {
	for i, w := range p.spec.atomWeights() {
		a := p.atom(w, i)
		for _, c := range p.spec.Costs[i] {
			a.costs = append(a.costs, floorAt(exact.Rational(c), p.bits))
		}
		p.places = append(p.places, a)
	}
}

// nodes adds places that are points.
func (p *pricing) nodes(weights, points []*big.Rat) {
	for i, w := range weights {
		a := p.atom(w, i)
		x := floorAt(points[i], p.grid)
		a.ends = [2]*big.Int{x, x}
		p.places = append(p.places, a)
	}
}

// atom is a point with multipliers number i, without a place.
func (p *pricing) atom(weight *big.Rat, i int) place {
	d := p.spec.Dual
	a := p.charged(exact.Rational(d.Totals[i]), multiplier(d.Means, i))
	a.weight, a.cap = floorAt(weight, weightBits), floorAt(multiplier(d.Caps, i), weightBits)
	return a
}

// charged is a point with multipliers and no weight, without a place.
func (p *pricing) charged(total, mean *big.Rat) place {
	t, m := floorAt(total, p.bits), floorAt(mean, p.bits+p.reach)
	return place{
		width:  new(big.Int).Lsh(big.NewInt(1), uint(p.grid+p.reach)), //nolint:gosec // the range is at least a unit of the grid
		weight: new(big.Int), cap: new(big.Int),
		total: [2]*big.Int{t, t}, mean: [2]*big.Int{m, m},
	}
}

const (
	// leastIntervals is how many intervals a density is priced on, at least.
	leastIntervals = 256
	// mostHalvings is how often the intervals between nodes are halved for that, at most.
	mostHalvings = 8
	// mostIntervals bounds what the halvings make of many pieces of the weight.
	mostIntervals = 1 << 14
)

// densities adds the intervals between nodes of the dual and starts of pieces, halved often enough.
func (p *pricing) densities() {
	d := p.spec.Dual
	nodes := exact.Rationals(d.Nodes)
	pieces := p.spec.Values.densities()
	halvings := 0
	for (len(nodes)-1)<<halvings < leastIntervals && halvings < mostHalvings && (len(nodes)+len(pieces))<<halvings < mostIntervals {
		halvings++
	}
	k := 0
	for i := range len(nodes) - 1 {
		for a := nodes[i]; a.Cmp(nodes[i+1]) < 0; {
			for pieces[k].To.Cmp(a) <= 0 {
				k++
			}
			b := nodes[i+1]
			if pieces[k].To.Cmp(b) < 0 {
				b = pieces[k].To
			}
			step := new(big.Rat).Sub(b, a)
			step.Mul(step, exact.PowerOfTwo(-halvings))
			for range 1 << halvings {
				end := new(big.Rat).Add(a, step)
				p.places = append(p.places, p.interval(a, end, nodes[i], nodes[i+1], i, pieces[k].Density))
				a = end
			}
		}
	}
}

// interval is that from a to b, within the nodes number i and i+1. Densities count per 2^r.
func (p *pricing) interval(a, b, low, high *big.Rat, i int, density *big.Rat) place {
	p.meter.Spend(40 * exact.RationalWork(4*p.grid))
	d := p.spec.Dual
	width := new(big.Rat).Sub(high, low)
	ends := [2]*big.Rat{a, b}
	mix := func(list []float64, x *big.Rat) *big.Rat {
		up := new(big.Rat).Sub(x, low)
		up.Quo(up, width)
		v := multiplier(list, i)
		next := multiplier(list, i+1)
		return v.Add(v, next.Sub(next, v).Mul(next, up))
	}
	middle := new(big.Rat).Add(a, b)
	middle.Mul(middle, big.NewRat(1, 2))
	q := place{
		weight: floorAt(density, weightBits+p.reach),
		cap:    floorAt(mix(d.Caps, middle), weightBits+p.reach),
	}
	for e, x := range ends {
		q.ends[e] = floorAt(x, p.grid)
		q.total[e] = floorAt(mix(d.Totals, x), p.bits+p.reach)
		q.mean[e] = floorAt(mix(d.Means, x), p.bits+2*p.reach)
	}
	q.width = new(big.Int).Sub(q.ends[1], q.ends[0])
	return q
}

// value returns Σ total + Σ mean·x over the places, rounded down.
func (p *pricing) value() *big.Int {
	sum := new(big.Int)
	for _, q := range p.places {
		part := new(big.Int).Add(q.total[0], q.total[1])
		part.Mul(part, q.width)
		sum.Add(sum, shift(part, -1-p.grid-p.reach))
		if q.ends[0] == nil {
			continue
		}
		// The mean of the product of two linear functions is (a(2p+q) + b(p+2q))/6.
		part = new(big.Int)
		for e, mean := range q.mean {
			x := new(big.Int).Lsh(q.ends[e], 1)
			x.Add(x, q.ends[1-e])
			part.Add(part, x.Mul(x, mean))
		}
		part.Mul(part, q.width)
		part.Div(part, big.NewInt(6))
		sum.Add(sum, shift(part, -2*(p.grid+p.reach)))
	}
	return sum
}

// proved returns the value less the shortfall and what delta takes off, and false if there
// is no bound, or none of use.
func (p *pricing) proved() (best *big.Int, ok bool) {
	value := p.value()
	if value.Sign() <= 0 {
		return nil, false
	}
	if p.spec.Delta > 0 && !p.spec.Dual.Product { // where shortfalls cost what they are
		p.useful = value
		shortfall, ok := p.pairShortfall()
		if !ok {
			return nil, false
		}
		return shortfall.Sub(value, shortfall), true
	}
	p.useful = new(big.Int).Lsh(value, usefulBits)
	best, shortfall, ok := p.lowered(value)
	if !ok || p.spec.Delta == 0 {
		return best, ok
	}
	price, ok := p.productPrice(shortfall)
	if !ok {
		return nil, false
	}
	return best.Sub(best, price), true
}

// lowered returns the value less the shortfall, and the shortfall, with the totals lowered to where
// the first was largest. Lowering all totals costs what it takes off the value, and makes the shortfall
// smaller by up to e^ε times as much. How much to lower is found by trying: the shortfall is
// a convex function of it.
func (p *pricing) lowered(value *big.Int) (best, shortfall *big.Int, ok bool) {
	first, ok := p.shortfall()
	if !ok {
		return nil, nil, false
	}
	best, shortfall = new(big.Int).Sub(value, first), first
	places := slices.Clone(p.places)
	negligible := new(big.Int).Rsh(value, negligibleBits)
	lowered := new(big.Int)
	next := new(big.Int).Rsh(first, 3)
	for range mostLowerings {
		if most := new(big.Int).Rsh(value, 1); next.Cmp(most) > 0 {
			next = most
		}
		if first.Cmp(negligible) <= 0 {
			break
		}
		p.lower(new(big.Int).Sub(next, lowered))
		lowered.Set(next)
		short, ok := p.shortfall()
		if !ok {
			break
		}
		if now := new(big.Int).Sub(p.value(), short); now.Cmp(best) > 0 {
			best, shortfall, places = now, short, slices.Clone(p.places)
		}
		if fell := new(big.Int).Sub(first, short); short.Sign() > 0 && fell.Sign() > 0 {
			// The line through both shortfalls ends here.
			next.Mul(next, first)
			next.Div(next, fell)
		} else {
			next.Rsh(next, 1)
		}
	}
	p.places = places
	return best, shortfall, true
}

const (
	// usefulBits: a shortfall of 2^usefulBits values is beyond repair.
	usefulBits = 6
	// negligibleBits: one of 2^-negligibleBits values is not worth the work.
	negligibleBits = 10
	mostLowerings  = 3
)

// lower takes about so much off the value, by all totals but those of points beside densities.
func (p *pricing) lower(cost *big.Int) {
	width := new(big.Int)
	each := func(do func(q *place)) {
		for i := range p.places {
			if q := &p.places[i]; !p.spec.averaged() || q.ends[0] != q.ends[1] {
				do(q)
			}
		}
	}
	each(func(q *place) { width.Add(width, q.width) })
	drop := shift(new(big.Int).Set(cost), p.grid+p.reach)
	drop.Div(drop, width)
	each(func(q *place) {
		for e := range q.total {
			q.total[e] = new(big.Int).Sub(q.total[e], drop)
		}
	})
}

// prices returns what comes off the value: the cap times its multipliers.
func (p *pricing) prices() *big.Rat {
	sum := new(big.Int)
	for _, q := range p.places {
		sum.Add(sum, new(big.Int).Mul(q.cap, q.width))
	}
	cost := at(sum, weightBits+p.grid+p.reach)
	cost.Mul(cost, exact.Rational(p.spec.Demands.Cap))
	return cost.Add(cost, p.subtract)
}

// concave turns a into φ(a) = a₊ − e^ε·a₋, rounded down.
func (p *pricing) concave(a *big.Int) *big.Int {
	if a.Sign() >= 0 {
		return a
	}
	return a.Rsh(p.spare[0].Mul(a, p.ratio), exact.RatioBits)
}

// integral returns the mean of φ over an interval on which its argument is linear with the
// given ends, times the width, rounded down. It may change the ends.
func (p *pricing) integral(a, b, width *big.Int) *big.Int {
	scale := p.grid + p.reach
	if a.Sign()*b.Sign() >= 0 {
		sum := p.concave(a.Add(a, b))
		return shift(new(big.Int).Mul(sum, width), -1-scale)
	}
	if a.Sign() < 0 {
		a, b = b, a
	}
	// a > 0 > b: (a² − e^ε·b²)/(2(a − b)).
	num := new(big.Int).Mul(b, b)
	num.Mul(num, p.ratio)
	den := p.spare[0].Mul(a, a)
	num.Sub(den.Lsh(den, exact.RatioBits), num)
	num.Mul(num, width)
	den.Sub(a, b)
	return num.Div(num, den.Lsh(den, uint(1+exact.RatioBits+scale))) //nolint:gosec // the range is at least a unit of the grid
}

// line is a line value + slope·t below the cost of a place, over t = y − x − center, with
// the value in costs, the slope times 2^r in costs, and the center in half units of the grid.
type line struct{ value, slope, center *big.Int }

// tangent returns a line below the cost of the place that touches it at its middle and at
// the answer twice/2, in units of the grid.
func (p *pricing) tangent(q *place, twice *big.Int) line {
	p.meter.Spend(p.bound)
	if q.edges != nil {
		return p.cellTangent(q, twice)
	}
	center := new(big.Int).Add(q.ends[0], q.ends[1])
	center.Sub(twice, center)
	if p.spec.Loss == loss.L2 { // as View.TangentDown, much faster
		value := new(big.Int).Mul(center, center)
		slope := new(big.Int).Set(center)
		return line{shift(value, p.bits-2*(p.grid+1)), shift(slope, p.bits+p.reach-p.grid), center}
	}
	value, slope, _ := loss.Of(p.spec.Loss).TangentDown(at(center, p.grid+1))
	return line{floorAt(value, p.bits), floorAt(slope, p.bits+p.reach), center}
}

// argument returns a lower bound on (weight + cap)·c(y − x) − total − mean·y at an end, by the
// line. On the interval, and for y between two answers, it is at least what is linear in between.
func (p *pricing) argument(q *place, l line, end int, y *big.Int) *big.Int {
	a, t := new(big.Int), &p.spare[0]
	if q.edges != nil { // of which the line is one in y
		t.Set(y)
	} else {
		t.Sub(y, q.ends[end])
	}
	t.Lsh(t, 1).Sub(t, l.center)
	cost := shift(p.spare[1].Mul(l.slope, t), -p.grid-p.reach-1)
	// The slope is rounded by less than a unit.
	cost.Add(cost, l.value).Sub(cost, shift(t.Abs(t), -p.grid-p.reach-1)).Sub(cost, roundings)
	t.Add(q.weight, q.cap)
	a.Rsh(p.spare[2].Mul(cost, t), weightBits)
	a.Sub(a, q.total[end])
	if q.mean[end].Sign() == 0 {
		return a
	}
	return a.Sub(a, shift(t.Mul(q.mean[end], y), -p.grid-p.reach)).Sub(a, roundings)
}

// roundings is more than what is lost by rounding a value and a product.
var roundings = big.NewInt(2)

// gain returns the part of the place in G(y), by the line.
func (p *pricing) gain(q *place, l line, y *big.Int) *big.Int {
	a := p.argument(q, l, 0, y)
	if q.ends[0] == q.ends[1] {
		return p.concave(a)
	}
	return p.integral(a, p.argument(q, l, 1, y), q.width)
}

// steepness returns the part of the place in the slope of G far out on a side, by the
// line: that of φ((weight + cap)·slope − mean), the signs turned for the left side.
func (p *pricing) steepness(q *place, l line, side int64) *big.Int {
	return p.integral(p.slope(q, l, side, 0), p.slope(q, l, side, 1), q.width)
}

// slope returns that of argument at an end of the place, outwards on a side, rounded down.
func (p *pricing) slope(q *place, l line, side int64, end int) *big.Int {
	weight := new(big.Int).Add(q.weight, q.cap)
	slope := new(big.Int).Set(l.slope)
	if side < 0 {
		slope.Neg(slope).Sub(slope, big.NewInt(1)) // rounded down as seen from there
	}
	slope = shift(slope.Mul(slope, weight), -weightBits)
	mean := new(big.Int).Mul(q.mean[end], big.NewInt(side))
	return slope.Sub(slope, mean)
}

// categoryArgument is argument for the answer number j to a category.
func (p *pricing) categoryArgument(q *place, j int) *big.Int {
	p.meter.Spend(100)
	weight := new(big.Int).Add(q.weight, q.cap)
	a := shift(weight.Mul(weight, q.costs[j]), -weightBits)
	return a.Sub(a, q.total[0])
}

// shortfall is how far G falls below 0, at most, over all answers; false if no bound was found.
func (p *pricing) shortfall() (*big.Int, bool) {
	if p.spec.Values.Kind == Category {
		least := new(big.Int)
		for j := range p.spec.AnswerLabels {
			g := new(big.Int)
			for i := range p.places {
				g.Add(g, p.concave(p.categoryArgument(&p.places[i], j)))
			}
			if g.Cmp(least) < 0 {
				least = g
			}
		}
		return least.Neg(least), true
	}
	tolerance := p.value()
	search := lineSearch{pricing: p, over: p.over, outside: p.outside, tolerance: tolerance.Rsh(tolerance.Abs(tolerance), toleranceBits)}
	low, ok := search.least()
	if !ok {
		return nil, false
	}
	return low.Neg(low), true
}

// toleranceBits: a shortfall is found to 2^-toleranceBits of the bound.
const toleranceBits = 14

// over is that of a lineSearch: the lines are below the costs, φ of them is concave in the
// answer, and so its sum is least at an end of the part.
func (p *pricing) over(u, v *big.Int) (low, middle *big.Int) {
	twice := new(big.Int).Add(u, v)
	half := new(big.Int).Rsh(twice, 1)
	low, middle = new(big.Int), new(big.Int)
	high := new(big.Int)
	for i := range p.places {
		q := &p.places[i]
		l := p.tangent(q, twice)
		low.Add(low, p.gain(q, l, u))
		high.Add(high, p.gain(q, l, v))
		middle.Add(middle, p.gain(q, l, half))
	}
	if high.Cmp(low) < 0 {
		low = high
	}
	return low, middle
}

// outside, of a lineSearch: a concave function whose slope does not end below 0 does not fall.
func (p *pricing) outside(y *big.Int, side int64) (low *big.Int, ok bool) {
	steep, low := new(big.Int), new(big.Int)
	twice := new(big.Int).Lsh(y, 1)
	for i := range p.places {
		q := &p.places[i]
		l := p.tangent(q, twice)
		steep.Add(steep, p.steepness(q, l, side))
		low.Add(low, p.gain(q, l, y))
	}
	return low, steep.Sign() >= 0
}

// lattice returns the answers of demands with bounds and a step, and none if there are too
// many or others may be given: a bound over more answers is one, too.
func (d Demands) points() []float64 {
	if d.Step == 0 || !d.bounded() || (d.Upper-d.Lower)/d.Step > maxLattice {
		return nil
	}
	var answers []float64
	for k := int64(0); ; k++ {
		y := d.lattice(big.NewInt(k))
		if y > d.Upper {
			return answers
		}
		answers = append(answers, y)
	}
}

// maxLattice bounds the answers that are looked at one by one.
const maxLattice = 1 << 13
