// SPDX-License-Identifier: Apache-2.0

package shapes

import (
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

// powerDepth is where exponential power noise ends: where its density is e^-45 of its
// peak, about 2^-64.
const powerDepth = 45

// ExponentialPower returns noise with a density proportional to
//
//	e^(−|x/scale|^exponent),
//
// the exponential power law (Subbotin 1923), scale in query units: an exponent of 1
// is Laplace noise, 2 normal noise of standard deviation scale/√2; between them lies
// noise that is better than either for many numbers of releases. It is cut off at
// e^-45 of its peak. The exponent is to be from 1 to 2.
//
// Guarantee: the promise is p.Epsilon and the least delta that the noise keeps there; p.Delta is
// not used. It is one point of a privacy profile, of which package account composes all.
func ExponentialPower(p dp.Problem, exponent, scale float64, g tables.Grid) (*tables.Verified, error) {
	bad := check.In("shapes")
	bad.Want(exponent >= 1 && exponent <= 2, "exponent", exponent, "a number from 1 to 2")
	bad.Want(check.Positive(scale), "scale", scale, "a finite number > 0 (query units)")
	if err := bad.Err(); err != nil {
		return nil, err
	}
	reach := scale * math.Pow(powerDepth, 1/exponent)
	g, cell, err := layout(p, g, reach, usualCells)
	if err != nil {
		return nil, err
	}
	density := func(x float64) float64 { return math.Exp(-math.Pow(math.Abs(x)/scale, exponent)) }
	return symmetric(tables.Spec{Problem: p, Grid: g}, cellsTo(reach, cell), func(j int) float64 {
		x := float64(j) * cell
		if g.PointsPerCell == 1 {
			return density(x)
		}
		// The mean over the cell, by Simpson's rule.
		return (density(x-cell/2) + 4*density(x) + density(x+cell/2)) / 6
	}, func(c tables.Certificate) float64 { return exact.FloatUp(c.DeltaUpper) })
}
