package taskspace

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"
)

// BallRadii returns, for every z = 1…n (at index z−1), the smallest radius of a
// ball that leaves at least the share clip of the rows of y (N×n task
// coordinates) unclipped when the first z are released: that quantile of the
// norms of (y_1…y_z). 0 < clip ≤ 1; 1 gives the largest norm.
func BallRadii(y *mat.Dense, clip float64) []float64 { return radii(y, clip, math.Hypot) }

// CoordinateRadii returns the smallest c_i, i = 1…n, such that at least the share
// clip of the rows of y has |y_i| ≤ c_i, one coordinate at a time.
func CoordinateRadii(y *mat.Dense, clip float64) []float64 {
	return radii(y, clip, func(_, v float64) float64 { return math.Abs(v) })
}

// radii returns quantiles of sizes of the rows, each from the one before and a coordinate.
func radii(y *mat.Dense, clip float64, size func(before, v float64) float64) []float64 {
	rows, n := y.Dims()
	sizes, radii := make([]float64, rows), make([]float64, n)
	for j := range n {
		for i := range sizes {
			sizes[i] = size(sizes[i], y.At(i, j))
		}
		radii[j] = quantile(slices.Clone(sizes), clip)
	}
	return radii
}

// quantile sorts values and returns the smallest of them that at least the
// given share (0 < share ≤ 1) does not exceed.
func quantile(values []float64, share float64) float64 {
	slices.Sort(values)
	// Not from ⌈share·N⌉: 0.07·100 is above 7 in float64, 7/100 is 0.07.
	k := sort.Search(len(values)-1, func(k int) bool { return float64(k+1)/float64(len(values)) >= share })
	return values[k]
}
