// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"
)

// On nearly all of its support the best noise keeps p_j = e^ε p_{j−K}, j further out: masses one sensitivity
// apart are tied, and only those of about one sensitivity are free. A coarser program tells where, but for cells
// next to where that ends. To tie masses raises the optimum, so that the noise of an upper program is what it is, and the
// multipliers of a lower one have to be made up for: those between tied masses follow from the outside inwards,
// one after the other, as each node is to be at the level. Where one leaves its range, the masses
// were not tied.

// shape is the noise of a program that was solved.
type shape struct {
	grid grid
	mass []float64 // of its cells
}

// tied marks the cells that are tied to those a sensitivity further in.
func (s *shape) tied(ratio, peak float64) []bool {
	const (
		near  = 1e-3 // relative, of what is a tie
		least = 1e-9 // a mass of which something is known
		erode = 0.05 // sensitivities next to cells that are not tied
	)
	k, n := s.grid.k, len(s.mass)
	tied := make([]bool, n)
	for i, m := range s.mass {
		in, ok := inwards(&s.grid, i, peak)
		tied[i] = ok && in >= 0 && in < n && m > least && math.Abs(m*ratio/s.mass[in]-1) < near
	}
	out := make([]bool, n)
	wide := max(1, int(math.Round(erode*float64(k))))
	for i := range out {
		out[i] = true
		for j := i - wide; j <= i+wide; j++ {
			// Beyond the ends there is nothing to tell that it ends.
			out[i] = out[i] && j >= 0 && j < n && tied[j]
		}
	}
	return out
}

// inwards returns the cell a sensitivity nearer to the peak, if that is nearer.
func inwards(g *grid, i int, peak float64) (in int, ok bool) {
	x := g.center(i) - peak*float64(g.k)
	half := float64(g.k) / 2
	switch {
	case x > half:
		return i - g.k, true
	case x < -half:
		return i + g.k, true
	}
	return 0, false
}

// tie ties the variables of a layout on a grid as far as the last program of the side says.
func (d *designer) tie(s *side, l *layout, g grid) {
	const fewer = 0.8 // of the unknowns, for which it is worth it
	l.root, l.fall, s.loose = nil, nil, 0
	if !d.tiesServe(s, l, g) {
		return
	}
	isTied := d.tiedAt(s, l.ratio)
	root, fall := make([]int, len(l.cost)), make([]int, len(l.cost))
	for v := range root {
		root[v] = v
	}
	free := len(root)
	cells := l.fromOutside()
	for c := len(cells) - 1; c >= 0; c-- {
		i := cells[c]
		v := l.variable[i]
		in, ok := inwards(&g, i, d.peak)
		if !ok || in < 0 || in >= g.n || root[v] != v || !isTied(g.center(i)/float64(g.k)) {
			continue
		}
		if u := l.variable[in]; root[u] != v {
			root[v], fall[v] = root[u], fall[u]+1
			free--
		}
	}
	if float64(free) < fewer*float64(len(root)) && d.mayRepeat(work(free, len(l.shifts)), work(len(root), len(l.shifts))) {
		s.loose = float64(free) / float64(g.k)
		l.root, l.fall, l.peak = root, fall, d.peak
	}
}

// tiesServe reports whether masses of a side's program may be tied, and that is worth it.
func (d *designer) tiesServe(s *side, l *layout, g grid) bool {
	const (
		epsilon = 3 // up to which all programs: beyond, chains are short, and only fine grids gain
		most    = 6 // up to which those do
	)
	fine := d.Epsilon <= epsilon || d.Epsilon <= most && d.Aim() < fineFrom
	plain := !g.edges && l.tail == 0 && len(l.decreasing) == 0 && !d.Options.Generate
	return s.shape != nil && !s.free && fine && plain && d.unhurried() && d.endsMatter()
}

// tiedAt returns where, in sensitivities, the last program of a side says that masses are tied.
func (d *designer) tiedAt(s *side, ratio float64) func(x float64) bool {
	coarse := &s.shape.grid
	tied := s.shape.tied(ratio, d.peak)
	return func(x float64) bool {
		for _, u := range s.untied {
			off := math.Abs(x - u)
			if d.folded {
				off = min(off, math.Abs(x+u))
			}
			if off < 1.01/float64(coarse.k) {
				return false
			}
		}
		at := x*float64(coarse.k) - coarse.center(0)
		for _, i := range []float64{math.Floor(at), math.Ceil(at)} {
			if i < 0 || int(i) >= len(tied) || !tied[int(i)] {
				return false
			}
		}
		return true
	}
}

// mayRepeat reports whether there is time for a program with ties and, if these prove wrong, for the one without; or for
// that with ties alone. If the one without can be done but not both, it is.
func (d *designer) mayRepeat(tied, free float64) bool {
	if d.Options.TimeLimit == 0 {
		return true
	}
	left := d.Left().Seconds()
	return perProduct*(tied+free) < left || perProduct*free >= left
}

// unknowns returns how many a program of a side is expected to have.
func (d *designer) unknowns(s *side, g grid) int {
	all := d.masses(g)
	if s.loose == 0 {
		return all
	}
	return min(all, int(math.Ceil(s.loose*float64(g.k))))
}

// workOf is work of a program of a side.
func (d *designer) workOf(s *side, g grid) float64 {
	shifts := 2 * g.k
	if d.folded {
		shifts /= 2
	}
	return work(d.unknowns(s, g), shifts)
}

// untangled adds the multipliers of the shifts by a sensitivity between tied masses, which leave the outer one at the
// level, and returns the cells at which they leave their range.
func (p *program) untangled(g *grid, y [][]float64, coefficient func(j int) float64, add func(shift, j int, by float64)) (off []int) {
	const little = 1e-7 // of the price
	share := 1.0
	if p.isMirrored() {
		share = 2
	}
	index := make(map[int]int, len(p.shifts))
	for i, k := range p.shifts {
		index[k] = i
	}
	for _, i := range p.fromOutside() {
		v := p.variable[i]
		in, ok := inwards(g, i, p.peak)
		if p.root[v] == v || !ok {
			continue
		}
		s, ok := index[in-i]
		if !ok || y[s] == nil {
			continue // the mirror image says the same
		}
		want := share * (coefficient(i) - p.Dual(0)) / p.ratio
		by := min(max(want, 0), p.Price(s))
		if math.Abs(by-want) > little*p.Price(s) {
			off = append(off, i)
		}
		add(s, in, by)
	}
	return off
}

// untie marks what is not to be tied in the next program of a side.
func (s *side) untie(p *program, g *grid) {
	for _, i := range p.off {
		s.untied = append(s.untied, g.center(i)/float64(g.k))
	}
	if len(p.off) == 0 {
		s.free = true
	}
}
