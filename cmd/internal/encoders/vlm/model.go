// SPDX-License-Identifier: Apache-2.0

package vlm

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// Model is a trained mechanism. It is immutable and safe for concurrent use.
type Model struct {
	// Body is the l1 ball that encodings are clipped to.
	Body encoder.Body
	// Scales are those of the noise in training, one for each coordinate: 2·Radius/ε, or as
	// learned. No guarantee rests on them.
	Scales []float64
	// CentralEpsilon and CentralDelta are the promise to the people of the training data, as
	// Options.Central has it. An infinite epsilon is no promise.
	CentralEpsilon, CentralDelta float64

	encoder, decoder *dense.Network
	scaling          dense.Scaling // of features; empty if they are not standardized
}

// Train trains a network on the features of people, rows of x. The result depends on the
// options, the data and the architecture of the processor alone. Errors are ErrDiverged,
// ErrCollapsed, those of the options, and those of the context.
func Train(ctx context.Context, x encoder.Matrix, o Options) (*Model, error) {
	o = o.filled()
	if err := o.check(x); err != nil {
		return nil, err
	}
	m := newModel(x, o)
	if o.Standardize {
		m.scaling = dense.Standardize(x)
		x = m.scaling.Apply(x)
	}
	if o.Central == nil || o.Central.PublishedOrder {
		t := newTraining(m, x, o)
		if err := o.Run.Train(ctx, t, o.Epochs*t.batches); err != nil {
			return nil, err
		}
		for j, v := range t.logScale {
			m.Scales[j] = math.Exp(v)
		}
		if err := m.collapsed(x); err != nil {
			return nil, err
		}
	}
	if o.Central != nil {
		if err := m.protect(ctx, x, o); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// newModel returns a network whose parameters are 0.
func newModel(x encoder.Matrix, o Options) *Model {
	decoder := slices.Clone(o.Encoder)
	slices.Reverse(decoder)
	return &Model{
		Body:   encoder.Body{Domain: bundle.L1Ball, Radius: o.Radius, Coordinates: o.Coordinates},
		Scales: make([]float64, o.Coordinates), CentralEpsilon: math.Inf(1),
		encoder: dense.MLP(x.Cols, o.Encoder, dense.ReLU, o.Coordinates),
		decoder: dense.MLP(o.Coordinates, decoder, dense.ReLU, x.Cols),
	}
}

// leastVariation is the share of the features' variance below which what the decoder makes of
// encodings counts as the same for everybody. Networks that are of use have a tenth and more.
const leastVariation = 0.005

// collapsed returns ErrCollapsed if the decoder says the same of everybody, be it that the
// encoder does, or that the noise hides what it says.
func (m *Model) collapsed(x encoder.Matrix) error {
	rows := min(x.Rows, 2000)
	x = encoder.Matrix{Rows: rows, Cols: x.Cols, Stride: x.Stride, Data: x.Data[:rows*x.Stride]}
	decoded := byParts(m.decoder, m.encode(x))
	_, features := dense.Moments(x)
	_, kept := dense.Moments(decoded)
	all, left := 0.0, 0.0
	for j, v := range features {
		all += v * v
		left += kept[j] * kept[j]
	}
	if !(left >= leastVariation*all) {
		return check.Errorf("vlm", ErrCollapsed, "the encodings say the same of everybody: what is decoded from them has %.2g of the variance of the features, want %g; a larger epsilon of the training, features of a larger scale or more epochs may help", left/all, leastVariation)
	}
	return nil
}

// Encode returns the means of the posterior, in the l1 ball: what people send, but for the noise.
func (m *Model) Encode(x encoder.Matrix) encoder.Matrix {
	if m.scaling.Scale != nil {
		x = m.scaling.Apply(x)
	}
	return m.encode(x)
}

// encode is Encode of standardized features. It passes over the rows in parts, to bound the memory.
func (m *Model) encode(x encoder.Matrix) encoder.Matrix {
	out := byParts(m.encoder, x)
	m.Body.Clip(out)
	return out
}

// Decode returns the features that are expected of encodings with noise: data of the same
// kind as went in, at what the paper calls feature level. It needs no privacy.
func (m *Model) Decode(z encoder.Matrix) encoder.Matrix {
	out := byParts(m.decoder, z)
	m.scaling.Undo(out)
	return out
}

func byParts(n *dense.Network, x encoder.Matrix) encoder.Matrix {
	const part = 512
	out := dense.NewMatrix(x.Rows, n.Out())
	var pass dense.Pass
	for from := 0; from < x.Rows; from += part {
		rows := min(part, x.Rows-from)
		y := n.Forward(&pass, encoder.Matrix{Rows: rows, Cols: x.Cols, Stride: x.Stride, Data: x.Data[from*x.Stride : (from+rows)*x.Stride]})
		copy(out.Data[from*out.Stride:], y.Data)
	}
	return out
}

// Server is what a server makes of a release.
type Server struct {
	Level Level
	// Classifier is for the level Classes, Classes the names of its classes.
	Classifier *Classifier
	Classes    []string
}

// Bundle returns the mechanism for the features of the names, in the order of the columns of
// the training data, with noise for m.Body. The promise is that of the noise: bundle.Verify
// proves it, from the clipping and the noise alone.
func (m *Model) Bundle(features []string, noise encoder.Noise, server Server) (*bundle.Bundle, error) {
	if len(features) != m.encoder.In() {
		return nil, check.Field("vlm", "features", len(features), fmt.Sprintf("the names of all %d", m.encoder.In()))
	}
	s := bundle.Spec{
		Features:   features,
		Mean:       slices.Clone(m.scaling.Mean),
		ClipOrigin: fmt.Sprintf("l1 ball of radius %g, chosen before the training", m.Body.Radius),
	}
	if s.Mean == nil {
		s.Mean = make([]float64, len(features))
	}
	// x - Mean is divided by the deviations in the weights of the first layer.
	s.Layers, s.Encoder, s.Offset = dense.Decoder(m.scaling.Scaled(m.encoder).BundleLayers())
	switch server.Level {
	case Latent:
		s.Output = bundle.Values
		_, s.Decoder, s.DecoderOffset = dense.Decoder(dense.Same(m.Body.Coordinates).BundleLayers())
		for j := range m.Body.Coordinates {
			s.Outputs = append(s.Outputs, "z"+strconv.Itoa(j+1))
		}
	case Features:
		s.Head, s.Decoder, s.DecoderOffset = dense.Decoder(m.scaling.Writing(m.decoder).BundleLayers())
	case Classes:
		if server.Classifier == nil || server.Classifier.network.In() != m.Body.Coordinates || server.Classifier.network.Out() != len(server.Classes) {
			return nil, check.Field("vlm", "classifier", fmt.Sprintf("one of %d classes", len(server.Classes)), fmt.Sprintf("one of encodings with %d coordinates, and the names of its classes", m.Body.Coordinates))
		}
		s.Head, s.Decoder, s.DecoderOffset = dense.Decoder(server.Classifier.scaling.Scaled(server.Classifier.network).BundleLayers())
		s.Output, s.Outputs = bundle.Classes, slices.Clone(server.Classes)
	default:
		return nil, server.Level.check()
	}
	noise.Install(&s)
	b, err := bundle.New(s)
	if err != nil {
		return nil, check.Errorf("vlm", nil, "%w", err)
	}
	return b, nil
}
