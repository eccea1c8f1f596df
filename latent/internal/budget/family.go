// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
)

// Family is a family of mechanisms, additive noise for one number at every (ε, δ), as far
// as a split of the privacy budget needs to know it.
type Family struct {
	// Name is the family as written in files and flags, e.g. "laplace".
	Name string
	// Pure says that the family makes no use of δ.
	Pure bool
	// Variance returns an upper bound on the variance of the family's (ε, δ)-private noise for
	// sensitivity 1, in squared query units. It increases neither in ε nor in δ, and may be
	// called concurrently. An error says why there is no such noise.
	Variance func(epsilon, delta float64) (float64, error)
}

func closedForm(name string, pure bool, variance func(p dp.Privacy) (float64, error)) Family {
	return Family{name, pure, func(epsilon, delta float64) (float64, error) {
		p := dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}
		if err := p.Validate(); err != nil {
			return 0, err
		}
		return variance(p)
	}}
}

// Laplace returns the family of Laplace noise, of variance 2/ε². Split over
// coordinates in a box it is the joint ℓ1 Laplace mechanism; see [Split].
func Laplace() Family {
	return closedForm(noise.Laplace, true, func(p dp.Privacy) (float64, error) { return meanSquareUp(noise.Laplace, p) })
}

// TruncatedLaplace returns the family of truncated Laplace noise; it needs δ > 0. For
// δ > 1/2, where that noise wastes privacy, it is the noise for δ = 1/2.
func TruncatedLaplace() Family {
	return closedForm(noise.TruncatedLaplace, false, func(p dp.Privacy) (float64, error) {
		p.Delta = math.Min(p.Delta, 0.5)
		return meanSquareUp(noise.TruncatedLaplace, p)
	})
}

// Staircase returns the family of staircase noise, the least variance there is for δ = 0.
func Staircase() Family {
	return closedForm(noise.Staircase, true, func(p dp.Privacy) (float64, error) {
		p.Epsilon = math.Min(p.Epsilon, maxStepEpsilon)
		return meanSquareUp(noise.Staircase, p)
	})
}

// meanSquareUp returns E X² of a mechanism, the variance as all these are symmetric, rounded up.
func meanSquareUp(name string, p dp.Privacy) (float64, error) {
	m, err := noise.New(name, p, loss.L2)
	if err != nil {
		return 0, err
	}
	value, errorBound, err := m.ExpectedLoss(loss.L2)
	if err != nil {
		return 0, err
	}
	return math.Nextafter(value+errorBound, math.Inf(1)), nil
}
