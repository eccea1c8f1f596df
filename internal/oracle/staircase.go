package oracle

import (
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// StaircaseLoss returns the least expected loss of any (ε, 0)-private additive
// noise, in the loss's units, and whether it is known in closed form: for ε > 0
// and L1 or L2. The relative rounding error is below 1e-13.
//
// Source: Geng & Viswanath 2016, with b = e^-ε:
//
//	E|X| = Δ e^(ε/2)/(e^ε-1)
//	E X² = Δ² (2^(-2/3) b^(2/3) (1+b)^(2/3) + b)/(1-b)².
func StaircaseLoss(p dp.Privacy, l loss.Loss) (value float64, ok bool) {
	if p.Validate() != nil || p.Epsilon == 0 {
		return 0, false
	}
	b, c := math.Exp(-p.Epsilon), -math.Expm1(-p.Epsilon)
	switch l.(type) {
	case loss.L1:
		return p.Sensitivity * math.Exp(-p.Epsilon/2) / c, true
	case loss.L2:
		u := math.Cbrt(b * (1 + b) / 2)
		d := p.Sensitivity / c
		return d * d * (u*u + b), true
	default:
		return 0, false
	}
}
