// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/noisewright/noisewright/latent/bundle"
)

// Matrix is a matrix by rows: here examples or the inputs of a layer, and its Stride is Cols.
type Matrix = blas64.General

// NewMatrix returns a matrix of zeros.
func NewMatrix(rows, cols int) Matrix {
	return Matrix{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

// Row returns row i, which shares memory with m.
func Row(m Matrix, i int) []float64 { return m.Data[i*m.Stride : i*m.Stride+m.Cols] }

// Activation is the function that a layer applies to each of its numbers.
type Activation = string

// The activations: x, 1/(1+e^-x), max(x, 0) and tanh x.
const (
	Identity Activation = "identity"
	Sigmoid  Activation = "sigmoid"
	ReLU     Activation = "relu"
	Tanh     Activation = "tanh"
)

// Layer turns an input x, a row, into Activation(x·Weights + Bias).
type Layer struct {
	Weights    Matrix // in×out
	Bias       []float64
	Activation Activation
}

// Network is layers that are applied in turn. It is not safe to use while its
// parameters change; otherwise it is, with a Pass for each goroutine.
type Network struct {
	Layers []Layer // views into one slice, that of Params
	params []float64
}

// New returns a network whose parameters are 0: layer k turns widths[k] numbers into
// widths[k+1] and has activations[k]. It panics unless there is a layer, all widths are
// positive and there is an activation for each layer.
func New(widths []int, activations []Activation) *Network {
	if len(activations) == 0 || len(widths) != len(activations)+1 || slices.Min(widths) < 1 {
		panic(fmt.Sprintf("dense: %d activations for layers of the widths %v", len(activations), widths))
	}
	size := 0
	for k := range activations {
		size += (widths[k] + 1) * widths[k+1]
	}
	n := &Network{params: make([]float64, size)}
	rest := n.params
	for k, a := range activations {
		var l Layer
		l, rest = view(rest, widths[k], widths[k+1])
		l.Activation = a
		n.Layers = append(n.Layers, l)
	}
	return n
}

// MLP returns New with hidden layers of one activation and a linear output.
func MLP(in int, hidden []int, a Activation, out int) *Network {
	activations := append(slices.Repeat([]Activation{a}, len(hidden)), Identity)
	return New(slices.Concat([]int{in}, hidden, []int{out}), activations)
}

// Same returns a network that returns what it reads.
func Same(n int) *Network {
	same := MLP(n, nil, Identity, n)
	for j := range n {
		same.Layers[0].Weights.Data[j*n+j] = 1
	}
	return same
}

// view is a layer with the first of the numbers as its parameters, and the numbers after them.
func view(numbers []float64, in, out int) (l Layer, rest []float64) {
	weights := in * out
	l.Weights = Matrix{Rows: in, Cols: out, Stride: out, Data: numbers[:weights:weights]}
	l.Bias = numbers[weights : weights+out : weights+out]
	return l, numbers[weights+out:]
}

// Init draws all parameters of a layer of n inputs uniformly between -1/√n and 1/√n.
func (n *Network) Init(r *rand.Rand) {
	for _, l := range n.Layers {
		limit := 1 / math.Sqrt(float64(l.Weights.Rows))
		for _, numbers := range [][]float64{l.Weights.Data, l.Bias} {
			for i := range numbers {
				numbers[i] = limit * (2*r.Float64() - 1)
			}
		}
	}
}

// Params returns the parameters, layer by layer, the weights of each by rows and then
// its bias. They share memory with the network.
func (n *Network) Params() []float64 { return n.params }

// In returns the number of inputs.
func (n *Network) In() int { return n.Layers[0].Weights.Rows }

// Out returns the number of outputs.
func (n *Network) Out() int { return n.Layers[len(n.Layers)-1].Weights.Cols }

// Clone returns a copy that shares nothing with n, with more layers behind it of these widths:
// identities whose parameters are 0.
func (n *Network) Clone(more ...int) *Network {
	widths, activations := []int{n.In()}, make([]Activation, 0, len(n.Layers))
	for _, l := range n.Layers {
		widths, activations = append(widths, l.Weights.Cols), append(activations, l.Activation)
	}
	c := New(append(widths, more...), append(activations, slices.Repeat([]Activation{Identity}, len(more))...))
	copy(c.params, n.params)
	return c
}

// BundleLayers are the layers for a bundle, which has a layer's outputs in the rows of its weights.
func (n *Network) BundleLayers() []bundle.Layer {
	layers := make([]bundle.Layer, len(n.Layers))
	for k, l := range n.Layers {
		in, out := l.Weights.Rows, l.Weights.Cols
		w := bundle.Matrix{Rows: out, Cols: in, Data: make([]float64, out*in)}
		for i := range in {
			for j, v := range Row(l.Weights, i) {
				w.Data[j*in+i] = v
			}
		}
		layers[k] = bundle.Layer{Weights: w, Bias: slices.Clone(l.Bias), Activation: l.Activation}
	}
	return layers
}

// Decoder takes the last of the layers, an affine one, apart, as a bundle has it.
func Decoder(layers []bundle.Layer) (before []bundle.Layer, weights bundle.Matrix, bias []float64) {
	last := layers[len(layers)-1]
	return layers[:len(layers)-1], last.Weights, last.Bias
}
