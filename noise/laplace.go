// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

// newLaplace returns Laplace noise: density exp(-|x|/s)/(2s), s = Δ/ε. It is
// (ε, 0)-private (Dwork, McSherry, Nissim & Smith 2006; Dwork & Roth 2014,
// Theorem 3.6). E|X| = s, E X² = 2s². It needs ε > 0 and makes no use of δ.
func newLaplace(c conditions, p dp.Privacy, _ loss.Loss) (Mechanism, error) {
	c.applies(p.Epsilon > 0, "its scale is sensitivity/epsilon and epsilon = 0, want epsilon > 0")
	scale := p.Sensitivity / p.Epsilon
	c.finite("scale", scale)
	return Mechanism{
		note:    func() string { return fmt.Sprintf("scale %.6g; delta is not used", scale) },
		density: func(x float64) float64 { return math.Exp(-math.Abs(x)/scale) / (2 * scale) },
		expected: func(l loss.Loss) (value, errorBound float64) {
			return evaluate(l, scale, 2*scale*scale, func(l loss.Loss) (value, errorBound float64) {
				return exponentialLoss(scale, tailCut, l)
			})
		},
	}, c.err
}

// exponentialLoss returns ∫ c(x) exp(-|x|/s)/(2s) over |x| <= end·s: the loss of
// Laplace noise, and of its truncation before normalizing.
func exponentialLoss(scale, end float64, l loss.Loss) (value, errorBound float64) {
	return integrate(l, scale, end, func(y float64) float64 { return math.Exp(-y) }, 2)
}

// newTruncatedLaplace returns Laplace noise of scale Δ/ε cut to |x| <= A and
// normalized (Geng, Ding, Guo & Kumar, "Tight analysis of privacy and utility
// tradeoff in approximate differential privacy", AISTATS 2020), where
//
//	A = (Δ/ε) ln(1 + (e^ε-1)/(2δ)).
//
// Inside the support the density falls by at most e^ε over a shift of Δ, so its hockey-stick
// divergence at a shift is the mass that the shift uncovers. For δ <= 1/2, that is A >= Δ, that
// mass is exactly δ at Δ and less below. For δ > 1/2 the uncovered part reaches over the peak and
// its mass is below δ: still private, but wasteful, so much that its loss may grow with ε.
//
// It needs δ > 0; at ε = 0 it is its limit, uniform noise on |x| <= Δ/(2δ).
func newTruncatedLaplace(c conditions, p dp.Privacy, _ loss.Loss) (Mechanism, error) {
	c.applies(p.Delta > 0, boundedNeedsDelta)
	bound, decay := truncatedBound(p), truncatedDecay(p.Epsilon, p.Delta) // A and εA/Δ
	c.finite("support", bound)
	peak := 1 / (2 * bound) // the density at 0, L/(2A(1-e^-L))
	if decay > 0 {
		peak = decay / (-2 * math.Expm1(-decay) * bound)
	}
	return Mechanism{
		note: func() string {
			note := fmt.Sprintf("support +-%.6g", bound)
			if p.Delta > 0.5 {
				note += "; delta > 1/2: conservative, it achieves a smaller delta"
			}
			return note
		},
		bound: bound,
		density: func(x float64) float64 {
			y := math.Abs(x) / bound
			if y > 1 {
				return 0
			}
			return math.Exp(-decay*y) * peak
		},
		expected: func(l loss.Loss) (value, errorBound float64) {
			first, second := truncatedMoments(decay)
			return evaluate(l, bound*first, bound*bound*second, func(l loss.Loss) (value, errorBound float64) {
				if decay < 1 { // nearly uniform: in units of the support
					factor := peak * bound
					value, errorBound = integrate(l, bound, 1, func(y float64) float64 { return math.Exp(-decay * y) }, 1)
					return factor * value, factor * errorBound
				}
				mass := -math.Expm1(-decay)
				value, errorBound = exponentialLoss(bound/decay, decay, l)
				return value / mass, errorBound / mass
			})
		},
	}, c.err
}

// truncatedBound returns A, the half-width of the truncated Laplace
// mechanism's support in query units: its noise lies in [-A, A]. For ε = 0 it
// is Δ/(2δ), for δ = 0 it is +Inf. The relative rounding error is below 1e-14
// wherever A is a normal float64. The parameters must be valid.
func truncatedBound(p dp.Privacy) float64 {
	if p.Delta == 0 {
		return math.Inf(1)
	}
	// With t = (e^ε-1)/(2δ) the limit is off by a factor 1 - t/2 at most; below
	// it the subnormal range would take away digits that it still has.
	if p.Epsilon <= 1e-17*p.Delta {
		return p.Sensitivity / (2 * p.Delta)
	}
	return truncatedDecay(p.Epsilon, p.Delta) / p.Epsilon * p.Sensitivity
}

// truncatedDecay returns ln(1+t), t = (e^ε-1)/(2δ), without overflow or loss for small t; δ > 0.
func truncatedDecay(epsilon, delta float64) float64 {
	const (
		largeExponent = 700.0 // e^700 is within float64
		largeRatio    = 1e17  // from here on ln(1+t) is ln t to the last place
	)
	if epsilon <= largeExponent {
		if t := math.Expm1(epsilon) / (2 * delta); t < largeRatio {
			return math.Log1p(t)
		}
	}
	// e^ε-1 = e^ε(1-e^-ε).
	return epsilon + math.Log(-math.Expm1(-epsilon)) - math.Ln2 - logarithm(delta)
}

// truncatedMoments returns E Y and E Y² for Y on [0, 1] with density proportional to e^(-Ly), L >=
// 0. In the notation φ_k(L) = Σ_n L^n/(n+k)! they are φ₂/φ₁ and 2φ₃/φ₁, that is
//
//	E Y = (e^L-1-L)/(L(e^L-1)),  E Y² = 2(e^L-1-L-L²/2)/(L²(e^L-1)).
//
// These equal the paper's E|X| = (Δ/ε)(1-ln(1+t)/t) and E X² = 2(Δ/ε)²(1-(ln(1+t)+ln²(1+t)/2)/t)
// with X = AY, L = ln(1+t), but have no difference left when L is small: there the series, of
// positive terms, is summed.
func truncatedMoments(decay float64) (first, second float64) {
	// Up to 4 the series needs 30 terms; above, the differences lose less than one bit.
	const seriesBelow = 4.0
	if decay > seriesBelow {
		r := 1 / math.Expm1(decay)
		return 1/decay - r, 2 * (1/decay - (1+decay/2)*r) / decay
	}
	var phi1, phi2, phi3 float64
	term := 1.0 // L^n/(n+1)!
	for n := 1.0; term > 0x1p-60; n++ {
		phi1 += term
		phi2 += term / (n + 1)
		phi3 += term / ((n + 1) * (n + 2))
		term *= decay / (n + 1)
	}
	return phi2 / phi1, 2 * phi3 / phi1
}

// newDiscreteLaplace returns two-sided geometric noise on the integers of the query's unit,
//
//	P(X = k) = (1-q)/(1+q) · q^|k|,  q = e^(-ε/Δ),
//
// for a query with integer values and integer sensitivity Δ. It is (ε, 0)-private (Ghosh,
// Roughgarden & Sundararajan 2012), and for Δ = 1 the optimum at δ = 0. It needs ε > 0, and no δ.
//
// It has no density, so it is no competitor on a real-valued query. There it would have to follow a
// rounding to some grid, which moves neighboring values further apart and adds an error of its own;
// as the grid gets finer it turns into Laplace noise.
func newDiscreteLaplace(c conditions, p dp.Privacy, _ loss.Loss) (Mechanism, error) {
	c.applies(p.Epsilon > 0, "its masses fall by exp(-epsilon/sensitivity) and epsilon = 0, want epsilon > 0")
	c.applies(math.Trunc(p.Sensitivity) == p.Sensitivity,
		integersOnly, p.Sensitivity)
	rate := p.Epsilon / p.Sensitivity // q = e^-rate
	c.finite("scale", 1/rate)
	q, rest := math.Exp(-rate), -math.Expm1(-rate) // 1-q
	return Mechanism{
		note: func() string {
			return fmt.Sprintf("integers only: assumes integer query values; ratio %.6g; delta is not used", q)
		},
		mass: func(x float64) float64 {
			if x != math.Trunc(x) {
				return 0
			}
			return math.Tanh(rate/2) * math.Exp(-rate*math.Abs(x))
		},
		// E|X| = 2q/(1-q²), E X² = 2q/(1-q)².
		expected: func(l loss.Loss) (value, errorBound float64) {
			return evaluate(l, 2*q/-math.Expm1(-2*rate), 2*q/rest/rest, func(l loss.Loss) (value, errorBound float64) {
				return discreteLaplaceLoss(rate, l)
			})
		},
	}, c.err
}

// discreteLaplaceLoss sums c over the integers. The error bound is a rounding bound down to a rate
// of smallSumEpsilon. Below, the sum is replaced by the integral of g(x) = (c(x)+c(-x))e^(-ax) over
// x > 0 (trapezoid rule), at an error of half the total variation of g. For a loss that does not
// decrease away from 0 the falling part of g varies by a∫g, and so, at most, does the rising part:
// a relative error of a.
func discreteLaplaceLoss(rate float64, l loss.Loss) (value, errorBound float64) {
	p0 := math.Tanh(rate / 2)
	if rate < smallSumEpsilon {
		value, errorBound = exponentialLoss(1/rate, tailCut, l)
		unit := 2 * p0 / rate
		return unit * value, unit * (errorBound + rate*value)
	}
	var sum exact.Sum
	sum.Add(l.At(0))
	for k := 1.0; k*rate <= tailCut; k++ {
		sum.Add((l.At(k) + l.At(-k)) * math.Exp(-rate*k))
	}
	return closed(p0 * sum.Value())
}
