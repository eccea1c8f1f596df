package bundle

import (
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// normSteps is the binary logarithm of how many steps of the grid there are in the scale
// of noise by its norm: 2^32 to 2^33. The grid costs nothing, as there is no table.
const normSteps = 32

// normStep returns the step of the grid for the scale tau.
func normStep(tau float64) float64 { return math.Ldexp(1, math.Ilogb(tau)-normSteps) }

// proveNorm bounds the ℓ2 distance of two clipped encodings. Noise whose density falls
// with its ℓ2 norm as exp(-norm/tau), rounded to the grid, is private with the
// epsilon distance/tau (docs/proofs/spherical.md).
func (v *Verified) proveNorm() {
	s := &v.bundle.spec
	v.distance = distanceL2(s.Domain, s.Axes, v.bundle.body.step)
	v.epsilon = exact.PowUp(v.distance, 0.5, rootBits)
	v.epsilon.Quo(v.epsilon, exact.Rational(s.Tau))
	v.delta = new(big.Rat)
}

// sphericalScale returns the scale of Calibrate, for which the noise is (epsilon, 0)-private,
// rounded up.
func sphericalScale(epsilon float64, domain Domain, axes []float64) (float64, error) {
	if !(epsilon > 0 && epsilon <= check.MaxEpsilon) {
		return 0, check.Errorf("bundle", dp.ErrInvalid, "epsilon = %g, want a number above 0 and at most %d", epsilon, check.MaxEpsilon)
	}
	if err := checkAxes(axes); err != nil {
		return 0, err
	}
	// The distance without a grid is at least that on one.
	distance := exact.PowUp(distanceL2(domain, axes, 0x1p-300), 0.5, rootBits)
	tau := exact.FloatUp(distance.Quo(distance, exact.Rational(epsilon)))
	if !(tau <= maxAxis) || normStep(tau) > slices.Max(axes) {
		return 0, check.Errorf("bundle", dp.ErrInvalid, "scale of the noise = %g, want at most 1e60 and some 2^%d times the largest axis, %g", tau, normSteps, slices.Max(axes))
	}
	return tau, nil
}
