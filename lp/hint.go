package lp

import "math"

// hint is what a solved program teaches the next, finer one: which shifts
// mattered, and the shape of the optimal density, which tells the terms that
// will be positive.
type hint struct {
	grid    grid
	active  map[int]bool // shifts with a price
	density []float64    // mass per sensitivity, by cell
}

func (p *program) hint(g grid) *hint {
	h := &hint{grid: g, active: make(map[int]bool)}
	var top float64
	for i := range p.shifts {
		top = max(top, p.relaxation.Price(i))
	}
	for i, k := range p.shifts {
		h.active[k] = p.relaxation.Price(i) > 1e-9*top
	}
	for _, m := range p.masses() {
		h.density = append(h.density, m*float64(g.k))
	}
	return h
}

// at interpolates the density at x sensitivities.
func (h *hint) at(x float64) float64 {
	pos := x*float64(h.grid.k) - h.grid.center(0)
	i := int(math.Floor(pos))
	if i < 0 || i+1 >= len(h.density) {
		return 0
	}
	t := pos - float64(i)
	return (1-t)*h.density[i] + t*h.density[i+1]
}

// expects reports whether the hint suggests that shift k of a grid matters:
// whether the nearest shift of its own grid did.
func (h *hint) expects(k int, g grid) bool {
	return h.active[int(math.Round(float64(k)*float64(h.grid.k)/float64(g.k)))]
}
