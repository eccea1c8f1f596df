// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/tables"
)

// makeTable rounds masses to a table that keeps the constraints, and certifies it. The error
// wraps proof.ErrNotPrivate or proof.ErrFalseClaim if the exact test fails.
func (m *model) makeTable(g grid, masses []float64, atom float64) (*tables.Verified, error) {
	first, last := 0, len(masses)-1
	least := 0x1p-65
	if m.Constraints.MaxDistinguishing > 0 {
		least = 0 // the ends may weigh next to nothing, and have to be there
	}
	for first < last && masses[first] < least && (!m.folded || masses[last] < least) {
		first++
		if m.folded {
			last--
		}
	}
	for !m.folded && last > first && masses[last] < least {
		last--
	}
	cells := g.table
	cells.FirstCell = g.first + first
	scaled := slices.Clone(masses[first : last+1])
	if m.Constraints.MaxDistinguishing > 0 {
		for i := range scaled {
			scaled[i] = max(scaled[i], 0x1p-62) // a few units of weight
		}
	}
	if m.Constraints.Monotone {
		makeMonotone(cells, scaled)
	}
	if m.Constraints.Unbiased && !m.folded {
		makeUnbiased(cells, scaled)
	}
	sum := atom
	for _, mass := range scaled {
		sum += mass
	}
	for i := range scaled {
		scaled[i] /= sum
	}
	weights, atomWeight, err := tables.Quantize(scaled, atom/sum)
	if err != nil {
		return nil, check.Errorf("lp", nil, "%w", err)
	}
	if m.Constraints.Unbiased && !m.folded {
		balanceWeights(cells, weights)
	}
	return meet.Verified(tables.New(tables.Spec{Problem: m.Problem, Grid: cells, Weights: weights, Atom: atomWeight}))
}

// The masses that a solver returns keep the constraints up to its tolerance;
// what follows moves them, by relative amounts far below the margin in epsilon,
// so that the integer weights keep them exactly. The certificate decides.

// makeMonotone makes masses not increase away from 0, and the middle one so much
// heavier that it stays the heaviest when Quantize takes what rounding the others
// up costs from it: 2^14 units and one per cell.
func makeMonotone(cells tables.Grid, masses []float64) {
	n := len(masses)
	middle := 0 // the first cell that is not below 0
	for middle < n-1 && cells.FirstPoint(middle+1) <= 0 {
		middle++
	}
	masses[middle] += float64(n+1<<15) * 0x1p-64
	for i := middle + 1; i < n; i++ {
		masses[i] = min(masses[i], masses[i-1])
	}
	for i := middle - 1; i >= 0; i-- {
		masses[i] = min(masses[i], masses[i+1])
	}
}

// makeUnbiased makes the mean 0, by an exponential tilt: it changes the ratio of two
// masses by a factor that depends on their distance alone.
func makeUnbiased(cells tables.Grid, masses []float64) {
	n := float64(len(masses))
	at := func(i int) float64 { return float64(cells.FirstCell+i) / n }
	tilt := 0.0
	for range 50 {
		var mean, square float64
		for i, m := range masses {
			w := m * math.Exp(tilt*at(i))
			mean += w * at(i)
			square += w * at(i) * at(i)
		}
		if square == 0 {
			return
		}
		step := mean / square
		tilt -= step
		if math.Abs(step) < 1e-17 {
			break
		}
	}
	for i := range masses {
		masses[i] *= math.Exp(tilt * at(i))
	}
}

// balanceWeights makes the mean of integer weights exactly 0 by moving single units
// of weight between heavy cells, if cells are centered on multiples of their size.
func balanceWeights(cells tables.Grid, weights []uint64) {
	excess := new(big.Int) // Σ W_j·j
	heavy := 0
	for i, w := range weights {
		j := big.NewInt(int64(cells.FirstCell + i))
		excess.Add(excess, j.Mul(j, new(big.Int).SetUint64(w)))
		if w > weights[heavy] {
			heavy = i
		}
	}
	// The heaviest cell gives, or takes, whole units over the longest distance
	// to a cell within half its weight, and one unit over the rest.
	for excess.Sign() != 0 {
		side := 1 // of the cells that get weight
		if excess.Sign() > 0 {
			side = -1
		}
		far := 0
		for d := 1; heavy+side*d >= 0 && heavy+side*d < len(weights) && weights[heavy+side*d] >= weights[heavy]/2; d++ {
			far = d
		}
		far = max(far, 1)
		if heavy+side*far < 0 || heavy+side*far >= len(weights) {
			return
		}
		distance := int64(far)
		if excess.CmpAbs(big.NewInt(distance)) < 0 {
			distance = new(big.Int).Abs(excess).Int64()
		}
		units := new(big.Int).Quo(new(big.Int).Abs(excess), big.NewInt(distance))
		if !units.IsUint64() || units.Uint64() >= weights[heavy]/4 {
			return
		}
		weights[heavy] -= units.Uint64()
		weights[heavy+side*int(distance)] += units.Uint64()
		units.Mul(units, big.NewInt(distance*int64(side)))
		excess.Add(excess, units)
	}
}
