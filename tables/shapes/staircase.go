// SPDX-License-Identifier: Apache-2.0

package shapes

import (
	"math"
	"math/big"
	"slices"
	"sort"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

// mostStairs bounds the cells per sensitivity that the zero Grid stands for.
const mostStairs = 1 << 12

// Staircase returns the staircase mechanism (Geng & Viswanath 2016): equal cells in a core, and
// from there on either side, after every sensitivity, e^(-epsilon) of the level before, for ever.
// It is optimal for delta = 0 and losses that rise away from 0, with a core that suits the loss.
//
// core is the number of cells of the core, from g.FirstCell on, wherever it lies; 0
// asks for the best core about 0, noise.StaircaseStep.
//
// Guarantee: the promise is (p.Epsilon, 0); p.Delta is not used.
func Staircase(p dp.Problem, core int, g tables.Grid) (*tables.Verified, error) {
	p.Delta = 0
	if core == 0 {
		gamma, err := noise.StaircaseStep(p.Privacy, p.Loss)
		if err != nil {
			return nil, check.Errorf("shapes", nil, "%w", err)
		}
		// Cells of an eighth of the step and of the rest.
		cells := usualCells * int(math.Ceil(math.Min(0.25/math.Min(gamma, 1-gamma), mostStairs/usualCells)))
		if g, _, err = layout(p, g, 3*p.Sensitivity, cells); err != nil {
			return nil, err
		}
		half := int(math.Round(gamma*float64(g.CellsPerSensitivity) - 0.5))
		core, g.FirstCell = 2*max(0, half)+1, -max(0, half)
	}
	k := g.CellsPerSensitivity
	bad := check.In("shapes")
	bad.Want(core >= 1, "core", core, "a number of cells")
	bad.Want(k >= 1, "cells per sensitivity", k, "at least 1 where a core is given")
	bad.Want(p.Epsilon > 0 && p.Epsilon <= check.MaxEpsilon, "epsilon", p.Epsilon, "a number above 0 and at most %d", check.MaxEpsilon)
	if err := bad.Err(); err != nil {
		return nil, err
	}
	left, right := periodsToZero(g, core)
	w := stairLevels(p.Epsilon, k, core, max(left, right))
	if w == nil {
		return nil, check.Errorf("shapes", dp.ErrInvalid, "%d cells per sensitivity at epsilon = %g are more than integer weights can tell apart", k, p.Epsilon)
	}
	var outwards [2][]uint64 // the cells on either side, from the core on
	for side, extra := range []int{left, right} {
		levels := []uint64{w.near}
		if extra > 0 {
			levels = append(slices.Clone(w.between), w.far)
		}
		for _, v := range levels {
			outwards[side] = append(outwards[side], slices.Repeat([]uint64{v}, k)...)
		}
	}
	middle := slices.Repeat([]uint64{w.core}, core)
	middle[core/2] += w.left
	slices.Reverse(outwards[0])
	g.FirstCell -= len(outwards[0])
	return prove(tables.Spec{Problem: p, Grid: g, Weights: slices.Concat(outwards[0], middle, outwards[1]), TailRatio: w.ratio}, nil)
}

// StaircaseCells returns the number of cells of a table of Staircase with a core of so
// many cells, at least 1, from g.FirstCell on.
func StaircaseCells(g tables.Grid, core int) int {
	left, right := periodsToZero(g, core)
	return core + g.CellsPerSensitivity*(2+left+right)
}

// periodsToZero returns how many periods the table has on either side between the core
// and the block of the tail, so that the point 0 is in no block; one of them is 0.
func periodsToZero(g tables.Grid, core int) (left, right int) {
	k := g.CellsPerSensitivity
	for g.FirstPoint(-left*k) > 0 {
		left++
	}
	for g.FirstPoint(core+right*k) <= 0 {
		right++
	}
	return left, right
}

// stairs holds the integer weights of the cells of a staircase, by level: each level
// is private to the next one out. Next to the core lie a block on one side and, on the
// other, the levels between and then the block far; or blocks like near on both.
type stairs struct {
	core, left uint64 // left is what the division by the core's cells leaves
	between    []uint64
	near, far  uint64
	ratio      uint64
}

// stairLevels returns the weights for a core of n cells and periods of k cells, some
// of them between the core and one of the blocks, or nil if they are too small.
//
// With E <= e^ε the bound of the certificate, the ratio is the least ρ with ρ·E >= 1.
// The first period of a block of weight W weighs (1-ρ)·W per cell, so the next level
// in weighs ⌊E·(1-ρ)·W⌋ at most, and each further one ⌊E·V⌋, V being the one before.
// The block on the other side of the core has the least weight whose first period is
// not below the innermost V. W is the least one such that the core takes what is left.
func stairLevels(epsilon float64, k, n, between int) *stairs {
	e := exact.ExpDown(epsilon, exact.RatioBits)
	whole := new(big.Int).Lsh(one, 64)
	ratio := new(big.Int).Lsh(one, 64+exact.RatioBits)
	exact.DivUp(ratio, ratio, e)            // ⌈2^64/E⌉
	first := new(big.Int).Sub(whole, ratio) // (1-ρ)·2^64
	inwards := func(v *big.Int, shift uint) *big.Int {
		v = new(big.Int).Mul(v, e)
		return v.Rsh(v, exact.RatioBits+shift)
	}
	// levels returns the weights for a W: those between, the innermost first, the
	// other block's, the most that the core's cells may weigh and what is left to them.
	levels := func(w *big.Int) (inner []*big.Int, near, most, left *big.Int) {
		near = w
		most = inwards(new(big.Int).Mul(w, first), 64)
		cells := new(big.Int).Add(w, w)
		for range between {
			inner = append(inner, most)
			most = inwards(most, 0)
		}
		if between > 0 {
			slices.Reverse(inner)
			near = new(big.Int).Lsh(inner[0], 64)
			exact.DivUp(near, near, first)
			cells.Add(w, near)
			for _, v := range inner {
				cells.Add(cells, v)
			}
		}
		left = cells.Mul(cells, big.NewInt(int64(k)))
		return inner, near, most, left.Sub(whole, left)
	}
	share := func(left *big.Int) (a, over *big.Int) {
		return new(big.Int).DivMod(left, big.NewInt(int64(n)), new(big.Int))
	}
	const large = math.MaxInt // two blocks of that weigh all there is
	least := sort.Search(large, func(w int) bool {
		_, _, most, left := levels(big.NewInt(int64(w)))
		a, over := share(left)
		return a.Add(a, over).Cmp(most) <= 0
	})
	far := big.NewInt(int64(least))
	inner, near, _, left := levels(far)
	a, over := share(left)
	if least == large || a.Sign() <= 0 || !a.IsUint64() || !near.IsUint64() {
		return nil
	}
	t := &stairs{core: a.Uint64(), left: over.Uint64(), near: near.Uint64(), far: far.Uint64(), ratio: ratio.Uint64()}
	for _, v := range inner {
		t.between = append(t.between, v.Uint64())
	}
	return t
}
