// SPDX-License-Identifier: Apache-2.0

package shapes

import (
	"fmt"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

const (
	// usualCells is the number of cells per sensitivity of a real query.
	usualCells = 32
	// mostCells is how many cells of a real query are too many.
	mostCells = 1 << 15
	// leastPoints is how fine the grid of a real query is at least, per sensitivity.
	leastPoints = 1 << 26
	// mostSteps bounds the steps in a sensitivity of an integer or lattice query.
	mostSteps = 1 << 12
)

// layout returns the grid g, or for the zero Grid one that suits the problem, and the length of a
// cell in query units. A real query has so many cells per sensitivity, or a half, a quarter, … of
// them where noise that reaches so far would take too many.
func layout(p dp.Problem, g tables.Grid, reach float64, cells int) (tables.Grid, float64, error) {
	if err := p.Privacy.Validate(); err != nil {
		return g, 0, err
	}
	if g != (tables.Grid{}) {
		if g.CellsPerSensitivity < 1 {
			return g, 0, check.Field("shapes", "cells_per_sensitivity", g.CellsPerSensitivity, "at least 1 of a grid that is given")
		}
		length, _ := cellOf(g).Float64()
		return g, length, nil
	}
	unit := 1.0
	switch p.Query {
	case dp.LatticeQuery:
		unit = p.Step
		fallthrough
	case dp.IntegerQuery:
		steps := math.Ceil(p.Sensitivity / unit)
		if !(steps <= mostSteps) {
			return g, 0, check.Field("shapes", "sensitivity", p.Sensitivity, fmt.Sprintf("at most %d steps of %g", mostSteps, unit))
		}
		// The quotient is rounded: 3 steps of the float64 0.7/3 are less than 0.7.
		whole := exact.Rational(unit)
		if whole.Mul(whole, exact.Rational(steps)).Cmp(exact.Rational(p.Sensitivity)) < 0 {
			steps++
		}
		g = tables.Grid{Unit: unit, PointsPerCell: 1, CellsPerSensitivity: int(steps)}
	default:
		for cells > 1 && 2*cellsTo(reach, p.Sensitivity/float64(cells))+1 > mostCells {
			cells /= 2
		}
		exponent := math.Floor(math.Log2(p.Sensitivity / leastPoints))
		points := int64(math.Ceil(p.Sensitivity / math.Exp2(exponent) / float64(cells)))
		g = tables.Grid{GranularityExponent: int(exponent), PointsPerCell: points + 1 - points%2, CellsPerSensitivity: cells}
	}
	return g, p.Sensitivity / float64(g.CellsPerSensitivity), nil
}

// cellOf returns the length of a cell.
func cellOf(g tables.Grid) *big.Rat {
	length := g.Step()
	return length.Mul(length, new(big.Rat).SetInt64(g.PointsPerCell))
}

// cellsTo returns the number of cells on either side of the middle one.
func cellsTo(reach, cell float64) int { return int(math.Ceil(reach / cell)) }
