package noise

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

type uniform struct {
	continuous
	bound float64 // A, query units
}

// NewUniform returns noise uniform on |x| <= A = Δ/(2δ). A shift of Δ uncovers a
// mass of exactly Δ/(2A) = δ, so it is (0, δ)-private and therefore (ε, δ)-private
// for every ε. E|X| = A/2, E X² = A²/3. For ε = 0 and δ <= 1/2 (l1) or δ <= 2/3
// (l2) it is the best noise whose density does not increase away from 0 (Geng,
// Ding, Guo & Kumar, "Optimal noise-adding mechanism in additive differential
// privacy", AISTATS 2019). It needs δ > 0 and makes no use of ε.
func NewUniform(p dp.Privacy) (Mechanism, error) {
	const name = "uniform"
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Delta == 0 {
		return nil, notApplicable(name, "noise with bounded support is never private with delta = 0, want delta > 0")
	}
	m := &uniform{continuous{name}, p.Sensitivity / (2 * p.Delta)}
	if err := finiteScale(name, "support", m.bound); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *uniform) Note() string {
	return fmt.Sprintf("support +-%.6g; private with epsilon = 0, epsilon is not used", m.bound)
}

func (m *uniform) Density(x float64) float64 {
	if math.Abs(x) > m.bound {
		return 0
	}
	return 1 / (2 * m.bound)
}

// ExpectedLoss for a loss other than L1 and L2 is the loss's own average over the
// support.
func (m *uniform) ExpectedLoss(l loss.Loss) (value, errorBound float64, err error) {
	return evaluate(m.name, l, m.bound/2, m.bound*m.bound/3, func(loss loss.Loss) (float64, float64) {
		value := loss.CellMean(0, 2*m.bound)
		return value, closedFormError * value
	})
}
