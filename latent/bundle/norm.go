package bundle

import (
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// normStep returns the step of the grid for the scale tau, which has 2^32 to 2^33 of them. The
// grid costs nothing, as there is no table.
func normStep(tau float64) float64 { return math.Ldexp(1, math.Ilogb(tau)-32) }

// proveNorm bounds the ℓ2 distance of two clipped encodings. Noise whose density falls
// with its ℓ2 norm as exp(-norm/tau), rounded to the grid, is private with the
// epsilon distance/tau (docs/proofs/spherical.md).
func (v *Verified) proveNorm() {
	s := &v.bundle.spec
	v.distance = distanceL2(s.Domain, s.Axes, v.bundle.body.step)
	v.epsilon, v.delta = root(v.distance), new(big.Rat)
	v.epsilon.Quo(v.epsilon, exact.Rational(s.Tau))
}

// sphericalScale returns the scale of Calibrate, for which the noise is (epsilon, 0)-private,
// rounded up.
func sphericalScale(epsilon float64, domain Domain, axes []float64) (float64, error) {
	if err := checkPure(epsilon, axes); err != nil {
		return 0, err
	}
	distance := root(distanceL2(domain, axes, noGrid)) // at least that on a grid
	tau := exact.FloatUp(distance.Quo(distance, exact.Rational(epsilon)))
	if !(tau <= maxAxis) || normStep(tau) > slices.Max(axes) {
		return 0, check.Errorf("bundle", dp.ErrInvalid, "scale of the noise = %g, want at most 1e60 and some 2^32 times the largest axis, %g", tau, slices.Max(axes))
	}
	return tau, nil
}
