// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/noisewright/noisewright/internal/matrix"
)

// Pass holds the buffers of a pass through a network, forward and back. The zero value
// is ready for use, and a Pass that is used again allocates nothing as long as the
// number of rows does not grow. It serves one network and one goroutine.
type Pass struct {
	// NoInput leaves the gradient of the input out of Backward. It costs as much as
	// that of the first layer's weights.
	NoInput bool

	input    Matrix   // of the last Forward
	outputs  []Matrix // of the layers
	deltas   []Matrix // gradients by the layers' outputs before their activation
	dInput   Matrix
	squares  []float64
	products matrix.Multiplier
}

// resize gives a buffer so many rows and columns; what it then holds is undefined.
func resize(m *Matrix, rows, cols int) {
	*m = Matrix{Rows: rows, Cols: cols, Stride: cols, Data: slices.Grow(m.Data[:0], rows*cols)[:rows*cols]}
}

// Forward returns the outputs for the rows of x. They belong to p, which refers to x and
// to them until the next Forward: neither may change before Backward.
func (n *Network) Forward(p *Pass, x Matrix) Matrix {
	if x.Cols != n.In() || x.Stride != x.Cols {
		panic(fmt.Sprintf("dense: %d columns with a stride of %d for a network of %d inputs", x.Cols, x.Stride, n.In()))
	}
	if len(p.outputs) != len(n.Layers) {
		p.outputs, p.deltas = make([]Matrix, len(n.Layers)), make([]Matrix, len(n.Layers))
	}
	p.input = x
	for k, l := range n.Layers {
		out := &p.outputs[k]
		resize(out, x.Rows, l.Weights.Cols)
		for i := range out.Rows {
			copy(Row(*out, i), l.Bias)
		}
		p.products.Add(out.Data, rows(x), rows(l.Weights))
		apply(l.Activation, out.Data)
		x = *out
	}
	return x
}

// Backward takes the gradient of a loss by the outputs of the last Forward and adds
// that by the parameters to grad, which is as long as Params, or nil for a network that
// stays as it is. It returns the gradient by the inputs, which belongs to p, or an empty
// matrix with NoInput. dOut is left as it is.
func (n *Network) Backward(p *Pass, dOut Matrix, grad []float64) Matrix {
	n.propagate(p, dOut)
	if grad != nil {
		n.accumulate(p, grad)
	}
	if p.NoInput {
		return Matrix{}
	}
	n.through(p, 0, &p.dInput)
	return p.dInput
}

func (n *Network) propagate(p *Pass, dOut Matrix) {
	if dOut.Rows != p.input.Rows || dOut.Cols != n.Out() || dOut.Stride != dOut.Cols {
		panic(fmt.Sprintf("dense: gradient of %d rows and %d columns, want %d and %d", dOut.Rows, dOut.Cols, p.input.Rows, n.Out()))
	}
	for k := len(n.Layers) - 1; k >= 0; k-- {
		d, out := &p.deltas[k], p.outputs[k]
		if k == len(n.Layers)-1 {
			resize(d, out.Rows, out.Cols)
			copy(d.Data, dOut.Data[:len(d.Data)])
		} else {
			n.through(p, k+1, d)
		}
		back(n.Layers[k].Activation, out.Data, d.Data)
	}
}

// through sets d to the gradient by the inputs of layer k.
func (n *Network) through(p *Pass, k int, d *Matrix) {
	w := n.Layers[k].Weights
	resize(d, p.deltas[k].Rows, w.Rows)
	clear(d.Data)
	p.products.Add(d.Data, rows(p.deltas[k]), transposed(w))
}

func rows(m Matrix) matrix.Rows { return matrix.Rows{Data: m.Data[:m.Rows*m.Cols], Count: m.Rows} }

func transposed(m Matrix) matrix.Rows {
	r := rows(m)
	r.Transposed = true
	return r
}

// accumulate adds the gradient by the parameters, from p.deltas, to grad.
func (n *Network) accumulate(p *Pass, grad []float64) {
	if len(grad) != len(n.params) {
		panic(fmt.Sprintf("dense: gradient of %d numbers for %d parameters", len(grad), len(n.params)))
	}
	x := p.input
	for k, l := range n.Layers {
		var g Layer
		g, grad = view(grad, l.Weights.Rows, l.Weights.Cols)
		d := p.deltas[k]
		p.products.Add(g.Weights.Data, transposed(x), rows(d))
		for i := range d.Rows {
			for j, v := range Row(d, i) {
				g.Bias[j] += v
			}
		}
		x = p.outputs[k]
	}
}

// GradientNorms adds to squares, one for each row of the last Forward, the squared norms of the
// gradients by the parameters that the single examples cause. Row i of dOut is the gradient of the
// loss of example i by its outputs; the mean of losses over n rows makes it n times too small.
//
// With the input x of a layer and the gradient δ of an example by its outputs before the
// activation, the gradient by the weights is x·δᵀ, of rank 1, and that by the bias δ: the square of
// their norm is (‖x‖²+1)·‖δ‖² (I. Goodfellow, Efficient per-example gradient computations, 2015).
func (n *Network) GradientNorms(p *Pass, dOut Matrix, squares []float64) {
	n.propagate(p, dOut)
	if len(squares) != p.input.Rows {
		panic(fmt.Sprintf("dense: %d squared norms for %d rows", len(squares), p.input.Rows))
	}
	x := p.input
	for k := range n.Layers {
		for i := range squares {
			squares[i] += (square(Row(x, i)) + 1) * (square(Row(p.deltas[k], i)) + underflow)
		}
		x = p.outputs[k]
	}
}

// More than 2^24 squares below the least normal float64 lose together, much for a large x.
const underflow = 0x1p-1050

func square(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return sum
}

// clipMargin is by how much ClippedGradient clips below its limit. It is far above the
// relative error of a gradient of 2^24 numbers: each carries a few roundings of 2^-53, its
// computed norm at most 2^24 of them.
const clipMargin = 1e-6

// ClippedGradient adds to grad the sum over all rows of the last Forward of the example's own
// gradient, scaled back where its norm is above limit: no example changes the sum by more than
// limit. dOut is as for GradientNorms and left as it is. An example with a gradient that is not
// finite adds nothing, and its outputs in p become 0. The inputs have to be finite.
func (n *Network) ClippedGradient(p *Pass, dOut Matrix, limit float64, grad []float64) {
	p.squares = slices.Grow(p.squares[:0], dOut.Rows)[:dOut.Rows]
	clear(p.squares)
	n.GradientNorms(p, dOut, p.squares)
	for i, s := range p.squares {
		by := limit * (1 - clipMargin) / math.Sqrt(s)
		if by >= 1 {
			continue
		}
		for k, d := range p.deltas {
			row := Row(d, i)
			if !(s <= math.MaxFloat64) { // NaN too, and 0·NaN would stay one
				clear(row)
				clear(Row(p.outputs[k], i)) // 0·∞ would be one
				continue
			}
			floats.Scale(by, row)
		}
	}
	n.accumulate(p, grad)
}

func apply(a Activation, x []float64) {
	switch a {
	case Identity:
	case Sigmoid:
		for i, v := range x {
			x[i] = 1 / (1 + math.Exp(-v))
		}
	case ReLU:
		for i, v := range x {
			x[i] = max(v, 0)
		}
	case Tanh:
		for i, v := range x {
			x[i] = math.Tanh(v)
		}
	default:
		panic(fmt.Sprintf("dense: activation %q", a))
	}
}

// back turns the gradient by the outputs y into that by the inputs. All derivatives
// are functions of y; that of ReLU at 0 counts as 0.
func back(a Activation, y, gradient []float64) {
	switch a {
	case Identity:
	case Sigmoid:
		for i, v := range y {
			gradient[i] *= v * (1 - v)
		}
	case ReLU:
		for i, v := range y {
			if v <= 0 {
				gradient[i] = 0
			}
		}
	case Tanh:
		for i, v := range y {
			gradient[i] *= 1 - v*v
		}
	default:
		panic(fmt.Sprintf("dense: activation %q", a))
	}
}
