package noise

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// Uniform is noise uniform on |x| <= A = Δ/(2δ). A shift of Δ uncovers a mass of
// exactly Δ/(2A) = δ, so it is (0, δ)-private and therefore (ε, δ)-private for
// every ε. E|X| = A/2, E X² = A²/3. For ε = 0 and δ <= 1/2 (l1) or δ <= 2/3
// (l2) it is the best noise whose density does not increase away from 0; see
// [AdditiveOptimum]. It is immutable and safe for concurrent use.
type Uniform struct {
	bound float64
}

// NewUniform returns the uniform mechanism. It needs δ > 0 and makes no use of
// ε.
func NewUniform(p dp.Privacy) (*Uniform, error) {
	const name = "uniform"
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Delta == 0 {
		return nil, notApplicable(name, "noise with bounded support is never private with delta = 0, want delta > 0")
	}
	m := &Uniform{bound: p.Sensitivity / (2 * p.Delta)}
	if err := finiteScale(name, "support", m.bound); err != nil {
		return nil, err
	}
	return m, nil
}

// Name implements Mechanism.
func (m *Uniform) Name() string { return "uniform" }

// Note implements Mechanism.
func (m *Uniform) Note() string {
	return fmt.Sprintf("support +-%.6g; private with epsilon = 0, epsilon is not used", m.bound)
}

// Bound returns A, the half-width of the support, in query units.
func (m *Uniform) Bound() float64 { return m.bound }

// Density implements Mechanism.
func (m *Uniform) Density(x float64) float64 {
	if math.Abs(x) > m.bound {
		return 0
	}
	return 1 / (2 * m.bound)
}

// Atom implements Mechanism.
func (m *Uniform) Atom() float64 { return 0 }

// ExpectedLoss implements Mechanism. For a loss other than L1 and L2 it is the
// loss's own average over the support.
func (m *Uniform) ExpectedLoss(l loss.Loss) (value, errorBound float64, err error) {
	return evaluate(m.Name(), l, m.bound/2, m.bound*m.bound/3, func(loss loss.Loss) (float64, float64) {
		value := loss.CellMean(0, 2*m.bound)
		return value, closedFormError * value
	})
}
