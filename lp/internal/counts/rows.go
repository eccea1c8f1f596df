// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/exact"
)

// least is the least weight of an answer, in units of 2^-64, that has a row of integers.
const least = 1 << 20

// rows rounds the probabilities to weights of sum 2^64: each answer has a least weight and one that is at most
// e^epsilon times that, and what a row is short of or has too much moves some weights between the two. It
// returns nil where that is not possible.
func (d *designer) rows(epsilon float64) [][]uint64 {
	ratio := exact.ExpDown(epsilon, exact.RatioBits)
	rows := make([][]uint64, d.k)
	var low, high []uint64
	var sets []set
	for y, w := range d.weights {
		x := math.Ldexp(w, 64)
		if !(x >= least && x < 0x1p64) {
			continue
		}
		top := new(big.Int).SetUint64(uint64(x))
		top.Mul(top, ratio).Rsh(top, exact.RatioBits)
		if !top.IsUint64() {
			return nil
		}
		low, high, sets = append(low, uint64(x)), append(high, top.Uint64()), append(sets, d.sets[y])
	}
	order := make([]int, len(sets))
	for y := range order {
		order[y] = y
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if high[a]-low[a] > high[b]-low[b] {
			return -1
		}
		return 1
	})
	for j := range rows {
		row := make([]uint64, len(sets))
		var sum exact.Uint128
		for y, s := range sets {
			row[y] = low[y]
			if s.has(j) {
				row[y] = high[y]
			}
			sum.Add64(row[y])
		}
		missing := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 64), sum.Big())
		for _, y := range order {
			if missing.Sign() == 0 {
				break
			}
			room := new(big.Int).SetUint64(high[y] - low[y])
			switch {
			case missing.Sign() > 0 && !sets[y].has(j):
				if missing.Cmp(room) < 0 {
					room.Set(missing)
				}
				row[y] += room.Uint64()
				missing.Sub(missing, room)
			case missing.Sign() < 0 && sets[y].has(j):
				if over := new(big.Int).Neg(missing); over.Cmp(room) < 0 {
					room.Set(over)
				}
				row[y] -= room.Uint64()
				missing.Add(missing, room)
			}
		}
		if missing.Sign() != 0 {
			return nil
		}
		rows[j] = row
	}
	return rows
}
