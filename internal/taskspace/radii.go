package taskspace

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
)

// BallRadii returns, for every z = 1…n (at index z−1), the smallest radius of a
// ball that leaves at least the share clip of the rows of y (N×n task
// coordinates) unclipped when the first z are released: that quantile of the
// norms of (y_1…y_z). 0 < clip ≤ 1; 1 gives the largest norm.
//
// The radii depend on the rows, which are taken to be public or trusted
// training data. Errors wrap ErrInvalid. The cost is n sorts of N numbers.
func BallRadii(y mat.Matrix, clip float64) ([]float64, error) {
	rows, n, err := checkClip(y, clip)
	if err != nil {
		return nil, err
	}
	norms := make([]float64, rows)
	sorted := make([]float64, rows)
	radii := make([]float64, n)
	for j := range n {
		for i := range norms {
			norms[i] = math.Hypot(norms[i], y.At(i, j))
		}
		copy(sorted, norms)
		radii[j] = quantile(sorted, clip)
	}
	return radii, nil
}

// CoordinateRadii returns the smallest c_i, i = 1…n, such that at least the share
// clip of the rows of y (N×n task coordinates) has |y_i| ≤ c_i, one coordinate at a
// time: that quantile of |y_i|. Arguments and errors as for [BallRadii].
func CoordinateRadii(y mat.Matrix, clip float64) ([]float64, error) {
	rows, n, err := checkClip(y, clip)
	if err != nil {
		return nil, err
	}
	sorted := make([]float64, rows)
	radii := make([]float64, n)
	for j := range n {
		for i := range sorted {
			sorted[i] = math.Abs(y.At(i, j))
		}
		radii[j] = quantile(sorted, clip)
	}
	return radii, nil
}

func checkClip(y mat.Matrix, clip float64) (rows, n int, err error) {
	if !(clip > 0 && clip <= 1) {
		return 0, 0, check.Field("latent", "clip quantile", clip, "a share of the rows above 0 and at most 1")
	}
	return checkData(y)
}

// quantile sorts values and returns the smallest of them that at least the
// given share (0 < share ≤ 1) does not exceed.
func quantile(values []float64, share float64) float64 {
	slices.Sort(values)
	// Not from ⌈share·N⌉: 0.07·100 is above 7 in float64, 7/100 is 0.07.
	k := sort.Search(len(values)-1, func(k int) bool { return float64(k+1)/float64(len(values)) >= share })
	return values[k]
}
