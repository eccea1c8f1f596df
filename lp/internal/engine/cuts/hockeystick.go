// SPDX-License-Identifier: Apache-2.0

package cuts

import (
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/solver"
)

// A limit Σ_j (p_gain(j) − R·p_lose(j))₊ ≤ δ is the maximum of a linear function over
// 2^N events. Adding violated events one by one converges slowly; so the limit itself
// is lifted, by an auxiliary s_j for each term that can be positive:
//
//	s_j ≥ p_gain(j) − R·p_lose(j),  s_j ≥ 0,     Σ_j s_j ≤ δ.
//
// Terms that lose nothing are part of the sum as they are. The others are left out
// until a solution makes them positive or nearly so.
//
// The row of a term is divided by the scale of the variable that gains, the sum row
// by δ, and s_j is measured in the geometric mean of the two.

// lifted is the place of a limit in the program.
type lifted struct {
	done bool
	sum  int   // row of the sum
	term []int // row of each term, -1: left out
}

// TermSlack is the usual slack of a lift.
const TermSlack = 0.3

// lift adds those terms of a limit that are positive or nearly so under the current masses, p_gain
// > slack·R·p_lose, and its sum row if it is new. It reports whether there was anything to add.
func (p *Program) lift(i int, slack float64) (added bool, err error) {
	l := &p.lifted[i]
	if !l.done {
		*l = lifted{done: true, sum: p.rows, term: slices.Repeat([]int{-1}, len(p.Limits[i].Gain))}
		if err := p.add(p.sumRow(p.Limits[i])); err != nil {
			return false, err
		}
		added = true
	}
	var cols, terms solver.Vectors
	for j, u := range p.Limits[i].Gain {
		v := p.Limits[i].Lose[j]
		if v < 0 || l.term[j] >= 0 {
			continue
		}
		if m := p.mass[u]; !(m > 0 && m > slack*p.Ratio*p.mass[v]) {
			continue
		}
		s := p.columns + len(cols.Lower)
		balance := math.Sqrt(p.Scale[u] / p.Delta)
		cols.Add(0, math.Inf(1))
		cols.Entry(l.sum, balance)

		l.term[j] = p.rows + len(terms.Lower)
		terms.Add(math.Inf(-1), 0)
		loss := p.Ratio * p.Scale[v] / p.Scale[u]
		f := p.termFactor(u, v)
		if u == v {
			terms.Entry(u, f*(1-loss))
		} else {
			terms.Entry(u, f)
			terms.Entry(v, -f*loss)
		}
		terms.Entry(s, -f/balance)
	}
	if len(cols.Lower) == 0 {
		return added, nil
	}
	if err := p.addColumns(make([]float64, len(cols.Lower)), cols); err != nil {
		return false, err
	}
	p.rows += len(terms.Lower)
	return true, p.solver.AddRows(terms)
}

// sumRow is the row of a limit's sum without the auxiliaries.
func (p *Program) sumRow(l Limit) Row {
	r := Row{Lower: math.Inf(-1), Upper: p.Delta, Index: slices.Clone(p.Common), Scale: p.Delta}
	for j, v := range l.Gain {
		if l.Lose[j] < 0 {
			r.Index = append(r.Index, v)
		}
	}
	r.Value = slices.Repeat([]float64{1}, len(r.Index))
	return r
}

// termFactor scales the row of a term that gains at u and loses at v once more where
// its entries would otherwise lie too far apart.
func (p *Program) termFactor(u, v int) float64 {
	const wide = 1e6
	if loss := p.Ratio * p.Scale[v] / p.Scale[u]; loss > wide {
		return math.Sqrt(wide / loss)
	}
	return 1
}

// Divergence returns what a limit bounds, of the given masses.
func (p *Problem) Divergence(limit int, mass []float64) float64 {
	var sum float64
	for _, v := range p.Common {
		sum += mass[v]
	}
	l := p.Limits[limit]
	for j, u := range l.Gain {
		g := mass[u]
		if v := l.Lose[j]; v >= 0 {
			g -= p.Ratio * mass[v]
		}
		sum += l.Factor(j) * max(g, 0)
	}
	return sum
}

// Price returns by how much the optimum would fall per unit of δ in a limit, at least
// 0: the dual of its sum row.
func (p *Program) Price(i int) float64 {
	l := &p.lifted[i]
	if !l.done || l.sum >= len(p.duals) { // lifted since the last solve
		return 0
	}
	return max(0, -p.duals[l.sum]/p.Delta)
}

// Multiplier returns by how much the optimum would fall per unit of slack in the j-th
// term of a limit, from 0 to the limit's price: the dual of the term's row, or the
// price where the term is part of the sum.
func (p *Program) Multiplier(i, j int) float64 {
	l := &p.lifted[i]
	u, v := p.Limits[i].Gain[j], p.Limits[i].Lose[j]
	if v < 0 {
		return p.Price(i)
	}
	if !l.done || l.term[j] < 0 || l.term[j] >= len(p.duals) {
		return 0
	}
	y := -p.duals[l.term[j]] * p.termFactor(u, v) / p.Scale[u]
	return min(max(y, 0), p.Price(i))
}
