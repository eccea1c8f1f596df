package lp

import (
	"math"

	"github.com/noisewright/noisewright/tables"
)

// dualBits is the precision of the multipliers of a certificate: the prices of
// all shifts sum to less than 2^dualBits units.
const dualBits = 60

// dual reads the multipliers of the lower program, in units of the loss (unit
// is what the costs were divided by), rounded to a common exponent. Whatever
// the solver's errors, the result proves a true bound.
func (p *program) dual(g grid, unit float64) *tables.Dual {
	mirrored := p.isMirrored()
	if mirrored {
		unit /= 2 // each multiplier will stand twice
	}
	var total float64
	for i := range p.shifts {
		total += p.price(i) * unit
	}
	d := &tables.Dual{CellsPerSensitivity: g.k, Mirrored: mirrored}
	if total <= 0 {
		return d
	}
	_, exp := math.Frexp(total)
	d.Exponent = exp - dualBits
	if mirrored {
		d.Exponent++
	}
	scale := math.Ldexp(unit, -d.Exponent)
	reach := (len(p.variable) - 1) / 2
	for i, k := range p.shifts {
		if p.price(i) == 0 {
			continue
		}
		s := tables.DualShift{Shift: k}
		for j := p.eventLo; j < p.eventHi; j++ {
			y := int64(p.multiplier(i, j) * scale)
			if y == 0 && len(s.Multipliers) == 0 {
				continue
			}
			if len(s.Multipliers) == 0 {
				s.FirstCell = j - reach
			}
			s.Multipliers = append(s.Multipliers, y)
		}
		for n := len(s.Multipliers); n > 0 && s.Multipliers[n-1] == 0; n-- {
			s.Multipliers = s.Multipliers[:n-1]
		}
		if len(s.Multipliers) > 0 {
			d.Shifts = append(d.Shifts, s)
		}
	}
	return d
}

// isMirrored reports whether opposite cells share a variable; the program then
// has the positive shifts only, and each stands for its opposite too.
func (p *program) isMirrored() bool {
	n := len(p.variable)
	return n > 1 && p.variable[0] == p.variable[n-1]
}

