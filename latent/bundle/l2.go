// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// proveL2 bounds the ℓ2 distance of two clipped encodings, applies the formula for continuous
// Gaussian noise (rounded noise is a function of it), and charges the table's difference.
func (v *Verified) proveL2() error {
	s := &v.bundle.spec
	t := s.Tables[0]
	if g := t.Grid(); g.PointsPerCell != 1 || g.Offset != 0 || t.TailRatio() != 0 {
		return check.Errorf("bundle", proof.ErrNotPrivate, "tables[0] = one with %d points per cell, offset %d and tail ratio %d, want 1, 0 and none for the composition l2", g.PointsPerCell, g.Offset, t.TailRatio())
	}
	if step := v.bundle.body.step; !(s.Tau >= leastSteps*step) {
		return check.Errorf("bundle", proof.ErrNotPrivate, "tau = %g, want at least %d steps of %g, those of tables[0]", s.Tau, leastSteps, step)
	}
	v.distance = distanceL2(s.Domain, s.Axes, v.bundle.body.step)
	v.epsilon = exact.Rational(s.Promise.Epsilon)
	v.delta = gaussianDeltaUp(s.Promise.Epsilon, v.distance, s.Tau)
	v.delta.Add(v.delta, approximation(s.Promise.Epsilon, len(s.Axes), shapes.GaussianDistance(t, s.Tau)))
	return nil
}

// distanceL2 bounds the square of the ℓ2 distance of two points of the grid in the body.
func distanceL2(domain Domain, axes []float64, step float64) *big.Rat {
	switch domain {
	case Ball:
		return square(exact.Rational(2 * slices.Max(axes)))
	case L1Ball:
		return square(l1BallDiameter(axes, step))
	default:
		sum := new(big.Rat)
		for _, a := range axes {
			sum.Add(sum, square(boxSide(a, step)))
		}
		return sum
	}
}

// gaussianDeltaUp bounds from above the δ at epsilon of normal noise of standard deviation tau on
// vectors whose squared ℓ2 distance is given (Balle & Wang 2018, Theorem 8): with μ = distance/tau,
//
//	δ = Φ(μ/2 - ε/μ) - e^ε·Φ(-μ/2 - ε/μ),
//
// which does not decrease in μ.
func gaussianDeltaUp(epsilon float64, squared *big.Rat, tau float64) *big.Rat {
	if squared.Sign() == 0 {
		return new(big.Rat)
	}
	mu := root(new(big.Rat).Quo(squared, square(exact.Rational(tau))))
	ratio := new(big.Rat).Quo(exact.Rational(epsilon), mu)
	half := mu.Mul(mu, big.NewRat(1, 2))
	u, v := new(big.Rat).Sub(ratio, half), new(big.Rat).Add(ratio, half)

	scale := new(big.Int).Lsh(one, exact.NormalBits)
	var first *big.Int // Φ(-u), rounded up
	if u.Sign() >= 0 {
		_, first = exact.NormalTail(u.Num(), u.Denom())
	} else {
		low, _ := exact.NormalTail(new(big.Int).Neg(u.Num()), u.Denom())
		first = low.Sub(scale, low)
	}
	second, _ := exact.NormalTail(v.Num(), v.Denom())
	second.Mul(second, exact.ExpDown(epsilon, exact.RatioBits)).Rsh(second, exact.RatioBits)
	first.Sub(first, second)
	return new(big.Rat).SetFrac(first, scale)
}

var one = big.NewInt(1)

// leastSteps is how many steps of the grid tau has at least, for shapes.GaussianDistance.
const leastSteps = 8

// approximation is what a total variation of laws adds to δ, for so many coordinates: Z·(1+e^ε)·TV.
func approximation(epsilon float64, coordinates int, tv *big.Rat) *big.Rat {
	e := exact.ExpUp(epsilon, exact.RatioBits)
	e.Add(e, new(big.Int).Lsh(one, exact.RatioBits))
	e.Mul(e, big.NewInt(int64(coordinates)))
	c := new(big.Rat).SetFrac(e, new(big.Int).Lsh(one, exact.RatioBits))
	return c.Mul(c, tv)
}

// newGaussianTable makes the table of Calibrate, and the standard deviation tau of its noise:
// the least for which all coordinates together are (epsilon, delta)-private, up to a relative
// 2^-20 of delta or what the table's weights cost.
//
// The grid has at least 32 steps in the smallest of the axes, but at most 2^13 in tau,
// so that much smaller axes are rounded off. The promise of the table itself is about one
// coordinate, or less where that would take long to verify.
func newGaussianTable(epsilon, delta float64, domain Domain, axes []float64) (t *tables.Table, tau float64, err error) {
	if !(epsilon >= 0 && epsilon <= check.MaxEpsilon && delta > 0 && delta < 1) {
		return nil, 0, check.Errorf("bundle", dp.ErrInvalid, "epsilon = %g and delta = %g, want numbers from 0 to %d, and above 0 and below 1", epsilon, delta, check.MaxEpsilon)
	}
	if err := checkAxes(axes); err != nil {
		return nil, 0, err
	}
	// The grid depends on tau, and tau, a little, on the grid.
	least, err := gaussianTau(epsilon, delta, distanceL2(domain, axes, noGrid))
	if err != nil {
		return nil, 0, err
	}
	exponent, err := gridExponent(axes, 32, least, 13)
	if err != nil {
		return nil, 0, err
	}
	return gaussianTable(epsilon, delta, exponent, domain, axes)
}

// gaussianTau returns the least standard deviation for a squared ℓ2 distance, rounded up.
func gaussianTau(epsilon, delta float64, squared *big.Rat) (float64, error) {
	distance, _ := root(squared).Float64()
	tau, err := noise.GaussianSigma(dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: math.Nextafter(distance, math.Inf(1))})
	if err != nil {
		return 0, check.Errorf("bundle", dp.ErrInvalid, "%w", err)
	}
	return tau, nil
}

// gaussianTable is newGaussianTable on a given grid.
func gaussianTable(epsilon, delta float64, exponent int, domain Domain, axes []float64) (t *tables.Table, tau float64, err error) {
	squared := distanceL2(domain, axes, math.Ldexp(1, exponent))
	// The share of delta set aside for the weights: first little, then what they cost.
	share := new(big.Rat).Mul(exact.Rational(delta), exact.Rational(0x1p-20))
	for range 3 {
		target, _ := new(big.Rat).Sub(exact.Rational(delta), share).Float64()
		if tau, err = gaussianTau(epsilon, math.Nextafter(target, 0), squared); err != nil {
			return nil, 0, err
		}
		if t, err = roundedGaussian(epsilon, tau, exponent, slices.Max(axes)); err != nil {
			return nil, 0, err
		}
		cost := approximation(epsilon, len(axes), shapes.GaussianDistance(t, tau))
		if tenfold := new(big.Rat).Mul(cost, big.NewRat(10, 1)); tenfold.Cmp(big.NewRat(1, 1)) >= 0 {
			return nil, 0, check.Errorf("bundle", dp.ErrInvalid, "epsilon = %g is too large for Gaussian noise of 64-bit weights in %d coordinates, whatever delta is: want less, or another noise", epsilon, len(axes))
		} else if tenfold.Cmp(exact.Rational(delta)) > 0 {
			return nil, 0, check.Errorf("bundle", dp.ErrInvalid, "delta = %g is too small for Gaussian noise of 64-bit weights at epsilon = %g in %d coordinates, want at least ten times %s, what they cost", delta, epsilon, len(axes), exact.StateUp(cost))
		}
		total := gaussianDeltaUp(epsilon, squared, tau)
		if total.Add(total, cost).Cmp(exact.Rational(delta)) <= 0 {
			return t, tau, nil
		}
		share = cost.Mul(cost, big.NewRat(9, 8))
		share.Add(share, new(big.Rat).Mul(exact.Rational(delta), exact.Rational(0x1p-30)))
	}
	return nil, 0, check.Errorf("bundle", dp.ErrInvalid, "delta = %g at epsilon = %g, want values where Gaussian noise can be proved", delta, epsilon)
}

// roundedGaussian rounds normal noise of standard deviation tau to the grid. The table
// promises what it keeps for a coordinate within ±axis, or for less of it.
func roundedGaussian(epsilon, tau float64, exponent int, axis float64) (*tables.Table, error) {
	step := math.Ldexp(1, exponent)
	// Verifying takes cells × cells per sensitivity.
	const work = 1 << 27
	cells := 2*math.Ceil(9*tau/step) + 1
	perSensitivity := min(2*math.Floor(axis/step), math.Ldexp(1, math.Ilogb(work/cells)))
	t, err := shapes.Gaussian(dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Sensitivity: perSensitivity * step}, Loss: loss.L2},
		tau, tables.Grid{GranularityExponent: exponent, PointsPerCell: 1, CellsPerSensitivity: int(perSensitivity)})
	if err != nil {
		return nil, check.Errorf("bundle", nil, "%w", err)
	}
	return t.Mechanism(), nil
}

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

// sphericalScale is the scale of Calibrate with which noise is (epsilon, 0)-private, rounded up.
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
