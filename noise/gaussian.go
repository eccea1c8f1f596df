// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/quadrature"
	"github.com/noisewright/noisewright/loss"
)

// newGaussian returns Gaussian noise with the classical calibration σ = √(2 ln(1.25/δ))·Δ/ε (Dwork
// & Roth 2014, Theorem 3.22 and Appendix A). It is proved for 0 < ε < 1 only, needs 0 < δ, and is
// never better than [newAnalyticGaussian].
func newGaussian(c conditions, p dp.Privacy, _ loss.Loss) (Mechanism, error) {
	c.applies(p.Epsilon > 0 && p.Epsilon < 1,
		"the classical calibration is proved for 0 < epsilon < 1 only and epsilon = %g; analytic-gaussian has no such limit", p.Epsilon)
	c.applies(p.Delta > 0, gaussianNeedsDelta)
	// ln 1.25 - ln δ: the quotient 1.25/δ overflows for a subnormal δ.
	sigma := math.Sqrt(2*(math.Log(1.25)-logarithm(p.Delta))) * p.Sensitivity / p.Epsilon
	c.finite("sigma", sigma)
	return gaussian(sigma), c.err
}

const gaussianNeedsDelta = "Gaussian noise is never private with delta = 0, want delta > 0"

// newAnalyticGaussian is Gaussian noise of the smallest σ that is (ε, δ)-private, [GaussianSigma].
func newAnalyticGaussian(c conditions, _ dp.Privacy, _ loss.Loss) (Mechanism, error) {
	sigma := c.gaussianSigma()
	return gaussian(sigma), c.err
}

// gaussian is normal noise of standard deviation σ, in query units: E|X| = σ√(2/π), E X² = σ².
func gaussian(sigma float64) Mechanism {
	root := math.Sqrt(2 * math.Pi)
	return Mechanism{
		note: func() string { return fmt.Sprintf("sigma %.6g", sigma) },
		density: func(x float64) float64 {
			y := x / sigma
			return math.Exp(-y*y/2) / (sigma * root)
		},
		expected: func(l loss.Loss) (value, errorBound float64) {
			return evaluate(l, sigma*math.Sqrt(2/math.Pi), sigma*sigma, func(l loss.Loss) (value, errorBound float64) {
				// Beyond √(2·tailCut) standard deviations the density is below e^-tailCut.
				return integrate(l, sigma, math.Sqrt(2*tailCut), func(y float64) float64 { return math.Exp(-y * y / 2) }, root)
			})
		},
	}
}

// GaussianSigma returns the smallest standard deviation, in query units, of normal noise that is
// (ε, δ)-private (Balle & Wang 2018, Theorem 8), for any ε >= 0 and δ > 0.
//
// It is rounded up: the exact δ achieved by the σ returned is at most δ, by the error bound of the
// evaluation. For ε <= 100 and 1e-300 <= δ <= 0.9 σ exceeds the exact solution by less than one
// part in 10^12. The error wraps [dp.ErrInvalid] for bad parameters and is a [NotApplicableError]
// for δ = 0. The cost is some 60 microseconds.
func GaussianSigma(p dp.Privacy) (float64, error) {
	c := newConditions(AnalyticGaussian, p)
	return c.gaussianSigma(), c.err
}

// gaussianSigma is GaussianSigma, 0 if it does not apply.
func (c *conditions) gaussianSigma() float64 {
	p := c.privacy
	if !c.applies(p.Delta > 0, gaussianNeedsDelta) {
		return 0
	}
	sigma := p.Sensitivity / solveMu(p.Epsilon, p.Delta)
	// Round up: step away from the solution, each step twice the last, until
	// δ is met with the error bound of gaussianLogDelta to spare.
	target := logarithm(p.Delta)
	for step := 0x1p-52; ; step *= 2 {
		if !c.finite("sigma", sigma) {
			return 0
		}
		logDelta, errorBound := gaussianLogDelta(p.Epsilon, p.Sensitivity/sigma)
		if logDelta+errorBound <= target {
			return sigma
		}
		sigma *= 1 + step
	}
}

// gaussianDelta returns the least δ for which normal noise of standard deviation sigma is (ε,
// δ)-private on a query of the given sensitivity, both in query units and > 0, for ε >= 0. The
// relative error is below 1e-12 for ε <= 100 where δ is a normal float64.
//
// Source: Balle & Wang 2018, Theorem 8, with Φ the normal distribution function:
//
//	δ = Φ(Δ/2σ - εσ/Δ) - e^ε Φ(-Δ/2σ - εσ/Δ).
func gaussianDelta(epsilon, sensitivity, sigma float64) float64 {
	logDelta, _ := gaussianLogDelta(epsilon, sensitivity/sigma)
	return math.Exp(logDelta)
}

// gaussianLogDelta is ln δ of Gaussian noise with μ = Δ/σ > 0 and a bound on its absolute error.
//
// The difference in Balle & Wang's formula cancels: for small ε and δ both terms
// are much larger than δ. Its derivative by μ, however, is a normal density (it
// is the vega of the Black-Scholes formula, which this is): with u(m) = ε/m-m/2,
//
//	δ(μ) = ∫₀^μ φ(u(m)) dm = ∫_u^∞ φ(w) (1 - w/√(w²+2ε)) dw,  u = u(μ),
//
// the second by substituting w = u(m). The integrand is positive, and its two scales are known: 1
// or 1/u for φ, and √(2ε) for the other factor. For u > 0 φ(u) is taken out: δ may be tiny.
func gaussianLogDelta(epsilon, mu float64) (logDelta, errorBound float64) {
	u, v := epsilon/mu-mu/2, epsilon/mu+mu/2
	q := math.Sqrt2 * math.Sqrt(epsilon)
	factor := func(w float64) float64 {
		root := math.Hypot(w, q)
		if w <= 0 {
			return 1 - w/root
		}
		return q / root * (q / (w + root))
	}
	const (
		farBelow = 0x1p-60 // relative to the range of w: beneath rounding
		farAbove = 38.0    // φ(38) = 1e-314
		farGap   = 50.0    // e^-50 = 2e-22
	)
	var panels []float64
	var integrand func(float64) float64
	var peak, density float64 // the factor taken out is e^-peak; φ(u)√(2π) over it
	if u >= 0 {
		peak, density = u*u/2, 1
		integrand = func(y float64) float64 { return math.Exp(-y*(2*u+y)/2) * factor(u+y) }
		// Until uy = farGap or y²/2 = farGap.
		end := math.Min(farGap/u, math.Sqrt(2*farGap))
		panels = quadrature.GeometricPanels([]float64{0}, math.Min(math.Max(u, q)/4, 1/math.Max(1, u)), end)
	} else {
		density = math.Exp(-u * u / 2)
		integrand = func(w float64) float64 { return math.Exp(-w*w/2) * factor(w) }
		first := math.Min(1, math.Max(q/4, -u*farBelow))
		for _, w := range quadrature.GeometricPanels([]float64{0}, first, -u) {
			panels = append(panels, -w)
		}
		slices.Reverse(panels)
		panels = quadrature.GeometricPanels(panels, first, farAbove)
	}
	value, quadrature := quadrature.Integrate(integrand, panels)
	logDelta = math.Log(value) - peak - 0.5*math.Log(2*math.Pi)
	// u is off by v ulps, which moves δ by φ(u)·factor(u) times that. The last
	// term is the subnormal range, reached only at ε = 0.
	const ulp = 0x1p-52
	errorBound = quadrature/value + ulp*(16+2*v*density*factor(u)/value+4*math.Abs(logDelta)) + 0x1p-1060/value
	return logDelta, errorBound
}

// solveMu returns the μ = Δ/σ with δ(μ) = delta, nearly to the last place: Newton's method on ln δ
// against ln μ, whose slope μφ(u)/δ is explicit, kept inside a bracket.
func solveMu(epsilon, delta float64) float64 {
	target := logarithm(delta)
	excess := func(mu float64) float64 {
		logDelta, _ := gaussianLogDelta(epsilon, mu)
		return logDelta - target
	}
	// At μ = √(2ε) u is 0 and δ(μ) is of order 1/2 or 1/μ, whatever ε.
	low := 1.0
	if epsilon > 0 {
		low = math.Sqrt2 * math.Sqrt(epsilon)
	}
	high := low
	// The ends of float64 stop the search where rounding hides the solution, at δ
	// within an ulp of 0 or 1; the caller rounds up from wherever it ends.
	for low > 0x1p-1070 && !(excess(low) < 0) {
		low /= 2
	}
	for high < 0x1p1000 && !(excess(high) >= 0) {
		high *= 2
	}
	mu := math.Sqrt(low) * math.Sqrt(high)
	for range 200 {
		g := excess(mu)
		if g < 0 {
			low = mu
		} else {
			high = mu
		}
		u := epsilon/mu - mu/2
		slope := mu * math.Exp(-u*u/2-(g+target)) / math.Sqrt(2*math.Pi)
		next := mu * math.Exp(-g/slope)
		if !(next > low && next < high) {
			// In the logarithm: the bracket may span 100 powers of ten.
			next = math.Sqrt(low) * math.Sqrt(high)
		}
		if math.Abs(next-mu) <= 0x1p-52*mu {
			return next
		}
		mu = next
	}
	return mu
}
