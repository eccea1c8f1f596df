package noise

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/quadrature"
	"github.com/noisewright/noisewright/loss"
)

// Laplace is Laplace noise: density exp(-|x|/s)/(2s), s = Δ/ε. It is
// (ε, 0)-private (Dwork, McSherry, Nissim & Smith 2006; Dwork & Roth 2014,
// Theorem 3.6). E|X| = s, E X² = 2s². It is immutable and safe for concurrent
// use.
type Laplace struct {
	scale float64
}

// NewLaplace returns the Laplace mechanism. It needs ε > 0 and makes no use of
// δ.
func NewLaplace(p dp.Privacy) (*Laplace, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Epsilon == 0 {
		return nil, notApplicable("laplace", "its scale is sensitivity/epsilon and epsilon = 0, want epsilon > 0")
	}
	m := &Laplace{scale: p.Sensitivity / p.Epsilon}
	if err := finiteScale("laplace", "scale", m.scale); err != nil {
		return nil, err
	}
	return m, nil
}

// Name implements Mechanism.
func (m *Laplace) Name() string { return "laplace" }

// Note implements Mechanism.
func (m *Laplace) Note() string { return fmt.Sprintf("scale %.6g; delta is not used", m.scale) }

// Scale returns s = Δ/ε, in query units.
func (m *Laplace) Scale() float64 { return m.scale }

// Density implements Mechanism.
func (m *Laplace) Density(x float64) float64 {
	return math.Exp(-math.Abs(x)/m.scale) / (2 * m.scale)
}

// Atom implements Mechanism.
func (m *Laplace) Atom() float64 { return 0 }

// ExpectedLoss implements Mechanism.
func (m *Laplace) ExpectedLoss(l loss.Loss) (value, errorBound float64, err error) {
	return evaluate(m.Name(), l, m.scale, 2*m.scale*m.scale, func(loss loss.Loss) (float64, float64) {
		return exponentialLoss(m.scale, tailCut, loss)
	})
}

// exponentialLoss returns ∫ c(x) exp(-|x|/s)/(2s) over |x| <= end·s: the loss of
// Laplace noise, and of its truncation before normalising.
func exponentialLoss(scale, end float64, loss loss.Loss) (value, errorBound float64) {
	return quadrature.Integrate(func(y float64) float64 {
		x := scale * y
		return (loss.At(x) + loss.At(-x)) * (math.Exp(-y) / 2)
	}, lossPanels(loss, scale, end))
}
