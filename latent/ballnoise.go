// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"context"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/loss"
)

// balls finds the encoder for noise on balls, of so many coordinates that one more is no better; nil if
// there is none. In a ball the privacy-agnostic encoder is optimal, as it is for all noise of which
// the ℓ2 distance matters; in a box it may be better than the other one, as clipping has no closed form.
func (r *Result) balls(ctx context.Context, design func(context.Context, ball.Problem) (*ball.Verified, error)) ([]*Candidate, error) {
	var best *Candidate
	for z := limits.BallMinDimension; z <= min(limits.BallMaxDimension, len(r.Lambda)); z++ {
		v, err := design(ctx, ball.Problem{
			Dimension: z, Loss: loss.L2,
			Privacy: dp.Privacy{Epsilon: min(r.problem.Epsilon, mostDesignEpsilon), Delta: r.problem.Delta, Sensitivity: 1},
		})
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		found, err := r.ballCandidate(v.Mechanism(), z)
		if err != nil {
			return nil, err
		}
		if found != nil && (best == nil || found.Loss < best.Loss) {
			best = found
		} else if best != nil {
			break
		}
	}
	if best == nil {
		return nil, nil
	}
	return []*Candidate{best}, nil
}

// ballCandidate returns the best encoder of exactly z coordinates; nil if one of them is better not released.
func (r *Result) ballCandidate(noise *ball.Noise, z int) (best *Candidate, err error) {
	j := joint{bundle.Balls, func(int) float64 { return math.Sqrt(ballVariance(noise)) }}
	all := r.equalAxes([]int{z}, overRoot)
	if r.problem.Domain == bundle.Ball {
		all = r.equalAxes([]int{z}, func(int) float64 { return 0.5 })
	} else {
		lambda, halfwidths := r.objective.Effective(r.Radii)
		all = append(all, taskspace.GaussianBox(lambda[:z], halfwidths[:z], j.deviation(z)).SemiAxes())
	}
	for _, axes := range all {
		c := r.axesCandidate(j, taskAware, axes)
		if c.Z != z {
			continue
		}
		if c.Loss, err = r.loss(c); err != nil {
			return nil, err
		}
		if c.ball = noise; best == nil || c.Loss < best.Loss {
			best = c
		}
	}
	return best, nil
}

// ballVariance returns that of a coordinate: Σ w·r²/(d+2), of balls of radius r.
func ballVariance(noise *ball.Noise) float64 {
	s := noise.Spec()
	sum := new(big.Rat)
	for i, w := range s.Weights {
		square := new(big.Int).SetInt64(s.Radii[i])
		square.Mul(square, square)
		sum.Add(sum, new(big.Rat).SetInt(square.Mul(square, new(big.Int).SetUint64(w))))
	}
	sum.Mul(sum, exact.PowerOfTwo(2*s.StepExponent-64))
	return exact.FloatUp(sum.Quo(sum, big.NewRat(int64(s.Dimension)+2, 1)))
}

// ballChannel is a coordinate of noise on balls. Rounding to its grid, of some 2^24 steps in a
// sensitivity, adds less than can be told.
type ballChannel struct {
	variance      float64
	dimension     int
	radii, shares []float64
}

func newBallChannel(noise *ball.Noise) *ballChannel {
	s := noise.Spec()
	c := &ballChannel{variance: ballVariance(noise), dimension: s.Dimension}
	for i, r := range s.Radii {
		c.radii = append(c.radii, math.Ldexp(float64(r), s.StepExponent))
		c.shares = append(c.shares, float64(s.Weights[i])*0x1p-64)
	}
	return c
}

func (c *ballChannel) moments(u float64) (mean, variance float64) { return u, c.variance }

func (c *ballChannel) atoms() []float64 { return nil }

func (c *ballChannel) below(u, edge float64) float64 {
	p := 0.0
	for i, r := range c.radii {
		t := math.Copysign(1, edge-u)
		if r > 0 {
			t = min(max((edge-u)/r, -1), 1)
		}
		p += c.shares[i] * ballBelow(c.dimension, t)
	}
	return p
}

// ballBelow returns the probability that a coordinate of a uniform point of the ball of radius 1 is below t: the
// share up to t of J_m = ∫ (1−s²)^(m/2) ds, m = d−1, of which (m+1)·J_m(t) = t·(1−t²)^(m/2) + m·J_{m−2}(t).
func ballBelow(dimension int, t float64) float64 {
	integral := func(t float64) float64 {
		j, m := t+1, 0
		if dimension%2 == 0 {
			j, m = (t*math.Sqrt(1-t*t)+math.Asin(t)+math.Pi/2)/2, 1
		}
		for m += 2; m < dimension; m += 2 {
			j = (t*math.Pow(1-t*t, float64(m)/2) + float64(m)*j) / float64(m+1)
		}
		return j
	}
	return integral(t) / integral(1)
}
