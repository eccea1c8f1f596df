package lp

import (
	"errors"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/noise"
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

func tightened(p dp.Problem, g grid, margin float64) (epsilon, delta float64) {
	return p.Epsilon - margin*min(p.Epsilon, 1), p.Delta*(1-margin) - float64(g.n)*0x1p-63
}

// leastMass is a few units of weight.
const leastMass = 0x1p-62

// makeTable rounds the masses of the cells and the atom to a table that keeps
// the constraints, and certifies it. The error wraps tables.ErrNotPrivate or
// tables.ErrFalseClaim if the exact test fails.
func (f *frame) makeTable(g grid, masses []float64, atom float64) (*tables.Verified, error) {
	first, last := 0, len(masses)-1
	nothing := 0x1p-65
	if f.Constraints.MaxDistinguishing > 0 {
		nothing = 0 // the ends may weigh next to nothing, and have to be there
	}
	for first < last && masses[first] < nothing && (!f.folded || masses[last] < nothing) {
		first++
		if f.folded {
			last--
		}
	}
	for !f.folded && last > first && masses[last] < nothing {
		last--
	}
	lay := g.lay
	lay.FirstCell = g.first + first
	scaled := append([]float64(nil), masses[first:last+1]...)
	if f.Constraints.MaxDistinguishing > 0 {
		for i := range scaled {
			scaled[i] = max(scaled[i], leastMass)
		}
	}
	if f.Constraints.Monotone {
		descend(lay, scaled)
	}
	if f.Constraints.Unbiased && !f.folded {
		center(lay, scaled)
	}
	sum := atom
	for _, m := range scaled {
		sum += m
	}
	for i := range scaled {
		scaled[i] /= sum
	}
	weights, atomWeight, err := tables.Quantize(scaled, atom/sum)
	if err != nil {
		return nil, check.Errorf("lp", nil, "%w", err)
	}
	if f.Constraints.Unbiased && !f.folded {
		balance(lay, weights)
	}
	t, err := tables.New(tables.Spec{
		Problem: f.Problem,
		Grid:    lay,
		Weights: weights,
		Atom:    atomWeight,
	})
	if err != nil {
		return nil, check.Errorf("lp", nil, "%w", err)
	}
	v, err := t.Verify()
	if err != nil {
		return nil, check.Errorf("lp", nil, "%w", err)
	}
	return v, nil
}

// simpleTable is the best noise that needs no solver, so that a Design always
// has a proven table: the best one of a cell per sensitivity and staircases
// (Geng & Viswanath 2014) with and without an atom.
func (f *frame) simpleTable(maxCells int) (*tables.Verified, error) {
	best, err := f.chainTable(maxCells)
	gamma, ok := noise.StaircaseStep(f.Epsilon, f.Loss)
	if f.Epsilon == 0 || !ok {
		return best, err
	}
	work, most := maxSimpleWork, mostStairCells
	switch {
	case f.points > 0: // worth more: it is the optimum for δ = 0
		work, most = 4*work, MaxIntegerSensitivity
	case 0.6/gamma > mostStairCells: // a cell is at most about a step
		work, most = 4*work, int(0.6/gamma)
	}
	affordable := int(math.Sqrt(float64(work) / (2 * (supportBound(f.Problem) + 2))))
	k := f.stairCells(gamma, max(1, min(affordable, most)))
	g := f.cells(upper, k)
	// The inner n+½ cells of a step are its upper part, and a step down by e^ε
	// comes with every whole sensitivity from its edge on.
	edge := math.Round(float64(k)*gamma-0.5) + 0.5
	steps := func(x float64) float64 {
		return f.Epsilon * math.Ceil((x*float64(k)-edge+0.25)/float64(k))
	}
	for _, atom := range []float64{0, 0.9 * f.Delta, 0.999 * f.Delta} {
		if stairs, serr := f.truncatedStaircase(g, min(maxCells, work/k), atom, steps); serr == nil {
			if err != nil || stairs.Certificate().ExpectedLoss.Cmp(best.Certificate().ExpectedLoss) < 0 {
				best, err = stairs, nil
			}
		}
	}
	return best, err
}

// stairCells returns the number of cells per sensitivity, up to the most, that
// has a cell edge nearest to γ; for a query on points, whose cells of one point
// serve best, theirs if possible.
func (f *frame) stairCells(gamma float64, most int) int {
	if f.points > 0 {
		if f.points <= int64(most) {
			return int(f.points)
		}
		return f.fit(upper, most/2)
	}
	best, least := 1, math.Inf(1)
	for k := 1; k <= most; k++ {
		n := max(0, math.Round(float64(k)*gamma-0.5))
		if miss := math.Abs(float64(k)*gamma-0.5-n) / float64(k); miss < least*0.9 {
			best, least = k, miss
		}
	}
	return best
}

// maxSimpleWork bounds cells times cells per sensitivity of a simple table,
// which take about 5 ns each to certify, and mostStairCells the latter.
const (
	maxSimpleWork  = 1 << 24
	mostStairCells = 200
)

// truncatedStaircase makes the law with cell masses proportional to e^(−fall(|x|)),
// x in sensitivities, and the given atom, on the least support whose ends weigh
// no more than what the atom leaves of δ.
func (f *frame) truncatedStaircase(g grid, maxCells int, atom float64, fall func(x float64) float64) (*tables.Verified, error) {
	const shrink = 1 - 1e-6
	start := 0.5 // sensitivities
	if atom == 0 {
		start = max(start, supportBound(f.Problem)*shrink-1)
	}
	half := max(1, int(min(start, float64(maxCells))*float64(g.k)))
	// The unscaled mass of a cell depends on its distance from the middle one.
	var at []float64
	var inner float64 // the sum of at, but for the middle cell
	for ; 2*half+1 <= maxCells; half += max(1, half/64) {
		for d := len(at); d <= half; d++ {
			at = append(at, math.Exp(-shrink*fall(float64(d)/float64(g.k))))
			if d > 0 {
				inner += at[d]
			}
		}
		sum := at[0] + 2*inner
		var edge float64
		for i := range min(g.k, 2*half+1) {
			edge += at[max(i-half, half-i)]
		}
		if edge*(1-atom) > (f.Delta-atom)*shrink*sum {
			continue
		}
		masses := make([]float64, 2*half+1)
		for i := range masses {
			masses[i] = at[max(i-half, half-i)] * (1 - atom) / sum
		}
		t, err := f.makeTable(g.centred(half), masses, atom)
		if err == nil || errors.Is(err, tables.ErrFalseClaim) {
			return t, err // a longer one keeps no constraint that this one does not
		}
	}
	return nil, tooManyCells(maxCells)
}

func tooManyCells(maxCells int) error {
	return check.Errorf("lp", ErrLimit, "the noise needs more than %d cells (max-cells)", maxCells)
}
