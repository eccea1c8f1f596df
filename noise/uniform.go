// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// newUniform returns noise uniform on |x| <= A = Δ/(2δ). A shift of Δ uncovers a mass of exactly
// Δ/(2A) = δ, so it is (0, δ)-private and therefore (ε, δ)-private for every ε. E|X| = A/2, E X² =
// A²/3. For ε = 0 and δ <= 1/2 (l1) or δ <= 2/3 (l2) it is the best noise whose density does not
// increase away from 0 (Geng, Ding, Guo & Kumar, "Optimal noise-adding mechanism in additive
// differential privacy", AISTATS 2019). It needs δ > 0 and makes no use of ε.
func newUniform(c conditions, p dp.Privacy, _ loss.Loss) (Mechanism, error) {
	c.applies(p.Delta > 0, boundedNeedsDelta)
	bound := p.Sensitivity / (2 * p.Delta)
	c.finite("support", bound)
	return Mechanism{
		note: func() string {
			return fmt.Sprintf("support +-%.6g; private with epsilon = 0, epsilon is not used", bound)
		},
		bound: bound,
		density: func(x float64) float64 {
			if math.Abs(x) > bound {
				return 0
			}
			return 1 / (2 * bound)
		},
		expected: func(l loss.Loss) (value, errorBound float64) {
			return evaluate(l, bound/2, bound*bound/3, func(l loss.Loss) (value, errorBound float64) {
				return closed(l.CellMean(0, 2*bound)) // the average over the support
			})
		},
	}, c.err
}

const boundedNeedsDelta = "noise with bounded support is never private with delta = 0, want delta > 0"
