package taskaware

import (
	"fmt"
	"slices"

	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/encoder/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// Bundle returns what devices and server need: the encoder with its clipping and noise, and
// the head, whose outputs are the target, or with Options.Task the decoder, whose outputs are
// the features.
//
// Guarantee: that of the noise for the body, whatever the networks are; latent.Verify
// proves it.
func (r *Result) Bundle() (*bundle.Bundle, error) {
	s := bundle.Spec{
		Features: r.data.Features, Mean: r.scaling.mean,
		ClipOrigin: fmt.Sprintf("declared: %s of radius %g", r.body.Domain, r.body.Radius),
	}
	s.Layers, s.Encoder, s.Offset = lastLayer(r.scaling.scaled(r.encoder))
	head := r.reader.net
	switch target := &r.data.Target; {
	case r.reader.task != nil:
		head = r.scaling.writing(head)
	case target.Classes == nil:
		head = r.unit.writing(head)
		s.Output, s.Outputs = bundle.Values, []string{target.Name}
	default:
		s.Output, s.Outputs = bundle.Classes, slices.Clone(target.Classes)
	}
	s.Head, s.Decoder, s.DecoderOffset = lastLayer(head)
	r.noise.Install(&s)
	return makeBundle(s)
}

func makeBundle(s bundle.Spec) (*bundle.Bundle, error) {
	b, err := bundle.New(s)
	if err != nil {
		return nil, check.Errorf("taskaware", nil, "%w", err)
	}
	return b, nil
}

// lastLayer takes the last layer, a linear one, apart.
func lastLayer(n *dense.Network) (before []bundle.Layer, weights bundle.Matrix, offset []float64) {
	layers := n.BundleLayers()
	last := layers[len(layers)-1]
	return layers[:len(layers)-1], last.Weights, last.Bias
}

// Filter returns a bundle WITHOUT PROMISE: the encoder and the decoder of a schedule, and no
// noise. What it sends is what the server is to add noise to in a study; nothing protects it.
// Encodings are clipped to a box that holds those of the data.
func (s *Scheduled) Filter(d *encoder.Data) (*bundle.Bundle, error) {
	if err := sameShape(d, s.features); err != nil {
		return nil, err
	}
	n := len(s.features)
	net := s.encoder
	if net == nil {
		net = identity(n)
	}
	u, reach := net.Forward(&dense.Pass{}, d.X), 0.0
	for _, v := range u.Data {
		reach = max(reach, v, -v)
	}
	none, err := encoder.NewNoise(nil, bundle.None, encoder.Body{Domain: bundle.Box, Radius: reach, Coordinates: u.Cols}, bundle.Promise{}, nil) //nolint:staticcheck // nothing is designed
	if err != nil {
		return nil, err
	}
	spec := bundle.Spec{
		Features: slices.Clone(s.features), Mean: make([]float64, n),
		ClipOrigin: fmt.Sprintf("the encodings of %d people; no guarantee", d.X.Rows),
	}
	spec.Layers, spec.Encoder, spec.Offset = lastLayer(net)
	spec.Head, spec.Decoder, spec.DecoderOffset = lastLayer(s.reader.net)
	none.Install(&spec)
	return makeBundle(spec)
}

// identity is a network that returns what it reads.
func identity(n int) *dense.Network {
	net := mlp(n, nil, dense.Identity, n)
	for j := range n {
		net.Layers[0].Weights.Data[j*n+j] = 1
	}
	return net
}
