package lp

import (
	"context"
	"math"

	"github.com/noisewright/noisewright/lp/solver"
)

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
		top = max(top, p.price(i))
	}
	for i, k := range p.shifts {
		h.active[k] = p.price(i) > 1e-9*top
	}
	for _, m := range p.masses() {
		h.density = append(h.density, m*float64(g.k))
	}
	return h
}

// masses returns the mass of every cell.
func (p *program) masses() []float64 {
	m := make([]float64, len(p.variable))
	for j, v := range p.variable {
		m[j] = p.mass[v]
	}
	return m
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

// run lifts what is expected to matter and solves; see solve for tolerance and
// stall. Without a hint the expected shape is the scale of the variables, and
// the shifts by a whole sensitivity matter, or all if the density falls by
// much within one.
func (p *program) run(ctx context.Context, g grid, h *hint, tolerance, stall float64) (solver.Status, error) {
	p.mass = append([]float64(nil), p.scale...)
	if h != nil {
		for j, v := range p.variable {
			p.mass[v] = max(h.at(g.center(j)/float64(g.k)), 1e-3*p.scale[v])
		}
	}
	for i, k := range p.shifts {
		if k == g.k || k == -g.k || (h != nil && h.expects(k, g)) || (h == nil && p.ratio > steep) {
			if err := p.lift(i, p.terms(k, termSlack)); err != nil {
				return solver.StatusFailed, err
			}
		}
	}
	return p.solve(ctx, tolerance, stall)
}

// steep is the e^ε from which most shifts bind.
const steep = 7
