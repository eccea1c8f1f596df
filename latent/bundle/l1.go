// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// proveL1 bounds the ℓ1 distance of two clipped encodings and charges it by steps.
func (v *Verified) proveL1() error {
	t := v.bundle.spec.Tables[0]
	if g, p := t.Grid(), t.Privacy(); p.Delta != 0 || g.PointsPerCell != 1 || g.CellsPerSensitivity != 1 {
		return check.Errorf("bundle", proof.ErrNotPrivate, "tables[0] = one with delta = %g and %d cells of %d points per sensitivity, want 0 and 1 cell of 1 point for the composition l1", p.Delta, g.CellsPerSensitivity, g.PointsPerCell)
	}
	s := &v.bundle.spec
	step := v.bundle.body.step
	v.distance = distanceL1(s.Domain, s.Axes, step)
	if s.Domain == Bounds {
		if z := zonotopeL1(exact.Rational(s.rangeWithErrorsL1(step)), len(s.Axes), step); z.Cmp(v.distance) < 0 {
			v.distance = z
		}
	}
	// The table's certificate is about shifts by one cell, which is one step.
	steps := new(big.Rat).Quo(v.distance, t.Grid().Step())
	v.epsilon = steps.Mul(steps, exact.Rational(t.Privacy().Epsilon))
	v.delta = new(big.Rat)
	return nil
}

// distanceL1 bounds the ℓ1 distance of two points of the grid in the body.
func distanceL1(domain Domain, axes []float64, step float64) *big.Rat {
	sum := new(big.Rat)
	switch domain {
	case L1Ball:
		return l1BallDiameter(axes, step)
	case Ball:
		// max Σ|u_i - u'_i| = 2·max Σ|u_i| = 2·√Σs_i², by Cauchy & Schwarz.
		for _, a := range axes {
			sum.Add(sum, square(exact.Rational(2*a)))
		}
		return root(sum)
	default:
		for _, a := range axes {
			sum.Add(sum, boxSide(a, step))
		}
	}
	return sum
}

// l1BallDiameter is the largest ℓ1 distance, and the largest ℓ2 distance, of two points of
// the grid in an l1 ball: 2⌊max s_i/g⌋·g, that of two opposite corners.
func l1BallDiameter(axes []float64, step float64) *big.Rat {
	return boxSide(slices.Max(axes), step)
}

// zonotopeL1 bounds the ℓ1 distance of two encodings rounded to the grid by that of
// what is rounded: each of Z differences moves by at most a step.
func zonotopeL1(distance *big.Rat, coordinates int, step float64) *big.Rat {
	all := new(big.Rat).SetInt64(int64(coordinates))
	return all.Mul(all, exact.Rational(step)).Add(all, distance)
}

// root bounds a square root from above, to a relative 2^-128.
func root(x *big.Rat) *big.Rat { return exact.PowUp(x, 0.5, 128) }

// maxSignWork bounds the work of trying all sign patterns, a second or so.
const maxSignWork = 1 << 30

// RangeL1 returns an upper bound on the ℓ1 distance of m·x and m·x′ over
// all x and x′ between the bounds of the features:
//
//	max over signs σ of Σ_j |Σ_i σ_i·W_ij|·(hi_j - lo_j),
//
// or, where that would take more than 2^30 additions, Σ_ij |W_ij|·(hi_j - lo_j); all is
// tried for 16 coordinates of 2^11 features, but for 32 coordinates never. It is above
// either value by a relative 2^-35 at most for up to 2^11 features and coordinates.
//
// Spec.Calibrate assumes that it is at most 1 for the domain Bounds. It panics unless the bounds
// have a number for each column. docs/proofs/latent-privacy.md has the argument.
func (m Matrix) RangeL1(lower, upper []float64) float64 {
	z, n := m.Rows, m.Cols
	if len(lower) != n || len(upper) != n {
		panic(fmt.Sprintf("bundle: bounds of %d and %d features, want %d", len(lower), len(upper), n))
	}
	// W_ij·(hi_j - lo_j), the last row first, whose sign is the one that stays.
	scaled := make([][]float64, z)
	total := 0.0
	for i := range scaled {
		scaled[(i+1)%z] = make([]float64, n)
		row := 0.0
		for j, w := range m.Row(i) {
			// Not fused below, so that all machines prove the same.
			x := float64(w * (upper[j] - lower[j])) //nolint:gosec // there is a bound for each column
			scaled[(i+1)%z][j] = x
			row += math.Abs(x)
		}
		total += row
	}
	// Twice what exact.SignMaximumL1 asks for, as a term has two roundings and total
	// has its own; the last number is for underflow.
	slack := float64(float64(z+n+8) * 0x1p-51 * total)
	most := total
	if z <= 30 && z*n <= maxSignWork>>(z-1) {
		most = exact.SignMaximumL1(scaled)
	}
	return most + slack + 0x1p-900
}

// rangeWithErrorsL1 bounds the ℓ1 distance of two encodings as the device computes
// them, before they are rounded to the grid: RangeL1 and the errors of floating
// point (docs/proofs/latent-privacy.md).
func (s *Spec) rangeWithErrorsL1(step float64) float64 {
	n := s.Encoder.Cols
	sum := 0.0 // Σ_i (Σ_j |W_ij|·max|x_j - μ_j| + |o_i| + s_i + g)
	for i, axis := range s.Axes {
		for j, w := range s.Encoder.Row(i) {
			sum += float64(math.Abs(w) * math.Max(math.Abs(s.FeatureLower[j]-s.Mean[j]), math.Abs(s.FeatureUpper[j]-s.Mean[j])))
		}
		sum += math.Abs(s.Offset[i]) + axis + step
	}
	slack := float64(4 * float64(n+16) * 0x1p-52 * sum)
	return (s.Encoder.RangeL1(s.FeatureLower, s.FeatureUpper) + slack) * (1 + 0x1p-50)
}

// newLaplaceTable makes the table of Calibrate. The grid has at least 32 steps in the smallest of
// the axes, 256 for Bounds, where rounding is charged; but at most 2^17 in the scale, so that much
// smaller axes are rounded off. The table's own promise is about one step, with delta 0.
func newLaplaceTable(epsilon float64, domain Domain, axes []float64) (*tables.Table, error) {
	if err := checkPure(epsilon, axes); err != nil {
		return nil, err
	}
	distance, _ := distanceL1(domain, axes, noGrid).Float64()
	fine := 32.0
	if domain == Bounds {
		fine, distance = 256, min(distance, 1)
	}
	exponent, err := gridExponent(axes, fine, distance/epsilon, 17)
	if err != nil {
		return nil, err
	}
	return laplaceTable(epsilon, exponent, domain, axes)
}

// noGrid is a step so fine that distances are those without rounding.
const noGrid = 0x1p-300

// checkPure checks the axes, and an epsilon beside which delta is 0.
func checkPure(epsilon float64, axes []float64) error {
	if !(epsilon > 0 && epsilon <= check.MaxEpsilon) {
		return check.Errorf("bundle", dp.ErrInvalid, "epsilon = %g, want a number above 0 and at most %d", epsilon, check.MaxEpsilon)
	}
	return checkAxes(axes)
}

func checkAxes(axes []float64) error {
	c := checker{check.In("bundle")}
	c.count("axes", len(axes), "coordinates", 1, limits.Coordinates)
	for i := 0; i < len(axes) && c.None(); i++ {
		c.axis(fmt.Sprintf("axes[%d]", i), axes[i])
	}
	return c.Err()
}

// gridExponent chooses the exponent of a grid: at least so many steps in the smallest
// axis, at least 64 in the scale of the noise, and at most 2^most of them.
func gridExponent(axes []float64, fine, scale float64, most int) (int, error) {
	step := min(scale/64, slices.Min(axes)/fine)
	e := max(math.Ilogb(step), math.Ilogb(scale)+1-most)
	if math.Ldexp(1, e) > slices.Max(axes) {
		return 0, check.Errorf("bundle", dp.ErrInvalid, "scale of the noise = %g, want at most some 2^%d times the largest axis, %g", scale, most, slices.Max(axes))
	}
	return e, nil
}

// laplaceTable is newLaplaceTable on a given grid.
func laplaceTable(epsilon float64, exponent int, domain Domain, axes []float64) (*tables.Table, error) {
	step := math.Ldexp(1, exponent)
	distance := distanceL1(domain, axes, step)
	if domain == Bounds {
		// Another step for the errors of floating point.
		if z := zonotopeL1(exact.Rational(1), len(axes)+1, step); z.Cmp(distance) < 0 {
			distance = z
		}
	}
	// ε′ <= ε·g/D, as a float64.
	bound := new(big.Rat).Mul(exact.Rational(epsilon), exact.Rational(step))
	perStep := exact.FloatDown(bound.Quo(bound, distance))
	t, err := shapes.Laplace(dp.Problem{Privacy: dp.Privacy{Epsilon: perStep, Sensitivity: step}, Loss: loss.L2},
		tables.Grid{GranularityExponent: exponent, PointsPerCell: 1, CellsPerSensitivity: 1})
	if err != nil {
		return nil, check.Errorf("bundle", nil, "%w", err)
	}
	return t.Mechanism(), nil
}
