package staircase

import (
	"math"
	"math/big"
	"slices"
	"sort"

	"github.com/noisewright/noisewright/internal/exact"
)

// Weights returns the integer weights, which sum to 2^64, of the cells of a staircase
// table, and its ratio (docs/table-format.md): a core of n cells and on either side the
// given numbers of periods of k cells, one of them 0, and then a block of k cells that
// repeats. The core begins at cell first. ok = false says that integer weights cannot tell
// so many cells apart.
func Weights(epsilon float64, k, n, left, right int) (weights []uint64, first int, ratio uint64, ok bool) {
	l := newLevels(epsilon, k, n, max(left, right))
	if l == nil {
		return nil, 0, 0, false
	}
	outwards := func(periods int) (cells []uint64) { // from the core on
		of := []uint64{l.near}
		if periods > 0 {
			of = append(slices.Clone(l.between), l.far)
		}
		for _, w := range of {
			cells = append(cells, slices.Repeat([]uint64{w}, k)...)
		}
		return cells
	}
	before := outwards(left)
	slices.Reverse(before)
	core := slices.Repeat([]uint64{l.core}, n)
	core[n/2] += l.left
	return slices.Concat(before, core, outwards(right)), len(before), l.ratio, true
}

// levels holds the weights of a cell, by level: each level is private to the next one
// out. Next to the core lie a block on one side and, on the other, the levels between and
// then the block far; or blocks like near on both.
type levels struct {
	core, left uint64 // left is what the division by the core's cells leaves
	between    []uint64
	near, far  uint64
	ratio      uint64
}

// newLevels returns the levels of a core of n cells and periods of k cells, some of
// them between the core and one of the blocks, or nil if the weights are too small.
//
// With E <= e^ε the bound of the certificate, the ratio is the least ρ with ρ·E >= 1.
// The first period of a block of weight W weighs (1-ρ)·W per cell, so the next level
// in weighs ⌊E·(1-ρ)·W⌋ at most, and each further one ⌊E·V⌋, V being the one before.
// The block on the other side of the core has the least weight whose first period is
// not below the innermost V. W is the least one such that the core takes what is left.
func newLevels(epsilon float64, k, n, between int) *levels {
	const bits = 96 // those of a table's certificate
	e := exact.ExpDown(epsilon, bits)
	one := new(big.Int).Lsh(big.NewInt(1), 64)
	ratio := new(big.Int).Lsh(big.NewInt(1), 64+bits) // ⌈2^64/E⌉
	ratio.Add(ratio, e).Sub(ratio, big.NewInt(1)).Div(ratio, e)
	first := new(big.Int).Sub(one, ratio) // (1-ρ)·2^64
	inwards := func(v *big.Int, shift uint) *big.Int {
		v = new(big.Int).Mul(v, e)
		return v.Rsh(v, bits+shift)
	}
	// weights returns those for a W: those between, the innermost first, the
	// other block's, the most that the core's cells may weigh and what is left to them.
	weights := func(w *big.Int) (inner []*big.Int, near, most, left *big.Int) {
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
			near.Add(near, first).Sub(near, big.NewInt(1)).Div(near, first)
			cells.Add(w, near)
			for _, v := range inner {
				cells.Add(cells, v)
			}
		}
		left = cells.Mul(cells, big.NewInt(int64(k)))
		return inner, near, most, left.Sub(one, left)
	}
	share := func(left *big.Int) (a, over *big.Int) {
		return new(big.Int).DivMod(left, big.NewInt(int64(n)), new(big.Int))
	}
	const large = math.MaxInt // two blocks of that weigh all there is
	least := sort.Search(large, func(w int) bool {
		_, _, most, left := weights(big.NewInt(int64(w)))
		a, over := share(left)
		return a.Add(a, over).Cmp(most) <= 0
	})
	far := big.NewInt(int64(least))
	inner, near, _, left := weights(far)
	a, over := share(left)
	if least == large || a.Sign() <= 0 || !a.IsUint64() || !near.IsUint64() {
		return nil
	}
	t := &levels{core: a.Uint64(), left: over.Uint64(), near: near.Uint64(), far: far.Uint64(), ratio: ratio.Uint64()}
	for _, v := range inner {
		t.between = append(t.between, v.Uint64())
	}
	return t
}
