// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"fmt"
	"math/big"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
)

// Piece is a piece of a density of values up to a factor: Weight >= 0, finite, from From to the
// start of the next one, of the last to the end of the range.
type Piece struct {
	From   float64 `json:"from"`
	Weight float64 `json:"weight"`
}

// Pieces is a density on a range of values up to a factor, from its lower end on; none: uniform.
type Pieces []Piece

// Validate adds an error for each bad field of a range of values and of the density on it.
func (weight Pieces) Validate(lower, upper float64, errs *check.List) {
	if !(lower < upper) || !check.Finite(lower, upper, upper-lower) {
		errs.Bad("range", fmt.Sprintf("%g to %g", lower, upper), "finite numbers, lower below upper")
		return
	}
	errs.If(len(weight) > formfile.MaxPieces, "weight", fmt.Sprintf("%d pieces", len(weight)), "at most %d", formfile.MaxPieces)
	some := len(weight) == 0
	var before Piece
	for i, p := range weight {
		switch {
		case !(p.Weight >= 0) || !check.Finite(p.Weight):
			errs.Bad(fmt.Sprintf("weight[%d].weight", i), p.Weight, "a finite number >= 0")
		case i == 0 && p.From != lower:
			errs.Badf("weight[0].from", p.From, "%g, the lower end of the range", lower)
		case i > 0 && !(p.From > before.From && p.From < upper):
			errs.Badf(fmt.Sprintf("weight[%d].from", i), p.From, "a number above %g and below %g", before.From, upper)
		}
		some = some || p.Weight > 0
		before = p
	}
	errs.If(!some, "weight", "0 everywhere", "a piece with a weight above 0")
}

// Densities returns the density: the integrals sum to 1.
func (weight Pieces) Densities(lower, upper float64) []formfile.Density {
	if len(weight) == 0 {
		weight = Pieces{{lower, 1}}
	}
	out := make([]formfile.Density, len(weight))
	total := new(big.Rat)
	for i, r := range weight {
		to := upper
		if i+1 < len(weight) {
			to = weight[i+1].From
		}
		d := formfile.Density{From: exact.Rational(r.From), To: exact.Rational(to), Density: exact.Rational(r.Weight)}
		mass := new(big.Rat).Sub(d.To, d.From)
		total.Add(total, mass.Mul(mass, d.Density))
		out[i] = d
	}
	for _, d := range out {
		d.Density.Quo(d.Density, total)
	}
	return out
}
