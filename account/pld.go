// SPDX-License-Identifier: Apache-2.0

package account

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// pmf is a privacy loss distribution on a grid, or a bound on one: mass[i] at the
// loss (first+i)·step, and infinityMass at +∞. Its total need not be 1.
type pmf struct {
	step         float64
	first        int
	mass         []float64
	infinityMass float64
}

// connectDots returns a measure whose profile
//
//	H(ε) = infinityMass + Σ_i mass_i·(1 − e^(ε−ε_i))₊
//
// is at least h everywhere, given bounds heights_i >= h(ε_i) on the grid.
//
// As a function of α = e^ε, h is convex, so below its chords, and h(0) = 1. H is linear between
// neighbors of the grid, so H(ε_i) >= heights_i, the largest loss included, and a total mass of at
// least 1 are all there is to show. From the largest loss down, q_i, the mass of Q, is what the
// chord to the next height needs beyond that of the chord before; it is never negative, even where
// rounding has left the heights a little concave. All roundings are outwards: the height reached is
// kept as a lower bound, the masses as upper bounds. (Doroshenko et al. 2022, Algorithm 1, from
// heights.)
func connectDots(g grid, heights []float64) *pmf {
	n := g.len()
	d := &pmf{step: g.step, first: g.first, mass: make([]float64, n), infinityMass: heights[n-1] + underflow}
	// The computed α and widths are right to (|ε_i|+8)·roundoff, and there are a
	// few roundings more: 2^-44 is 512 roundoffs.
	largest := math.Max(math.Abs(g.at(g.first)), math.Abs(g.at(g.last)))
	slack := 0x1p-44 + 4*largest*roundoff
	up, down := 1+slack, 1-slack
	reached := heights[n-1] // <= H at the current point
	slope := 0.0            // Σ q beyond it
	total := d.infinityMass
	ratio := -math.Expm1(-g.step) // 1 − α_{i−1}/α_i
	for i := n - 1; i > 0; i-- {
		alpha := math.Exp(g.at(g.first + i))
		width := alpha * ratio // α_i − α_{i−1}
		if need := (heights[i-1] - reached) / width * up; need > slope {
			d.mass[i] = (need - slope) * alpha * up
			slope = need
			total += d.mass[i]
		}
		reached = (reached + slope*width*down) * (1 - 2*roundoff)
	}
	// The rest of the mass of P; below the grid H is a chord to H(α=0) = total.
	d.mass[0] = math.Max(0, 1-total*down)
	return d
}

// underflow is added to the mass at infinity: products that round to 0, or to
// numbers of few bits, fall short by less than 2^-1074 each, and count with up to
// α < e^maxGridLoss < 2^722. It is far below any δ of use.
const underflow = 0x1p-200

// total returns the mass of d, to a few roundoffs.
func (d *pmf) total() float64 {
	var s exact.Sum
	s.Add(d.infinityMass)
	for _, m := range d.mass {
		s.Add(m)
	}
	return s.Value()
}

// logMoment returns log Σ_i mass_i·e^(θ·ε_i) over the finite losses, and its
// derivative in θ; −∞ for an empty measure. The error is that of a float64 sum,
// some 2^-33: only the choice of the window relies on it.
func (d *pmf) logMoment(theta float64) (value, mean float64) {
	// Start from the end with the larger exponentials.
	from, to, by := len(d.mass)-1, -1, -1
	if theta < 0 {
		from, to, by = 0, len(d.mass), 1
	}
	factor := math.Exp(-math.Abs(theta) * d.step)
	sum, moment, weight, bits := 0.0, 0.0, 1.0, 0.0
	for i := from; i != to; i += by {
		m := d.mass[i] * weight
		sum += m
		moment += m * float64(i-from)
		weight *= factor
		if weight < sum*0x1p-80 {
			break // masses sum to about 1
		}
		if weight < 0x1p-900 { // all so far were tiny
			const lift = 800
			weight, sum, moment = weight*0x1p800, sum*0x1p800, moment*0x1p800
			bits -= lift
		}
	}
	if sum == 0 {
		return math.Inf(-1), 0
	}
	top := float64(d.first+from) * d.step
	return theta*top + math.Log(sum) + bits*math.Ln2, top + moment/sum*d.step
}

// PrivacyLossDistribution is that of one release of a mechanism: the law of the privacy loss log
// P(x)/Q(x), x drawn from P, for the worst laws P and Q of the output on two neighboring data sets,
// bounded from both sides. It is immutable and safe for concurrent use.
type PrivacyLossDistribution struct {
	pair dominatingPair
	// added is nil where pair is for both orders of neighbors. Else pair is about the loss
	// of one person, and added about the gain, and the order is the same in all releases.
	added dominatingPair
}

// dominatingPair bounds the privacy profile h of a mechanism, and the pair of laws
// P, Q of its outputs for the two neighbors that attain it.
type dominatingPair interface {
	// deltaUpper and deltaLower bound h(ε), ε >= 0.
	deltaUpper(epsilon float64) float64
	deltaLower(epsilon float64) float64
	// epsilonUpper returns an ε >= 0 with h(ε) <= delta, close to the smallest. An error
	// wraps ErrDeltaTooSmall if there is none.
	epsilonUpper(delta float64) (float64, error)
	// extent returns an interval of finite losses; those outside add at most
	// about tail to δ. It is a hint: no bound relies on it.
	extent(tail float64) (least, most float64)
	// upper returns bounds above h at the losses of the grid.
	upper(g grid) []float64
	// lower returns one or two sub-laws of losses on the grid such that that of one pair of
	// neighbors, plus slackShare of a step, is stochastically larger. Of the pairs there are it
	// prefers those that matter when losses are weighted with e^(theta·loss).
	lower(g grid, theta float64) []*pmf
	// unit is a loss that grid steps of about this size should divide, or 0.
	unit(step float64) float64
	// narrow is a loss near which losses end, where most may lie between it and 0, else +Inf.
	narrow() float64
	// fits says if all losses are on a grid of this step, or so dense that lower regroups them.
	fits(step float64) bool
}

// unit roundoff of float64.
const roundoff = 0x1p-53

// grid is the losses step·i, first <= i <= last.
type grid struct {
	step        float64
	first, last int
}

func (g grid) len() int         { return g.last - g.first + 1 }
func (g grid) at(i int) float64 { return float64(i) * g.step }

// maxEpsilon bounds the epsilon of one release: e^epsilon and e^(-2·epsilon) stay inside float64.
const maxEpsilon = 100

func checkEpsilon(epsilon float64) error {
	if epsilon > 0 && epsilon <= maxEpsilon {
		return nil
	}
	return check.Field("account", "epsilon", epsilon, fmt.Sprintf("0 < epsilon <= %d", maxEpsilon))
}
