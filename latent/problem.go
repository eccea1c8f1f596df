// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

// Problem asks for a private encoder of n features: which directions to send, and with what
// noise, for the least loss of a task.
type Problem struct {
	// Features are the n names.
	Features []string
	// Data is N×n, a row per person, for everything that is learned: means,
	// covariance, clipping radii, decoder. It is taken to be public: the design
	// depends on it, and only people who are encoded later are protected.
	Data mat.Matrix
	// Mean (n) and Covariance (n×n) stand in for Data if it is nil; predictions then clip nothing.
	// The covariance may be asymmetric and indefinite by rounding, 1e-9 in units of correlation.
	Mean       []float64
	Covariance mat.Matrix
	// Task is K, m×n: of a reconstruction x̂ the loss is E‖K(x − x̂)‖². nil is the identity.
	Task *mat.Dense
	// Ridge regularizes the covariance Σ, which becomes Σ + Ridge·tr(Σ)/n·I: a small
	// one (1e-6) for features that are constant or copies of each other, 0 for none.
	Ridge float64
	// Promise is for each person; its Epsilon is above 0.
	bundle.Promise
	// Domain says what is clipped; there is no default.
	Domain bundle.Domain
	// Clip is the share of the rows of Data that clipping to a ball, or each coordinate to a
	// box, leaves alone, 0 < Clip <= 1. See BestClip.
	Clip float64
	// Radius, if not 0, is the radius of the ball, or half the side of the box,
	// in task coordinates, in place of Clip.
	Radius float64
	// Low and High are the public bounds of bundle.Bounds, n each.
	Low, High []float64
}

// validate reports all bad fields together, but for matrices, which whoever reads them checks.
func (p *Problem) validate() error {
	bad := check.In("latent")
	bad.Add(dp.Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Sensitivity: 1}.Validate())
	bad.Want(p.Epsilon != 0, "epsilon", p.Epsilon, "a finite number > 0")
	n := len(p.Mean)
	switch {
	case p.Data != nil && (p.Mean != nil || p.Covariance != nil):
		bad.Bad("data", "rows and moments", "only one of them")
	case p.Data != nil:
		_, n = p.Data.Dims()
	case n == 0 || p.Covariance == nil:
		bad.Bad("data", "none", "rows of features, or their mean and covariance")
	}
	bad.Want(len(p.Features) == n, "number of feature names", len(p.Features), "%d", n)
	switch p.Domain {
	case bundle.Bounds:
		if len(p.Low) != n || len(p.High) != n {
			bad.Badf("number of bounds", fmt.Sprintf("%d and %d", len(p.Low), len(p.High)), "%d, one of each for a feature", n)
			break
		}
		for j, low := range p.Low {
			if high := p.High[j]; !(-limits.Magnitude <= low && low < high && high <= limits.Magnitude) {
				bad.Badf(fmt.Sprintf("bounds of feature %d", j), fmt.Sprintf("%g to %g", low, high),
					"the lower one below the upper one, both at most %g in magnitude", limits.Magnitude)
			}
		}
	case bundle.Ball, bundle.Box:
		bad.Want(p.Radius >= 0 && p.Radius <= math.MaxFloat64, "radius", p.Radius, "a finite number > 0, or 0 for the clip quantile")
		if p.Radius == 0 {
			bad.Want(p.Data != nil, "radius", p.Radius, "a number > 0 if there is no data to take a quantile of")
			bad.Want(p.Data == nil || p.Clip > 0 && p.Clip <= 1, "clip", p.Clip, "a share of the rows, 0 < clip <= 1")
		}
	default:
		bad.Bad("domain", fmt.Sprintf("%.40q", string(p.Domain)), "ball, box or bounds")
	}
	return bad.Err()
}

// moments are those of the data, or the given ones.
func (p *Problem) moments() (taskspace.Moments, error) {
	if p.Data != nil {
		return taskspace.NewMoments(p.Data)
	}
	return taskspace.GivenMoments(p.Mean, p.Covariance)
}

// BestClip returns the Clip, from one half to one, with which noise of the kind has the smallest
// expected loss on the training data with a task-aware encoder; "" means any kind. A tight clip
// makes for less noise and more bias. It is for bundle.Ball and bundle.Box.
//
// Nothing is designed: truncated Laplace and staircase noise, which come close, stand for
// bundle.Designed, and for bundle.LocalUnbiased, whose own is a little wider; but balls are those that
// the designer makes, if it is not nil (Options.Ball). The cost and the errors are those of nine calls of Design.
func (p Problem) BestClip(ctx context.Context, kind bundle.Kind, balls func(context.Context, ball.Problem) (*ball.Verified, error)) (float64, error) {
	var kinds []bundle.Kind
	switch kind {
	case "":
	case bundle.Designed, bundle.LocalUnbiased:
		kinds = []bundle.Kind{noise.TruncatedLaplace, noise.Staircase}
	default:
		kinds = []bundle.Kind{kind}
	}
	best, least := 0.5, math.Inf(1)
	for _, share := range []float64{0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1} {
		p.Clip = share
		r, err := Design(ctx, p, Options{Kinds: kinds, Ball: balls})
		if err != nil {
			return 0, err
		}
		for _, c := range r.Candidates {
			if c.Encoder == taskAware && c.Loss < least {
				best, least = share, c.Loss
			}
		}
	}
	return best, nil
}
