package taskaware

import (
	"github.com/noisewright/noisewright/encoder/internal/dense"
)

// scaling turns features x into (x - mean)/scale. The mean may be another center.
type scaling struct{ mean, scale []float64 }

// standardize returns the scaling to mean 0 and variance 1, of columns that vary.
func standardize(x dense.Matrix) scaling {
	mean, scale := dense.Standard(x) // 1 for what varies only among the people held out
	return scaling{mean, scale}
}

// rangeOf returns the scaling to the range from 0 to 1, of columns that vary.
func rangeOf(x dense.Matrix) scaling {
	s := scaling{make([]float64, x.Cols), make([]float64, x.Cols)}
	for j := range x.Cols {
		low, high := x.Data[j], x.Data[j]
		for i := range x.Rows {
			low, high = min(low, x.Data[i*x.Stride+j]), max(high, x.Data[i*x.Stride+j])
		}
		s.mean[j], s.scale[j] = low, high-low
		if !(s.scale[j] > 0) {
			s.scale[j] = 1 // it varies only among the people held out
		}
	}
	return s
}

func (s scaling) apply(x dense.Matrix) dense.Matrix {
	m := dense.NewMatrix(x.Rows, x.Cols)
	for i := range x.Rows {
		for j, v := range dense.Row(x, i) {
			m.Data[i*m.Stride+j] = (v - s.mean[j]) / s.scale[j]
		}
	}
	return m
}

// reading returns a network that does with scaled features what n does with features.
func (s scaling) reading(n *dense.Network) *dense.Network {
	c := n.Clone()
	first := c.Layers[0]
	for j := range s.mean {
		for k, w := range dense.Row(first.Weights, j) {
			first.Bias[k] += w * s.mean[j]
			first.Weights.Data[j*first.Weights.Stride+k] = w * s.scale[j]
		}
	}
	return c
}

// scaled returns a network that does with x - mean what n does with scaled features.
func (s scaling) scaled(n *dense.Network) *dense.Network {
	c := n.Clone()
	first := c.Layers[0]
	for j, scale := range s.scale {
		for k := range first.Weights.Cols {
			first.Weights.Data[j*first.Weights.Stride+k] /= scale
		}
	}
	return c
}

// raw returns a network that does with features what n does with scaled features.
func (s scaling) raw(n *dense.Network) *dense.Network {
	c := s.scaled(n)
	first := c.Layers[0]
	for j, mean := range s.mean {
		for k, w := range dense.Row(first.Weights, j) {
			first.Bias[k] -= w * mean
		}
	}
	return c
}

// writing returns a network, the last layer of which is linear, whose outputs are those of
// n, unscaled.
func (s scaling) writing(n *dense.Network) *dense.Network {
	c := n.Clone()
	last := c.Layers[len(c.Layers)-1]
	for k, scale := range s.scale {
		for j := range last.Weights.Rows {
			last.Weights.Data[j*last.Weights.Stride+k] *= scale
		}
		last.Bias[k] = last.Bias[k]*scale + s.mean[k]
	}
	return c
}

// answering returns a network that gives the scaled answers of n.
func (s scaling) answering(n *dense.Network) *dense.Network {
	if s.scale == nil {
		return n
	}
	widths, functions := []int{n.In()}, []dense.Activation(nil)
	for _, l := range n.Layers {
		widths, functions = append(widths, l.Weights.Cols), append(functions, l.Activation)
	}
	c := dense.New(append(widths, n.Out()), append(functions, dense.Identity))
	copy(c.Params(), n.Params())
	last := c.Layers[len(n.Layers)]
	for j, scale := range s.scale {
		last.Weights.Data[j*last.Weights.Stride+j] = 1 / scale
		last.Bias[j] = -s.mean[j] / scale
	}
	return c
}
