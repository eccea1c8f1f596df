// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/latent/internal/budget"
	"github.com/noisewright/noisewright/noise"
)

// joint is noise of one law on all coordinates, for a sensitivity of 1 in its norm.
type joint struct {
	kind      bundle.Kind
	deviation func(z int) float64 // standard, of a coordinate of z, at sensitivity 1
}

// candidate returns one for bundles, of z coordinates.
func (j joint) candidate(encoder string, z int) *Candidate {
	return &Candidate{
		Noise: j.kind, Encoder: encoder, Composition: j.kind.Composition(), Z: z, Bundled: true,
		variances: slices.Repeat([]float64{j.deviation(z) * j.deviation(z)}, z),
	}
}

// within keeps bodies a little inside those of sensitivity 1, as semi-axes are rounded.
const within = 1 - 0x1p-40

// laplace finds encoders for Laplace noise.
func (r *Result) laplace(ctx context.Context) ([]*Candidate, error) {
	j := joint{noise.Laplace, func(int) float64 { return math.Sqrt2 / r.problem.Epsilon }}
	if r.problem.Domain == bundle.Bounds {
		return r.laplaceBounds(ctx, j)
	}
	if r.problem.Domain == bundle.Ball {
		aware, err := r.laplaceBall()
		if err != nil {
			return nil, err
		}
		return r.joint(ctx, j, aware, r.equalAxes(r.benchmarkCounts(), overRoot))
	}
	axes, err := r.laplaceBox(ctx)
	if err != nil {
		return nil, err
	}
	return r.joint(ctx, j, [][]float64{axes}, r.equalAxes(r.benchmarkCounts(), func(z int) float64 { return 0.5 / float64(z) * within }))
}

// overRoot is the semi-axis of each of z coordinates for which the sensitivity is that of one.
func overRoot(z int) float64 { return 0.5 / math.Sqrt(float64(z)) * within }

// gaussian finds encoders for Gaussian noise. For bounds they are those of the box around what the
// features can make of each coordinate: the ℓ2 distance proved for a bundle is the box's.
func (r *Result) gaussian(ctx context.Context) ([]*Candidate, error) {
	sigma, err := noise.GaussianSigma(dp.Privacy{Epsilon: r.problem.Epsilon, Delta: r.problem.Delta, Sensitivity: 1})
	if err != nil {
		return nil, err
	}
	return r.euclidean(ctx, joint{noise.Gaussian, func(int) float64 { return sigma }}, []int{len(r.Lambda)})
}

// spherical finds encoders for noise by its ℓ2 norm, which has the variance (z+1)/ε² in each of
// z coordinates, so that in a box the best scales are sought for all numbers of coordinates.
func (r *Result) spherical(ctx context.Context) ([]*Candidate, error) {
	j := joint{bundle.Spherical, func(z int) float64 { return math.Sqrt(float64(z+1)) / r.problem.Epsilon }}
	return r.euclidean(ctx, j, counts(len(r.Lambda)))
}

// euclidean finds encoders for noise of which the ℓ2 distance matters, in a box for each
// of the numbers of coordinates that may be used.
func (r *Result) euclidean(ctx context.Context, j joint, numbers []int) ([]*Candidate, error) {
	if r.problem.Domain == bundle.Ball {
		// The body of semi-axes s has an ℓ2 diameter of 2·max s_i, so that none gains by
		// being shorter than the longest: the privacy-agnostic encoder is optimal.
		half := func(int) float64 { return 0.5 }
		var benchmark [][]float64
		if r.benchmark > 0 {
			benchmark = r.equalAxes(r.benchmarkCounts(), half)
		}
		return r.joint(ctx, j, r.equalAxes(counts(len(r.Lambda)), half), benchmark)
	}
	lambda, halfwidths := r.objective.Effective(r.Radii)
	var aware [][]float64
	for _, z := range numbers {
		aware = append(aware, taskspace.GaussianBox(lambda[:z], halfwidths[:z], j.deviation(z)).SemiAxes())
	}
	return r.joint(ctx, j, aware, r.equalAxes(r.benchmarkCounts(), overRoot))
}

// joint returns the best of the encoders with these semi-axes, the best of the
// benchmark's, and the one that sends the features themselves.
func (r *Result) joint(ctx context.Context, j joint, aware, benchmark [][]float64) ([]*Candidate, error) {
	var best [2]*Candidate
	for i, all := range [][][]float64{aware, benchmark} {
		var cs []*Candidate
		for _, axes := range all {
			cs = append(cs, r.axesCandidate(j, []string{taskAware, privacyAgnostic}[i], axes))
		}
		var err error
		if best[i], err = r.bestOf(ctx, cs); err != nil {
			return nil, err
		}
	}
	return r.withFeatures(j, best[0], best[1])
}

// withFeatures returns the task-aware and the privacy-agnostic candidate, either of
// which may be nil, and the one that sends the features themselves. Clipping can make the
// second the better one; then it is the encoder to use for the task, too.
func (r *Result) withFeatures(j joint, aware, agnostic *Candidate) ([]*Candidate, error) {
	var cs []*Candidate
	if agnostic != nil {
		cs = append(cs, agnostic)
		if aware == nil || agnostic.Loss < aware.Loss {
			same := *agnostic
			same.Encoder = taskAware
			aware = &same
		}
	}
	if aware != nil {
		cs = append(cs, aware)
	}
	features, err := r.agnostic(j)
	return append(cs, features), err
}

// counts are the numbers of coordinates to try, of n: all up to 64, and then in steps of a 32nd.
func counts(n int) []int {
	var all []int
	for z := 1; z < n; z += max(1, z/32-1) {
		all = append(all, z)
	}
	return append(all, n)
}

// benchmarkCounts returns the numbers of coordinates that the benchmark may send.
func (r *Result) benchmarkCounts() []int {
	if r.benchmark > 0 {
		return []int{r.benchmark}
	}
	return counts(len(r.Lambda))
}

// equalAxes releases those of the first z coordinates that are not clipped to 0 with
// equal semi-axes, a function of their number, for all z given.
func (r *Result) equalAxes(counts []int, equal func(used int) float64) [][]float64 {
	var all [][]float64
	for _, z := range counts {
		used, axes := 0, make([]float64, z)
		radii := r.radiiOf(z)
		for _, c := range radii {
			if c > 0 {
				used++
			}
		}
		for i, c := range radii {
			if c > 0 {
				axes[i] = equal(used)
			}
		}
		all = append(all, axes)
	}
	return all
}

// radiiOf returns the radii of the first z coordinates: of the ball around them, or of the box.
func (r *Result) radiiOf(z int) []float64 {
	if r.problem.Domain != bundle.Ball {
		return r.Radii[:z]
	}
	return slices.Repeat(r.Radii[z-1:z], z)
}

// axesCandidate is the encoder of the first coordinates with these semi-axes; its
// UnclippedLoss is Σ λ_i·q/(1+q), q = variance·r_i²/s_i².
func (r *Result) axesCandidate(j joint, encoder string, axes []float64) *Candidate {
	radii := r.radiiOf(len(axes))
	used := len(axes)
	for _, s := range axes {
		if s == 0 {
			used--
		}
	}
	deviation := j.deviation(used)
	unclipped := 0.0
	for i, l := range r.Lambda {
		if i >= len(axes) || axes[i] == 0 {
			unclipped += l
			continue
		}
		ratio := deviation * (radii[i] / axes[i])
		unclipped += l / (1 + 1/(ratio*ratio))
	}
	c := j.candidate(encoder, used)
	c.axes, c.radii, c.UnclippedLoss = axes, radii, unclipped
	return c
}

// laplaceBall proposes the scales of Waterfill for balls around all numbers of
// coordinates. It uses fewer than z when it does for all larger z, as the radii grow.
func (r *Result) laplaceBall() ([][]float64, error) {
	var all [][]float64
	for _, z := range counts(len(r.Lambda)) {
		if r.Radii[z-1] == 0 {
			continue
		}
		s, err := taskspace.Waterfill(r.Lambda[:z], r.Radii[z-1], r.problem.Epsilon)
		if err != nil {
			return nil, err
		}
		if s.Z < z {
			break
		}
		all = append(all, s.SemiAxes())
	}
	return all, nil
}

// laplaceBox returns the best semi-axes in a box for Laplace noise, of which 2Σs_i <=
// 1: those of a split of epsilon, s_i = ε_i/(2ε).
func (r *Result) laplaceBox(ctx context.Context) ([]float64, error) {
	lambda, halfwidths := r.objective.Effective(r.Radii)
	a, err := budget.Split(ctx, lambda, halfwidths, r.problem.Epsilon, 0, budget.Laplace())
	if err != nil {
		return nil, err
	}
	axes := make([]float64, len(a.Epsilon))
	for i, e := range a.Epsilon {
		axes[i] = e / (2 * r.problem.Epsilon) * within
	}
	return axes, nil
}

// agnostic returns the benchmark that sends the features themselves. Between bounds it is an
// encoder like any other. In task coordinates its body is not one that a device can clip to axis by
// axis, so its losses are those of features that all lie in the domain.
func (r *Result) agnostic(j joint) (*Candidate, error) {
	n := len(r.Lambda)
	c := j.candidate(taskAgnostic, n)
	c.encoder = &taskspace.Encoder{Rows: taskspace.Identity(n), Mean: r.coordinates.Mean}
	distance, err := r.featureDistance(j.kind)
	if err != nil {
		return nil, err
	}
	if p := &r.problem; p.Domain == bundle.Bounds {
		scale := (1 - 0x1p-30) / distance // a bundle's proof rounds outwards
		c.encoder.Rows.Scale(scale, c.encoder.Rows)
		for i := range n {
			c.encoder.Axes = append(c.encoder.Axes, (p.High[i]-p.Low[i])*scale/2)
		}
		r.bound(c.encoder)
	} else {
		c.Bundled = false
		for i := range c.variances {
			c.variances[i] *= distance * distance
		}
	}
	if c.UnclippedLoss, err = r.encoderLoss(c.encoder.UnclippedMoments(r.moments), c.variances); err != nil || !c.Bundled {
		c.Loss = c.UnclippedLoss // nothing is clipped
		return c, err
	}
	c.Loss, err = r.encoderLoss(r.encoded(c.encoder), c.variances)
	return c, err
}

// denseMatrix returns the matrix as package bundle takes it.
func denseMatrix(m *mat.Dense) bundle.Matrix {
	rows, cols := m.Dims()
	return bundle.Matrix{Rows: rows, Cols: cols, Data: slices.Clone(m.RawMatrix().Data)}
}

// maxSignWork bounds the additions that a sensitivity between bounds may take, of which
// there are some for every number of coordinates.
const maxSignWork = 1 << 26

// laplaceBounds tries, for features between public bounds, the scales that are
// optimal for the box of the coordinates, equal ones and those optimal for a ball, for
// every number of coordinates for which the ℓ1 distance is that of the polytope of all
// features. None is optimal there; the distance and the loss of each are the real ones.
// For more coordinates the distance is that of the box, where the first is optimal.
func (r *Result) laplaceBounds(ctx context.Context, j joint) ([]*Candidate, error) {
	axes, err := r.laplaceBox(ctx)
	if err != nil {
		return nil, err
	}
	best := map[string]*Candidate{}
	try := func(encoder string, axes []float64) *Candidate {
		c := r.axesCandidate(j, encoder, r.scaled(axes))
		if err = errors.Join(err, ctx.Err()); err != nil {
			return c
		}
		if c.Loss, err = r.loss(c); err != nil {
			return c
		}
		if b := best[encoder]; b == nil || c.Loss < b.Loss {
			best[encoder] = c
		}
		return c
	}
	if slices.Max(axes) > 0 {
		try(taskAware, axes)
	}
	if r.benchmark > 0 {
		try(privacyAgnostic, r.Radii[:r.benchmark])
	}
	n := len(r.Lambda)
	for z := 1; err == nil && z <= n && float64(z*n) <= math.Ldexp(maxSignWork, 1-z); z++ {
		if r.benchmark == 0 {
			try(privacyAgnostic, r.Radii[:z])
		}
		// The ball for which the noise is that of the last scales.
		radius := math.Sqrt(float64(z))
		for range 2 {
			s, failed := taskspace.Waterfill(r.Lambda[:z], radius, r.problem.Epsilon)
			if err = errors.Join(err, failed); err != nil || s.Z < z {
				break
			}
			ball := make([]float64, z)
			for i := range ball {
				ball[i] = math.Sqrt(s.Sigma2[i]) * r.Radii[i]
			}
			radius = ball[0] / try(taskAware, ball).axes[0] / 2
		}
	}
	if err != nil {
		return nil, err
	}
	return r.withFeatures(j, best[taskAware], best[privacyAgnostic])
}

// scaled returns the semi-axes of the coordinates, half of the ranges of an encoder with
// features between the bounds, times the number for which the encoder's ℓ1 range is a
// little below 1, for a bundle's proof rounds outwards.
func (r *Result) scaled(axes []float64) []float64 {
	w := denseMatrix(r.coordinates.Encoder(bundle.Bounds, axes, r.Radii).Rows)
	scale := (1 - 0x1p-30) / w.RangeL1(r.problem.Low, r.problem.High)
	scaled := make([]float64, len(axes))
	for i, s := range axes {
		scaled[i] = s * scale
	}
	return scaled
}
