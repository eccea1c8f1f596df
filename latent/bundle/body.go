package bundle

import "math"

// body is what encodings are clipped to, made ready for use.
type body struct {
	domain Domain
	axes   []float64
	step   float64   // of the grid of joint noise; 0 for noise per coordinate
	limits []float64 // of joint noise: ⌊s_i/step⌋, exact
	parts  []float64 // of joint noise in a ball: step/s_i, rounded
	member float64   // a float sum of squares up to this proves membership
}

func newBody(s *Spec) body {
	b := body{domain: s.Domain, axes: s.Axes}
	if !s.Composition.joint() {
		return b
	}
	b.step, _ = s.Tables[0].Grid().Step().Float64() // exact: a power of two
	b.limits, b.parts = make([]float64, len(s.Axes)), make([]float64, len(s.Axes))
	for i, a := range s.Axes {
		b.limits[i] = math.Floor(a / b.step) // the quotient is exact
		b.parts[i] = b.step / a
	}
	// Each square is off by at most five roundings and the sum by one per term
	// (docs/proofs/latent-privacy.md).
	b.member = 1 - float64(len(s.Axes)+8)*0x1p-52
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
		sum += r * r
	}
	norm := math.Sqrt(sum) // from 1 to 64
	if !(most > 1/norm) {
		return
	}
	for i := range u {
		u[i] = u[i] / most / norm
	}
}

// toGrid rounds u to the grid. The nearest point may lie outside a ball; then u is
// rounded towards 0, and made shorter until that is inside. That ends after a step or two,
// whatever u is after 2^20: then shrink is exactly 0, and so are all squares, as New sees to
// it that the parts are finite (docs/proofs/latent-privacy.md).
func (b *body) toGrid(u []float64) {
	for i := range u {
		u[i] /= b.step // exact
	}
	round := func(x float64) float64 { return math.Floor(x + 0.5) }
	for shrink := 1.0; b.domain == Ball && !b.holds(u, round); shrink -= 0x1p-20 {
		round = func(x float64) float64 { return math.Trunc(x * shrink) }
	}
	for i, x := range u {
		u[i] = clamp(round(x), b.limits[i]) * b.step
	}
}

// holds decides whether the point of the grid that u is rounded to is in the
// ellipsoid. It may say no to a point at the border, and never says yes to one
// outside.
func (b *body) holds(u []float64, round func(float64) float64) bool {
	sum := 0.0
	for i, part := range b.parts {
		r := round(u[i]) * part
		sum += r * r
	}
	return sum <= b.member
}
