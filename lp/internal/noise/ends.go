// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"context"
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/loss"
)

// The best noise ends where a mass costs more than its neighbor a sensitivity further in saves by it:
// with the price λ of the total and η of all shifts that lead outwards, where l(x) = λ + (e^ε − 1)·η. Beyond,
// the lower program has no say, as multipliers there follow one after the other: node v needs
//
//	Σ_k y_{k,v} ≥ λ − l_v + e^ε Σ_k y_{k,v+k},
//
// which is at most η if the sum on the right is. So programs reach to there and hardly further, once a
// coarser one has told the prices.

// ends is where the noise ends, in sensitivities from 0.
type ends struct{ from, to float64 }

// endsOf returns where the prices of a lower program say that the noise ends, if they do.
func (l *lower) endsOf(p *program, unit float64) (ends, bool) {
	below, above := 0.0, 0.0
	for i, k := range p.shifts {
		if k > 0 {
			below += p.Price(i)
		} else {
			above += p.Price(i)
		}
	}
	if p.isMirrored() {
		below /= 2 // each is of both cells of a variable
		above = below
	}
	return l.endsAt(p.Dual(0)*unit, below*unit, above*unit)
}

// endsAt returns where noise ends at the price of the total and those of all shifts that lead out below and above, if the costs
// say so.
func (m *model) endsAt(level, below, above float64) (e ends, ok bool) {
	if !m.endsMatter() || level <= 0 {
		return e, false
	}
	even := m.even()
	end := func(side, price float64) float64 {
		worth := level + math.Expm1(m.Epsilon)*price
		in, out := 0.0, 1.0
		for even.At(side*out*m.Sensitivity) < worth {
			if in, out = out, 2*out; out > mostReach {
				return math.Inf(1)
			}
		}
		for range 40 {
			if x := (in + out) / 2; even.At(side*x*m.Sensitivity) < worth {
				in = x
			} else {
				out = x
			}
		}
		return side * out
	}
	e = ends{end(-1, below), end(1, above)}
	const steps = 1 // sensitivities that noise may be narrower by than truncated Laplace noise, which has none
	return e, !math.IsInf(e.to, 0) && !math.IsInf(e.from, 0) && e.to-e.from >= 2*SupportBound(m.Problem)-steps
}

// mostReach bounds the reach of programs, in sensitivities.
const mostReach = 1e9

// endsMatter reports whether noise ends where its costs say.
func (m *model) endsMatter() bool {
	return m.Epsilon > 0 && !m.jumping && loss.Of(m.Loss).Unimodal() && len(m.moments) == 0 && m.unshaped()
}

// extent returns the grid of the next program of a side, of K cells per sensitivity: no further out than the
// noise is known to end.
func (d *designer) extent(s *side, k int) grid {
	g := s.bound.extent(k, s.reach)
	if d.ends == nil {
		return g
	}
	const (
		more  = 1.02 // as K grows, prices change somewhat
		cells = 1.5  // of the coarser grid
	)
	beyond := cells / float64(d.endsFrom)
	first := int(math.Floor((d.ends.from*more - beyond) * float64(k)))
	last := int(math.Ceil((d.ends.to*more + beyond) * float64(k)))
	if d.folded {
		last = max(-first, last)
		first = g.first + (g.first + g.n - 1) - last // cells on an edge are folded around it
	}
	if first <= g.first || last >= g.first+g.n-1 || last-first < k {
		return g
	}
	g.first, g.n, g.inner, g.ended = first, last-first+1, false, true
	return g
}

// outwards returns the multipliers of nodes beyond both ends of a program, those of the lowest nodes first:
// of every shift by its index, before and after its own.
func (p *program) outwards(y [][]float64) (before, after [][]float64) {
	before, after = make([][]float64, len(y)), make([][]float64, len(y))
	if p.outside == nil {
		return before, after
	}
	p.beyond(y, before, 1)
	if p.isMirrored() {
		return before, after // each stands for its opposite
	}
	p.beyond(y, after, -1)
	return before, after
}

// beyond appends to out, by shift, the multipliers of the nodes beyond the end that the shifts with the given sign
// lead out of.
func (p *program) beyond(y, out [][]float64, sign int) {
	const most = 8 // times the nodes of the program
	n, widest := len(p.variable), 0
	var order []int // the widest shifts first: what they lead to costs most
	for i, k := range p.shifts {
		if sign*k > 0 && y[i] != nil {
			order = append(order, i)
			widest = max(widest, sign*k)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return sign * (p.shifts[b] - p.shifts[a]) })
	share := 1.0
	if p.isMirrored() {
		share = 2 // of a node and its opposite, of which the other one has none
	}
	idle := 0 // nodes in a row
	for t := 1; idle < widest && t <= most*n; t++ {
		at, end := -t, 0
		if sign < 0 {
			at, end = n-1+t, n-1
		}
		need := share * (p.Dual(0) - p.outside(at))
		for _, i := range order {
			switch from := at + p.shifts[i]; {
			case from >= 0 && from < n:
				need += p.ratio * y[i][from]
			case len(out[i]) > 0 && sign*(end-from) > 0:
				need += p.ratio * out[i][sign*(end-from)-1]
			}
		}
		idle++
		for _, i := range order {
			by := min(max(need, 0), p.Price(i))
			need -= by
			if by > 0 {
				idle = 0
			}
			out[i] = append(out[i], by)
		}
	}
	if sign > 0 {
		for _, m := range out {
			slices.Reverse(m)
		}
	}
}

// learn keeps what a lower program says of the noise, and unlearns what made it prove less than it should.
func (l *lower) learn(d *designer, p *program, g grid, unit, bound float64, complete bool) (again bool) {
	const little = 0.1 // of the gap
	claimed := p.Dual(0)
	for i := range p.shifts {
		claimed -= p.delta * p.Price(i)
	}
	less := bound < claimed*unit*(1-little*d.Aim())
	s := &d.lower
	switch e, ok := l.endsOf(p, unit); {
	case !complete:
	case less && p.root != nil:
		s.untie(p, &g)
		return true
	case less && !g.inner:
		d.unend()
	case bound > 0:
		if ok && !d.endless {
			d.ends, d.endsFrom = &e, g.k
		}
		s.shape, s.untied = &shape{g, p.masses()}, nil
	}
	return false
}

// unend forgets where noise ends, for good.
func (d *designer) unend() { d.ends, d.endless = nil, true }

// solveEnded is solveTied, again on a grid that reaches far if the noise does not end where it was thought to.
func (d *designer) solveEnded(ctx context.Context, s *side, g grid, margin float64) (value float64, status solver.Status, err error) {
	value, status, err = d.solveTied(ctx, s, g, margin)
	if err != nil || !g.ended || ctx.Err() != nil || value > 0 && !d.endless {
		return value, status, err
	}
	d.unend()
	all := s.bound.extent(g.k, s.reach)
	if g.edges {
		all.edges, all.n = true, all.n-1
	}
	far, status, err := d.solveTied(ctx, s, all, margin)
	if s == &d.lower || value == 0 {
		far = max(far, value)
	} else if far == 0 {
		far = value
	}
	return far, status, err
}
