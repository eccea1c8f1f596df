// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

// newCanonical returns the canonical noise of (ε, δ)-privacy, the Tulap law (Awan &
// Slavković 2018; Awan & Vadhan, "Canonical noise distributions and private hypothesis
// tests", Annals of Statistics 51, 2023). With F its distribution function in units of
// the sensitivity and f the tradeoff function max(0, 1-δ-e^ε α, e^-ε(1-δ-α)), it is
// linear from c to 1-c over [-1/2, 1/2], c = f(c) = (1-δ)/(1+e^ε), and
//
//	1-F(x+1) = f(F(x)) = e^-ε (1-F(x)-δ)₊   for x >= -1/2.
//
// So its density is constant on steps of one sensitivity, of which the middle one is
// centered, falls by e^ε from each to the next, and ends at
//
//	A = m-1/2+w,  m = ⌈R⌉,  R = ln(1 + (1-δ)tanh(ε/2)/δ)/ε,  w = (1-e^(-ε(R-m+1)))/(1-e^-ε).
//
// The recursion says that at a shift by the sensitivity the best test of every size has
// the power that (ε, δ)-privacy allows, and no more: among others its hockey-stick
// divergence there is exactly δ. It is the staircase of step 1/2, cut off at A. That
// makes it canonical, not optimal: its loss may be far above that of other noise, as its
// middle step is a sensitivity wide whatever ε is.
//
// It exists for δ = 0, where it has no end, and for ε = 0, where it is uniform on
// |x| <= Δ/(2δ), not for both. It does not apply if it has more than 2^22 steps.
func newCanonical(c conditions, p dp.Privacy, _ loss.Loss) (Mechanism, error) {
	s := c.newTulap()
	d := p.Sensitivity
	c.finite("density", s.peak/d)
	note := func() string { return "steps of one sensitivity; no end, as delta = 0" }
	expected := stairs{epsilon: p.Epsilon, sensitivity: d, step: 0.5}.expected
	if p.Delta > 0 {
		c.finite("support", s.end*d)
		note = func() string { return fmt.Sprintf("steps of one sensitivity, support +-%.6g", s.end*d) }
		expected = func(l loss.Loss) (value, errorBound float64) { return s.expected(l, d) }
	}
	return Mechanism{
		note: note, expected: expected, bound: s.end * d,
		density: func(x float64) float64 { return s.density(x/d) / d },
	}, c.err
}

// newDiscreteCanonical returns canonical noise ([newCanonical]) rounded to the nearest integer, for
// a query with integer values and integer sensitivity Δ. To add it is to round the query value with
// canonical noise, and rounding is post-processing: it is (ε, δ)-private.
//
// For Δ = 1 it is the optimal integer noise for every even loss that does not decrease
// away from 0; for larger Δ it is not. It does not apply if it has more than maxMasses on either side.
//
// For Δ = 1 its tails T_k = P(X >= k), k >= 1, are
//
//	T_1 = (1-δ)/(e^ε+1),  T_{k+1} = max(0, (T_k-δ)e^-ε),
//
// its masses p(0) = 1-2T_1 = (e^ε-1+2δ)/(e^ε+1) and p(±k) = T_k-T_{k+1}.
//
// Why that is optimal: let X be any private integer noise, made symmetric by averaging with -X, which
// changes neither the loss nor the privacy. The event X >= 0 against the shift by 1 gives 1-T_1 <=
// e^ε T_1 + δ, and X >= k gives T_k <= e^ε T_{k+1} + δ. So no private noise has smaller tails, at
// any k, and E c(X) = c(0) + 2 Σ_k (c(k)-c(k-1)) T_k increases with each of them.
//
// They bound the noise on real queries too. Cut the line into cells of width Δ
// centered on jΔ+u, u uniform. The masses of the cells, averaged over u, are private
// integer noise of sensitivity 1, and x falls into cell j with the weight of linear
// interpolation at node jΔ. So E c(X) is at least the integer optimum for node values
// whose interpolant is below c, |j|Δ for l1 and (j²-1/4)Δ² for l2:
//
//	E|X| >= 2Δ ΣT_k,  E X² >= Δ²(2Σ(2k-1)T_k - 1/4).
//
// Sources: it is the Tulap law of Awan & Slavković 2018, rounded; Awan & Vadhan 2023 call its kind
// canonical noise, Awan & Dong 2022 treat log-concave canonical noise, and Awan & Ramasethu 2024
// prove that the integer one is stochastically smallest.
func newDiscreteCanonical(c conditions, p dp.Privacy, _ loss.Loss) (Mechanism, error) {
	c.applies(math.Trunc(p.Sensitivity) == p.Sensitivity, integersOnly, p.Sensitivity)
	s := c.newTulap()
	d := p.Sensitivity
	// The last integer with a mass, but for what tailCut leaves.
	last := math.Ceil(math.Min(s.end, s.steps+0.5)*d - 0.5)
	c.applies(last <= maxMasses, "epsilon = %g, delta = %g and sensitivity = %g need more than %d masses", p.Epsilon, p.Delta, d, maxMasses)
	what := "optimal for even losses that grow away from 0"
	if d > 1 {
		what = "rounded, not optimal for a sensitivity above 1"
	}
	mass := func(k float64) float64 {
		k = math.Abs(k)
		return s.between((k-0.5)/d, (k+0.5)/d)
	}
	return Mechanism{
		note:  func() string { return "integers only: assumes integer query values; " + what },
		bound: math.Ceil(s.end*d - 0.5),
		mass: func(x float64) float64 {
			if x != math.Trunc(x) {
				return 0
			}
			return mass(x)
		},
		expected: func(l loss.Loss) (value, errorBound float64) {
			var sum exact.Sum
			sum.Add(l.At(0) * mass(0))
			for k := 1.0; k <= last; k++ {
				sum.Add((l.At(k) + l.At(-k)) * mass(k))
			}
			return closed(sum.Value())
		},
	}, c.err
}

// maxMasses bounds the masses of a law on either side.
const maxMasses = 1 << 22

const integersOnly = "it is for integer queries and sensitivity = %g, want a positive integer"

// tulap is canonical noise in units of the sensitivity. Its density is peak·e^(-εk) for
// k-1/2 <= |x| < k+1/2, up to |x| = end.
type tulap struct {
	epsilon, peak, end float64
	// last is the number of the last step, +Inf for δ = 0. From steps on the density is
	// below e^-tailCut of the peak.
	last, steps float64
}

// newTulap takes (1-2c) = (e^ε-1+2δ)/(e^ε+1) for the peak, as a sum of positive terms.
func (c *conditions) newTulap() tulap {
	p := c.privacy
	c.applies(p.Epsilon > 0 || p.Delta > 0, "no noise is private with epsilon = 0 and delta = 0")
	b, half := math.Exp(-p.Epsilon), math.Tanh(p.Epsilon/2)
	s := tulap{epsilon: p.Epsilon, peak: half + 2*p.Delta*b/(1+b), end: math.Inf(1), last: math.Inf(1)}
	if p.Delta == 0 {
		s.steps = math.Ceil(tailCut / p.Epsilon)
		return s
	}
	reach := (1 - p.Delta) / (2 * p.Delta) // R, the limit for ε = 0
	if t := (1 - p.Delta) * half / p.Delta; p.Epsilon > 0 && t > 0 {
		reach = math.Log1p(t) / p.Epsilon
		if math.IsInf(t, 1) { // a subnormal δ
			reach = (math.Log1p(-p.Delta) + math.Log(half) - logarithm(p.Delta)) / p.Epsilon
		}
	}
	m := math.Max(1, math.Ceil(reach))
	c.applies(m <= maxMasses, "epsilon = %g and delta = %g need more than %d steps", p.Epsilon, p.Delta, maxMasses)
	width := reach - (m - 1)
	if p.Epsilon > 0 {
		width = math.Expm1(-p.Epsilon*width) / math.Expm1(-p.Epsilon)
	}
	s.end, s.last, s.steps = m-0.5+width, m, m
	if p.Epsilon*m > tailCut {
		s.steps = math.Ceil(tailCut / p.Epsilon)
	}
	return s
}

func (s tulap) density(x float64) float64 {
	y := math.Abs(x)
	if y > s.end {
		return 0
	}
	return s.peak * math.Exp(-s.epsilon*math.Min(s.last, math.Floor(y+0.5)))
}

// between is the probability of [from, to], -1/2 <= from < to, as a sum over the steps it meets.
func (s tulap) between(from, to float64) float64 {
	sum, at, end := 0.0, from, math.Min(to, s.end)
	for at < end {
		k := math.Floor(math.Abs(at) + 0.5)
		if at < 0 {
			k = 0
		}
		next := math.Min(end, k+0.5)
		sum += (next - at) * s.peak * math.Exp(-s.epsilon*k)
		at = next
	}
	return sum
}

// expected is ExpectedLoss for δ > 0. The density does not increase away from 0, so it is a mixture
// of centered uniform laws: up to the ends of the steps, with the heights by which it falls, and up
// to its own end. The loss of each is one average of c: no quadrature, only rounding.
func (s tulap) expected(l loss.Loss, sensitivity float64) (value, errorBound float64) {
	var sum exact.Sum
	fall := -math.Expm1(-s.epsilon)
	add := func(height, r float64) {
		if height > 0 {
			sum.Add(height * 2 * r * l.CellMean(0, 2*r*sensitivity))
		}
	}
	for k := range int(s.steps) {
		add(fall*math.Exp(-s.epsilon*float64(k)), float64(k)+0.5)
	}
	add(math.Exp(-s.epsilon*s.last), s.end)
	return closed(s.peak * sum.Value())
}
