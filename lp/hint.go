package lp

import (
	"context"
	"math"
	"slices"
)

// hint is what a solved program teaches the next, finer one: which shifts
// mattered, and the shape of the optimal density, which tells the terms that
// will be positive.
type hint struct {
	grid    grid
	shifts  []int     // those with a price
	density []float64 // mass per sensitivity, by cell −n … n
}

func (p *program) hint(g grid) *hint {
	h := &hint{grid: g}
	var top float64
	for i := range p.shifts {
		top = max(top, p.price(i))
	}
	for i, k := range p.shifts {
		if p.price(i) > 1e-9*top {
			h.shifts = append(h.shifts, k)
		}
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
	n := (len(h.density) - 1) / 2
	pos := x*float64(h.grid.k) + float64(n)
	i := int(math.Floor(pos))
	if i < 0 || i+1 >= len(h.density) {
		return 0
	}
	t := pos - float64(i)
	return (1-t)*h.density[i] + t*h.density[i+1]
}

// run lifts what is expected to matter and solves.
func (p *program) run(ctx context.Context, g grid, h *hint, tolerance float64) (Status, error) {
	reach := (len(p.variable) - 1) / 2
	p.mass = make([]float64, len(p.cost))
	var shifts []int
	if h == nil {
		// The expected shape is the scale of the variables.
		copy(p.mass, p.scale)
		shifts = []int{g.k, -g.k}
	} else {
		for j, v := range p.variable {
			p.mass[v] = max(h.at(float64(j-reach)/float64(g.k)), 1e-3*p.scale[v])
		}
		for _, k := range h.shifts {
			shifts = append(shifts, int(math.Round(float64(k)*float64(g.k)/float64(h.grid.k))))
		}
		shifts = append(shifts, g.k, -g.k)
	}
	slices.Sort(shifts)
	for _, k := range slices.Compact(shifts) {
		if i := slices.Index(p.shifts, k); i >= 0 {
			if err := p.lift(i, p.terms(k, termSlack)); err != nil {
				return StatusFailed, err
			}
		}
	}
	return p.solve(ctx, tolerance)
}
