package latent

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/latent/internal/blocks"
	"github.com/noisewright/noisewright/latent/internal/budget"
)

const (
	// maxBallCounts bounds the numbers of coordinates that randomizers are tried for in a
	// ball: some ε/2 are used, and each number takes a search of its own.
	maxBallCounts = 8
	// leastLocalEpsilon is the least share of a coordinate with a randomizer: one with less
	// gains nothing that a float64 could tell.
	leastLocalEpsilon = 1e-6
)

// localRandomizers finds the best encoder with a local randomizer on each coordinate: none
// without data, as the law of the coordinates is not known. The answers of a randomizer
// are about the coordinate as it was before clipping, so that the clip, which bounds noise
// that is added, matters next to nothing.
//
// In a ball it takes each coordinate to lie within ±radius, as perCoordinate does.
func (r *Result) localRandomizers(ctx context.Context) ([]*Candidate, error) {
	if r.problem.Data == nil {
		return nil, nil
	}
	from, to := len(r.Lambda), len(r.Lambda)
	if r.problem.Domain == bundle.Ball {
		from, to = 1, min(to, maxBallCounts)
	}
	y := r.coordinates.Transform(r.problem.Data)
	var best *Candidate
	for z := from; z <= to; z++ {
		c, err := r.localCandidate(ctx, y, z)
		if err != nil {
			return nil, err
		}
		if c != nil && (best == nil || c.Loss < best.Loss) {
			best = c
		}
	}
	if best == nil {
		return nil, nil
	}
	return []*Candidate{best}, nil
}

// localCandidate is the best one found of the first z coordinates, whose rows are y; nil if
// no share gains anything.
func (r *Result) localCandidate(ctx context.Context, y *mat.Dense, z int) (*Candidate, error) {
	axes := make([]float64, z)
	var all []int
	for i, radius := range r.radiiOf(z) {
		if radius > 0 && len(all) < maxCoordinates {
			axes[i] = radius
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	laws := r.laws(y, axes, all)
	gains := make([]func(float64) float64, len(all))
	for k, i := range all {
		gains[k] = func(epsilon float64) float64 {
			if epsilon < leastLocalEpsilon {
				return 0
			}
			return r.Lambda[i] * laws[k].Gain(epsilon)
		}
	}
	shares, err := budget.SplitGains(ctx, gains, r.problem.Epsilon)
	if err != nil {
		return nil, err
	}
	c := &Candidate{Noise: bundle.Local, Encoder: TaskAware, Composition: bundle.Basic, Bundled: true, axes: axes, radii: r.radiiOf(z)}
	var used []int
	for k, i := range all {
		if shares[k] < leastLocalEpsilon {
			axes[i] = 0
			continue
		}
		used = append(used, i)
		c.Epsilon, c.Delta = append(c.Epsilon, shares[k]), append(c.Delta, 0)
	}
	if c.Z = len(used); c.Z == 0 {
		return nil, nil
	}
	for k, law := range r.laws(y, axes, used) {
		randomizer, err := law.Randomizer(c.Epsilon[k])
		if err != nil {
			return nil, err
		}
		c.randomizers = append(c.randomizers, randomizer)
		c.responses = append(c.responses, newResponse(randomizer))
	}
	c.encoder = r.unitEncoder(axes, c.radii)
	m, variances := r.answered(c.encoder, c.responses)
	c.Loss, err = r.encoderLoss(m, variances)
	return c, err
}

// laws returns those of the coordinates with semi-axes, used, as they are clipped together.
func (r *Result) laws(y *mat.Dense, axes []float64, used []int) []*blocks.Law {
	e := r.unitEncoder(axes, r.radiiOf(len(axes)))
	units := e.Encode(r.problem.Data)
	laws := make([]*blocks.Law, len(used))
	for k, i := range used {
		values, targets := mat.Col(nil, k, units), mat.Col(nil, i, y)
		for row := range targets {
			if e.Offset != nil {
				targets[row] += e.Offset[k] // an encoding is centered between the bounds
			}
		}
		laws[k] = blocks.NewLaw(values, targets, e.Axes[k])
	}
	return laws
}

// answered returns the moments of the training data with the answers of randomizers, and
// the variances of the answers.
func (r *Result) answered(e *taskspace.Encoder, responses []*response) (*taskspace.EncodedMoments, []float64) {
	units := e.Encode(r.problem.Data)
	variances := answer(responses, units)
	return e.MomentsOf(r.problem.Data, units), variances
}
