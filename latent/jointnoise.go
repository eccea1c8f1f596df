package latent

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

// joint is noise of one law on all coordinates, for a sensitivity of 1 in its
// norm.
type joint struct {
	kind        bundle.Kind
	composition bundle.Composition
	variance    float64 // at sensitivity 1
	sensitivity func(w mat.Matrix, widths []float64) (Sensitivity, error)
}

// laplace finds encoders for Laplace noise.
func (r *Result) laplace(ctx context.Context) ([]*Candidate, error) {
	p := &r.problem
	j := joint{bundle.Laplace, bundle.L1, 2 / (p.Epsilon * p.Epsilon), SensitivityL1}
	var cs []*Candidate
	switch p.Domain {
	case DomainBall:
		for z, radius := range r.Radii {
			s, err := WaterfillAt(r.Lambda, radius, p.Epsilon, z+1)
			if err != nil {
				return nil, err
			}
			if cs, err = r.addScaling(cs, j, TaskAware, s, z+1, radius); err != nil {
				return nil, err
			}
			equal := Scaling{Z: z + 1, Sigma2: equalScales(len(r.Lambda), z+1)}
			if equal.Loss, err = PrivacyAgnosticLoss(r.Lambda, radius, p.Epsilon, z+1); err != nil {
				return nil, err
			}
			if cs, err = r.addScaling(cs, j, PrivacyAgnostic, equal, z+1, radius); err != nil {
				return nil, err
			}
		}
	case DomainBox:
		a, err := Split(ctx, r.Lambda, r.Radii, p.Epsilon, 0, Laplace())
		if err != nil {
			return nil, err
		}
		if cs, err = r.addAxes(cs, j, TaskAware, laplaceAxes(a, p.Epsilon), a.Loss); err != nil {
			return nil, err
		}
		for z := 1; z <= len(r.Lambda); z++ {
			axes := make([]float64, z)
			for i := range axes {
				axes[i] = math.Nextafter(0.5/float64(z), 0)
			}
			if cs, err = r.addAxes(cs, j, PrivacyAgnostic, axes, r.axesLoss(axes, j.variance)); err != nil {
				return nil, err
			}
		}
	case DomainBounds:
		return r.boundedCandidates(ctx, j)
	}
	cs, err := r.judgeBest(ctx, cs)
	if err != nil {
		return nil, err
	}
	return r.addAgnostic(cs, j)
}

// gaussian finds encoders for Gaussian noise.
func (r *Result) gaussian(ctx context.Context) ([]*Candidate, error) {
	p := &r.problem
	law, err := noise.NewAnalyticGaussian(noise.Parameters{Epsilon: p.Epsilon, Delta: p.Delta, Sensitivity: 1})
	if err != nil {
		return nil, err
	}
	tau := law.Sigma()
	j := joint{bundle.Gaussian, bundle.L2, tau * tau, SensitivityL2}
	var cs []*Candidate
	switch p.Domain {
	case DomainBall:
		// Equal scales are optimal, so the privacy-agnostic encoder is too.
		for z, radius := range r.Radii {
			s, err := GaussianBall(r.Lambda, radius, tau, z+1)
			if err != nil {
				return nil, err
			}
			if cs, err = r.addScaling(cs, j, TaskAware, s, z+1, radius); err != nil {
				return nil, err
			}
		}
	case DomainBox:
		s, err := GaussianBox(r.Lambda, r.Radii, tau)
		if err != nil {
			return nil, err
		}
		if cs, err = r.addAxes(cs, j, TaskAware, s.SemiAxes(), s.Loss); err != nil {
			return nil, err
		}
		for z := 1; z <= len(r.Lambda); z++ {
			axes := make([]float64, z)
			for i := range axes {
				axes[i] = 0.5 / math.Sqrt(float64(z)) * (1 - 0x1p-40)
			}
			if cs, err = r.addAxes(cs, j, PrivacyAgnostic, axes, r.axesLoss(axes, j.variance)); err != nil {
				return nil, err
			}
		}
	case DomainBounds:
		return r.boundedCandidates(ctx, j)
	}
	if cs, err = r.judgeBest(ctx, cs); err != nil {
		return nil, err
	}
	return r.addAgnostic(cs, j)
}

// laplaceAxes returns the semi-axes s_i = ε_i/(2ε), of which 2Σs_i <= 1.
func laplaceAxes(a *Allocation, epsilon float64) []float64 {
	axes := make([]float64, len(a.Epsilon))
	for i, e := range a.Epsilon {
		axes[i] = e / (2 * epsilon) * (1 - 0x1p-40)
	}
	return axes
}

// equalScales returns the squared scales of z of n coordinates.
func equalScales(n, z int) []float64 {
	s := make([]float64, n)
	for i := range z {
		s[i] = 1 / float64(z)
	}
	return s
}

// axesLoss is the loss without clipping of coordinates in a box with the
// semi-axes and noise of the variance: Σ λ_i·q/(1+q), q = variance·c_i²/s_i².
func (r *Result) axesLoss(axes []float64, variance float64) float64 {
	loss := 0.0
	for i, l := range r.Lambda {
		share := 1.0
		if i < len(axes) && axes[i] > 0 {
			q := variance * (r.Radii[i] / axes[i]) * (r.Radii[i] / axes[i])
			share = q / (1 + q)
		}
		loss += l * share
	}
	return loss
}

// addScaling adds a candidate in the ball of the radius around the first z
// coordinates, unless it uses fewer than z, for which there is a smaller ball.
func (r *Result) addScaling(cs []*Candidate, j joint, encoder string, s Scaling, z int, radius float64) ([]*Candidate, error) {
	if s.Z < z {
		return cs, nil
	}
	axes := s.SemiAxes()[:z]
	radii := make([]float64, z)
	for i := range radii {
		radii[i] = radius
	}
	return r.add(cs, j, encoder, axes, radii, s.Loss)
}

// addAxes adds a candidate in the box.
func (r *Result) addAxes(cs []*Candidate, j joint, encoder string, axes []float64, theory float64) ([]*Candidate, error) {
	return r.add(cs, j, encoder, axes, r.Radii[:len(axes)], theory)
}

func (r *Result) add(cs []*Candidate, j joint, encoder string, axes, radii []float64, theory float64) ([]*Candidate, error) {
	e, err := r.coordinates.Encoder(r.problem.Domain, axes, radii)
	if err != nil {
		return nil, err
	}
	return append(cs, r.jointCandidate(j, encoder, e, theory)), nil
}

func (r *Result) jointCandidate(j joint, encoder string, e *LinearEncoder, theory float64) *Candidate {
	z, _ := e.Rows.Dims()
	variances := make([]float64, z)
	for i := range variances {
		variances[i] = j.variance
	}
	return &Candidate{
		Noise: j.kind, Encoder: encoder, Composition: j.composition, Z: len(variances), Theory: theory, Bundled: true,
		encoder: e, variances: variances,
	}
}

// addAgnostic adds the benchmark that sends the features themselves. In task
// coordinates its body is not one that a device can clip to axis by axis, so its
// losses are those of features that all lie in the domain.
func (r *Result) addAgnostic(cs []*Candidate, j joint) ([]*Candidate, error) {
	distance, err := r.featureDistance(j)
	if err != nil {
		return nil, err
	}
	n := r.coordinates.Len()
	e := &LinearEncoder{Rows: eye(n), Mean: r.coordinates.Mean()}
	c := r.jointCandidate(j, TaskAgnostic, e, 0)
	for i := range c.variances {
		c.variances[i] *= distance * distance
	}
	c.Bundled = false
	if err := r.judge(c); err != nil {
		return nil, err
	}
	c.Theory = c.Loss
	return append(cs, c), nil
}

// featureDistance bounds the largest distance of the features of two points of the
// ball or the box, in the norm of the noise. For the ball of radius r it is, for
// x = μ + A⁻¹y, 2r·max ‖A⁻ᵀs‖₂ over signs s for ℓ1, and 2r·‖A⁻¹‖₂ for ℓ2.
func (r *Result) featureDistance(j joint) (float64, error) {
	n := r.coordinates.Len()
	synthesis := r.coordinates.Synthesis()
	widths := make([]float64, n)
	switch {
	case r.problem.Domain == DomainBox:
		for i, c := range r.Radii {
			widths[i] = 2 * c
		}
		s, err := j.sensitivity(synthesis, widths)
		return s.Value, err
	case j.kind == bundle.Laplace:
		for i := range widths {
			widths[i] = 2 * r.Radii[n-1]
		}
		s, err := SensitivityL2(synthesis.T(), widths)
		return s.Value, err
	default:
		var svd mat.SVD
		if !svd.Factorize(synthesis, mat.SVDNone) {
			return 0, fmt.Errorf("latent: the singular values of the coordinates did not converge: %w", ErrInvalid)
		}
		return 2 * r.Radii[n-1] * svd.Values(nil)[0], nil
	}
}

func eye(n int) *mat.Dense {
	m := mat.NewDense(n, n, nil)
	for i := range n {
		m.Set(i, i, 1)
	}
	return m
}

// denseMatrix returns the matrix as package bundle takes it.
func denseMatrix(m *mat.Dense) bundle.Matrix {
	rows, cols := m.Dims()
	return bundle.Matrix{Rows: rows, Cols: cols, Data: slices.Clone(m.RawMatrix().Data)}
}

// maxBounded bounds the numbers of coordinates that are tried for features
// between bounds, where each needs a sensitivity of its own.
const maxBounded = 32

// boundedCandidates tries, for features between public bounds, scales that are
// optimal for a ball, for every number of coordinates and balls of two sizes,
// those of a box, equal ones, and the features themselves. None is optimal here;
// the sensitivity and the loss of each are the real ones.
func (r *Result) boundedCandidates(ctx context.Context, j joint) ([]*Candidate, error) {
	p := &r.problem
	widths, err := FeatureWidths(p.Low, p.High)
	if err != nil {
		return nil, err
	}
	analysis := r.coordinates.Analysis()
	var cs []*Candidate
	add := func(encoder string, scales []float64, rows *mat.Dense) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := r.boundedEncoder(j, scales, rows, widths)
		if err != nil || e == nil {
			return err
		}
		c := r.jointCandidate(j, encoder, e, math.NaN())
		m, err := e.UnclippedMoments(r.moments)
		if err != nil {
			return err
		}
		if c.Theory, err = r.loss(m, c.variances); err != nil {
			return err
		}
		cs = append(cs, c)
		return r.judge(c)
	}
	n := r.coordinates.Len()
	inner, outer := r.boundedRadii()
	for z := 1; z <= min(n, maxBounded); z++ {
		if err := add(PrivacyAgnostic, equalScales(n, z)[:z], analysis); err != nil {
			return nil, err
		}
		for _, radius := range []float64{inner, outer} {
			s, err := WaterfillAt(r.Lambda, radius, p.Epsilon, z)
			if err != nil {
				return nil, err
			}
			if s.Z == z {
				if err := add(TaskAware, s.Sigma2[:z], analysis); err != nil {
					return nil, err
				}
			}
		}
	}
	a, err := Split(ctx, r.Lambda, r.Radii, p.Epsilon, 0, Laplace())
	if err != nil {
		return nil, err
	}
	scales := make([]float64, n)
	for i, s := range laplaceAxes(a, p.Epsilon) {
		scales[i] = (s / r.Radii[i]) * (s / r.Radii[i])
	}
	if err := add(TaskAware, scales, analysis); err != nil {
		return nil, err
	}
	ones := make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	return cs, add(TaskAgnostic, ones, eye(n))
}

// boundedRadii returns two sizes of balls in the task coordinates: one that the
// training data suggests, and the one around all that the bounds allow.
func (r *Result) boundedRadii() (inner, outer float64) {
	for _, c := range r.Radii {
		outer = math.Hypot(outer, c)
	}
	return math.Sqrt(float64(len(r.Radii))), outer
}

// boundedEncoder scales rows of the matrix so that the sensitivity of all is 1:
// scales are squared, and the rows of scale 0 are left out.
func (r *Result) boundedEncoder(j joint, scales []float64, rows *mat.Dense, widths []float64) (*LinearEncoder, error) {
	_, n := rows.Dims()
	var entries []float64
	for i, s := range scales {
		if s > 0 {
			for _, a := range rows.RawRowView(i) {
				entries = append(entries, math.Sqrt(s)*a)
			}
		}
	}
	if len(entries) == 0 {
		return nil, nil
	}
	w := mat.NewDense(len(entries)/n, n, entries)
	ranges, err := CoordinateRanges(w, widths)
	if err != nil {
		return nil, err
	}
	// The distances that a bundle's proof uses, and a little below 1, for it
	// rounds outwards.
	distance := mat.Norm(mat.NewVecDense(len(ranges), ranges), 2)
	if j.kind == bundle.Laplace {
		distance = bundle.RangeL1(denseMatrix(w), r.problem.Low, r.problem.High)
	}
	scale := (1 - 0x1p-30) / distance
	w.Scale(scale, w)
	e := &LinearEncoder{Rows: w, Mean: r.coordinates.Mean()}
	for _, width := range ranges {
		e.Axes = append(e.Axes, width*scale/2)
	}
	return r.bounded(e), nil
}
