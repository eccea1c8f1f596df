// SPDX-License-Identifier: Apache-2.0

package taskaware

import (
	"context"
	"fmt"
	"slices"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// Bundle returns what both sides need: the encoder with its clipping and noise, and the head, whose
// outputs are the target, or with Options.Task the decoder, whose outputs are the features.
//
// Guarantee: that of the noise for the body, whatever the networks are; latent.Verify proves it.
func (r *Result) Bundle() (*bundle.Bundle, error) {
	s := bundle.Spec{Features: r.data.Features, ClipOrigin: fmt.Sprintf("declared: %s of radius %g", r.body.Domain, r.body.Radius)}
	head := r.reader.net
	switch target := &r.data.Target; {
	case r.reader.task != nil:
		head = r.scaling.Writing(head)
	case len(r.data.More) > 0: // numbers, and for classes scores, of which the largest is the answer
		head, s.Output = r.unit.Writing(head), bundle.Values
		for _, c := range r.data.Columns() {
			s.Outputs = append(s.Outputs, c.Answers()...)
		}
	case target.Classes == nil:
		head = r.unit.Writing(head)
		s.Output, s.Outputs = bundle.Values, []string{target.Name}
	default:
		s.Output, s.Outputs = bundle.Classes, slices.Clone(target.Classes)
	}
	return makeBundle(s, r.scaling, r.encoder, head, r.noise)
}

// makeBundle adds an encoder of scaled features, and the server's side.
func makeBundle(s bundle.Spec, scaling dense.Scaling, encoder, head *dense.Network, noise encoder.Noise) (*bundle.Bundle, error) {
	s.Mean = scaling.Mean
	s.Layers, s.Encoder, s.Offset = dense.Decoder(scaling.Scaled(encoder).BundleLayers())
	s.Head, s.Decoder, s.DecoderOffset = dense.Decoder(head.BundleLayers())
	noise.Install(&s)
	b, err := bundle.New(s)
	if err != nil {
		return nil, check.Errorf("taskaware", nil, "%w", err)
	}
	return b, nil
}

// Filter trains a task network and then the schedule for it, both on features and numbers
// scaled to the range from 0 to 1, as in the paper, and returns a bundle WITHOUT PROMISE: the
// encoder and the decoder, and no noise. What it sends is what the noise of a study would be
// added to; nothing protects it. Encodings are clipped to a box that holds those of the data.
// A fifth of the people is held out, for the loss that is expected with that noise.
//
// Errors are those of TrainTask and Train.
func (s Schedule) Filter(ctx context.Context, d *encoders.Data, o TaskOptions, run encoders.Run) (r *Scheduled, b *bundle.Bundle, heldOut Evaluation, err error) {
	if err = validate(d); err != nil {
		return nil, nil, heldOut, err
	}
	t := d.Target.Target()
	fit, held := split(&t, d.X.Rows, s.Seed)
	unit := dense.Range(dense.Pick(d.X, fit))
	width := 1.0
	if t.Classes == 0 {
		fitted := t.Pick(fit)
		answers := dense.Range(fitted.Values)
		t.Values, width = answers.Apply(t.Values), answers.Scale[0]
	}
	scaled := encoders.Data{Features: d.Features, X: unit.Apply(d.X), Target: d.Target}
	if t.Classes == 0 {
		scaled.Target.Values = t.Values.Data
	}
	some := scaled.Pick(fit)
	task, err := TrainTask(ctx, some, o)
	if err != nil {
		return nil, nil, heldOut, err
	}
	if r, err = s.Train(ctx, some, task, run); err != nil {
		return nil, nil, heldOut, err
	}
	if heldOut, err = r.Evaluate(scaled.Pick(held), judgeDraws, s.Seed); err != nil {
		return nil, nil, heldOut, err
	}
	heldOut.Loss, heldOut.StandardError = heldOut.Loss*width*width, heldOut.StandardError*width*width
	b, err = r.filter(ctx, unit, some.X)
	return r, b, heldOut, err
}

func (r *Scheduled) filter(ctx context.Context, unit dense.Scaling, x dense.Matrix) (*bundle.Bundle, error) {
	net := r.encoder
	if net == nil {
		net = dense.Same(x.Cols)
	}
	u, reach := net.Forward(&dense.Pass{}, x), 0.0
	for _, v := range u.Data {
		reach = max(reach, v, -v)
	}
	none, err := encoder.NewNoise(ctx, bundle.None, encoder.Body{Domain: bundle.Box, Radius: reach, Coordinates: u.Cols}, bundle.Promise{}, nil)
	if err != nil {
		return nil, err
	}
	spec := bundle.Spec{Features: r.features, ClipOrigin: fmt.Sprintf("the encodings of %d people; no guarantee", x.Rows)}
	return makeBundle(spec, unit, net, unit.Writing(r.reader.net), none)
}
