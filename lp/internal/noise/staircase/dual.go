// SPDX-License-Identifier: Apache-2.0

package staircase

import (
	"math"
	"slices"
)

// Mirrored returns the averages with the mirror image, of one of two opposite shifts: node j is opposite to
// -j, or to -1-j of cells between nodes.
func (m Multipliers) Mirrored(between bool) Multipliers {
	opposite := 0
	if between {
		opposite = -1
	}
	all := make(Multipliers)
	for shift, r := range m {
		for i, y := range r.Y {
			if j := r.First + i; shift < 0 {
				all.add(shift, j, y/2)
			} else {
				all.add(-shift, opposite-j, y/2)
			}
		}
	}
	return all
}

// Nodes are those of the lower program, K per sensitivity.
type Nodes struct {
	At func(j int) float64 // l_j, of node j
	K  int
	// Middle is the node in the middle of the core, and N the number of nodes on
	// either side that take part.
	Middle, N int
}

// Multipliers of q_j <= e^ε·q_i, by shift j-i: runs over j.
type Multipliers map[int]*Run

// Run is one of multipliers of the cells from First on.
type Run struct {
	First int
	Y     []float64
}

// add adds to the multiplier of cell j.
func (m Multipliers) add(shift, j int, by float64) {
	r := m[shift]
	if r == nil {
		r = &Run{First: j}
		m[shift] = r
	}
	if j < r.First { // with room for more, as zeros in front do no harm
		more := r.First - j + len(r.Y)
		r.First, r.Y = r.First-more, slices.Concat(make([]float64, more), r.Y)
	}
	for at := j - r.First; at >= len(r.Y); {
		r.Y = append(r.Y, 0)
	}
	r.Y[j-r.First] += by
}

// Dual returns multipliers that prove nearly the optimum of the lower program with delta =
// 0, or nil; loss is that of a staircase. If symmetric, the nodes are so around node 0, and
// the multipliers stand for their mirror images too.
//
// Write y(j,i) for the multiplier of q_j <= e^ε·q_i, |j-i| <= K. The coefficients are c_j = l_j +
// Σ_i y(j,i) - e^ε·Σ_i y(i,j), and all c_j >= λ prove λ. The cells j of a core need s_j = λ - l_j
// from the cells they compare themselves with, the K on either side of it; a cell i there can carry
// A_i, see side. λ is the largest for which those can carry what is needed. The cells on the right
// serve the right end of the core, as far as they suffice, and those on the left the rest.
func Dual(nodes Nodes, epsilon, loss float64, symmetric bool) Multipliers {
	right := newSide(nodes, 1)
	left := right
	if !symmetric {
		left = newSide(nodes, -1)
		right.other, left.other = left, right
	}
	level, ok := highest(loss, func(level float64) bool { return enough(right, left, level, math.Exp(-epsilon)) })
	if !ok {
		return nil
	}
	y := make(Multipliers)
	add := func(j, i int, by float64) { y.add(j-i, j, by) }
	if symmetric { // cell 0 is helped from both sides alike
		need := right.needs(level, 0)
		need[0] /= 2
		right.serve(0, need, add)
		return y
	}
	from, need, share := right.split(level)
	right.serve(from, need, add)
	need = left.needs(level, -from)
	need[0] = share
	left.serve(-from, need, add)
	return y
}

// highest returns about the highest level, next to or below the loss, for which there is
// enough, and ends with a call for it.
func highest(loss float64, enough func(level float64) bool) (level float64, ok bool) {
	hi := loss * (1 + 1e-9)
	lo := hi
	for share := 1e-4; !enough(lo); share *= 2 {
		if share >= 1 {
			return 0, false
		}
		lo = loss * (1 - share)
	}
	for range 80 {
		if m := lo + (hi-lo)/2; m > lo && m < hi {
			if enough(m) {
				lo = m
			} else {
				hi = m
			}
		}
	}
	enough(lo)
	return lo, true
}

// enough reports whether the sides can carry what the core needs at a level.
func enough(right, left *side, level, ratio float64) bool {
	need, can := level-right.nodes[0], 0.0
	for _, s := range []*side{right, left} {
		if !s.fill(level, ratio) {
			return false
		}
		for j := 1; j < s.r; j++ {
			need += level - s.nodes[j]
		}
		for i := s.r; i < s.r+s.k; i++ {
			can += s.carry[i]
		}
	}
	return can >= need
}

// side is one side of the nodes, counted outwards from the middle.
type side struct {
	middle, sign, k int
	nodes, carry    []float64
	other           *side
	r               int // the first cell beyond the core
}

func newSide(n Nodes, sign int) *side {
	s := &side{middle: n.Middle, sign: sign, k: n.K, nodes: make([]float64, n.N), carry: make([]float64, n.N+n.K)}
	for j := range s.nodes {
		s.nodes[j] = n.At(n.Middle + sign*j)
	}
	return s
}

// fill computes A and r for λ, and reports whether the cells reach far enough. A cell
// i that is itself helped by cell i+K can carry at most
//
//	A_i = e^-ε·(l_i - λ + A_{i+K}),
//
// with A = 0 beyond the last cell. The cells with A_i < 0 have to be helped.
func (s *side) fill(level, ratio float64) bool {
	n := len(s.nodes)
	for j := n - 1; j >= 0; j-- {
		s.carry[j] = ratio * (s.nodes[j] - level + s.carry[j+s.k])
	}
	s.r = 1
	for s.r <= s.k && s.r < n && s.carry[s.r] < 0 {
		s.r++
	}
	return s.r <= s.k && s.r+s.k <= n
}

func (s *side) needs(level float64, from int) []float64 {
	need := make([]float64, 0, s.r-from)
	for j := from; j < s.r; j++ {
		if j < 0 {
			need = append(need, level-s.other.nodes[-j])
		} else {
			need = append(need, level-s.nodes[j])
		}
	}
	return need
}

// split returns the part of the core's needs that this side can serve, from its outer end inwards:
// the last cell, whose need may be shared, the needs from there on, and the other side's share.
func (s *side) split(level float64) (from int, need []float64, share float64) {
	var can float64
	for i := s.r; i < s.r+s.k; i++ {
		can += s.carry[i]
	}
	all := s.needs(level, 1-s.other.r)
	at := len(all) - 1
	for ; at > 0 && can > all[at]; at-- {
		can -= all[at]
	}
	need = slices.Clone(all[at:])
	need[0] = min(can, all[at])
	return at + 1 - s.other.r, need, all[at] - need[0]
}

// serve calls add with the multipliers y(j,i) by which the cells r to r+K-1 serve the needs of the
// cells j from one on, and pass on what they then need from further out. The furthest helper i
// reaches the fewest cells, j >= i-K, so helpers are used up from the furthest on.
func (s *side) serve(from int, need []float64, add func(j, i int, y float64)) {
	edge := func(j, i int, y float64) { add(s.middle+s.sign*j, s.middle+s.sign*i, y) }
	var needy []int // cells that can use helper i, the last first
	next := s.r - 1
	for i := s.r + s.k - 1; i >= s.r; i-- {
		for ; next >= max(i-s.k, from); next-- {
			needy = append(needy, next)
		}
		for left := s.carry[i]; left > 0 && len(needy) > 0; {
			j := needy[len(needy)-1]
			y := min(left, need[j-from])
			edge(j, i, y)
			left -= y
			if need[j-from] -= y; need[j-from] <= 0 {
				needy = needy[:len(needy)-1]
			}
		}
	}
	for i := s.r; i+s.k < len(s.nodes); i++ {
		if s.carry[i+s.k] > 0 {
			edge(i, i+s.k, s.carry[i+s.k])
		}
	}
}
