package noise

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// newLaplace returns Laplace noise: density exp(-|x|/s)/(2s), s = Δ/ε. It is
// (ε, 0)-private (Dwork, McSherry, Nissim & Smith 2006; Dwork & Roth 2014,
// Theorem 3.6). E|X| = s, E X² = 2s². It needs ε > 0 and makes no use of δ.
func newLaplace(c conditions, p dp.Privacy, _ loss.Loss) (Mechanism, error) {
	c.applies(p.Epsilon > 0, "its scale is sensitivity/epsilon and epsilon = 0, want epsilon > 0")
	scale := p.Sensitivity / p.Epsilon
	c.finite("scale", scale)
	return Mechanism{
		note:    func() string { return fmt.Sprintf("scale %.6g; delta is not used", scale) },
		density: func(x float64) float64 { return math.Exp(-math.Abs(x)/scale) / (2 * scale) },
		expected: func(l loss.Loss) (value, errorBound float64) {
			return evaluate(l, scale, 2*scale*scale, func(l loss.Loss) (value, errorBound float64) {
				return exponentialLoss(scale, tailCut, l)
			})
		},
	}, c.err
}

// exponentialLoss returns ∫ c(x) exp(-|x|/s)/(2s) over |x| <= end·s: the loss of
// Laplace noise, and of its truncation before normalizing.
func exponentialLoss(scale, end float64, l loss.Loss) (value, errorBound float64) {
	return integrate(l, scale, end, func(y float64) float64 { return math.Exp(-y) }, 2)
}
