// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
)

const (
	// maxStepEpsilon: noise with steps of e^-ε is that of this ε for every
	// larger one, where it is all but gone and the steps would underflow.
	maxStepEpsilon = 100
	// minStepEpsilon: below it steps give less than one part in 10^5 over the
	// truncated Laplace law, and the sums over them lose digits.
	minStepEpsilon = 0.01
	// stepRounding covers the rounding of truncatedStaircase: some 20 operations
	// and one difference that loses a factor of 200 at most.
	stepRounding = 1e-11
)

// TruncatedStaircase returns the family of truncated staircase noise: the law of
// staircase noise cut to |x| <= A, A as small as δ allows, or for a large δ
// staircase noise that is left out with probability δ, whichever varies less.
//
// It is private at every (ε, δ), so its variance is an upper bound on the least possible one,
// and a tight one: for δ <= 0.001 noise designed to a gap of 0.1 % improved on it by less than
// that; at δ = 0.05 by 2 %. The proof, with the formulas, is in docs/proofs/noise-curve.md.
func TruncatedStaircase() Family {
	return closedForm("truncated-staircase", false, leastVarianceUp)
}

// leastVarianceUp returns an upper bound on the variance of the best (ε, δ)-
// private noise for sensitivity 1; the parameters are valid.
func leastVarianceUp(p dp.Privacy) (float64, error) {
	p.Epsilon = math.Min(p.Epsilon, maxStepEpsilon)
	if p.Epsilon < minStepEpsilon && p.Delta > 0 {
		return TruncatedLaplace().Variance(p.Epsilon, p.Delta)
	}
	pure, err := Staircase().Variance(p.Epsilon, 0)
	if err != nil || p.Delta == 0 {
		return pure, err
	}
	cut := truncatedStaircase(p.Epsilon, p.Delta) * (1 + stepRounding)
	return math.Min(cut, pure*(1-p.Delta)*(1+stepRounding)), nil
}

// truncatedStaircase returns the variance of staircase noise cut to |x| <= A. With b = e^-ε and the
// step γ the density is proportional to b^k where the staircase has its step k, |x| < γ or k-1+γ <=
// |x| < k+γ. Let A = n + γ + θ, 0 <= θ <= 1. The mass M of x > 0, that of the last unit and ∫x²
// over x > 0 are
//
//	M = γ + b(1-b^n)/(1-b) + θb^(n+1)
//	B = b^n(1 - θ(1-b))                                        for A >= 1
//	I = ((1-b) Σ_{k<=n} b^k (k+γ)³ + b^(n+1) A³)/3,
//
// δ is B/(2M), which falls as A grows, and the variance I/M. At θ = 0 the n with B = 2δM solves b^n
// = q, q = 2δ(γ+b/(1-b))/(1+2δb/(1-b)); θ is then the solution of a linear equation.
func truncatedStaircase(epsilon, delta float64) float64 {
	gamma, _ := noise.StaircaseStep(dp.Privacy{Epsilon: epsilon, Sensitivity: 1}, loss.L2)
	b, c := math.Exp(-epsilon), -math.Expm1(-epsilon)
	s := b / c
	q := 2 * delta * (gamma + s) / (1 + 2*delta*s)
	n := math.Max(0, math.Floor(-math.Log(q)/epsilon))
	last := math.Exp(-epsilon * n) // b^n
	whole := gamma + s*(1-last)
	theta := (last - 2*delta*whole) / (last * (c + 2*delta*b))
	// Rounding may have moved n past an edge, where either n gives the same A.
	theta = math.Min(1, math.Max(0, theta))
	if n == 0 {
		theta = math.Max(theta, 1-gamma) // A >= 1
	}
	end := n + gamma + theta
	mass := whole + theta*last*b
	return (c*cubes(b, c, gamma, n) + last*b*end*end*end) / (3 * mass)
}

// cubes returns Σ_{k=0}^{n} b^k (k+x)³, c = 1-b.
func cubes(b, c, x, n float64) float64 {
	const direct = 64
	if n > direct {
		// nε >= 0.64, so at most 0.995 of the first sum is taken away.
		return endlessCubes(b, c, x) - math.Pow(b, n+1)*endlessCubes(b, c, x+n+1)
	}
	sum, power := 0.0, 1.0
	for k := 0.0; k <= n; k++ {
		y := k + x
		sum += power * y * y * y
		power *= b
	}
	return sum
}

// endlessCubes returns Σ_{k>=0} b^k (k+x)³. With G geometric, P(G=k) = cb^k, it
// is E(G+x)³/c, E G = r, E G² = r(1+2r), E G³ = r(1+6r+6r²), r = b/c.
func endlessCubes(b, c, x float64) float64 {
	r := b / c
	return (r*(1+6*r+6*r*r) + 3*x*r*(1+2*r) + 3*x*x*r + x*x*x) / c
}
