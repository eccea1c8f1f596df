package noise

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/quadrature"
	"github.com/noisewright/noisewright/loss"
)

// gaussian is normal noise of mean 0 and standard deviation σ: E|X| = σ√(2/π),
// E X² = σ².
type gaussian struct {
	continuous
	sigma float64 // query units
}

// NewGaussian returns Gaussian noise with the classical calibration
// σ = √(2 ln(1.25/δ))·Δ/ε (Dwork & Roth 2014, Theorem 3.22 and Appendix A). It
// is proved for 0 < ε < 1 only, needs 0 < δ, and is never better than
// [NewAnalyticGaussian].
func NewGaussian(p dp.Privacy) (Mechanism, error) {
	const name = "gaussian"
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Epsilon == 0 || p.Epsilon >= 1 {
		return nil, notApplicable(name, "the classical calibration is proved for 0 < epsilon < 1 only and epsilon = %g; analytic-gaussian has no such limit", p.Epsilon)
	}
	if p.Delta == 0 {
		return nil, notApplicable(name, "Gaussian noise is never private with delta = 0, want delta > 0")
	}
	// ln 1.25 - ln δ: the quotient 1.25/δ overflows for a subnormal δ.
	m := &gaussian{continuous{name}, math.Sqrt(2*(math.Log(1.25)-logarithm(p.Delta))) * p.Sensitivity / p.Epsilon}
	if err := finiteScale(name, "sigma", m.sigma); err != nil {
		return nil, err
	}
	return m, nil
}

// NewAnalyticGaussian returns Gaussian noise with the smallest σ that is
// (ε, δ)-private, [GaussianSigma].
func NewAnalyticGaussian(p dp.Privacy) (Mechanism, error) {
	sigma, err := GaussianSigma(p)
	if err != nil {
		return nil, err
	}
	return &gaussian{continuous{analyticGaussian}, sigma}, nil
}

func (m *gaussian) Note() string { return fmt.Sprintf("sigma %.6g", m.sigma) }

func (m *gaussian) Density(x float64) float64 {
	y := x / m.sigma
	return math.Exp(-y*y/2) / (m.sigma * math.Sqrt(2*math.Pi))
}

func (m *gaussian) ExpectedLoss(l loss.Loss) (value, errorBound float64, err error) {
	return evaluate(m.name, l, m.sigma*math.Sqrt(2/math.Pi), m.sigma*m.sigma, func(loss loss.Loss) (float64, float64) {
		// Beyond √(2·tailCut) standard deviations the density is below
		// e^-tailCut.
		return quadrature.Integrate(func(y float64) float64 {
			x := m.sigma * y
			return (loss.At(x) + loss.At(-x)) * math.Exp(-y*y/2) / math.Sqrt(2*math.Pi)
		}, lossPanels(loss, m.sigma, math.Sqrt(2*tailCut)))
	})
}
