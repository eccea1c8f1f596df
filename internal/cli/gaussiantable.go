package cli

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

const (
	// gaussianCells is the number of cells per sensitivity of a table of Gaussian
	// shape for a real query, or a half, a quarter, … of it where noise is so large
	// that there would be too many: the density is flat over each.
	gaussianCells = 64
	// gaussianPoints is how fine its grid is at least, per sensitivity.
	gaussianPoints = 1 << 26
	// gaussianReach is where it ends, in standard deviations: beyond there is
	// less than 2^-64 to either side.
	gaussianReach = 9.2
)

// gaussianTable makes a table whose weights are those of normal noise of standard
// deviation sigma on the query's grid. Its promise is (epsilon, δ) with the δ that
// its exact certificate finds. Nothing about normal noise is taken on trust: what
// the weights keep, alone and composed, is found from the weights.
func gaussianTable(p problem, sigma, epsilon float64) (*tables.Table, error) {
	lay, err := gaussianGrid(p, sigma)
	if err != nil {
		return nil, err
	}
	cell := p.Sensitivity / float64(lay.CellsPerSensitivity)
	half := gaussianHalf(sigma, cell)
	if 2*half+1 > tables.MaxCells {
		return nil, fmt.Errorf("noise = gaussian: %d cells, want a standard deviation below %g sensitivities", 2*half+1, float64(tables.MaxCells)/(2*gaussianReach*float64(lay.CellsPerSensitivity)))
	}
	lay.FirstCell = -half
	pmf := make([]float64, 2*half+1)
	sum := 0.0
	for i := range half + 1 {
		x := float64(i) * cell
		// Of the cell around x; from the tails, so that small ones keep their digits.
		m := (math.Erfc((x-cell/2)/sigma/math.Sqrt2) - math.Erfc((x+cell/2)/sigma/math.Sqrt2)) / 2
		pmf[half+i], pmf[half-i] = m, m
	}
	for _, m := range pmf {
		sum += m
	}
	for i := range pmf {
		pmf[i] /= sum
	}
	weights, atom, err := tables.Quantize(pmf, 0)
	if err != nil {
		return nil, err
	}
	spec := tables.Spec{
		Privacy: tables.Privacy{Epsilon: epsilon, Delta: 0.5, Sensitivity: p.Sensitivity},
		Query:   p.query, Loss: p.loss, Grid: lay, Weights: weights, Atom: atom,
	}
	t, err := tables.New(spec)
	if err != nil {
		return nil, err
	}
	delta := floatUp(t.DeltaUpperAt(epsilon))
	if delta == nil {
		return nil, errors.New("noise = gaussian: its delta is no number")
	}
	spec.Privacy.Delta = *delta
	if t, err = tables.New(spec); err != nil {
		return nil, err
	}
	_, err = t.Verify()
	return t, err
}

// gaussianHalf returns the number of cells on either side of the middle one.
func gaussianHalf(sigma, cell float64) int { return int(math.Ceil(gaussianReach * sigma / cell)) }

// gaussianGrid lays out cells for the query: one per step of an integer or lattice
// query, up to gaussianCells per sensitivity of a real one.
func gaussianGrid(p problem, sigma float64) (tables.Grid, error) {
	unit := 1.0
	switch p.query {
	case noise.LatticeQuery:
		unit = p.step
		fallthrough
	case noise.IntegerQuery:
		const most = 1 << 12
		steps := math.Ceil(p.Sensitivity / unit)
		if steps > most {
			return tables.Grid{}, fmt.Errorf("noise = gaussian: %g steps in a sensitivity, want at most %d", steps, most)
		}
		// The quotient is rounded: 3 steps of the float64 0.7/3 are less than 0.7.
		whole := new(big.Rat).SetFloat64(unit)
		if whole.Mul(whole, new(big.Rat).SetFloat64(steps)).Cmp(new(big.Rat).SetFloat64(p.Sensitivity)) < 0 {
			steps++
		}
		return tables.Grid{Unit: unit, PointsPerCell: 1, CellsPerSensitivity: int(steps)}, nil
	case noise.RealQuery:
	}
	exponent := math.Floor(math.Log2(p.Sensitivity / gaussianPoints))
	cells := gaussianCells
	for cells > 1 && 2*gaussianHalf(sigma, p.Sensitivity/float64(cells))+1 > tables.MaxCells {
		cells /= 2
	}
	points := int64(math.Ceil(p.Sensitivity / math.Exp2(exponent) / float64(cells)))
	return tables.Grid{
		GranularityExponent: int(exponent), PointsPerCell: points + 1 - points%2, CellsPerSensitivity: cells,
	}, nil
}
