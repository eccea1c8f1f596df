package oracle

import (
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// AdditiveOptimum returns the least expected loss of any (0, δ)-private additive
// noise whose density does not increase away from 0, atoms at 0 allowed, in the
// loss's units. The parameters must have ε = 0 and δ > 0, the loss must be L1
// or L2; otherwise the error wraps [noise.ErrNotApplicable] (or [dp.ErrInvalid] for
// invalid parameters). The relative rounding error is below 1e-14.
//
// Source: Geng, Ding, Guo & Kumar, "Optimal noise-adding mechanism in additive
// differential privacy", AISTATS 2019:
//
//	l1: Δ/(4δ)     for δ <= 1/2,  Δ(1-δ)       above
//	l2: Δ²/(12δ²)  for δ <= 2/3,  (9/16)Δ²(1-δ) above.
//
// The first case is uniform noise, the second that noise for the threshold δ
// mixed with an atom at 0.
//
// The restriction on the density matters. Over all noise the value is exact if
// 1/(2δ) is an integer, and for l1 with δ >= 1/2; elsewhere noise with a density
// that rises and falls is better (l1, δ = 0.3: at most 0.827577 against
// 0.833333; l2, δ = 0.75: at most 0.136142 against 0.140625).
func AdditiveOptimum(p dp.Privacy, l loss.Loss) (float64, error) {
	const name = "additive optimum"
	if err := p.Validate(); err != nil {
		return 0, err
	}
	if err := checkLoss(l); err != nil {
		return 0, err
	}
	if p.Epsilon != 0 {
		return 0, notApplicable(name, "it is the optimum for epsilon = 0 and epsilon = %g", p.Epsilon)
	}
	if p.Delta == 0 {
		return 0, notApplicable(name, "no noise is private with epsilon = 0 and delta = 0")
	}
	d := p.Sensitivity
	switch l.(type) {
	case loss.L1:
		if p.Delta <= 0.5 {
			return d / (4 * p.Delta), nil
		}
		return d * (1 - p.Delta), nil
	case loss.L2:
		if 3*p.Delta <= 2 {
			a := d / p.Delta
			return a * a / 12, nil
		}
		return d * d * (1 - p.Delta) * 9 / 16, nil
	default:
		return 0, notApplicable(name, "it is known for the losses l1 and l2 only, loss = %s", l.Name())
	}
}
