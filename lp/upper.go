package lp

import (
	"fmt"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/tables"
)

// The upper program is solved a little inside the privacy constraint, with
// epsilon·(1 − m) (epsilon − m from 1 on) and delta·(1 − m) less a unit of
// 2^-63 per cell, m a small share of the requested gap. The solver's residuals
// and the rounding to integer weights use it up; the exact certificate, not the
// margin, decides. When one is too small the next is tried.
var marginShares = []float64{1.0 / 300, 1.0 / 30, 1.0 / 3, 3}

// residualShare is the part of the margin in delta the constraint generation
// may leave violated.
const residualShare = 0.3

func tightened(p Problem, g grid, margin float64) (epsilon, delta float64) {
	cells := float64(2*g.half + 1)
	return p.Epsilon - margin*min(p.Epsilon, 1), p.Delta*(1-margin) - cells*0x1p-63
}

// minPointsBits: at least 2^16 grid points per cell keep the rounding of K·S to
// the sensitivity below 2^-15 of it.
const minPointsBits = 16

// layGrid chooses the granularity and the points per cell: g = 2^e with
// m = ⌈Δ/g⌉ ≥ K·2^16 points per sensitivity, and S the least odd number with
// K·S ≥ m, so that K·S/m − 1 ≤ 2/2^16.
func layGrid(sensitivity float64, g grid) tables.Grid {
	_, exp := math.Frexp(sensitivity / float64(g.k))
	e := exp - 1 - minPointsBits
	m := new(big.Rat).SetFloat64(sensitivity)
	step := tables.Grid{GranularityExponent: e}.Step()
	m.Quo(m, step)
	perCell := m.Quo(m, new(big.Rat).SetInt64(int64(g.k)))
	// ⌈⌈Δ/g⌉/K⌉ = ⌈Δ/(gK)⌉ for integers K.
	s := new(big.Int).Div(perCell.Num(), perCell.Denom())
	if !perCell.IsInt() {
		s.Add(s, big.NewInt(1))
	}
	points := s.Int64()
	return tables.Grid{GranularityExponent: e, PointsPerCell: points + 1 - points%2, CellsPerSensitivity: g.k}
}

// makeTable rounds the masses of cells −H … H and the atom to a table and
// certifies it. The error wraps tables.ErrNotPrivate if the exact test fails.
func makeTable(p Problem, g grid, masses []float64, atom float64) (*tables.Table, tables.Certificate, error) {
	var none tables.Certificate
	first, last := 0, len(masses)-1
	for first < last && masses[first] < 0x1p-65 && masses[last] < 0x1p-65 {
		first++
		last--
	}
	masses = masses[first : last+1]
	var sum float64
	for _, m := range masses {
		sum += m
	}
	scaled := make([]float64, len(masses))
	for i, m := range masses {
		scaled[i] = m / (sum + atom)
	}
	weights, atomWeight, err := tables.Quantize(scaled, atom/(sum+atom))
	if err != nil {
		return nil, none, fmt.Errorf("lp: %w", err)
	}
	layout := layGrid(p.Sensitivity, g)
	layout.FirstCell = first - g.half
	t, err := tables.New(tables.Spec{
		Privacy: tables.Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Sensitivity: p.Sensitivity},
		Loss:    p.Loss,
		Grid:    layout,
		Weights: weights,
		Atom:    atomWeight,
	})
	if err != nil {
		return nil, none, fmt.Errorf("lp: %w", err)
	}
	c, err := t.Verify()
	if err != nil {
		return nil, none, fmt.Errorf("lp: %w", err)
	}
	return t, c, nil
}

// simpleTable is the best noise that needs no solver, so that a Design always
// has a proven table: the best one of a cell per sensitivity and, for large
// epsilon, a staircase (Geng & Viswanath 2014) with an atom.
func simpleTable(p Problem, maxCells int) (*tables.Table, tables.Certificate, error) {
	t, c, err := chainTable(p, maxCells)
	gamma, ok := stairStep(p)
	if !ok {
		return t, c, err
	}
	// Cell 0 is the central step, and a step down by e^ε comes with every
	// whole sensitivity from its edge on.
	affordable := math.Sqrt(maxSimpleWork / (2 * (p.supportBound() + 2)))
	k := max(1, int(min(math.Round(0.5/gamma), affordable)))
	steps := func(x float64) float64 {
		return p.Epsilon * math.Ceil((x*float64(k)-0.25)/float64(k))
	}
	for _, atom := range []float64{0, 0.9 * p.Delta, 0.999 * p.Delta} {
		if stairs, cs, serr := truncatedStaircase(p, grid{k: k}, min(maxCells, maxSimpleWork/k), atom, steps); serr == nil {
			if err != nil || cs.ExpectedLoss.Cmp(c.ExpectedLoss) < 0 {
				t, c, err = stairs, cs, nil
			}
		}
	}
	return t, c, err
}

// maxSimpleWork bounds cells times cells per sensitivity of a simple table,
// which take about 5 ns each to certify.
const maxSimpleWork = 1 << 26

// truncatedStaircase makes the law with cell masses proportional to e^(−fall(|x|)),
// x in sensitivities, and the given atom, on the least support whose ends weigh
// no more than what the atom leaves of δ.
func truncatedStaircase(p Problem, g grid, maxCells int, atom float64, fall func(x float64) float64) (*tables.Table, tables.Certificate, error) {
	const shrink = 1 - 1e-6
	start := 0.5 // sensitivities
	if atom == 0 {
		start = max(start, p.supportBound()*shrink-1)
	}
	g.half = max(1, int(min(start, float64(maxCells))*float64(g.k)))
	for ; 2*g.half+1 <= maxCells; g.half += max(1, g.half/64) {
		masses := make([]float64, 2*g.half+1)
		var sum, edge float64
		for i := range masses {
			x := math.Abs(float64(i-g.half)) / float64(g.k)
			masses[i] = math.Exp(-shrink * fall(x))
			sum += masses[i]
		}
		for i := 0; i < min(g.k, len(masses)); i++ {
			edge += masses[i]
		}
		if edge*(1-atom) > (p.Delta-atom)*shrink*sum {
			continue
		}
		for i := range masses {
			masses[i] *= (1 - atom) / sum
		}
		t, c, err := makeTable(p, g, masses, atom)
		if err == nil {
			return t, c, nil
		}
	}
	return nil, tables.Certificate{}, tooManyCells(maxCells)
}

func tooManyCells(maxCells int) error {
	return fmt.Errorf("lp: the noise needs more than %d cells (max-cells): %w", maxCells, ErrLimit)
}
