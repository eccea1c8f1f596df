package dense

import (
	"slices"

	"github.com/noisewright/noisewright/latent/bundle"
)

// BundleLayers returns the layers as those of a bundle, which has the outputs of a layer
// in the rows of its weights.
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
