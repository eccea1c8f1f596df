package bundle

import "math"

// MaxLayers bounds the layers on the device, and those on the server.
const MaxLayers = 16

// Activation is what a layer does to each of its sums.
type Activation string

// The activations.
const (
	Identity Activation = "identity"
	Sigmoid  Activation = "sigmoid" // 1/(1 + e^-x)
	ReLU     Activation = "relu"    // max(x, 0)
	Tanh     Activation = "tanh"
)

var activations = []Activation{Identity, Sigmoid, ReLU, Tanh}

// Layer is a dense layer: of h it makes Activation(Weights·h + Bias), each number
// clipped to ±MaxMagnitude, so that nothing overflows after any number of layers.
//
// e^x and tanh differ in their last digits between processors, and so may encodings behind
// a layer of these. The proof rests on the clipping after them and not on their values.
type Layer struct {
	Weights    Matrix    // out×in
	Bias       []float64 // out
	Activation Activation
}

func (l Layer) clone() Layer {
	return Layer{l.Weights.clone(), append([]float64(nil), l.Bias...), l.Activation}
}

// Output is what Decode returns.
type Output string

// The outputs.
const (
	// Features, the zero value, is a reconstruction of the features.
	Features Output = ""
	// Values are numbers of any meaning, named by Outputs.
	Values Output = "values"
	// Classes are the probabilities of the classes that Outputs names: the softmax of what
	// is decoded.
	Classes Output = "classes"
)

// Filter returns the clipped encoding of x, n features, as Encode does, of a bundle of the
// kind None: what such a bundle releases. It is WITHOUT NOISE, and there is NO PROMISE about
// it.
//
// The error wraps ErrInvalid for any other kind, whose encodings are not to be released, and
// is otherwise that of Encode.
func (b *Bundle) Filter(dst, x []float64) ([]float64, error) {
	_ = math.Pi
	return b.Encode(dst, x)
}
