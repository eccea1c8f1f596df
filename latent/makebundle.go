// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

// Bundle makes the bundle of a candidate and verifies it: its encoder, the tables of its noise or
// its randomizers, and the best decoder for the exact means and variances of these.
//
// Errors wrap ErrInvalid for a candidate that is not Bundled, or are those of
// package bundle: joint noise that is very large or has a tiny delta has no table.
func (r *Result) Bundle(c *Candidate) (*bundle.Bundle, error) {
	if !c.Bundled {
		return nil, check.Field("latent", "candidate", fmt.Sprintf("%s noise with the %s encoder", c.Noise, c.Encoder), "one with Bundled")
	}
	p := &r.problem
	s := bundle.Spec{
		Features: p.Features, FeatureLower: c.encoder.Low, FeatureUpper: c.encoder.High,
		Mean: c.encoder.Mean, Encoder: denseMatrix(c.encoder.Rows), Offset: c.encoder.Offset, Axes: slices.Clone(c.encoder.Axes),
		Domain: p.Domain, ClipOrigin: p.clipOrigin(),
		Noise: c.Noise, Composition: c.Composition,
		Task:    denseMatrix(r.coordinates.Task),
		Promise: p.Promise,
	}
	if s.Offset == nil {
		s.Offset = make([]float64, c.Z)
	}
	joint := c.Noise == noise.Laplace || c.Noise == noise.Gaussian
	if joint {
		// The device rounds semi-axes down to steps of the grid, and the table is for
		// the distance that leaves. This keeps ½ from becoming one step less.
		for i := range s.Axes {
			s.Axes[i] *= 1 + 0x1p-30
		}
	}
	if err := c.install(&s); err != nil {
		return nil, err
	}
	device := *c.encoder
	if joint && p.Domain != bundle.Ball {
		device.Axes = gridAxes(s.Axes, s.Tables[0])
	}
	m, means, variances := r.released(&s, c, &device)
	d, err := taskspace.NewDecoder(m, variances)
	if err != nil {
		return nil, err
	}
	s.Decoder, s.DecoderOffset = denseMatrix(d.Matrix), d.Offset
	for j := range d.Offset {
		for i, mean := range means {
			s.DecoderOffset[j] -= d.Matrix.At(j, i) * mean
		}
	}
	s.Predicted = bundle.Predicted{TrainingLoss: r.BaselineLoss - m.Gain(r.coordinates.Task, d), UnclippedLoss: c.UnclippedLoss}
	b, err := bundle.New(s)
	if err != nil {
		return nil, err
	}
	_, err = b.Verify(composition)
	return b, err
}

// released returns the moments of what is released of the training data but for the noise,
// the means of that, and its variances.
func (r *Result) released(s *bundle.Spec, c *Candidate, device *taskspace.Encoder) (m *taskspace.EncodedMoments, means, variances []float64) {
	if c.responses != nil {
		m, variances = r.answered(device, c.responses)
		return m, make([]float64, c.Z), variances
	}
	for _, c := range channels(s) {
		mean, variance := c.moments(0)
		means, variances = append(means, mean), append(variances, variance)
	}
	return r.encoded(device), means, variances
}

// gridAxes returns the semi-axes that a device clips to, in a box on the grid of a table:
// whole steps, or next to nothing.
func gridAxes(axes []float64, t *tables.Table) []float64 {
	step, _ := t.Grid().Step().Float64() // exact: a power of two
	whole := make([]float64, len(axes))
	for i, a := range axes {
		whole[i] = max(math.Floor(a/step)*step, math.SmallestNonzeroFloat64)
	}
	return whole
}

// Loss returns the expected loss of a candidate on the rows of other data (N×n), with the best
// decoder on the training data, and the noise as it was planned. It is exact: no noise is drawn.
//
// Errors wrap [dp.ErrInvalid].
func (r *Result) Loss(c *Candidate, data mat.Matrix) (taskspace.Loss, error) {
	if c.responses == nil {
		d, err := taskspace.NewDecoder(r.encoded(c.encoder), c.variances)
		if err != nil {
			return taskspace.Loss{}, err
		}
		return taskspace.ExpectedLoss(r.coordinates.Task, c.encoder, d, data, c.variances)
	}
	d, err := taskspace.NewDecoder(r.answered(c.encoder, c.responses))
	if err != nil {
		return taskspace.Loss{}, err
	}
	if _, n := data.Dims(); n != len(c.encoder.Mean) {
		return taskspace.Loss{}, check.Field("latent", "columns of the data", n, fmt.Sprintf("%d, as the encoder has", len(c.encoder.Mean)))
	}
	units := c.encoder.Encode(data)
	variances := answer(c.responses, units)
	return taskspace.DecodedLoss(r.coordinates.Task, d, data, units, variances), nil
}

// install fills in the tables, randomizers or balls of the noise.
func (c *Candidate) install(s *bundle.Spec) error {
	switch c.Noise { //nolint:exhaustive // designed noise is below
	case bundle.Local, bundle.LocalUnbiased:
		for k, m := range c.randomizers {
			s.Randomizers, s.RandomizerOf = append(s.Randomizers, m), append(s.RandomizerOf, k)
		}
		return nil
	case noise.Laplace, noise.Gaussian, bundle.Spherical:
		return s.Calibrate()
	case bundle.Balls:
		s.Ball = c.ball
		for i := range s.Axes { // the noise is for a sensitivity of 1
			s.Axes[i] *= within
		}
		return nil
	}
	for _, point := range c.points {
		k := slices.Index(s.Tables, point.table)
		if k < 0 {
			k = len(s.Tables)
			s.Tables = append(s.Tables, point.table)
		}
		s.TableOf = append(s.TableOf, k)
	}
	return nil
}

// clipOrigin says where the clipping radii came from.
func (p *Problem) clipOrigin() string {
	switch {
	case p.Domain == bundle.Bounds:
		return "public bounds of the features"
	case p.Radius > 0:
		return fmt.Sprintf("given: %g in task coordinates", p.Radius)
	case p.Domain == bundle.Ball:
		return fmt.Sprintf("quantile %g of the norms in the training data", p.Clip)
	default:
		return fmt.Sprintf("quantile %g of each coordinate in the training data", p.Clip)
	}
}
