package dense

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Pick returns a copy of some rows.
func Pick(x Matrix, rows []int) Matrix {
	m := NewMatrix(len(rows), x.Cols)
	for k, i := range rows {
		copy(Row(m, k), Row(x, i))
	}
	return m
}

// Means returns the means of the columns of at least one row. Sums are of differences from
// the first row, so that the mean of a constant column is its number: a rounding error
// instead would be what its deviation is of.
func Means(x Matrix) []float64 {
	first := Row(x, 0)
	sum, difference := make([]float64, x.Cols), make([]float64, x.Cols)
	for i := range x.Rows {
		floats.SubTo(difference, Row(x, i), first)
		floats.AddScaled(sum, 1/float64(x.Rows), difference)
	}
	floats.Add(sum, first)
	return sum
}

// Moments returns the means and the standard deviations of the columns of at least one row;
// those of a constant column are its number and 0.
func Moments(x Matrix) (mean, deviation []float64) {
	mean, deviation = Means(x), make([]float64, x.Cols)
	for i := range x.Rows {
		for j, v := range Row(x, i) {
			deviation[j] += (v - mean[j]) * (v - mean[j])
		}
	}
	for j, v := range deviation {
		deviation[j] = math.Sqrt(v / float64(x.Rows))
	}
	return mean, deviation
}

// Standard returns Moments with 1 for the deviations of constant columns: what columns are
// standardized by.
func Standard(x Matrix) (mean, deviation []float64) {
	mean, deviation = Moments(x)
	for j, v := range deviation {
		if !(v > 0) {
			deviation[j] = 1
		}
	}
	return mean, deviation
}
