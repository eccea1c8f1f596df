// SPDX-License-Identifier: Apache-2.0

package encoders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

// Choice is how an encoding is sent: how many numbers, with what noise, clipped to what.
type Choice struct {
	Coordinates int
	Noise       bundle.Kind
	Domain      bundle.Domain
}

// String returns the choice as a word, such as 2-designed-box.
func (c Choice) String() string { return fmt.Sprintf("%d-%s-%s", c.Coordinates, c.Noise, c.Domain) }

// Choices returns those that are worth a trial for numbers of coordinates: per coordinate in a
// box, designed tables and local randomizers; joint, for several coordinates, Laplace noise in
// the l1 ball and, in the ball, that of the least variance: noise on balls where there is any, else Gaussian or
// spherical noise. Of one
// coordinate all bodies are the same, and there no noise is better than that of a designed table.
func Choices(coordinates []int, promise bundle.Promise) []Choice {
	var choices []Choice
	for _, z := range coordinates {
		kinds := []bundle.Kind{bundle.Designed, bundle.Local}
		if z > 1 {
			kinds = append(kinds, noise.Laplace, ballNoise(z, promise))
		}
		for _, kind := range kinds {
			choices = append(choices, Choice{z, kind, encoder.BestDomain(kind)})
		}
	}
	return choices
}

// leastBallEpsilon is an epsilon from which on there are designs of balls for every delta from 1e-10 on.
const leastBallEpsilon = 0.1

// ballNoise returns the kind of the least variance in the ball of radius 1. Noise on balls has at most that of
// both others. A coordinate of spherical noise of scale τ has the variance (Z+1)·τ².
func ballNoise(z int, promise bundle.Promise) bundle.Kind {
	if z >= limits.BallMinDimension && z <= limits.BallMaxDimension && promise.Delta > 0 && promise.Epsilon >= leastBallEpsilon {
		return bundle.Balls
	}
	sigma, err := noise.GaussianSigma(dp.Privacy{Epsilon: promise.Epsilon, Delta: promise.Delta, Sensitivity: 2})
	if tau := 2 / promise.Epsilon; err != nil || sigma*sigma >= float64(z+1)*tau*tau {
		return bundle.Spherical
	}
	return noise.Gaussian
}

// Trial is what became of a choice.
type Trial struct {
	Choice
	// Loss is of people held out, with noise. All trials of a search are about the same people.
	Loss, StandardError float64
	Err                 error // why there is no loss; nil
}

// Search trains each choice with the function, and returns the trials, those of less loss
// first. Choices whose training failed come last; it is an error only if all of them did, the
// context ended, or there is no use of a checkpoint.
//
// That the best of many is kept makes its loss a little too good.
func Search(ctx context.Context, choices []Choice, train func(context.Context, Choice) (loss, standardError float64, err error)) ([]Trial, error) {
	if len(choices) == 0 {
		return nil, check.Field("encoder", "choices", "none", "at least one")
	}
	trials := make([]Trial, len(choices))
	var failed []error
	for i, c := range choices {
		t := Trial{Choice: c}
		t.Loss, t.StandardError, t.Err = train(ctx, c)
		if t.Err == nil && !check.Finite(t.Loss) {
			t.Err = check.Errorf("encoder", nil, "the loss is %v, want a finite number", t.Loss)
		}
		if t.Err != nil {
			if ctx.Err() != nil || errors.Is(t.Err, ErrCheckpoint) {
				return nil, t.Err
			}
			t.Loss, t.StandardError = math.Inf(1), 0
			if len(choices) > 1 {
				failed = append(failed, check.Errorf("", nil, "%s: %w", c, t.Err))
			} else {
				failed = append(failed, t.Err)
			}
		}
		trials[i] = t
	}
	if len(failed) == len(choices) {
		return nil, errors.Join(failed...)
	}
	slices.SortStableFunc(trials, func(a, b Trial) int { return cmp.Compare(a.Loss, b.Loss) })
	return trials, nil
}
