// SPDX-License-Identifier: Apache-2.0

package local

import (
	"math/big"
	"math/bits"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

// For delta > 0 multipliers of delta = 0 prove a bound too (docs/proofs/local-lower-bound.md, "Products"):
// where a place lacks a₋ at an answer, the others make up for it in proportion to their a₊, at the price
//
//	z_{i,k}(y) = a₋(i, y)·a₊(k, y) / (Σ a₊(·, y) + s),
//
// and delta takes off Σ_{i,k} of the largest of them over all answers. The answers are cut into parts, on
// each of which all of it is bounded.

const (
	// productParts is how many parts the answers are cut into at which some place lacks something, and
	// hullParts how many are looked at to find these.
	productParts = 256
	hullParts    = 64
	// Beyond three times the range each of at most mostTails parts is longer than the one before it, a share
	// 1/tailShare of the distance from the range.
	mostTails = 256
	tailShare = 16
	// productBits are the binary places of what lacks, in units of the next power of two above the largest,
	// and of the shares of those that make up: a product is below 2^63.
	productBits = 31
)

// productPrice returns what delta takes off, rounded up, for the shortfall, and false if no bound is known.
func (p *pricing) productPrice(shortfall *big.Int) (*big.Int, bool) {
	ends, ok := p.lacking()
	if !ok {
		return nil, false
	}
	var parts []productPart
	most := new(big.Int)
	for _, e := range ends {
		part, lacks := p.part(e[0], e[1])
		if !lacks {
			continue
		}
		p.supply(&part)
		parts = append(parts, part)
		for _, d := range part.lack {
			if d.Cmp(most) > 0 {
				most = d
			}
		}
	}
	n := len(p.places)
	if !p.meter.Spend(int64(n) * int64(n+1) * int64(len(parts))) {
		return nil, false
	}
	unit := most.BitLen() // the largest is below 2^unit
	lack, share := make([][]uint64, n), make([][]uint64, n+1)
	for _, part := range parts {
		for i := range p.places {
			lack[i] = append(lack[i], upTo(part.lack[i], productBits-unit).Uint64())
			s, ok := p.share(&part, i, shortfall)
			if !ok {
				return nil, false
			}
			share[i] = append(share[i], s)
		}
		s, _ := quotient(shortfall, new(big.Int).Add(part.least, shortfall))
		share[n] = append(share[n], s)
	}
	total := exact.Rational(p.spec.Delta)
	total.Mul(total, new(big.Rat).SetInt(p.largest(lack, share)))
	total.Mul(total, exact.PowerOfTwo(unit-2*productBits))
	return exact.Ceil(total), true
}

// largest is Σ_{i,k} of the largest product of the two over the parts.
func (p *pricing) largest(lack, share [][]uint64) *big.Int {
	var high, low uint64
	for i := range lack {
		for k := range share {
			if i == k && p.isPoint(i) { // which lacks or makes up, at one answer
				continue
			}
			var most uint64
			for j, d := range lack[i] {
				most = max(most, d*share[k][j])
			}
			var carry uint64
			low, carry = bits.Add64(low, most, 0)
			high += carry
		}
	}
	sum := new(big.Int).SetUint64(high)
	return sum.Lsh(sum, 64).Add(sum, new(big.Int).SetUint64(low))
}

func (p *pricing) isPoint(i int) bool {
	q := &p.places[i]
	return q.ends[0] == nil || q.ends[0] == q.ends[1]
}

// productPart is what is known of the answers from one to another, or of one label.
type productPart struct {
	u, v *big.Int // nil for labels
	// lack bounds a₋ of each place from above, least Σ a₊ from below, and supply a₊ of each from above, all
	// times the widths.
	lack, supply []*big.Int
	least        *big.Int
	label        int
}

// lacking lists parts that hold all answers at which some place lacks something; for labels their numbers.
func (p *pricing) lacking() (ends [][2]*big.Int, ok bool) {
	if p.spec.Values.Kind == Category {
		for j := range p.spec.AnswerLabels {
			ends = append(ends, [2]*big.Int{big.NewInt(int64(j)), nil})
		}
		return ends, true
	}
	if n := len(p.lattice); n > 0 && n <= productParts {
		for _, y := range p.lattice {
			ends = append(ends, [2]*big.Int{y, y})
		}
		return ends, true
	}
	low, high, tails, ok := p.window()
	if !ok {
		return nil, false
	}
	cut := func(count int64) (parts [][2]*big.Int) {
		at := func(i int64) *big.Int {
			step := new(big.Int).Sub(high, low)
			step.Mul(step, big.NewInt(i)).Div(step, big.NewInt(count))
			return step.Add(step, low)
		}
		for i := range count {
			parts = append(parts, [2]*big.Int{at(i), at(i + 1)})
		}
		return parts
	}
	var from, to *big.Int
	for _, e := range cut(hullParts) {
		if !p.meter.Spend(1) {
			return nil, false
		}
		if _, lacks := p.part(e[0], e[1]); lacks {
			if from == nil {
				from = e[0]
			}
			to = e[1]
		}
	}
	if from == nil {
		return tails, true
	}
	low, high = from, to
	return append(cut(productParts), tails...), true
}

// window returns the ends of the answers, or of three times the range, and parts beyond up to where no place lacks
// anything any more, and false if there is no such place.
func (p *pricing) window() (low, high *big.Int, tails [][2]*big.Int, ok bool) {
	d, v := p.spec.Demands, p.spec.Values
	if d.bounded() {
		ends := onGrid([]float64{d.Lower, d.Upper}, p.grid)
		return ends[0], ends[1], nil, true
	}
	ends := onGrid([]float64{v.Lower, v.Upper}, p.grid)
	width := new(big.Int).Sub(ends[1], ends[0])
	low, high = new(big.Int).Sub(ends[0], width), new(big.Int).Add(ends[1], width)
	for _, side := range []int64{-1, 1} {
		end, out := low, new(big.Int).Neg(width)
		if side > 0 {
			end, out = high, new(big.Int).Set(width)
		}
		for n := 0; !p.enough(end, side); n++ {
			if n == mostTails || !p.meter.Spend(1) {
				return nil, nil, nil, false
			}
			step := new(big.Int).Quo(out, big.NewInt(tailShare))
			out.Add(out, step)
			next := new(big.Int).Add(end, step)
			tails = append(tails, [2]*big.Int{end, next})
			if side < 0 {
				tails[len(tails)-1] = [2]*big.Int{next, end}
			}
			end = next
		}
	}
	return low, high, tails, true
}

// enough reports whether no place lacks anything at y or beyond: no line is below 0 there, nor falls.
func (p *pricing) enough(y *big.Int, side int64) bool {
	for i := range p.places {
		q := &p.places[i]
		l := p.tangent(q, new(big.Int).Lsh(y, 1))
		for e := range q.ends {
			if p.argument(q, l, e, y).Sign() < 0 || p.slope(q, l, side, e).Sign() < 0 {
				return false
			}
		}
	}
	return true
}

// part bounds what each place lacks over the answers from u to v, and Σ a₊, and reports whether one lacks anything.
func (p *pricing) part(u, v *big.Int) (part productPart, lacks bool) {
	part = productPart{u: u, v: v, least: new(big.Int)}
	if v == nil {
		part.label = int(u.Int64())
	}
	for i := range p.places {
		q := &p.places[i]
		least := p.leastArgument(q, &part)
		lack := new(big.Int)
		if least.Sign() < 0 {
			lacks = true
			lack = p.spread(q, lack.Neg(least))
		} else {
			part.least.Add(part.least, shift(least.Mul(least, q.width), -p.grid-p.reach))
		}
		part.lack = append(part.lack, lack)
	}
	return part, lacks
}

// leastArgument bounds a of a place over a part from below: with a line below c it is linear in the answer and in
// the value, and least in a corner.
func (p *pricing) leastArgument(q *place, part *productPart) *big.Int {
	if part.v == nil {
		return p.categoryArgument(q, part.label)
	}
	l := p.tangent(q, new(big.Int).Add(part.u, part.v))
	var least *big.Int
	for _, y := range []*big.Int{part.u, part.v} {
		for e := range q.ends {
			if a := p.argument(q, l, e, y); least == nil || a.Cmp(least) < 0 {
				least = a
			}
		}
	}
	return least
}

// supply bounds a₊ of all places over the part from above: c is largest at an end of the differences, and what is
// subtracted least in a corner.
func (p *pricing) supply(part *productPart) {
	for i := range p.places {
		q := &p.places[i]
		cost, paid := p.mostCost(q, part), new(big.Int).Set(q.total[0])
		if part.v != nil {
			paid = p.leastPaid(q, part)
		}
		weight := new(big.Int).Add(q.weight, q.cap)
		a := upTo(weight.Mul(weight, cost), -weightBits)
		if a.Sub(a, paid).Sign() < 0 {
			a.SetInt64(0)
		}
		part.supply = append(part.supply, p.spread(q, a))
	}
}

// mostCost bounds c(y − x), rounded up.
func (p *pricing) mostCost(q *place, part *productPart) *big.Int {
	if part.v == nil {
		return new(big.Int).Add(q.costs[part.label], big.NewInt(1))
	}
	p.meter.Spend(2 * p.bound)
	low, high := new(big.Int).Sub(part.u, q.ends[1]), new(big.Int).Sub(part.v, q.ends[0])
	if p.spec.Loss == loss.L2 {
		if low.CmpAbs(high) > 0 {
			high = low
		}
		return upTo(high.Mul(high, high), p.bits-2*p.grid)
	}
	most := new(big.Int)
	for _, t := range []*big.Int{low, high} {
		z := at(t, p.grid)
		if c := ceilAt(p.spec.Loss.RampMeanUp(z, z), p.bits); c.Cmp(most) > 0 {
			most = c
		}
	}
	return most
}

// leastPaid bounds λ(x) + μ(x)·y from below, rounded down.
func (p *pricing) leastPaid(q *place, part *productPart) *big.Int {
	var least *big.Int
	for _, y := range []*big.Int{part.u, part.v} {
		for e := range q.ends {
			paid := shift(new(big.Int).Mul(q.mean[e], y), -p.grid-p.reach)
			if paid.Add(paid, q.total[e]); least == nil || paid.Cmp(least) < 0 {
				least = paid
			}
		}
	}
	return least
}

// share bounds the largest a₊/(Σ a₊ + s) of a place over the part, and is not ok if that may be 2 or more: an interval's
// may be above 1, as its values have their largest shares at different answers.
func (p *pricing) share(part *productPart, i int, shortfall *big.Int) (uint64, bool) {
	s, ok := quotient(part.supply[i], new(big.Int).Add(part.least, shortfall))
	if p.isPoint(i) {
		return min(s, 1<<productBits), true
	}
	return s, ok
}

// quotient returns x/y rounded up to a multiple of 2^-31, times that; not ok and 2 if it is 2 or more.
func quotient(x, y *big.Int) (uint64, bool) {
	const most = 1 << (productBits + 1)
	if x.Sign() == 0 {
		return 0, true
	}
	if y.Sign() == 0 {
		return most, false
	}
	q := new(big.Int).Lsh(x, productBits)
	q = exact.DivUp(q, q, y)
	if q.Cmp(big.NewInt(most)) >= 0 {
		return most, false
	}
	return q.Uint64(), true
}

// spread is a times the width of the place, rounded up.
func (p *pricing) spread(q *place, a *big.Int) *big.Int {
	return upTo(a.Mul(a, q.width), -p.grid-p.reach)
}

// upTo returns x·2^bits, rounded up.
func upTo(x *big.Int, bits int) *big.Int {
	up := new(big.Int).Neg(x)
	return up.Neg(shift(up, bits))
}
