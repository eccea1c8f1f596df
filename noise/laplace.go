package noise

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/quadrature"
	"github.com/noisewright/noisewright/loss"
)

type laplace struct {
	continuous
	scale float64 // s, query units
}

// NewLaplace returns Laplace noise: density exp(-|x|/s)/(2s), s = Δ/ε. It is
// (ε, 0)-private (Dwork, McSherry, Nissim & Smith 2006; Dwork & Roth 2014,
// Theorem 3.6). E|X| = s, E X² = 2s². It needs ε > 0 and makes no use of δ.
func NewLaplace(p dp.Privacy) (Mechanism, error) {
	const name = "laplace"
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Epsilon == 0 {
		return nil, notApplicable(name, "its scale is sensitivity/epsilon and epsilon = 0, want epsilon > 0")
	}
	m := &laplace{continuous{name}, p.Sensitivity / p.Epsilon}
	if err := finiteScale(name, "scale", m.scale); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *laplace) Note() string { return fmt.Sprintf("scale %.6g; delta is not used", m.scale) }

func (m *laplace) Density(x float64) float64 {
	return math.Exp(-math.Abs(x)/m.scale) / (2 * m.scale)
}

func (m *laplace) ExpectedLoss(l loss.Loss) (value, errorBound float64, err error) {
	return evaluate(m.name, l, m.scale, 2*m.scale*m.scale, func(loss loss.Loss) (float64, float64) {
		return exponentialLoss(m.scale, tailCut, loss)
	})
}

// exponentialLoss returns ∫ c(x) exp(-|x|/s)/(2s) over |x| <= end·s: the loss of
// Laplace noise, and of its truncation before normalizing.
func exponentialLoss(scale, end float64, loss loss.Loss) (value, errorBound float64) {
	return quadrature.Integrate(func(y float64) float64 {
		x := scale * y
		return (loss.At(x) + loss.At(-x)) * (math.Exp(-y) / 2)
	}, lossPanels(loss, scale, end))
}
