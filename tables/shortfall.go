// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"fmt"
	"math/big"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

// hockeyStick returns Σ_j (W_j - E·W_{j-k})₊ over all cells, times 2^96,
// exactly: weights of value 0 outside the table, E the bound in r.
//
// Cells whose shifted partner lies outside the table count in full.
func hockeyStick(weights []uint64, k int, r *exact.Ratio) *big.Int {
	return r.ShiftedDivergence(weights, weights, k)
}

// shiftDeltas returns, for the shifts k = 1 … K, the larger hockey-stick
// divergence of the shifts by k and −k cells at the bound r on e^epsilon, with the
// atom counted in full, in units of 2^-(64+exact.RatioBits), and whether −k attains it.
//
// Guarantee (docs/proofs/table-privacy.md): the noise of the table, added to
// values that are at most K·S grid points apart, has a hockey-stick divergence
// of at most the largest of them, unless the meter said stop.
func (s *Spec) shiftDeltas(r *exact.Ratio, m *proof.Meter) (deltas []*big.Int, negative []bool) {
	sides := []func(k int) *big.Int{
		func(k int) *big.Int { return hockeyStick(s.Weights, k, r) },
		func(k int) *big.Int { return hockeyStick(s.Weights, -k, r) },
	}
	if s.hasTail() {
		p, mirrored := s.unroll(), s.unroll()
		mirrored.mirror()
		sides[0] = func(k int) *big.Int { return p.hockeyStick(k, r) }
		sides[1] = func(k int) *big.Int { return mirrored.hockeyStick(k, r) }
	}
	if isSymmetric(s.Weights) {
		sides = sides[:1] // the mirror image of shift k is shift −k
	}
	work := s.shiftWork(len(sides))
	last := min(s.Grid.CellsPerSensitivity, len(s.Weights)) // from there on supports are disjoint
	runs := ends(s.Weights)
	if w, few := fewRuns(runs, len(s.Weights), last); few && !s.hasTail() {
		work = int64(len(sides)) * w
		for side := range sides {
			sides[side] = s.byRuns(side == 1, runs, r, last)
		}
	}
	if !m.Spend(work) {
		return nil, nil
	}
	charge := new(big.Int).SetUint64(s.Atom)
	charge.Lsh(charge, exact.RatioBits)
	deltas, negative = make([]*big.Int, s.Grid.CellsPerSensitivity), make([]bool, s.Grid.CellsPerSensitivity)
	for i := range deltas {
		if i >= len(s.Weights) {
			// Disjoint supports: every longer shift is the same.
			deltas[i], negative[i] = deltas[i-1], negative[i-1]
			continue
		}
		if !m.Go() {
			return nil, nil
		}
		for side, divergence := range sides {
			if h := divergence(i + 1); side == 0 || h.Cmp(deltas[i]) > 0 {
				deltas[i], negative[i] = h, side == 1
			}
		}
		if s.hasTail() { // in units of 2^-64 times the others
			exact.ShiftUp(deltas[i], 64)
		}
		deltas[i].Add(deltas[i], charge)
	}
	return deltas, negative
}

// shiftWork is the work of shiftDeltas: a comparison for each pair of cells, and three
// times that where they have two words.
func (s *Spec) shiftWork(sides int) int64 {
	n, k := int64(len(s.Weights)), int64(s.Grid.CellsPerSensitivity)
	if s.hasTail() {
		return int64(sides) * 3 * k * (n + k)
	}
	k = min(k, n)
	return int64(sides) * (k*n - k*(k-1)/2)
}

// worstShift returns the largest of the shiftDeltas as a probability, and the
// shift that attains it.
func (s *Spec) worstShift(r *exact.Ratio, m *proof.Meter) (delta *big.Rat, shift int) {
	deltas, negative := s.shiftDeltas(r, m)
	if deltas == nil {
		return nil, 0
	}
	worst := 0
	for i, d := range deltas {
		if d.Cmp(deltas[worst]) > 0 {
			worst = i
		}
	}
	shift = worst + 1
	if negative[worst] {
		shift = -shift
	}
	return exact.Probability(deltas[worst]), shift
}

// ShiftDeltas returns the delta of the table's noise at its epsilon for shifts
// by exactly k cells, either way, for k = 1 … CellsPerSensitivity:
//
//	δ_k = (a + max(Σ_j (W_j − E·W_{j−k})₊, Σ_j (W_j − E·W_{j+k})₊)) / 2^64
//
// with W the weights, 0 outside the table or continued by its tail, a the weight
// of the atom and E a bound below e^epsilon, by less than 2^-95 of it. Each is
// exact as a function of E (with a tail rounded up to a multiple of 2^-160), and so an
// upper bound of the true divergence. The largest is Certificate.DeltaUpper.
func (t *Table) ShiftDeltas() []*big.Rat {
	deltas, _ := t.spec.shiftDeltas(exact.RatioDown(t.spec.Epsilon), nil)
	rats := make([]*big.Rat, len(deltas))
	for i, d := range deltas {
		rats[i] = exact.Probability(d)
	}
	return rats
}

// DeltaUpperAt returns a bound from above on the delta of the table's noise at
// another epsilon, 0 <= epsilon <= check.MaxEpsilon, exactly as Certificate.DeltaUpper
// is found at its own: the privacy profile of the table at one point. It takes
// as long as that part of Certify, and panics if epsilon is out of range.
func (t *Table) DeltaUpperAt(epsilon float64) *big.Rat {
	if !(epsilon >= 0 && epsilon <= check.MaxEpsilon) {
		panic(fmt.Sprintf("tables: epsilon = %g, want 0 to %d", epsilon, check.MaxEpsilon))
	}
	delta, _ := t.spec.worstShift(exact.RatioDown(epsilon), nil)
	return delta
}

// isSymmetric reports whether the weights read the same in both directions;
// the divergences then do too, whatever cell is in the middle.
func isSymmetric(w []uint64) bool {
	for i, j := 0, len(w)-1; i < j; i, j = i+1, j-1 {
		if w[i] != w[j] {
			return false
		}
	}
	return true
}
