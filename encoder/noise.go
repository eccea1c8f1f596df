package encoder

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/tables"
)

// Noise is noise for the points of a body. It is immutable and safe for concurrent use.
type Noise interface {
	// Kind is its word.
	Kind() bundle.Kind
	// Release sets dst to a draw of what is released of u, which is in the body: one row of
	// Z numbers or several, one after another; dst may be u. The law is that of the bundle
	// but for the grid, in floating point.
	//
	// It is FOR TRAINING AND STUDIES ONLY AND UNSAFE FOR RELEASE. The mean of what is
	// released is u, but for local, so that a gradient passes straight through.
	Release(dst, u []float64, r *rand.Rand)
	// Install sets the part of a bundle about the noise and the body: Noise, Composition,
	// Tau, Tables, TableOf, Randomizers, RandomizerOf, Domain, Axes and Promise, for which
	// bundle.Verify proves the promise, with package account for the composition exact.
	Install(s *bundle.Spec)
}

// Design makes a table for a problem: one that lp.Design made, or a stored one.
type Design func(ctx context.Context, p dp.Problem) (*tables.Verified, error)

// NewNoise returns noise of a kind for the points of a body, that keeps the promise.
func NewNoise(ctx context.Context, kind bundle.Kind, body Body, promise bundle.Promise, design Design) (Noise, error) {
	return nil, errors.New("not yet")
}
