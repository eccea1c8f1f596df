package latent

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/latent/bundle"
)

// Problem asks for a private encoder of n features.
type Problem struct {
	// Features are the n names.
	Features []string
	// Data is N×n, a row per person, for everything that is learned: means,
	// covariance, clipping radii, decoder. It is taken to be public: the design
	// depends on it, and only people who are encoded later are protected. If it
	// is nil, Moments says what is known, and nothing is clipped in the
	// predictions.
	Data    mat.Matrix
	Moments Moments
	// Task is K, m×n: what is read of a reconstruction x̂ is K·x̂, and the loss
	// is E‖K(x − x̂)‖². nil is the identity.
	Task *mat.Dense
	// Ridge regularises the covariance; see NewCoordinates.
	Ridge float64
	// Epsilon > 0 and 0 <= Delta < 1 are the promise for each person.
	Epsilon, Delta float64
	Domain         Domain
	// Clip is the share of the rows of Data that clipping to a ball or a box
	// leaves alone, 0 < Clip <= 1; see BallRadii and CoordinateRadii.
	Clip float64
	// Radius, if not 0, is the radius of the ball, or half the side of the box,
	// in task coordinates, in place of Clip.
	Radius float64
	// Low and High are the public bounds of DomainBounds, n each.
	Low, High []float64
}

// DesignOptions tune Design; the zero value considers every noise but the
// designed one.
type DesignOptions struct {
	// Curve designs tables for noise per coordinate; nil leaves it out.
	Curve *Curve
	// Kinds restricts the kinds of noise; nil: all.
	Kinds []bundle.Kind
}

// Encoders.
const (
	TaskAware       = "task-aware"
	TaskAgnostic    = "task-agnostic"
	PrivacyAgnostic = "privacy-agnostic"
)

// Candidate is an encoder with its noise, all for the promise and the domain of
// the problem.
type Candidate struct {
	Noise       bundle.Kind
	Encoder     string             // TaskAware, TaskAgnostic or PrivacyAgnostic
	Composition bundle.Composition // how the coordinates share the promise
	Z           int                // coordinates released
	// Loss is the expected task loss on the training data, clipping included,
	// with the best affine decoder.
	Loss float64
	// Theory is the loss in the closed form, for features that are never clipped.
	Theory float64
	// Epsilon and Delta are the shares of the coordinates released, for noise
	// per coordinate.
	Epsilon, Delta []float64
	// Bundled says that Result.Bundle can make it: the body its noise is for is
	// one that a device can clip to.
	Bundled bool

	encoder    *LinearEncoder
	variances  []float64
	allocation *Allocation
}

// Result is a design.
type Result struct {
	// Candidates has the best of every kind of noise and encoder, the least loss
	// first.
	Candidates []*Candidate
	// Nothing is the loss of releasing nothing, on the training data.
	Nothing float64
	// Lambda are the prices of the task coordinates.
	Lambda []float64
	// Radii are those of the task coordinates: the balls of the first z of
	// them, or the box.
	Radii []float64

	problem     Problem
	coordinates *Coordinates
	moments     Moments
}

// Best returns the candidate of least loss that Bundle can make, of the kind of
// noise; "" means any. It returns nil if there is none.
func (r *Result) Best(kind bundle.Kind) *Candidate {
	for _, c := range r.Candidates {
		if c.Bundled && (kind == "" || c.Noise == kind) {
			return c
		}
	}
	return nil
}

func (p *Problem) validate() error {
	if !(p.Epsilon > 0) || !finite(p.Epsilon) {
		return invalid("epsilon", p.Epsilon, "a finite number > 0")
	}
	if !(p.Delta >= 0 && p.Delta < 1) {
		return invalid("delta", p.Delta, "a probability, 0 <= delta < 1")
	}
	n := len(p.Moments.Mean)
	if p.Data != nil {
		_, n = p.Data.Dims()
	}
	if n == 0 {
		return invalid("data", "none", "rows of features, or their moments")
	}
	if len(p.Features) != n {
		return invalid("number of feature names", len(p.Features), fmt.Sprint(n))
	}
	switch p.Domain {
	case DomainBounds:
		if len(p.Low) != n || len(p.High) != n {
			return invalid("number of bounds", fmt.Sprintf("%d and %d", len(p.Low), len(p.High)), fmt.Sprintf("%d, one of each for a feature", n))
		}
	default:
		switch {
		case p.Radius < 0 || !finite(p.Radius):
			return invalid("radius", p.Radius, "a finite number > 0, or 0 for the clip quantile")
		case p.Radius == 0 && p.Data == nil:
			return invalid("radius", p.Radius, "a number > 0 if there is no data to take a quantile of")
		case p.Radius == 0 && !(p.Clip > 0 && p.Clip <= 1):
			return invalid("clip", p.Clip, "a share of the rows, 0 < clip <= 1")
		}
	}
	return nil
}

// Design finds, for every kind of noise, the encoder of the least task loss that
// is private over the whole domain: by the closed forms where they are optimal,
// and for the others the best of the allocations of all numbers of coordinates, of
// a split of the budget, and of the two benchmarks, by their real loss with
// clipping on the training data.
//
// Per coordinate, the shares of the budget add up (basic composition) or, where
// that leaves more to share, are composed exactly by package account.
//
// Errors wrap ErrInvalid, or are those of the context and the curve's designer.
//
// Source: Cheng, Tang & Chinchali (2022) for the ball and Laplace noise; the rest
// is their problem with other noises and domains.
func Design(ctx context.Context, p Problem, o DesignOptions) (*Result, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	r := &Result{problem: p, moments: p.Moments}
	var err error
	if p.Data != nil {
		if r.moments, err = NewMoments(p.Data); err != nil {
			return nil, err
		}
	}
	if r.coordinates, err = NewCoordinates(r.moments, p.Task, p.Ridge); err != nil {
		return nil, err
	}
	r.Lambda = r.coordinates.Lambda()
	r.Nothing = taskTrace(r.coordinates.Task(), r.moments.Covariance)
	if r.Radii, err = r.radii(); err != nil {
		return nil, err
	}
	wanted := func(k bundle.Kind) bool { return o.Kinds == nil || slices.Contains(o.Kinds, k) }
	var all []*Candidate
	for _, j := range []struct {
		kind bundle.Kind
		find func(context.Context) ([]*Candidate, error)
	}{
		{bundle.Laplace, r.laplace},
		{bundle.Gaussian, r.gaussian},
		{bundle.TruncatedLaplace, func(ctx context.Context) ([]*Candidate, error) {
			return r.perCoordinate(ctx, bundle.TruncatedLaplace, TruncatedLaplace())
		}},
		{bundle.Staircase, func(ctx context.Context) ([]*Candidate, error) {
			return r.perCoordinate(ctx, bundle.Staircase, Staircase())
		}},
		{bundle.Designed, func(ctx context.Context) ([]*Candidate, error) {
			return r.perCoordinate(ctx, bundle.Designed, o.Curve)
		}},
	} {
		needsDelta := j.kind == bundle.Gaussian || j.kind == bundle.TruncatedLaplace
		if !wanted(j.kind) || needsDelta && p.Delta == 0 || j.kind == bundle.Designed && o.Curve == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := j.find(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s noise: %w", j.kind, err)
		}
		all = append(all, found...)
	}
	r.Candidates = bestOfEach(all)
	return r, nil
}

// bestOfEach keeps the best of every kind of noise and encoder, and what can be
// bundled beside a better one that cannot, by loss.
func bestOfEach(all []*Candidate) []*Candidate {
	slices.SortStableFunc(all, func(a, b *Candidate) int { return cmp.Compare(a.Loss, b.Loss) })
	type key struct {
		noise   bundle.Kind
		encoder string
	}
	seen := map[key]bool{}
	return slices.DeleteFunc(all, func(c *Candidate) bool {
		k := key{c.Noise, c.Encoder}
		if seen[k] {
			return true
		}
		seen[k] = true
		return false
	})
}

// taskTrace returns tr(KΣKᵀ).
func taskTrace(task mat.Matrix, covariance mat.Symmetric) float64 {
	var product, all mat.Dense
	product.Mul(task, covariance)
	all.Mul(&product, task.T())
	return mat.Trace(&all)
}

// radii returns those of the balls of the first z = 1…n coordinates, or of the
// box. For bounds it is the box around what the features can make of each
// coordinate.
func (r *Result) radii() ([]float64, error) {
	p, n := &r.problem, r.coordinates.Len()
	switch {
	case p.Domain == DomainBounds:
		widths, err := FeatureWidths(p.Low, p.High)
		if err != nil {
			return nil, err
		}
		ranges, err := CoordinateRanges(r.coordinates.Analysis(), widths)
		if err != nil {
			return nil, err
		}
		for i := range ranges {
			ranges[i] = math.Nextafter(ranges[i]/2, math.Inf(1))
		}
		return ranges, nil
	case p.Radius > 0:
		radii := make([]float64, n)
		for i := range radii {
			radii[i] = p.Radius
		}
		return radii, nil
	}
	y, err := r.coordinates.Transform(p.Data)
	if err != nil {
		return nil, err
	}
	var radii []float64
	if p.Domain == DomainBall {
		radii, err = BallRadii(y, p.Clip)
	} else {
		radii, err = CoordinateRadii(y, p.Clip)
	}
	if err != nil {
		return nil, err
	}
	for i, c := range radii {
		if !(c > 0) {
			return nil, invalid("clip", p.Clip, fmt.Sprintf("a larger share: that of coordinate %d leaves a radius of 0", i+1))
		}
	}
	return radii, nil
}

// unitEncoder returns the encoder of the coordinates with semi-axes s. For bounds
// the features are clipped too, and the unit coordinates are centred between
// what the bounds allow.
func (r *Result) unitEncoder(axes, radii []float64) (*LinearEncoder, error) {
	e, err := r.coordinates.Encoder(r.problem.Domain, axes, radii)
	if err != nil || r.problem.Domain != DomainBounds {
		return e, err
	}
	return r.bounded(e), nil
}

// bounded makes e clip features to the bounds and centres it.
func (r *Result) bounded(e *LinearEncoder) *LinearEncoder {
	e.Low, e.High = r.problem.Low, r.problem.High
	z, n := e.Rows.Dims()
	e.Offset = make([]float64, z)
	for i := range z {
		for j := range n {
			e.Offset[i] -= e.Rows.At(i, j) * ((e.Low[j]+e.High[j])/2 - e.Mean[j])
		}
	}
	return e
}

// encoded returns the moments behind the decoder: of the training data, clipped
// as the device clips, or of the moments.
func (r *Result) encoded(e *LinearEncoder) (*EncodedMoments, error) {
	if r.problem.Data == nil {
		return e.UnclippedMoments(r.moments)
	}
	return e.Moments(r.problem.Data)
}

// judge fills in the loss of a candidate from its encoder and variances.
func (r *Result) judge(c *Candidate) error {
	m, err := r.encoded(c.encoder)
	if err != nil {
		return err
	}
	c.Loss, err = r.loss(m, c.variances)
	c.Z = len(c.variances)
	return err
}

// loss returns that of the best decoder.
func (r *Result) loss(m *EncodedMoments, variances []float64) (float64, error) {
	d, err := NewDecoder(m, variances)
	if err != nil {
		return 0, err
	}
	gain, err := m.Gain(r.problem.Task, d)
	return r.Nothing - gain, err
}

// maxJudged bounds how many of the candidates that theory ranks have their real
// loss computed, each of which takes a pass over the data.
const maxJudged = 48

// judgeBest computes the real loss of the maxJudged candidates of the least
// theoretical one, and returns them.
func (r *Result) judgeBest(ctx context.Context, cs []*Candidate) ([]*Candidate, error) {
	slices.SortStableFunc(cs, func(a, b *Candidate) int { return cmp.Compare(a.Theory, b.Theory) })
	cs = cs[:min(len(cs), maxJudged)]
	for _, c := range cs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.judge(c); err != nil {
			return nil, err
		}
	}
	return cs, nil
}
