package noise

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
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

// newAnalyticGaussian returns Gaussian noise with the smallest σ that is
// (ε, δ)-private, [GaussianSigma].
func newAnalyticGaussian(c conditions, _ dp.Privacy, _ loss.Loss) (Mechanism, error) {
	sigma := c.gaussianSigma()
	return gaussian(sigma), c.err
}

// gaussian is normal noise of mean 0 and standard deviation σ, in query units:
// E|X| = σ√(2/π), E X² = σ².
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
