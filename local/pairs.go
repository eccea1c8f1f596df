// SPDX-License-Identifier: Apache-2.0

package local

import (
	"math/big"
	"sort"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

// pairShortfall is shortfall for delta > 0, where every node has a condition of its own,
//
//	(w + κ)·c(y − x) − λ − μ·y + Σ_k ( z_{i,k}(y) − e^ε·z_{k,i}(y) ) >= −s for all y,
//
// and costs its own s. It includes delta times the largest prices of the pairs.
func (p *pricing) pairShortfall() (*big.Int, bool) {
	prices, sum := p.pairPrices()
	if prices == nil {
		return nil, false
	}
	answers := onGrid(p.spec.Dual.Answers, p.grid)
	tolerance := p.value()
	tolerance.Div(tolerance.Abs(tolerance), big.NewInt(int64(len(p.places))<<toleranceBits))
	for i := range p.places {
		n := nodeSearch{p, &p.places[i], answers, prices[i]}
		if p.spec.Values.Kind == Category {
			sum.Add(sum, n.categoryShortfall())
			continue
		}
		search := lineSearch{pricing: p, over: n.over, outside: n.outside, breaks: answers, tolerance: tolerance}
		low, ok := search.least()
		if !ok {
			return nil, false
		}
		sum.Sub(sum, low)
	}
	return sum, true
}

// pairPrices returns Σ_k ( z_{i,k} − e^ε·z_{k,i} ) for each node at each answer of the dual,
// rounded down, and delta times the sum of the largest z of each pair, rounded up. It
// returns nothing if the meter says stop.
func (p *pricing) pairPrices() (prices [][]*big.Int, cost *big.Int) {
	d := p.spec.Dual
	outputs := len(d.Answers)
	if p.spec.Values.Kind == Category {
		outputs = len(p.spec.AnswerLabels)
	}
	if !p.meter.Spend(int64(len(p.places)) * int64(outputs) * 30) {
		return nil, nil
	}
	prices = make([][]*big.Int, len(p.places))
	for i := range prices {
		prices[i] = make([]*big.Int, outputs)
		for j := range prices[i] {
			prices[i][j] = new(big.Int)
		}
	}
	total := new(big.Rat)
	for _, pair := range d.Pairs {
		most := new(big.Int)
		for n, y := range pair.Multipliers {
			if !p.meter.Spend(200) {
				return nil, nil
			}
			z := floorAt(exact.Rational(y), p.bits)
			if z.Cmp(most) > 0 {
				most = z
			}
			gain, lose := prices[pair.Gain][pair.First+n], prices[pair.Lose][pair.First+n]
			gain.Add(gain, z)
			less := new(big.Int).Mul(z, p.ratio)
			lose.Add(lose, shift(less.Neg(less), -exact.RatioBits))
		}
		total.Add(total, new(big.Rat).SetInt(most))
	}
	total.Mul(total, exact.Rational(p.spec.Delta))
	return prices, exact.Ceil(total)
}

// nodeSearch looks for the least value of a node's condition.
type nodeSearch struct {
	*pricing
	place   *place
	answers []*big.Int // of the dual
	prices  []*big.Int // at them, linear in between and constant beyond
}

func (n *nodeSearch) categoryShortfall() *big.Int {
	least := new(big.Int)
	for j, price := range n.prices {
		a := n.categoryArgument(n.place, j)
		if a.Add(a, price).Cmp(least) < 0 {
			least = a
		}
	}
	return least.Neg(least)
}

// condition returns the value at y, by the line.
func (n *nodeSearch) condition(l line, y *big.Int) *big.Int {
	a := n.argument(n.place, l, 0, y)
	return a.Add(a, n.price(y))
}

// price interpolates, rounded down.
func (n *nodeSearch) price(y *big.Int) *big.Int {
	k := sort.Search(len(n.answers), func(k int) bool { return n.answers[k].Cmp(y) > 0 })
	switch {
	case len(n.answers) == 0:
		return new(big.Int)
	case k == 0:
		return n.prices[0]
	case k == len(n.answers):
		return n.prices[k-1]
	}
	rise := new(big.Int).Sub(n.prices[k], n.prices[k-1])
	rise.Mul(rise, new(big.Int).Sub(y, n.answers[k-1]))
	rise.Div(rise, new(big.Int).Sub(n.answers[k], n.answers[k-1]))
	return rise.Add(rise, n.prices[k-1])
}

// over, of a lineSearch: between answers of the dual the condition is linear with such a line.
func (n *nodeSearch) over(u, v *big.Int) (low, middle *big.Int) {
	twice := new(big.Int).Add(u, v)
	l := n.tangent(n.place, twice)
	low = n.condition(l, u)
	if end := n.condition(l, v); end.Cmp(low) < 0 {
		low = end
	}
	return low, n.condition(l, new(big.Int).Rsh(twice, 1))
}

func (n *nodeSearch) outside(y *big.Int, side int64) (low *big.Int, ok bool) {
	l := n.tangent(n.place, new(big.Int).Lsh(y, 1))
	return n.condition(l, y), n.steepness(n.place, l, side).Sign() >= 0
}

// cells adds the cells between the nodes of the dual, for the mean of real values and
// delta > 0. The average of a mechanism over a cell is private, too. If it is unbiased its
// mean is the centroid of the cell, and its squared error there, less the variance of the
// values, is the mean loss; for other losses the least cost in the cell counts.
func (p *pricing) cells() {
	d := p.spec.Dual
	plain, factor := loss.Of(p.spec.Loss).Unweighted()
	squared := p.spec.Demands.Unbiased && plain == loss.L2
	nodes := onGrid(d.Nodes, p.grid)
	for i, c := range p.spec.Values.cells(d.Nodes) {
		a := p.atom(c.mass, i)
		x := floorAt(c.centroid, p.grid)
		a.ends = [2]*big.Int{x, x}
		off := new(big.Rat).Sub(c.centroid, at(x, p.grid))
		p.subtract.Sub(p.subtract, new(big.Rat).Mul(at(a.mean[0], p.bits+p.reach), off))
		if squared {
			spread := off.Mul(off, off)
			spread.Add(spread, c.variance).Mul(spread, exact.Rational(factor))
			weight := new(big.Int).Add(a.weight, a.cap)
			p.subtract.Add(p.subtract, spread.Mul(spread, at(weight, weightBits)))
		} else {
			a.edges = &[2]*big.Int{nodes[i], nodes[i+1]}
		}
		p.places = append(p.places, a)
	}
}

// cellTangent is tangent for a cell, of which the cost is the least of c(y − x) for x in it.
// If c rises at the end of the cell that is the higher one, its line there is below the cost
// for every x, and so for the other end if it falls there; otherwise 0 is.
func (p *pricing) cellTangent(q *place, twice *big.Int) line {
	for end, sign := range []int{-1, 1} {
		t := new(big.Int).Lsh(q.edges[end], 1)
		value, slope, _ := loss.Of(p.spec.Loss).TangentDown(at(t.Sub(twice, t), p.grid+1))
		if slope.Sign() == sign {
			return line{floorAt(value, p.bits), floorAt(slope, p.bits+p.reach), twice}
		}
	}
	return line{new(big.Int), new(big.Int), twice}
}

// cell is a part of the range with the mass, centroid and variance of the weight in it;
// where there is no weight, of a uniform one.
type cell struct{ mass, centroid, variance *big.Rat }

// cells returns those between the edges, which run over the range.
func (v Values) cells(edges []float64) []cell {
	at := exact.Rationals(edges)
	out := make([]cell, len(at)-1)
	k, pieces := 0, v.densities()
	for i := range out {
		var moments [3]*big.Rat
		for m := range moments {
			moments[m] = new(big.Rat)
		}
		for a := at[i]; a.Cmp(at[i+1]) < 0; {
			for pieces[k].To.Cmp(a) <= 0 {
				k++
			}
			b := at[i+1]
			if pieces[k].To.Cmp(b) < 0 {
				b = pieces[k].To
			}
			addMoments(&moments, a, b, pieces[k].Density)
			a = b
		}
		mass := new(big.Rat).Set(moments[0])
		if mass.Sign() == 0 {
			addMoments(&moments, at[i], at[i+1], big.NewRat(1, 1))
		}
		mean := moments[1].Quo(moments[1], moments[0])
		variance := moments[2].Quo(moments[2], moments[0])
		out[i] = cell{mass, mean, variance.Sub(variance, new(big.Rat).Mul(mean, mean))}
	}
	return out
}

// addMoments adds density·∫ x^m dx from a to b.
func addMoments(moments *[3]*big.Rat, a, b, density *big.Rat) {
	low, high := big.NewRat(1, 1), big.NewRat(1, 1)
	for m, sum := range moments {
		low.Mul(low, a)
		high.Mul(high, b)
		part := new(big.Rat).Sub(high, low)
		part.Mul(part, density).Mul(part, big.NewRat(1, int64(m)+1))
		sum.Add(sum, part)
	}
}
