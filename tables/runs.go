// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"math/big"
	"slices"
	"sync"

	"github.com/noisewright/noisewright/internal/exact"
)

// Weights are often runs of equal ones: those of a staircase are some ten runs of tens of thousands
// of cells. For two runs, the number of cells of one whose partner, k cells away, is in the other
// is linear in k between the shifts at which their ends meet. So is the divergence of a shift
// between all differences of ends, and few shifts tell those of all others, exactly.

// ends returns where runs of equal weights begin, and where the last one ends.
func ends(weights []uint64) []int {
	at := []int{0}
	for i := 1; i < len(weights); i++ {
		if weights[i] != weights[i-1] {
			at = append(at, i)
		}
	}
	return append(at, len(weights))
}

// meetings returns the shifts from 1 to last at which ends meet, and these two, sorted.
func meetings(ends []int, last int) []int {
	shifts := []int{1, last}
	for i, a := range ends {
		for _, b := range ends[:i] {
			if k := a - b; k > 1 && k < last {
				shifts = append(shifts, k)
			}
		}
	}
	slices.Sort(shifts)
	return slices.Compact(shifts)
}

// fewRuns reports whether the divergences of all shifts up to last take less work by runs
// than by cells, and that work.
func fewRuns(ends []int, cells, last int) (work int64, few bool) {
	const perPair = 20 // comparisons that a pair of runs costs as much as
	r := int64(len(ends))
	work = perPair*min(r*r/2+2, int64(last))*2*r + int64(last)*perPair
	return work, r < int64(cells)/4 && work < int64(last)*int64(cells)/4
}

// byRuns returns hockeyStick for the shifts of one side, computed from the runs once it is needed.
func (s *Spec) byRuns(negative bool, ends []int, r *exact.Ratio, last int) func(k int) *big.Int {
	all := sync.OnceValue(func() []*big.Int {
		if !negative {
			return runDivergences(s.Weights, ends, r, last)
		}
		weights, mirrored := slices.Clone(s.Weights), make([]int, len(ends))
		slices.Reverse(weights)
		for i, at := range ends {
			mirrored[len(ends)-1-i] = len(weights) - at
		}
		return runDivergences(weights, mirrored, r, last)
	})
	return func(k int) *big.Int { return all()[k-1] }
}

// runDivergences returns what hockeyStick returns for the shifts 1 to last, at most the
// number of weights.
func runDivergences(weights []uint64, ends []int, r *exact.Ratio, last int) []*big.Int {
	all := make([]*big.Int, last)
	before := 0
	for _, k := range meetings(ends, last) {
		all[k-1] = runDivergence(weights, ends, k, r)
		if gap := int64(k - before); before > 0 && gap > 1 {
			low := all[before-1]
			slope := new(big.Int).Sub(all[k-1], low)
			slope.Quo(slope, big.NewInt(gap)) // without a remainder
			for i := before + 1; i < k; i++ {
				all[i-1] = new(big.Int).Add(all[i-2], slope)
			}
		}
		before = k
	}
	return all
}

// runDivergence is hockeyStick for 0 < k <= the number of weights.
func runDivergence(weights []uint64, ends []int, k int, r *exact.Ratio) *big.Int {
	gain, price := new(big.Int), new(big.Int)
	add := func(sum *big.Int, w uint64, cells int) {
		product := new(big.Int).SetUint64(w)
		sum.Add(sum, product.Mul(product, big.NewInt(int64(cells))))
	}
	own, partner := 0, 0 // runs
	for j := 0; j < len(weights); {
		next := ends[own+1]
		if j < k { // no partner
			next = min(next, k)
			add(gain, weights[j], next-j)
		} else {
			next = min(next, ends[partner+1]+k)
			if w, q := weights[j], weights[j-k]; r.Exceeds(w, q) {
				add(gain, w, next-j)
				add(price, q, next-j)
			}
			if next == ends[partner+1]+k {
				partner++
			}
		}
		if j = next; j == ends[own+1] {
			own++
		}
	}
	return r.Excess(gain, price)
}
