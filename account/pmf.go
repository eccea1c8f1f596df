package account

import (
	"math"

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
