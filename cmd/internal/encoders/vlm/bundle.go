package vlm

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

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
