// SPDX-License-Identifier: Apache-2.0

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

// Chosen returns the entries of a column in some rows, nil for none.
func Chosen[T any](column []T, rows []int) []T {
	if column == nil {
		return nil
	}
	some := make([]T, len(rows))
	for k, i := range rows {
		some[k] = column[i]
	}
	return some
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

// Scaling turns each column x into (x - Mean)/Scale. The mean may be another center.
type Scaling struct{ Mean, Scale []float64 }

// Standardize returns the scaling to mean 0 and variance 1; constant columns are only centered.
func Standardize(x Matrix) Scaling {
	mean, scale := Moments(x)
	for j, v := range scale {
		if !(v > 0) {
			scale[j] = 1
		}
	}
	return Scaling{mean, scale}
}

// Range returns the scaling to the range from 0 to 1; constant columns are only moved to 0.
func Range(x Matrix) Scaling {
	s := Scaling{make([]float64, x.Cols), make([]float64, x.Cols)}
	for j := range x.Cols {
		low, high := x.Data[j], x.Data[j]
		for i := range x.Rows {
			low, high = min(low, x.Data[i*x.Stride+j]), max(high, x.Data[i*x.Stride+j])
		}
		s.Mean[j], s.Scale[j] = low, high-low
		if !(s.Scale[j] > 0) {
			s.Scale[j] = 1
		}
	}
	return s
}

// Apply returns the scaled rows.
func (s Scaling) Apply(x Matrix) Matrix {
	m := NewMatrix(x.Rows, x.Cols)
	for i := range x.Rows {
		to := Row(m, i)
		for j, v := range Row(x, i) {
			to[j] = (v - s.Mean[j]) / s.Scale[j]
		}
	}
	return m
}

// Undo is the inverse of Apply, in place.
func (s Scaling) Undo(x Matrix) {
	for i := range x.Rows {
		row := Row(x, i)
		for j, scale := range s.Scale {
			row[j] = float64(row[j]*scale) + s.Mean[j]
		}
	}
}

// Reading returns a network that does with scaled features what n does with features.
func (s Scaling) Reading(n *Network) *Network {
	c := n.Clone()
	first := c.Layers[0]
	for j := range s.Mean {
		for k, w := range Row(first.Weights, j) {
			first.Bias[k] += w * s.Mean[j]
			first.Weights.Data[j*first.Weights.Stride+k] = w * s.Scale[j]
		}
	}
	return c
}

// Scaled returns a network that does with x - mean what n does with scaled features.
func (s Scaling) Scaled(n *Network) *Network {
	c := n.Clone()
	first := c.Layers[0]
	for j, scale := range s.Scale {
		for k := range first.Weights.Cols {
			first.Weights.Data[j*first.Weights.Stride+k] /= scale
		}
	}
	return c
}

// Raw returns a network that does with features what n does with scaled features.
func (s Scaling) Raw(n *Network) *Network {
	c := s.Scaled(n)
	first := c.Layers[0]
	for j, mean := range s.Mean {
		for k, w := range Row(first.Weights, j) {
			first.Bias[k] -= w * mean
		}
	}
	return c
}

// Writing returns a network, whose last layer is linear and whose outputs are those of n, unscaled.
func (s Scaling) Writing(n *Network) *Network {
	c := n.Clone()
	last := c.Layers[len(c.Layers)-1]
	for k, scale := range s.Scale {
		for j := range last.Weights.Rows {
			last.Weights.Data[j*last.Weights.Stride+k] *= scale
		}
		last.Bias[k] = last.Bias[k]*scale + s.Mean[k]
	}
	return c
}

// Answering returns a network that gives the scaled answers of n.
func (s Scaling) Answering(n *Network) *Network {
	if s.Scale == nil {
		return n
	}
	c := n.Clone(n.Out())
	last := c.Layers[len(n.Layers)]
	for j, scale := range s.Scale {
		last.Weights.Data[j*last.Weights.Stride+j] = 1 / scale
		last.Bias[j] = -s.Mean[j] / scale
	}
	return c
}
