package bundle

import "math"

// body is what encodings are clipped to, made ready for use.
type body struct {
	domain Domain
	axes   []float64
	step   float64   // of the grid of joint noise; 0 for noise per coordinate
	limits []float64 // of joint noise: ⌊s_i/step⌋, exact
	parts  []float64 // of joint noise in a ball: step/s_i, rounded; 0 if the limit is
	member float64   // a float sum of squares up to this proves membership
}

func newBody(s *Spec) body {
	if !s.Composition.joint() {
		return body{domain: s.Domain, axes: s.Axes}
	}
	if s.Composition == Norm {
		return newJointBody(s.Domain, s.Axes, normStep(s.Tau))
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
	// Each square is off by at most five roundings and the sum by one per term
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

// Clip moves u into the body of the domain with as many semi-axes s, all above 0:
// |u_i| <= s_i holds exactly, and for Ball u is first scaled back along its ray to the
// ellipsoid, up to rounding. Any u is accepted: NaN, which no finite features make,
// becomes 0.
func (d Domain) Clip(u, axes []float64) {
	if d == Ball {
		scaleBack(u, axes)
	}
	for i, s := range axes {
		if !(math.Abs(u[i]) <= s) {
			u[i] = clamp(u[i], s)
		}
	}
}

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

// scaleBack divides u by √Σ(u_i/s_i)², to rounding, if that is above 1.
func scaleBack(u, axes []float64) {
	most := 0.0
	for i, s := range axes {
		most = math.Max(most, math.Abs(u[i]/s))
	}
	if !(most > 0) {
		return
	}
	sum := 0.0 // relative to most, so that no square overflows
	for i, s := range axes {
		r := u[i] / s / most
		sum += float64(r * r)
	}
	norm := math.Sqrt(sum) // from 1 to 64
	if !(most > 1/norm) {
		return
	}
	for i := range u {
		u[i] = u[i] / most / norm
	}
}

// toGrid rounds u, which is within ±axes, to the grid: to the nearest point within the
// limits. That may lie outside a ball; then u is rounded towards 0, and made shorter
// until that is inside. That ends after a step or two, whatever u is after 2^20: then
// shrink is exactly 0, and so are all squares, as New sees to it that the parts are
// finite (docs/proofs/latent-privacy.md).
func (b *body) toGrid(u []float64) {
	for i := range u {
		u[i] /= b.step // exact, or too close to 0 to matter
	}
	round := func(i int, x float64) float64 { return clamp(math.Floor(x+0.5), b.limits[i]) }
	for shrink := 1.0; b.domain == Ball && !b.holds(u, round); shrink -= 0x1p-20 {
		round = func(_ int, x float64) float64 { return math.Trunc(x * shrink) }
	}
	for i, x := range u {
		u[i] = round(i, x) * b.step
	}
}

// holds decides whether the point of the grid that u is rounded to is in the
// ellipsoid. It may say no to a point at the border, and never says yes to one
// outside. The conversion keeps compilers from fusing the square with the sum, so
// that all machines say the same.
func (b *body) holds(u []float64, round func(i int, x float64) float64) bool {
	sum := 0.0
	for i, part := range b.parts {
		r := round(i, u[i]) * part
		sum += float64(r * r)
	}
	return sum <= b.member
}
