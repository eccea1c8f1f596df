package noise

import (
	"fmt"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// StaircaseAtom is staircase noise with probability 1-δ and exactly 0 with
// probability δ.
//
// Mixing (ε, δ₀)-private noise with an atom at 0 of weight t is
// (ε, (1-t)δ₀+t)-private: the hockey-stick divergence is jointly convex, and
// the atom's own is 1 at every shift but 0. Its loss is (1-t)V + t·c(0). Here
// δ₀ = 0 and t = δ. From some δ on the optimum over all noise has exactly this
// dependence on δ, which makes the mixture a strong baseline for large δ or ε.
//
// It is immutable and safe for concurrent use.
type StaircaseAtom struct {
	staircase *Staircase
	atom      float64
}

// NewStaircaseAtom returns the staircase mechanism, tuned to the loss as in
// [NewStaircase], mixed with an atom of weight δ. It needs ε > 0; for δ = 0 it
// is the staircase.
func NewStaircaseAtom(p dp.Privacy, loss loss.Loss) (*StaircaseAtom, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Epsilon == 0 {
		return nil, notApplicable("staircase-atom", "its steps fall by exp(-epsilon) and epsilon = 0, want epsilon > 0")
	}
	s, err := NewStaircase(p, loss)
	if err != nil {
		return nil, err
	}
	return &StaircaseAtom{staircase: s, atom: p.Delta}, nil
}

// Name implements Mechanism.
func (m *StaircaseAtom) Name() string { return "staircase-atom" }

// Note implements Mechanism.
func (m *StaircaseAtom) Note() string {
	return fmt.Sprintf("step %.6g of the sensitivity, tuned to %s; exactly 0 with probability %.6g",
		m.staircase.step, m.staircase.tuned, m.atom)
}

// Step returns γ of the staircase part, relative to Δ.
func (m *StaircaseAtom) Step() float64 { return m.staircase.step }

// Density implements Mechanism.
func (m *StaircaseAtom) Density(x float64) float64 { return (1 - m.atom) * m.staircase.Density(x) }

// Atom implements Mechanism.
func (m *StaircaseAtom) Atom() float64 { return m.atom }

// ExpectedLoss implements Mechanism.
func (m *StaircaseAtom) ExpectedLoss(loss loss.Loss) (value, errorBound float64, err error) {
	value, errorBound, err = m.staircase.ExpectedLoss(loss)
	if err != nil {
		return 0, 0, err
	}
	value = (1-m.atom)*value + m.atom*loss.At(0)
	return value, (1-m.atom)*errorBound + closedFormError*value, nil
}
