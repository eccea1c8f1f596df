package noise

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

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
	bound, decay := TruncatedLaplaceBound(p), truncatedDecay(p.Epsilon, p.Delta) // A and εA/Δ
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

// TruncatedLaplaceBound returns A, the half-width of the truncated Laplace
// mechanism's support in query units: its noise lies in [-A, A]. For ε = 0 it
// is Δ/(2δ), for δ = 0 it is +Inf. The relative rounding error is below 1e-14
// wherever A is a normal float64. The parameters must be valid.
func TruncatedLaplaceBound(p dp.Privacy) float64 {
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

// truncatedDecay returns ln(1+t), t = (e^ε-1)/(2δ), without overflow and
// without loss for small t; δ > 0.
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

// truncatedMoments returns E Y and E Y² for Y on [0, 1] with density
// proportional to e^(-Ly), L >= 0. In the notation φ_k(L) = Σ_n L^n/(n+k)! they
// are φ₂/φ₁ and 2φ₃/φ₁, that is
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
