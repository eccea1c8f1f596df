package noise

import (
	"fmt"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

type staircaseAtom struct {
	*staircase
	atom float64
}

// NewStaircaseAtom returns staircase noise, tuned to the loss as in
// [NewStaircase], with probability 1-δ and exactly 0 with probability δ. It needs
// ε > 0; for δ = 0 it is the staircase.
//
// Mixing (ε, δ₀)-private noise with an atom at 0 of weight t is
// (ε, (1-t)δ₀+t)-private: the hockey-stick divergence is jointly convex, and
// the atom's own is 1 at every shift but 0. Its loss is (1-t)V + t·c(0). Here
// δ₀ = 0 and t = δ. From some δ on the optimum over all noise has exactly this
// dependence on δ, which makes the mixture a strong baseline for large δ or ε.
func NewStaircaseAtom(p dp.Privacy, loss loss.Loss) (Mechanism, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Epsilon == 0 {
		return nil, notApplicable("staircase-atom", "its steps fall by exp(-epsilon) and epsilon = 0, want epsilon > 0")
	}
	s, err := newStaircase(p, loss)
	if err != nil {
		return nil, err
	}
	return &staircaseAtom{s, p.Delta}, nil
}

func (m *staircaseAtom) Name() string { return "staircase-atom" }

func (m *staircaseAtom) Note() string {
	return fmt.Sprintf("step %.6g of the sensitivity, tuned to %s; exactly 0 with probability %.6g", m.step, m.tuned, m.atom)
}

func (m *staircaseAtom) Density(x float64) float64 { return (1 - m.atom) * m.staircase.Density(x) }

func (m *staircaseAtom) Mass(x float64) float64 {
	if x == 0 {
		return m.atom
	}
	return 0
}

func (m *staircaseAtom) ExpectedLoss(loss loss.Loss) (value, errorBound float64, err error) {
	value, errorBound, err = m.staircase.ExpectedLoss(loss)
	if err != nil {
		return 0, 0, err
	}
	value = (1-m.atom)*value + m.atom*loss.At(0)
	return value, (1-m.atom)*errorBound + closedFormError*value, nil
}
