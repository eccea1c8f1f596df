// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
)

// body is what encodings are clipped to, made ready for use.
type body struct {
	domain Domain
	axes   []float64
	step   float64   // of the grid of joint noise; 0 for noise per coordinate
	limits []float64 // of joint noise: ⌊s_i/step⌋, exact
	// Of joint noise in a ball or an l1 ball, in which a float sum of the squares or the
	// magnitudes of n_i·parts[i] up to member proves the membership of the point n.
	parts  []float64 // step/s_i, rounded, 0 if the limit is; or 1, where that sum is exact
	member float64
}

// scaled reports whether encodings are scaled back along their ray.
func (d Domain) scaled() bool { return d == Ball || d == L1Ball }

func newBody(s *Spec) body {
	if !s.Composition.joint() { // Cells clips nothing
		return body{domain: s.Domain, axes: s.Axes}
	}
	if s.Composition == jointNorm || s.Composition == jointBalls {
		return newJointBody(s.Domain, s.Axes, s.vectorStep())
	}
	step, _ := s.Tables[0].Grid().Step().Float64() // exact: a power of two
	return newJointBody(s.Domain, s.Axes, step)
}

// newJointBody returns the body of joint noise on the grid of the step.
func newJointBody(domain Domain, axes []float64, step float64) body {
	b := body{domain: domain, axes: axes, step: step, limits: make([]float64, len(axes)), parts: make([]float64, len(axes))}
	for i, a := range axes {
		b.limits[i] = math.Floor(a / step) // the quotient is exact, or too close to 0 to matter
		if b.limits[i] > 0 {               // else the coordinate is 0, and the quotient might overflow
			b.parts[i] = step / a
		}
	}
	if domain == L1Ball && slices.Min(axes) == slices.Max(axes) {
		// Σ|n_i| <= s/step, of integers: the sum of 2^12 of at most 2^40 is exact.
		b.parts, b.member = slices.Repeat([]float64{1}, len(axes)), b.limits[0]
		return b
	}
	// Each term is off by at most five roundings and the sum by one per term
	// (docs/proofs/latent-privacy.md).
	b.member = 1 - float64(len(axes)+8)*0x1p-52
	return b
}

// clip moves the encoding u into the body: as Clip does, and for joint noise u becomes
// a point of the grid in the body, exactly too.
func (b *body) clip(u []float64) {
	b.domain.Clip(u, b.axes)
	if b.step != 0 {
		b.toGrid(u)
	}
}

// Clip moves u into the body of the domain with as many semi-axes s, from 1e-60 to 1e60: |u_i| <=
// s_i holds exactly, and for Ball and L1Ball u is first scaled back along its ray to the body, up
// to rounding. Any u is accepted: NaN, which no finite features make, becomes 0.
func (d Domain) Clip(u, axes []float64) {
	if d.scaled() {
		for i, x := range u {
			u[i] = clamp(x, maxScaled)
		}
		d.scaleBack(u, axes)
	}
	for i, s := range axes {
		if !(math.Abs(u[i]) <= s) {
			u[i] = clamp(u[i], s)
		}
	}
}

// maxScaled is beyond all that features are encoded to, and its quotients with axes are float64s.
const maxScaled = 1e240

// clamp returns x within ±limit, and 0 for NaN.
func clamp(x, limit float64) float64 {
	switch {
	case x > limit:
		return limit
	case x < -limit:
		return -limit
	case x != x:
		return 0
	}
	return x
}

// scaleBack divides u by its norm, √Σ(u_i/s_i)² or Σ|u_i|/s_i, to rounding, if that is above 1.
func (d Domain) scaleBack(u, axes []float64) {
	most := 0.0
	for i, s := range axes {
		most = math.Max(most, math.Abs(u[i]/s))
	}
	if !(most > 0) {
		return
	}
	norm := 0.0 // relative to most, so that no square overflows
	for i, s := range axes {
		norm += d.term(u[i] / s / most)
	}
	if d == Ball {
		norm = math.Sqrt(norm)
	}
	if !(most > 1/norm) { // norm is from 1 to 2^12
		return
	}
	for i := range u {
		u[i] = u[i] / most / norm
	}
}

// term is what a coordinate adds to a norm, or to its square. The conversion, here and in
// holds, keeps compilers from fusing a product with a sum, so that all machines say the same.
func (d Domain) term(r float64) float64 {
	if d == Ball {
		return float64(r * r)
	}
	return math.Abs(r)
}

// toGrid rounds u, which is within ±axes, to the nearest point of the grid within the limits.
// If that lies outside a ball or an l1 ball, u is rounded towards 0, and made shorter until it
// is inside, mostly after a step or two. After 2^20 shrink is exactly 0, and so are all squares,
// as New sees to it that the parts are finite (docs/proofs/latent-privacy.md).
func (b *body) toGrid(u []float64) {
	for i := range u {
		u[i] /= b.step // exact, or too close to 0 to matter
	}
	round := func(i int, x float64) float64 { return clamp(math.Floor(x+0.5), b.limits[i]) }
	for shrink := 1.0; b.domain.scaled() && !b.holds(u, round); shrink -= 0x1p-20 {
		round = func(_ int, x float64) float64 { return math.Trunc(x * shrink) }
	}
	for i, x := range u {
		u[i] = round(i, x) * b.step
	}
}

// holds decides whether the point of the grid that u is rounded to is in the ball or l1
// ball. It may say no to a point at the border, and never says yes to one outside.
func (b *body) holds(u []float64, round func(i int, x float64) float64) bool {
	sum := 0.0
	for i, part := range b.parts {
		sum += b.domain.term(float64(round(i, u[i]) * part))
	}
	return sum <= b.member
}

// noPromise is that of the kind None: an infinite epsilon bounds nothing.
var noPromise = Promise{Epsilon: math.Inf(1)}

// Filter is Encode for a bundle of the kind None: what such a bundle releases. It is WITHOUT
// NOISE, and there is NO PROMISE about it: whoever knows the encoder may learn anything that
// the encoding tells. The error wraps ErrInvalid for a bundle of another kind.
func (b *Bundle) Filter(dst, x []float64) ([]float64, error) {
	if b.spec.Noise != None {
		return nil, check.Errorf("bundle", dp.ErrInvalid, "noise.kind = %s, want none: encodings without its noise are not to be released", b.spec.Noise)
	}
	return b.Encode(dst, x)
}

// validateNone checks that there is no noise, and no promise.
func (s *Spec) validateNone(c checker) {
	c.Want(s.Noise == None, "noise.kind", s.Noise, "none for the composition none")
	c.Want(s.Composition == noComposition, "noise.composition", s.Composition, "none for the kind none")
	c.Want(s.Promise == noPromise, "promise", fmt.Sprintf("epsilon %g, delta %g", s.Promise.Epsilon, s.Promise.Delta), "none, that is epsilon %g and delta %g, for the kind none", noPromise.Epsilon, noPromise.Delta)
	s.validateNoTables(c)
}
