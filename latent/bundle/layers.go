// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/limits"
)

// maxLayers bounds the layers on the device, and those on the server.
const maxLayers = 16

// activations are what a layer may do to a sum x, a finite number.
var activations = map[string]func(x float64) float64{
	"identity": func(x float64) float64 { return x },
	"sigmoid": func(x float64) float64 { // 1/(1 + e^-x)
		if x < 0 { // e^-x might overflow
			e := math.Exp(x)
			return e / (1 + e)
		}
		return 1 / (1 + math.Exp(-x))
	},
	"relu": func(x float64) float64 { return max(x, 0) },
	"tanh": math.Tanh,
}

// Layer is a dense layer: of h it makes Activation(Weights·h + Bias), each number
// clipped to ±limits.Magnitude, so that nothing overflows after any number of layers.
//
// e^x and tanh differ in their last digits between processors, and so may encodings behind
// a layer of these. The proof rests on the clipping after them and not on their values.
type Layer struct {
	Weights    Matrix    // out×in
	Bias       []float64 // out
	Activation string    // identity, sigmoid, relu or tanh
}

func cloneLayers(layers []Layer) []Layer {
	layers = slices.Clone(layers)
	for i, l := range layers {
		layers[i].Weights, layers[i].Bias = l.Weights.clone(), slices.Clone(l.Bias)
	}
	return layers
}

// width returns how many numbers layers make of so many.
func width(layers []Layer, in int) int {
	if len(layers) > 0 {
		return layers[len(layers)-1].Weights.Rows
	}
	return in
}

// forward applies layers to h. What they make is written to work, which has room for
// workFor of them, and the last of it returned; it is h if there are none.
func forward(layers []Layer, h, work []float64) []float64 {
	for _, l := range layers {
		out := work[:len(l.Bias)]
		work = work[len(l.Bias):]
		affine(out, l.Weights, h, l.Bias)
		activate := activations[l.Activation]
		for i, x := range out {
			out[i] = clamp(activate(x), limits.Magnitude)
		}
		h = out
	}
	return h
}

// workFor returns how many numbers layers make on the way.
func workFor(layers []Layer) (numbers int) {
	for _, l := range layers {
		numbers += len(l.Bias)
	}
	return numbers
}

// softmax replaces logarithms of weights by the probabilities that are proportional to the weights.
func softmax(x []float64) {
	for i, v := range x {
		x[i] = clamp(v, math.MaxFloat64) // where u is beyond all that is released
	}
	most, sum := slices.Max(x), 0.0
	for i, v := range x {
		x[i] = math.Exp(v - most) // 1 for one of them
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}

// layers checks layers that are applied to so many numbers, and returns how many they make.
func (c checker) layers(field string, layers []Layer, in int) (out int) {
	c.Want(len(layers) <= maxLayers, field, counted(layers), "at most %d", maxLayers)
	for i, l := range layers {
		name, rows := fmt.Sprintf("%s[%d]", field, i), l.Weights.Rows
		if c.count(name+".weights", rows, "rows", 1, maxFeatures); rows < 1 || rows > maxFeatures {
			return rows
		}
		c.matrix(name+".weights", l.Weights, rows, in)
		c.vector(name+".bias", l.Bias, rows)
		c.Want(activations[l.Activation] != nil, name+".activation", fmt.Sprintf("%.40q", l.Activation), "one of [identity sigmoid relu tanh]")
		in = rows
	}
	return in
}

// validateLayers checks all layers, and returns how many numbers encoder and decoder read.
func (s *Spec) validateLayers(c checker, n, z int) (encoded, decoded int) {
	encoded, decoded = c.layers("layers", s.Layers, n), c.layers("head", s.Head, z)
	entries := 0
	for _, l := range slices.Concat(s.Layers, s.Head) {
		entries += len(l.Weights.Data)
	}
	c.Want(entries <= maxEntries, "layers and head", fmt.Sprintf("%d entries of weights", entries), "at most %d together", maxEntries)
	c.Want(s.Domain != Bounds || len(s.Layers) == 0, "layers", counted(s.Layers), "none for the domain bounds, whose proof is about an affine encoder")
	c.Want(s.Lookup == nil || len(s.Head) == 0, "head", counted(s.Head), "none beside a lookup")
	return encoded, decoded
}

func counted(layers []Layer) string { return fmt.Sprintf("%d layers", len(layers)) }

// The outputs of Decode.
const (
	// Features is a reconstruction of the features.
	Features = ""
	// Values are numbers of any meaning, named by Outputs.
	Values = "values"
	// Classes are the probabilities of the classes that Outputs names: the softmax of the decoded.
	Classes = "classes"
)

// Outputs returns the names of what Decode returns: those of the features, or the Outputs.
func (b *Bundle) Outputs() []string { return slices.Clone(b.spec.outputs()) }

func (s *Spec) outputs() []string {
	if s.Output == Features {
		return s.Features
	}
	return s.Outputs
}

// validateOutputs checks what is decoded, and from how many numbers if there is no lookup.
func (s *Spec) validateOutputs(c checker, n, z, decoded int) {
	k := len(s.outputs())
	switch s.Output {
	case Features:
		c.Want(len(s.Outputs) == 0, "outputs", fmt.Sprintf("%d names", len(s.Outputs)), "none, unless the output is values or classes")
	case Values, Classes:
		least := 1
		if s.Output == Classes {
			least = 2
		}
		if k < least || k > maxFeatures {
			c.Badf("outputs", fmt.Sprintf("%d names", k), "%d to %d for the output %s", least, maxFeatures, s.Output)
			return
		}
		c.names("outputs", s.Outputs)
	default:
		c.Bad("output", fmt.Sprintf("%.40q", s.Output), "features, values or classes")
		return
	}
	if s.Lookup != nil {
		s.validateLookup(c, k, z)
	} else {
		c.matrix("decoder", s.Decoder, k, decoded)
	}
	c.vector("decoder_offset", s.DecoderOffset, k)
	if t := s.Task; t.Rows != 0 || t.Cols != 0 || len(t.Data) > 0 {
		c.matrix("task", t, max(t.Rows, 1), n)
		c.Want(s.Output == Features, "task", fmt.Sprintf("%d×%d", t.Rows, t.Cols), "none, unless the output is the features")
	}
}
