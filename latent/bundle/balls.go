// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

// validateBall checks that there is noise on balls, of as many coordinates as are released, on a grid that
// bodies may have.
func (s *Spec) validateBall(c checker) bool {
	if s.Ball == nil || *s.Ball == (ball.Noise{}) {
		c.Bad("balls", "none", "noise on balls for the composition ball")
		return false
	}
	b := s.Ball.Spec()
	c.Want(b.Dimension == len(s.Axes), "balls[0]", fmt.Sprintf("noise of %d coordinates", b.Dimension), "one of %d, as many as are released", len(s.Axes))
	c.Want(s.vectorStep() <= maxAxis, "balls[0]", fmt.Sprintf("noise with steps of %g", s.vectorStep()), "steps of at most %g, the largest axis there may be", maxAxis)
	return c.None()
}

// proveBalls bounds the ℓ2 distance of two clipped encodings, which the noise has to be for. They are points
// of its grid, so that it rounds nothing (docs/proofs/latent-privacy.md).
func (v *Verified) proveBalls() error {
	s := &v.bundle.spec
	p := proof.Of(v.laws[0]).Privacy()
	v.distance = distanceL2(s.Domain, s.Axes, v.bundle.body.step)
	if v.distance.Cmp(square(exact.Rational(p.Sensitivity))) > 0 {
		return check.Errorf("bundle", proof.ErrNotPrivate, "axes = a body in which encodings may be %s apart, want at most %g, the sensitivity of balls[0] in the ℓ2 norm", exact.StateUp(root(v.distance)), p.Sensitivity)
	}
	v.epsilon, v.delta = exact.Rational(p.Epsilon), exact.Rational(p.Delta)
	return nil
}
