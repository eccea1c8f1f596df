// SPDX-License-Identifier: Apache-2.0

package account

import (
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/exact"
)

// law is a law in units of 2^-64, and the logarithms of its weights.
type law struct {
	weights []uint64
	logs    []float64
}

func logs(w []uint64) []float64 {
	out := make([]float64, len(w))
	for i, x := range w {
		out[i] = math.Log(float64(x)) // −Inf for 0
	}
	return out
}

const (
	coarseStep = 0x1p-4
	// maxLoss exceeds log 2^64, the largest finite privacy loss of weights.
	maxLoss = 45
	// maxPairs bounds the pairs of weights that are compared, several times each, some 10 ns each.
	maxPairs = 1 << 30
)

// coarseLosses is the grid of a profile that says how far losses reach.
var coarseLosses = grid{step: coarseStep, first: 0, last: maxLoss / coarseStep}

// reach returns a loss beyond which a profile at coarseLosses falls by at most the tail.
func reach(coarse []float64, tail float64) float64 {
	end := coarse[len(coarse)-1]
	return float64(slices.IndexFunc(coarse, func(h float64) bool { return h <= end+tail })) * coarseStep
}

// losses says how the weights of a law spread over the losses of a grid.
type losses struct {
	gain, price []exact.Uint128 // of the losses at or above the grid's, below the next
	lone        exact.Uint128   // gain at infinity
}

func newLosses(g grid) *losses {
	return &losses{gain: make([]exact.Uint128, g.len()), price: make([]exact.Uint128, g.len())}
}

// spread fills b for a shift of Q by k weights. Weight j of P is at the loss log p_j/q_(j−k), and
// counts for the largest loss of the grid that this, plus slack, reaches.
func (b *losses) spread(g grid, k int, p, q law, slack float64) {
	clear(b.gain)
	clear(b.price)
	b.lone = exact.Uint128{}
	n, top := len(p.weights), g.last-g.first
	lo, hi := min(max(k, 0), n), max(min(n+k, n), 0)
	for j := range lo {
		b.lone.Add64(p.weights[j])
	}
	for j := max(hi, lo); j < n; j++ {
		b.lone.Add64(p.weights[j])
	}
	inverse := 1 / g.step
	for j := lo; j < hi; j++ {
		w, v := p.weights[j], q.weights[j-k]
		if v == 0 {
			b.lone.Add64(w)
			continue
		}
		if w == 0 {
			continue
		}
		loss := p.logs[j] - q.logs[j-k] + slack
		i := int(math.Floor(loss*inverse)) - g.first
		if i < 0 {
			continue
		}
		i = min(i, top)
		b.gain[i].Add64(w)
		b.price[i].Add64(v)
	}
}

// countSlack is the slack of losses that raise sums: more than the rounding of the
// logarithms (below 2^-45) and of the quotient (2^-46·maxLoss).
const countSlack = 0x1p-38

// discounted returns e^ε_i at the losses of a grid, less by more than twice countSlack.
func discounted(g grid) []float64 {
	alphas := make([]float64, g.len())
	for i := range alphas {
		alphas[i] = math.Exp(g.at(g.first+i)) * (1 - 4*countSlack)
	}
	return alphas
}

// raise raises bounds above a profile, in units of 2^-64, to those of losses that were
// spread with countSlack: the sum of p − α·q over the weights whose loss is at least ε_i but
// for the slack, and extra. No term is negative, and no positive term of the profile is
// missing, whatever the rounding. A sum of all is therefore a bound, and exact but for α.
func (b *losses) raise(bounds, alphas []float64, extra exact.Uint128) {
	gain, price := b.lone, exact.Uint128{}
	gain.Add(extra)
	for i := len(bounds) - 1; i >= 0; i-- {
		gain.Add(b.gain[i])
		price.Add(b.price[i])
		bounds[i] = math.Max(bounds[i], difference(gain, alphas[i], price))
	}
}

// ratioUp bounds e^epsilon from above, in units of 2^-RatioBits.
func ratioUp(epsilon float64) *big.Int {
	high := exact.ExpDown(epsilon, exact.RatioBits)
	return high.Add(high, big.NewInt(2))
}

// excess returns a lower bound, to a few roundoffs, on Σ (p_j − e^ε·q_(j−k))₊, e about
// e^ε and high a bound above: for any set of outputs Σ p − e^ε·q is one, and the set found
// in float64 is close to the best. Weights that have no partner count if lone.
func excess(p, q []uint64, k int, lone bool, e float64, high *big.Int) float64 {
	var gain, price exact.Uint128
	n := len(q)
	for j, w := range p {
		if i := j - k; i < 0 || i >= n {
			if lone {
				gain.Add64(w)
			}
		} else if float64(w) > e*float64(q[i]) {
			gain.Add64(w)
			price.Add64(q[i])
		}
	}
	d := new(big.Int).Lsh(gain.Big(), exact.RatioBits)
	d.Sub(d, price.Big().Mul(price.Big(), high))
	if d.Sign() <= 0 {
		return 0
	}
	f, _ := new(big.Float).SetInt(d).Float64()
	return math.Ldexp(f, -64-exact.RatioBits)
}

// inParts returns s as two float64s, exactly up to 2^-52 units of a sum of at most 2^64 + 2^52.
func inParts(s exact.Uint128) (high, low float64) {
	const mask = 1<<12 - 1
	high = float64(s.Hi)*0x1p64 + float64(s.Lo&^uint64(mask))
	return high, float64(s.Lo & mask)
}

// difference returns gain − α·price, rounded up: the products are split into a
// float64 and the error of it, so that what cancels cancels exactly.
func difference(gain exact.Uint128, alpha float64, price exact.Uint128) float64 {
	gh, gl := inParts(gain)
	ph, pl := inParts(price)
	product := alpha * ph
	rest := math.FMA(alpha, ph, -product)
	small := gl - (rest + alpha*pl)
	// The errors of the small part are below 8 roundoffs of its terms.
	large := gh - product
	margin := 8 * roundoff * (gl + math.Abs(rest) + alpha*pl + math.Abs(large))
	return large + small + margin
}
