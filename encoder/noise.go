// SPDX-License-Identifier: Apache-2.0

package encoder

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

// Noise is noise for the points of a body. It is immutable and safe for concurrent use.
type Noise interface {
	// Kind is its word.
	Kind() bundle.Kind
	// Release sets dst to a draw of what is released of u, which is in the body: a row of
	// Z numbers or several, one after another; dst may be u. The law is that of the bundle
	// but for the rounding to its grid, in floating point.
	//
	// It is FOR TRAINING AND STUDIES ONLY AND UNSAFE FOR RELEASE. The mean of what is
	// released is u, except for bundle.Local, so that a gradient passes straight through.
	Release(dst, u []float64, r *rand.Rand)
	// Install sets the part of a bundle about the noise and the body: Noise, Composition,
	// Tau, Tables, TableOf, Randomizers, RandomizerOf, Ball, Domain, Axes and Promise.
	//
	// Guarantee: latent.Verify proves the promise of a bundle with them, whatever its
	// encoder is. (It does so from the bundle alone; that it succeeds is tested, not assumed.)
	Install(s *bundle.Spec)
}

// Design makes a table for a problem: a designer's, or a stored one. Nothing is taken on
// trust: a bundle verifies its tables.
type Design func(ctx context.Context, p dp.Problem) (*tables.Verified, error)

var kinds = []bundle.Kind{
	noise.Laplace, noise.Gaussian, bundle.Spherical, bundle.Balls, // joint: by the distance of two points of the body
	bundle.Designed, noise.Staircase, bundle.Local, bundle.LocalUnbiased, // per coordinate
	bundle.None,
}

// NewNoise returns noise of a kind for the points of a body, that keeps the promise.
//
// Laplace, gaussian and spherical noise and noise on balls, which lp.DesignBall makes for 2 to 8 coordinates
// and a delta above 0, are joint, by the ℓ1 or ℓ2 distance of two points of the body. The other kinds are per coordinate, which lies within ±Radius in each body, and
// have equal shares of the promise. Tables of designed noise are made by design; without
// one, and for staircase noise, they are the best ones with delta 0, which take no solver.
// Local noise is for the uniform law until Fit has seen encodings, and like local-unbiased
// and laplace noise makes no use of delta. None is a copy, without a promise.
//
// Errors wrap dp.ErrInvalid for an argument out of range or noise that has no table, as it is
// too large for its grid, or are those of design.
func NewNoise(ctx context.Context, kind bundle.Kind, body Body, promise bundle.Promise, design Design) (Noise, error) {
	if kind == bundle.None {
		if err := body.Validate(); err != nil {
			return nil, err
		}
		return none{body}, nil
	}
	if err := validate(kind, body, promise); err != nil {
		return nil, err
	}
	base := base{kind, body, promise}
	switch kind {
	case noise.Laplace, noise.Gaussian, bundle.Spherical:
		return newJoint(base)
	case bundle.Balls:
		return newBalls(ctx, base)
	case bundle.Designed, noise.Staircase:
		return newPerCoordinate(ctx, base, design)
	case bundle.Local:
		return Fit(base.uniform(), base.evenly())
	default:
		return newUnbiased(ctx, base)
	}
}

func validate(kind bundle.Kind, body Body, promise bundle.Promise) error {
	c := check.In("encoder")
	c.Want(slices.Contains(kinds, kind), "noise", fmt.Sprintf("%.40q", string(kind)), "one of %v", kinds)
	c.Add(body.Validate())
	c.Want(promise.Epsilon > 0 && promise.Epsilon <= check.MaxEpsilon, "epsilon", promise.Epsilon, "a number above 0 and at most %d", check.MaxEpsilon)
	c.Delta("delta", promise.Delta)
	c.Want(kind != noise.Gaussian || promise.Delta != 0, "delta", promise.Delta, "a number above 0 for gaussian noise, which is never private without")
	if z := body.Coordinates; kind == bundle.Balls {
		c.Want(z >= limits.BallMinDimension && z <= limits.BallMaxDimension, "coordinates", z, "%d to %d for noise on balls", limits.BallMinDimension, limits.BallMaxDimension)
		c.Want(promise.Delta != 0, "delta", promise.Delta, "a number above 0 for noise on balls, which have an end")
	}
	return c.Err()
}

// base is what all noise with a promise has.
type base struct {
	kind    bundle.Kind
	body    Body
	promise bundle.Promise
}

func (b base) Kind() bundle.Kind { return b.kind }

// install clears what another noise may have installed, and sets what all kinds have.
func (b base) install(s *bundle.Spec, c bundle.Composition) {
	s.Noise, s.Composition, s.Promise = b.kind, c, b.promise
	s.Domain, s.Axes = b.body.Domain, b.body.axes()
	s.Tau, s.Tables, s.TableOf, s.Randomizers, s.RandomizerOf, s.Ball = 0, nil, nil, nil, nil, nil
}

type none struct{ body Body }

func (none) Kind() bundle.Kind { return bundle.None }

func (none) Release(dst, u []float64, _ *rand.Rand) { copy(dst, u) }

func (n none) Install(s *bundle.Spec) {
	base{bundle.None, n.body, bundle.Promise{Epsilon: math.Inf(1)}}.install(s, bundle.None.Composition())
}

// joint is noise by the distance of two points of the body.
type joint struct {
	base
	spec  bundle.Spec // its part about the noise
	scale float64     // of the law: of Laplace and spherical noise, or the standard deviation
}

func newJoint(b base) (Noise, error) {
	j := &joint{base: b}
	b.install(&j.spec, "")
	if err := j.spec.Calibrate(); err != nil {
		return nil, check.Errorf("encoder", nil, "%w", err)
	}
	j.scale = j.spec.Tau
	if b.kind == noise.Laplace {
		// A step of the grid costs the table's own epsilon.
		t := j.spec.Tables[0]
		step, _ := t.Grid().Step().Float64() // exact: a power of two
		j.scale = step / t.Privacy().Epsilon
	}
	return j, nil
}

func (j *joint) Install(s *bundle.Spec) {
	j.install(s, j.spec.Composition)
	s.Tau, s.Tables, s.TableOf = j.spec.Tau, slices.Clone(j.spec.Tables), slices.Clone(j.spec.TableOf)
}

func (j *joint) Release(dst, u []float64, r *rand.Rand) {
	z := j.body.Coordinates
	for k := 0; k < len(u); k += z {
		j.row(dst[k:k+z], u[k:k+z], r)
	}
}

func (j *joint) row(dst, u []float64, r *rand.Rand) {
	switch j.kind {
	case noise.Laplace:
		for i, x := range u {
			dst[i] = x + math.Copysign(j.scale*exponential(r), r.Float64()-0.5)
		}
	case noise.Gaussian:
		for i, x := range u {
			dst[i] = x + j.scale*r.NormFloat64()
		}
	default:
		// The density exp(-‖x‖/τ) has a Gamma norm of shape Z and scale τ, and any direction alike.
		noise, squares, norm := make([]float64, len(u)), 0.0, 0.0
		for i := range noise {
			noise[i] = r.NormFloat64()
			squares += noise[i] * noise[i]
			norm += exponential(r)
		}
		norm *= j.scale / math.Sqrt(squares)
		for i, x := range u {
			dst[i] = x + norm*noise[i]
		}
	}
}

// exponential draws from the exponential law of mean 1. It is finite: rand.ExpFloat64 takes
// the logarithm of a number that may be 0.
func exponential(r *rand.Rand) float64 { return -math.Log(1 - r.Float64()) }
