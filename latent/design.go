// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/latent/internal/budget"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

// Options tune Design; the zero value considers every noise but the designed one.
type Options struct {
	// Store has tables for noise per coordinate, for real queries of sensitivity 1 and the
	// loss l2, and designs those that it has not; nil leaves such noise out.
	Store *tables.Store
	// Kinds restricts the kinds of noise; nil: all.
	Kinds []bundle.Kind
	// Unbiased designs randomizers for values from −1 to 1 of a given epsilon, with delta =
	// 0, whose mean answer to each value is the value, with the least variance at the worst
	// value, for bundle.LocalUnbiased; nil leaves it out.
	Unbiased func(ctx context.Context, epsilon float64) (*local.Verified, error)
	// Ball designs noise on balls of a sensitivity of 1 and the loss l2, for bundle.Balls and a
	// delta above 0; nil leaves it out, and what is nil without an error is left out too. It is asked
	// for the same again by BestClip.
	Ball func(ctx context.Context, p ball.Problem) (*ball.Verified, error)
	// Own is noise of one's own for each coordinate; where it is given no other is considered.
	Own *Own
	// Coordinates is how many coordinates the benchmark, the privacy-agnostic encoder, sends, up
	// to the number of features; 0: as many as are best for it.
	Coordinates int
}

// Encoders.
const (
	taskAware       = "task-aware"
	taskAgnostic    = "task-agnostic"
	privacyAgnostic = "privacy-agnostic"
)

// Candidate is an encoder with its noise, all for the promise and the domain of the problem.
type Candidate struct {
	Noise       bundle.Kind
	Encoder     string             // task-aware, task-agnostic or privacy-agnostic
	Composition bundle.Composition // how the coordinates share the promise
	Z           int                // coordinates released
	// Loss is the task loss on the training data, clipping included, with the best affine decoder.
	Loss float64
	// UnclippedLoss is the loss in closed form, for features that are never clipped; 0 for
	// local randomizers, which have none.
	UnclippedLoss  float64
	Epsilon, Delta []float64 // shares of the coordinates released, for noise per coordinate
	// Bundled says that Result.Bundle can make it: a device can clip to the body.
	Bundled bool

	// axes and radii are those of the first task coordinates, a semi-axis of 0 where
	// one is not released; nil for an encoder that is not made of them.
	axes, radii []float64
	encoder     *taskspace.Encoder
	variances   []float64 // of the noise of the Z coordinates released
	points      []*point  // their tables, for designed noise

	ball        *ball.Noise         // of Balls
	randomizers []*local.Randomizer // of the Z coordinates released, and how they answer
	responses   []*response
}

// Result is a design.
type Result struct {
	// Candidates has the best of every kind of noise and encoder, the least loss first.
	Candidates []*Candidate
	// BaselineLoss is that of answering with the mean of the training data; it takes no release.
	BaselineLoss float64
	Lambda       []float64 // prices of the task coordinates
	Radii        []float64 // of the balls of the first of these, or of the box

	problem     Problem
	coordinates *taskspace.Coordinates
	moments     taskspace.Moments
	objective   *taskspace.Objective
	outside     float64 // about how many rows of the data lie outside a ball
	benchmark   int     // Options.Coordinates
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

// LaplaceBounds returns bounds on the least loss of any linear encoder with Laplace noise,
// where clipping is left out of account: those of the largest ball in the domain and of the
// smallest around it, in task coordinates. ok is false for a ball, where Laplace noise is
// optimal anyway. Features between bounds are a parallelotope around its center: the inner ball
// touches the nearest face, the outer one the farthest corner; for more features than
// signMaximum enumerates it is larger.
//
// Source: Cheng, Tang & Chinchali (2022), the bounds after Theorem 1.
func (r *Result) LaplaceBounds() (lower, upper float64, ok bool) {
	var inside, outside float64
	switch r.problem.Domain {
	case bundle.Box:
		inside, outside = slices.Min(r.Radii), mat.Norm(mat.NewVecDense(len(r.Radii), r.Radii), 2)
	case bundle.Bounds:
		var err error
		if inside, outside, err = r.boundsBalls(); err != nil {
			return 0, 0, false
		}
	default:
		return 0, 0, false
	}
	inner, innerErr := taskspace.Waterfill(r.Lambda, inside, r.problem.Epsilon)
	outer, outerErr := taskspace.Waterfill(r.Lambda, outside, r.problem.Epsilon)
	return inner.Loss, outer.Loss, innerErr == nil && outerErr == nil
}

// boundsBalls returns the radii of the largest ball in task coordinates between the bounds, and of
// one that holds all between. For the coordinates y of x - center the j-th bound is |Σ_i S_ji·y_i|
// <= w_j/2, S the synthesis, and the corners are Σ ±A_j·w_j/2, A_j the columns of the analysis.
func (r *Result) boundsBalls() (inside, outside float64, err error) {
	p, n := &r.problem, len(r.Lambda)
	inside = math.Inf(1)
	corners := mat.NewDense(n, n, nil)
	for j := range n {
		half := (p.High[j] - p.Low[j]) / 2
		inside = min(inside, half/mat.Norm(r.coordinates.Synthesis.RowView(j), 2))
		for i := range n {
			corners.Set(j, i, r.coordinates.Analysis.At(i, j)*half)
		}
	}
	outside, err = signMaximum(corners, 2)
	return inside, outside, err
}

// Design finds, for every kind of noise, the encoder of the least task loss that is private over
// the whole domain. Closed forms and splits of the budget propose encoders of different numbers
// of coordinates; the best is chosen by the real loss, with clipping, on the training data, and
// so are the two benchmarks. Shares of the budget per coordinate add up (basic composition) or,
// where that leaves more to share, are composed exactly by package account.
//
// Errors wrap [dp.ErrInvalid], all bad fields together, or are of the context and the curve.
//
// Source: Cheng, Tang & Chinchali (2022) for the ball and Laplace noise; the rest
// is their problem with other noises and domains.
func Design(ctx context.Context, p Problem, o Options) (*Result, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	r := &Result{problem: p, benchmark: o.Coordinates}
	var err error
	if n := len(p.Features); o.Coordinates < 0 || o.Coordinates > n {
		return nil, check.Field("latent", "coordinates", o.Coordinates, fmt.Sprintf("0 to %d, the number of features", n))
	}
	if r.moments, err = p.moments(); err != nil {
		return nil, err
	}
	if r.coordinates, err = taskspace.NewCoordinates(r.moments, p.Task, p.Ridge); err != nil {
		return nil, err
	}
	r.Lambda = r.coordinates.Lambda
	if err := r.prepare(); err != nil {
		return nil, err
	}
	var all []*Candidate
	for _, n := range r.noises(o) {
		if !n.applies || o.Kinds != nil && !slices.Contains(o.Kinds, n.kind) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := n.find(ctx)
		if err != nil {
			return nil, check.Errorf("latent", nil, "%s noise: %w", n.kind, err)
		}
		all = append(all, found...)
	}
	r.Candidates = bestOfEach(all)
	for _, c := range r.Candidates {
		if c.encoder == nil {
			c.encoder = r.unitEncoder(c.axes, c.radii)
		}
		c.Bundled = c.Bundled && r.drawable(c)
	}
	return r, nil
}

// kindOfNoise is one of those that Design tries.
type kindOfNoise struct {
	kind    bundle.Kind
	applies bool
	find    func(context.Context) ([]*Candidate, error)
}

func (r *Result) noises(o Options) []kindOfNoise {
	delta := r.problem.Delta > 0
	each := func(kind bundle.Kind, applies bool, family budget.Family, c *curve) kindOfNoise {
		return kindOfNoise{kind, applies, func(ctx context.Context) ([]*Candidate, error) { return r.perCoordinate(ctx, kind, family, c) }}
	}
	if o.Own != nil {
		return []kindOfNoise{{o.Own.Kind, true, func(ctx context.Context) ([]*Candidate, error) { return r.own(ctx, o.Own) }}}
	}
	designed := newCurve(o.Store)
	return []kindOfNoise{
		{noise.Laplace, true, r.laplace},
		{noise.Gaussian, delta, r.gaussian},
		{bundle.Spherical, true, r.spherical},
		{bundle.Balls, delta && o.Ball != nil, func(ctx context.Context) ([]*Candidate, error) { return r.balls(ctx, o.Ball) }},
		each(noise.TruncatedLaplace, delta, budget.TruncatedLaplace(), nil),
		each(noise.Staircase, true, budget.Staircase(), nil),
		each(bundle.Designed, o.Store != nil, designed.family(), designed),
		{bundle.Local, true, func(ctx context.Context) ([]*Candidate, error) { return r.localRandomizers(ctx, nil) }},
		{bundle.LocalUnbiased, o.Unbiased != nil, func(ctx context.Context) ([]*Candidate, error) { return r.localRandomizers(ctx, o.Unbiased) }},
	}
}

// drawable reports whether Gaussian noise has a table: where e^ε/δ is large, weights of
// 64 bits may not be fine enough. All else has one.
func (r *Result) drawable(c *Candidate) bool {
	p := &r.problem
	// What weights cost if there are as many as there can be.
	if c.Noise != noise.Gaussian || float64(c.Z)*(1+math.Exp(p.Epsilon))*0x1p-48 < p.Delta/10 {
		return true
	}
	s := bundle.Spec{Noise: c.Noise, Promise: p.Promise, Domain: p.Domain, Axes: c.encoder.Axes}
	return s.Calibrate() == nil
}

// rank orders encoders of equal loss.
func rank(encoder string) int {
	return slices.Index([]string{taskAware, privacyAgnostic, taskAgnostic}, encoder)
}

// bestOfEach keeps the best of every kind of noise and encoder, and what can be
// bundled beside a better one that cannot, by loss.
func bestOfEach(all []*Candidate) []*Candidate {
	slices.SortStableFunc(all, func(a, b *Candidate) int {
		// With one coordinate encoders are the same but for rounding, and so are Laplace
		// and spherical noise but for the margins of their axes.
		difference := math.Abs(a.Loss-b.Loss) / (a.Loss + b.Loss)
		switch {
		case a.Noise == b.Noise && difference <= 1e-12:
			return cmp.Compare(rank(a.Encoder), rank(b.Encoder))
		case a.Noise == noise.Laplace && b.Noise == bundle.Spherical && difference <= 1e-9:
			return -1
		case a.Noise == bundle.Spherical && b.Noise == noise.Laplace && difference <= 1e-9:
			return 1
		}
		return cmp.Compare(a.Loss, b.Loss)
	})
	seen := map[[2]string]bool{}
	return slices.DeleteFunc(all, func(c *Candidate) bool {
		k := [2]string{string(c.Noise), c.Encoder}
		again := seen[k]
		seen[k] = true
		return again
	})
}

// prepare finds the radii of the domain, and what losses are computed from.
func (r *Result) prepare() error {
	p := &r.problem
	var y *mat.Dense // coordinates of the training data
	if p.Data != nil {
		y = r.coordinates.Transform(p.Data)
	}
	switch {
	case p.Domain == bundle.Bounds:
		r.Radii = r.boundsRadii()
	case p.Radius > 0:
		r.Radii = slices.Repeat([]float64{p.Radius}, len(r.Lambda))
	case p.Domain == bundle.Ball:
		r.Radii = taskspace.BallRadii(y, p.Clip)
	default:
		r.Radii = taskspace.CoordinateRadii(y, p.Clip)
	}
	if !(slices.Max(r.Radii) > 0) {
		return check.Field("latent", "clip", p.Clip, "a larger share: it leaves no coordinate but 0")
	}
	r.objective = taskspace.NewObjective(r.coordinates, r.moments, y, r.clipped(y))
	r.BaselineLoss = r.objective.Baseline()
	return nil
}

// boundsRadii returns half the ranges of the coordinates of features between the bounds,
// rounded up, so that what is between the bounds is clipped no further.
func (r *Result) boundsRadii() []float64 {
	up := func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
	p, n := &r.problem, len(r.Lambda)
	radii := make([]float64, n)
	for i := range radii {
		for j, a := range r.coordinates.Analysis.RawRowView(i) {
			radii[i] += math.Abs(a) * up(p.High[j]-p.Low[j])
		}
		radii[i] = up(up(radii[i]*(1+float64(n+2)*0x1p-52)) / 2)
	}
	return radii
}

// clipped returns the coordinates of the training data as they are clipped to the box, or
// made of features that are clipped to bounds; nil for a ball.
func (r *Result) clipped(y *mat.Dense) *mat.Dense {
	p := &r.problem
	switch {
	case y == nil:
		return nil
	case p.Domain == bundle.Ball:
		rows, _ := y.Dims()
		r.outside = float64(rows)
		if p.Radius == 0 {
			r.outside *= 1 - p.Clip
		}
		return nil
	case p.Domain == bundle.Bounds:
		e := &taskspace.Encoder{Rows: r.coordinates.Analysis, Mean: r.coordinates.Mean, Low: p.Low, High: p.High}
		return e.Encode(p.Data)
	}
	clipped := mat.DenseCopyOf(y)
	rows, _ := y.Dims()
	for i := range rows {
		bundle.Box.Clip(clipped.RawRowView(i), r.Radii)
	}
	return clipped
}

// unitEncoder returns the encoder of the coordinates with semi-axes s.
func (r *Result) unitEncoder(axes, radii []float64) *taskspace.Encoder {
	e := r.coordinates.Encoder(r.problem.Domain, axes, radii)
	if r.problem.Domain == bundle.Bounds {
		r.bound(e)
	}
	return e
}

// bound makes e clip features to the bounds, and centers it between what they allow.
func (r *Result) bound(e *taskspace.Encoder) {
	e.Low, e.High = r.problem.Low, r.problem.High
	z, _ := e.Rows.Dims()
	e.Offset = make([]float64, z)
	for i := range z {
		for j, w := range e.Rows.RawRowView(i) {
			e.Offset[i] -= w * ((e.Low[j]+e.High[j])/2 - e.Mean[j])
		}
	}
}

// encoded returns the moments behind the decoder: of the training data, clipped, or the given ones.
func (r *Result) encoded(e *taskspace.Encoder) *taskspace.EncodedMoments {
	if r.problem.Data == nil || e.Axes == nil {
		return e.UnclippedMoments(r.moments)
	}
	return e.Moments(r.problem.Data)
}

// encoderLoss returns the loss of an encoder with the best decoder.
func (r *Result) encoderLoss(m *taskspace.EncodedMoments, variances []float64) (float64, error) {
	d, err := taskspace.NewDecoder(m, variances)
	if err != nil {
		return 0, err
	}
	return r.BaselineLoss - m.Gain(r.coordinates.Task, d), nil
}
