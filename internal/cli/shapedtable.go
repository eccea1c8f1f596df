package cli

import (
	"fmt"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

const (
	// shapedCells is the number of cells per sensitivity of a table of a given
	// shape for a real query, or a half, a quarter, … of it where noise is so large
	// that there would be too many: the density is flat over each.
	shapedCells = 32
	// shapedMost is how many cells are too many.
	shapedMost = 1 << 15
	// shapedPoints is how fine its grid is at least, per sensitivity.
	shapedPoints = 1 << 26
	// shapedDepth is where it ends: where the density is e^-45 of its peak, about
	// 2^-64.
	shapedDepth = 45
)

// shape is the law with a density proportional to e^(−|x/scale|^exponent), the
// exponential power distribution (Subbotin 1923): exponent 1 is Laplace noise, 2
// normal noise with a deviation of scale/√2.
type shape struct{ exponent, scale float64 }

func (s shape) density(x float64) float64 {
	return math.Exp(-math.Pow(math.Abs(x)/s.scale, s.exponent))
}

// half returns the number of cells on either side of the middle one.
func (s shape) half(cell float64) int {
	return int(math.Ceil(s.scale * math.Pow(shapedDepth, 1/s.exponent) / cell))
}

// shapedSpec has the weights of the shape on the query's grid, and a promise to fill
// in. Nothing about the shape is taken on trust: what the weights keep, alone and
// composed, is found from the weights.
func shapedSpec(p dp.Problem, s shape) (tables.Spec, error) {
	lay, err := shapedGrid(p, s)
	if err != nil {
		return tables.Spec{}, err
	}
	cell := p.Sensitivity / float64(lay.CellsPerSensitivity)
	half := s.half(cell)
	if 2*half+1 > tables.MaxCells {
		return tables.Spec{}, fmt.Errorf("noise of the shape: %d cells, want at most %d: a larger step, or fewer releases", 2*half+1, tables.MaxCells)
	}
	lay.FirstCell = -half
	pmf := make([]float64, 2*half+1)
	sum := 0.0
	for i := range half + 1 {
		x := float64(i) * cell
		m := s.density(x)
		if lay.PointsPerCell > 1 { // the mean over the cell, by Simpson's rule
			m = (s.density(x-cell/2) + 4*m + s.density(x+cell/2)) / 6
		}
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
		return tables.Spec{}, err
	}
	return tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: p.Sensitivity}, Query: p.Query, Loss: p.Loss},
		Grid:    lay, Weights: weights, Atom: atom,
	}, nil
}

// promised returns the table of the spec with another promise: about the least epsilon
// at which it needs at most delta, and what it needs there, as its certificate finds.
func promised(s tables.Spec, m *account.PrivacyLossDistribution, delta float64) (*tables.Verified, error) {
	single, err := account.Compose([]account.Release{{PLD: m, Times: 1}}, account.Options{})
	if err != nil {
		return nil, err
	}
	e, err := single.Epsilon(delta)
	if err != nil {
		return nil, err
	}
	t, err := tables.New(s)
	if err != nil {
		return nil, err
	}
	s.Privacy.Epsilon, s.Privacy.Delta = e.Upper, exact.FloatUp(t.DeltaUpperAt(e.Upper))
	if t, err = tables.New(s); err != nil {
		return nil, err
	}
	return t.Verify()
}

// shapedGrid lays out cells for the query: one per step of an integer or lattice
// query, up to shapedCells per sensitivity of a real one.
func shapedGrid(p dp.Problem, s shape) (tables.Grid, error) {
	unit := 1.0
	switch p.Query {
	case dp.LatticeQuery:
		unit = p.Step
		fallthrough
	case dp.IntegerQuery:
		const most = 1 << 12
		steps := math.Ceil(p.Sensitivity / unit)
		if steps > most {
			return tables.Grid{}, fmt.Errorf("noise of the shape: %g steps in a sensitivity, want at most %d", steps, most)
		}
		// The quotient is rounded: 3 steps of the float64 0.7/3 are less than 0.7.
		whole := new(big.Rat).SetFloat64(unit)
		if whole.Mul(whole, new(big.Rat).SetFloat64(steps)).Cmp(new(big.Rat).SetFloat64(p.Sensitivity)) < 0 {
			steps++
		}
		return tables.Grid{Unit: unit, PointsPerCell: 1, CellsPerSensitivity: int(steps)}, nil
	case dp.RealQuery:
	}
	exponent := math.Floor(math.Log2(p.Sensitivity / shapedPoints))
	cells := shapedCells
	for cells > 1 && 2*s.half(p.Sensitivity/float64(cells))+1 > shapedMost {
		cells /= 2
	}
	points := int64(math.Ceil(p.Sensitivity / math.Exp2(exponent) / float64(cells)))
	return tables.Grid{
		GranularityExponent: int(exponent), PointsPerCell: points + 1 - points%2, CellsPerSensitivity: cells,
	}, nil
}
