// SPDX-License-Identifier: Apache-2.0

package exact

import "math"

// SignMaximumL1 returns the largest ℓ1 norm of ±r_0 ± r_1 …, over all signs of the
// rows r_i, of which there is at least one and which are as long as each other. All
// 2^(rows-1) patterns are tried, the first sign being + by symmetry.
//
// Rounding: the true maximum, for rows whose entries are each at most one rounding
// away from those given, is at most the value returned and
//
//	2u·(rows + columns + 8)·‖S‖,   S_j = Σ_i |r_ij|, u = 2^-53,
//
// in the same norm, unless something over- or underflows
// (docs/proofs/linear-sensitivity.md). Each partial sum is computed once from its parent's in
// the tree of signs, so that none has more than one rounding for each row.
func SignMaximumL1(rows [][]float64) float64 { return signMaximum(rows, absoluteSum) }

// SignMaximumL2 is [SignMaximumL1] for the ℓ2 norm.
func SignMaximumL2(rows [][]float64) float64 { return signMaximum(rows, euclidean) }

// signMaximum takes the norm of a + s·b for both signs s, the larger of the two.
func signMaximum(rows [][]float64, norm func(a, b []float64) float64) float64 {
	columns := len(rows[0])
	if len(rows) == 1 {
		return norm(make([]float64, columns), rows[0])
	}
	partial := [][]float64{rows[0]}
	for range len(rows) - 2 {
		partial = append(partial, make([]float64, columns))
	}
	largest := 0.0
	var visit func(depth int)
	visit = func(depth int) {
		above, row := partial[depth-1], rows[depth]
		if depth == len(rows)-1 {
			largest = max(largest, norm(above, row))
			return
		}
		sums := partial[depth]
		for j, v := range row {
			sums[j] = above[j] + v
		}
		visit(depth + 1)
		for j, v := range row {
			sums[j] = above[j] - v
		}
		visit(depth + 1)
	}
	visit(1)
	return largest
}

func absoluteSum(a, b []float64) float64 {
	var plus, minus float64
	for j, v := range a {
		plus += math.Abs(v + b[j])
		minus += math.Abs(v - b[j])
	}
	return max(plus, minus)
}

func euclidean(a, b []float64) float64 {
	var plus, minus float64
	for j, v := range a {
		plus += (v + b[j]) * (v + b[j])
		minus += (v - b[j]) * (v - b[j])
	}
	return math.Sqrt(max(plus, minus))
}
