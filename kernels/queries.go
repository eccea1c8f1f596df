// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Queries says which values a query takes, and how much each counts in the expected loss: the law w
// on [Lower, Upper] over which losses are averaged. The float64s are meant exactly.
type Queries struct {
	// Lower < Upper bound the values, in query units.
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
	// Weight is the density of w up to a factor, constant from each piece's start to the next
	// one's, the last running to Upper. The first starts at Lower. Empty: uniform.
	Weight proof.Pieces `json:"weight,omitempty"`
}

// Validate reports all bad fields together, wrapping dp.ErrInvalid.
func (q Queries) Validate() error {
	errs := check.In("kernels")
	q.Weight.Validate(q.Lower, q.Upper, errs)
	return errs.Err()
}

// Symmetric reports whether w is its own mirror image.
func (q Queries) Symmetric() bool {
	n := len(q.Weight)
	sum := func(x, y float64) *big.Rat { return new(big.Rat).Add(exact.Rational(x), exact.Rational(y)) }
	for i, p := range q.Weight {
		if p.Weight != q.Weight[n-1-i].Weight {
			return false
		}
		if i > 0 && sum(p.From, q.Weight[n-i].From).Cmp(sum(q.Lower, q.Upper)) != 0 {
			return false
		}
	}
	return true
}

// AnswerCosts returns the matrix C with which a kernel on the cells between the
// given edges has the expected loss Σ_k Σ_j P_k(j)·C[k][j] over w:
//
//	C[k][j] = ∫ c(node_j − φ) w(φ) dφ over cell k.
//
// Each is exact up to the upper rounding of Loss.RampMeanUp. The edges ascend
// from Lower to Upper. Cost: about 5 µs per entry.
func (q Queries) AnswerCosts(edges, nodes []float64, loss loss.Loss) [][]*big.Rat {
	return q.answerCosts(edges, nodes, loss, nil)
}

// answerCosts is AnswerCosts. It does not count if the meter says stop.
func (q Queries) answerCosts(edges, nodes []float64, l loss.Loss, m *proof.Meter) [][]*big.Rat {
	answers := exact.Rationals(nodes)
	pieces := q.Weight.Densities(q.Lower, q.Upper)
	size := 2 * exact.MostBits(edges, nodes) // of a difference of an answer and a query value
	for _, p := range pieces {
		size = max(size, 2*exact.Bits(p.To))
	}
	work := loss.Of(l).Work(size)
	if !m.Spend(work.Pass * int64(len(nodes))) {
		return nil
	}
	costs := make([][]*big.Rat, len(edges)-1)
	p := 0
	for k := range costs {
		costs[k] = make([]*big.Rat, len(nodes))
		for j := range answers {
			costs[k][j] = new(big.Rat)
		}
		a, end := exact.Rational(edges[k]), exact.Rational(edges[k+1])
		for a.Cmp(end) < 0 {
			for pieces[p].To.Cmp(a) <= 0 {
				p++
			}
			b := end
			if pieces[p].To.Cmp(b) < 0 {
				b = pieces[p].To
			}
			mass := new(big.Rat).Sub(b, a)
			if mass.Mul(mass, pieces[p].Density); mass.Sign() > 0 {
				for j, y := range answers {
					if !m.Spend(2*work.Bound + 4*exact.RationalWork(2*size)) {
						return nil
					}
					mean := intervalMeanUp(l, new(big.Rat).Sub(y, a), new(big.Rat).Sub(y, b))
					costs[k][j].Add(costs[k][j], mean.Mul(mean, mass))
				}
			}
			a = b
		}
	}
	return costs
}

// intervalMeanUp bounds the average of c between two points from above, by the mean of two ramps.
func intervalMeanUp(loss loss.Loss, from, to *big.Rat) *big.Rat {
	mean := loss.RampMeanUp(from, to)
	mean.Add(mean, loss.RampMeanUp(to, from))
	return mean.Mul(mean, big.NewRat(1, 2))
}

// CellCosts returns what the lower bound charges (docs/proofs/kernel-lower-bound.md) when the range
// is split into equal cells 0 … cells-1: the least mass w_k of cell k if w had its least density
// there all over it, and the cost l[k][j] of an output in cell j for a query in cell k. Cells 0 and
// cells-1 stand for all outputs beyond them too. ok is false if the loss has no bound on an end.
func (q Queries) CellCosts(cells int, loss loss.Loss) (w []*big.Rat, l [][]*big.Rat, ok bool) {
	return q.cellCosts(cells, loss, nil)
}

// cellCosts is not ok if the meter says stop.
func (q Queries) cellCosts(cells int, loss loss.Loss, m *proof.Meter) (w []*big.Rat, l [][]*big.Rat, ok bool) {
	step := q.cellWidth(cells)
	nodes, left, right, ok := lowerNodes(loss, step, cells, m)
	if !ok {
		return nil, nil, false
	}
	l = make([][]*big.Rat, cells)
	for k := range l {
		l[k] = make([]*big.Rat, cells)
		for j := range l[k] {
			c := nodes[j-k+cells-1]
			if j == 0 && left[k].Cmp(c) < 0 {
				c = left[k]
			}
			if r := right[cells-1-k]; j == cells-1 && r.Cmp(c) < 0 {
				c = r
			}
			l[k][j] = c
		}
	}
	return q.leastMasses(cells, step), l, true
}

// cellWidth returns (Upper - Lower)/cells.
func (q Queries) cellWidth(cells int) *big.Rat {
	width := new(big.Rat).Sub(exact.Rational(q.Upper), exact.Rational(q.Lower))
	return width.Quo(width, new(big.Rat).SetInt64(int64(cells)))
}

func (q Queries) leastMasses(cells int, step *big.Rat) []*big.Rat {
	pieces := q.Weight.Densities(q.Lower, q.Upper)
	w := make([]*big.Rat, cells)
	p := 0
	from := exact.Rational(q.Lower)
	for k := range w {
		to := new(big.Rat).Add(from, step)
		for pieces[p].To.Cmp(from) <= 0 {
			p++
		}
		least := pieces[p].Density
		for i := p + 1; i < len(pieces) && pieces[i].From.Cmp(to) < 0; i++ {
			if pieces[i].Density.Cmp(least) < 0 {
				least = pieces[i].Density
			}
		}
		w[k] = new(big.Rat).Mul(least, step)
		from = to
	}
	return w
}

// maxTail bounds the search for the place from which a loss grows.
const maxTail = 1 << 12

// lowerNodes returns l_i for |i| < cells, at index i+cells-1, and the least l_i
// over i <= -n and over i >= n, for n = 0 … cells-1. It is not ok if the meter says stop.
func lowerNodes(l loss.Loss, step *big.Rat, cells int, m *proof.Meter) (nodes, left, right []*big.Rat, ok bool) {
	work := loss.Of(l).Work(exact.Bits(step) + 16)
	if !m.Spend(2 * work.Pass) {
		return nil, nil, nil, false
	}
	nodes = make([]*big.Rat, 2*cells-1)
	for i := range nodes {
		if !m.Spend(work.Bound) {
			return nil, nil, nil, false
		}
		nodes[i] = l.LowerNode(int64(i-cells+1), step)
	}
	tail := func(side int64) []*big.Rat {
		node := func(n int64) *big.Rat {
			if n < int64(cells) {
				return nodes[side*n+int64(cells)-1]
			}
			return l.LowerNode(side*n, step)
		}
		// Where the loss grows from cell to cell ever after, the nearest cell is the least.
		end := int64(max(cells-1, 1))
		for ; ; end++ {
			if end >= maxTail+int64(cells) || !m.Spend(work.Growth+work.Bound) { // and node(end)
				return nil
			}
			if l.Growth(side*end, step).Sign() >= 0 {
				break
			}
		}
		least := make([]*big.Rat, cells)
		low := node(end)
		for n := end - 1; n >= 0; n-- {
			if n+1 < int64(cells) {
				least[n+1] = low
			}
			if c := node(n); c.Cmp(low) < 0 {
				low = c
			}
		}
		least[0] = low
		return least
	}
	left, right = tail(-1), tail(1)
	return nodes, left, right, left != nil && right != nil
}
