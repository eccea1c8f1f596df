// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/latent/internal/blocks"
	"github.com/noisewright/noisewright/latent/internal/budget"
	"github.com/noisewright/noisewright/local"
)

const (
	// maxBallCounts bounds the numbers of coordinates that randomizers are tried for in a
	// ball: some ε/4 are used, and each number takes a search of its own.
	maxBallCounts = 8
	// leastLocalEpsilon is the least share of a coordinate with a randomizer: one with less
	// gains nothing that matters.
	leastLocalEpsilon = 1e-6
)

// localRandomizers finds the best encoder with a local randomizer on each coordinate: none without
// data, as the law of the coordinates is not known. With a designer they are its own, for each
// coordinate's range, else those of package blocks, for its law: there the answers are about the
// coordinate as it was before clipping, so that the clip matters next to nothing.
func (r *Result) localRandomizers(ctx context.Context, unbiased func(context.Context, float64) (*local.Verified, error)) ([]*Candidate, error) {
	if r.problem.Data == nil {
		return nil, nil
	}
	from, to := r.separately(maxBallCounts)
	y := r.coordinates.Transform(r.problem.Data)
	var best *Candidate
	for z := from; z <= to; z++ {
		c, err := r.localCandidate(ctx, y, z, unbiased)
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

// localCandidate is the best of the first z coordinates, with rows y; nil if none gains.
func (r *Result) localCandidate(ctx context.Context, y *mat.Dense, z int, unbiased func(context.Context, float64) (*local.Verified, error)) (*Candidate, error) {
	c := &Candidate{
		Noise: bundle.Local, Encoder: taskAware, Composition: bundle.Local.Composition(), Bundled: true,
		axes: make([]float64, z), radii: r.radiiOf(z),
	}
	var all []int
	for i, radius := range c.radii {
		if radius > 0 && len(all) < maxCoordinates {
			c.axes[i] = radius
			if unbiased != nil {
				c.axes[i] = 1
			}
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	gains := r.unbiasedGains(z, all)
	if unbiased == nil {
		gains = r.lawGains(y, c.axes, all)
	} else {
		c.Noise = bundle.LocalUnbiased
	}
	shares, err := budget.SplitGains(ctx, gains, r.problem.Epsilon)
	if err != nil {
		return nil, err
	}
	var used []int
	for k, i := range all {
		if shares[k] < leastLocalEpsilon {
			c.axes[i] = 0
			continue
		}
		used = append(used, i)
		c.Epsilon, c.Delta = append(c.Epsilon, shares[k]), append(c.Delta, 0)
	}
	if c.Z = len(used); c.Z == 0 {
		return nil, nil
	}
	if c.randomizers, err = r.randomizers(ctx, y, c, used, unbiased); err != nil {
		return nil, err
	}
	for _, m := range c.randomizers {
		c.responses = append(c.responses, newResponse(m))
	}
	c.encoder = r.unitEncoder(c.axes, c.radii)
	m, variances := r.answered(c.encoder, c.responses)
	c.Loss, err = r.encoderLoss(m, variances)
	return c, err
}

// randomizers returns those of the coordinates used, with the shares of the candidate.
func (r *Result) randomizers(ctx context.Context, y *mat.Dense, c *Candidate, used []int, unbiased func(context.Context, float64) (*local.Verified, error)) ([]*local.Randomizer, error) {
	made := make([]*local.Randomizer, len(used))
	if unbiased == nil {
		var err error
		for k, law := range r.laws(y, c.axes, used) {
			if made[k], err = law.Randomizer(c.Epsilon[k]); err != nil {
				return nil, err
			}
		}
		return made, nil
	}
	for k := range used {
		v, err := unbiased(ctx, c.Epsilon[k])
		if err != nil {
			return nil, err
		}
		made[k] = v.Mechanism()
		c.Epsilon[k] = made[k].Spec().Epsilon
	}
	return made, nil
}

// lawGains are the gains of coordinates with the best randomizers for their laws.
func (r *Result) lawGains(y *mat.Dense, axes []float64, all []int) []func(epsilon float64) float64 {
	var gains []func(float64) float64
	for k, law := range r.laws(y, axes, all) {
		gains = append(gains, func(epsilon float64) float64 {
			if epsilon < leastLocalEpsilon {
				return 0
			}
			return r.Lambda[all[k]] * law.Gain(epsilon)
		})
	}
	return gains
}

// unbiasedGains are the gains of coordinates with unbiased randomizers, which have a variance that
// a closed form stands for: that of the Hybrid mechanism, some 20 to 100 % above the least.
func (r *Result) unbiasedGains(z int, all []int) []func(epsilon float64) float64 {
	l := r.leading(z)
	var gains []func(float64) float64
	for _, i := range all {
		gains = append(gains, func(epsilon float64) float64 { return l.gainOf(i, hybridVariance(epsilon)/4) })
	}
	return gains
}

// hybridVariance returns the largest variance of the Hybrid mechanism for values in [−1,
// 1]. Source: Wang et al. (2019), section III-C.
func hybridVariance(epsilon float64) float64 {
	duchi := math.Pow(1/math.Tanh(epsilon/2), 2)
	if epsilon <= 0.61 {
		return duchi
	}
	s := math.Exp(epsilon / 2)
	return (s+3)/(3*s*(s-1)) + duchi/s
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
