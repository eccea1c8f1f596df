// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/quadrature"
	"github.com/noisewright/noisewright/loss"
)

const (
	// smallStepEpsilon: below it the step of a loss without closed form is not
	// searched for but taken from l1. The densities of two steps differ by a
	// factor of at most e^(2ε) anywhere, so neither can their losses by more.
	smallStepEpsilon = 1e-3
	// smallSumEpsilon: below it an integral replaces the sum of 300/ε terms; see numericLoss.
	smallSumEpsilon = 1e-4
)

// newStaircase returns the optimal noise for δ = 0 (Geng & Viswanath, "The optimal
// noise-adding mechanism in differential privacy", IEEE Trans. Inf. Theory 62,
// 2016). With b = e^-ε and a step γ in [0, 1] its density is constant on pieces,
//
//	f(x) = a·b^k      for k-1+γ <= |x|/Δ < k+γ,  k = 0, 1, 2, …
//	a = (1-b)/(2wΔ),  w = γ + b(1-γ),
//
// so f(x) <= e^ε·f(x+φ) for every |φ| <= Δ: it is (ε, 0)-private for every γ. The
// step is [StaircaseStep]. It needs ε > 0 and makes no use of δ.
//
// Geng & Viswanath prove optimality among all (ε, 0)-private additive noise for
// symmetric losses that do not decrease away from 0. For another loss the
// result is still private, with the best step, but not optimal.
func newStaircase(c conditions, _ dp.Privacy, l loss.Loss) (Mechanism, error) {
	s := c.tunedStairs(l)
	if c.err != nil {
		return Mechanism{}, c.err // there may be no loss
	}
	return Mechanism{
		note: func() string {
			return fmt.Sprintf("step %.6g of the sensitivity, tuned to %s; delta is not used", s.step, l.Name())
		},
		density:  s.density,
		expected: s.expected,
	}, nil
}

// newStaircaseAtom returns staircase noise, tuned to the loss as in [newStaircase], with
// probability 1-δ and exactly 0 with probability δ. It needs ε > 0; for δ = 0 it is the staircase.
//
// Mixing (ε, δ₀)-private noise with an atom at 0 of weight t is (ε, (1-t)δ₀+t)-private: the
// hockey-stick divergence is jointly convex, and the atom's own is 1 at every shift but 0. Its loss
// is (1-t)V + t·c(0). Here δ₀ = 0 and t = δ. From some δ on the optimum over all noise has exactly
// this dependence on δ, which makes the mixture a strong baseline for large δ or ε.
func newStaircaseAtom(c conditions, p dp.Privacy, l loss.Loss) (Mechanism, error) {
	s := c.tunedStairs(l)
	if c.err != nil {
		return Mechanism{}, c.err
	}
	atom := p.Delta
	return Mechanism{
		note: func() string {
			return fmt.Sprintf("step %.6g of the sensitivity, tuned to %s; exactly 0 with probability %.6g", s.step, l.Name(), atom)
		},
		density: func(x float64) float64 { return (1 - atom) * s.density(x) },
		mass: func(x float64) float64 {
			if x == 0 {
				return atom
			}
			return 0
		},
		expected: func(l loss.Loss) (value, errorBound float64) {
			value, errorBound = s.expected(l)
			value = (1-atom)*value + atom*l.At(0)
			return value, (1-atom)*errorBound + closedFormError*value
		},
	}, nil
}

// StaircaseStep returns the step γ, relative to Δ, of the staircase mechanism that is best for the loss:
// in closed form for L1 and L2, weighted or not, by search for any other loss, at the cost of some 100 times
// an ExpectedLoss. It needs ε > 0 and makes no use of δ; errors are those of [New].
func StaircaseStep(p dp.Privacy, l loss.Loss) (gamma float64, err error) {
	if step, ok := staircaseStep(p.Epsilon, l); ok && p.Epsilon > 0 && p.Delta == 0 && check.Positive(p.Sensitivity) && (stairs{p.Epsilon, 1, step}).weight() > 0 {
		return step, nil // without the cost of the rest
	}
	c := newConditions(Staircase, p)
	return c.tunedStairs(l).step, c.err
}

// stairs are the parameters of staircase noise.
type stairs struct{ epsilon, sensitivity, step float64 }

func (c *conditions) tunedStairs(l loss.Loss) stairs {
	p := c.privacy
	if c.applies(p.Epsilon > 0, "its steps fall by exp(-epsilon) and epsilon = 0, want epsilon > 0") {
		c.err = checkLoss(l)
	}
	if c.err != nil {
		return stairs{}
	}
	s := stairs{epsilon: p.Epsilon, sensitivity: p.Sensitivity}
	plain, _ := loss.Of(l).Unweighted()
	step, ok := staircaseStep(p.Epsilon, plain)
	if !ok {
		step = s.searchStep(l)
	}
	s.step = step
	c.applies(s.weight() > 0, "epsilon = %g is too large, its step exp(-epsilon/2) is 0 in float64", p.Epsilon)
	return s
}

// staircaseStep returns the step γ of the optimal staircase for ε >= 0 and the loss, relative to the
// sensitivity, and whether that is closed form: for L1 and L2. At ε = 0 it is the limit, 1/2.
//
// Source: Geng & Viswanath 2016. For L1, γ = 1/(1+e^(ε/2)). For L2 the paper has
//
//	γ = -b/(1-b) + (b-2b²+2b⁴-b⁵)^(1/3) / (2^(1/3)(1-b)²),  b = e^-ε.
//
// The polynomial is b(1-b)³(1+b); with u³ = b(1+b)/2 this is (u-b)/(1-b), and
// u³-b³ = b(1-b)(1+2b)/2 removes the difference: γ = b(1+2b)/(2(u²+ub+b²)).
func staircaseStep(epsilon float64, l loss.Loss) (gamma float64, ok bool) {
	switch l {
	case loss.L1:
		r := math.Exp(-epsilon / 2)
		return r / (1 + r), true
	case loss.L2:
		b := math.Exp(-epsilon)
		u := math.Cbrt(b * (1 + b) / 2)
		// Divided by u², which is of order b^(2/3), so that a large ε does not underflow.
		q := b / u
		return q * (1 + 2*b) / (2 * u * (1 + q + q*q)), true
	default:
		return 0, false
	}
}

// weight returns w = γ + b(1-γ).
func (s stairs) weight() float64 { return s.step + math.Exp(-s.epsilon)*(1-s.step) }

func (s stairs) density(x float64) float64 {
	y := math.Abs(x) / s.sensitivity
	k := math.Floor(y)
	if y-k >= s.step {
		k++
	}
	a := -math.Expm1(-s.epsilon) / (2 * s.weight() * s.sensitivity)
	return a * math.Exp(-s.epsilon*k)
}

// expected is ExpectedLoss; the loss need not be the one the step is tuned to. But for L1 and L2
// the error bound is a rounding bound down to ε = 10^-4; below, it is ε² of the value and assumes a
// loss that does not decrease away from 0. The cost is then up to 300/ε averages of the loss.
//
// With |X| = Δ(G+Y), G geometric, Y in [0, 1) of density ∝ 1 below γ and ∝ b above, independent:
//
//	E G = b/(1-b),  E G² = b(1+b)/(1-b)²,
//	E Y = (γ²+b(1-γ²))/(2w),  E Y² = (γ³+b(1-γ³))/(3w).
func (s stairs) expected(l loss.Loss) (value, errorBound float64) {
	b, c, g, w := math.Exp(-s.epsilon), -math.Expm1(-s.epsilon), s.step, s.weight()
	g1, g2 := b/c, b*(1+b)/(c*c)
	y1 := (g*g + b*(1-g*g)) / (2 * w)
	y2 := (g*g*g + b*(1-g*g*g)) / (3 * w)
	d := s.sensitivity
	return evaluate(l, d*(g1+y1), d*d*(g2+2*g1*y1+y2), s.numericLoss)
}

// numericLoss returns E c(X) for any loss. The density does not increase away
// from 0, so it is a mixture of centered uniform laws,
//
//	f = Σ_k w_k U(-(k+γ)Δ, (k+γ)Δ),   w_k = (1-b)² b^k (k+γ)/w,
//
// and the loss of each is one average of c: no quadrature, only rounding.
//
// For tiny ε the sum has too many terms. Write its k-th term as g(k) = F(k)b^k up to a constant,
// F(k) the integral of c over the k-th interval. Replacing the sum by the integral from -1/2
// (midpoint rule) costs at most an eighth of the total variation of g' = F'b^k - εg. If c does not
// decrease away from 0, F' does not decrease, ∫F'b^k = ε∫g, and both parts vary by at most 2ε²∫g: a
// relative error of ε²/2. The integral really starts at -γ, where the interval has no width; γ
// differs from 1/2 by ε/8, and the bound returned, ε², covers that.
func (s stairs) numericLoss(l loss.Loss) (value, errorBound float64) {
	c, w := -math.Expm1(-s.epsilon), s.weight()
	// term is the loss of an interval of half-width rΔ, with its weight less the constant (1-b)²/w.
	term := func(r float64) float64 {
		if r <= 0 {
			return 0
		}
		return r * math.Exp(-s.epsilon*(r-s.step)) * l.CellMean(0, 2*r*s.sensitivity)
	}
	if s.epsilon < smallSumEpsilon {
		scale := 1 / s.epsilon
		value, errorBound = quadrature.Integrate(func(y float64) float64 { return term(y * scale) },
			lossPanels(l, s.sensitivity*scale, tailCut))
		unit := c * c / w * scale
		return unit * value, unit * (errorBound + s.epsilon*s.epsilon*value)
	}
	var sum exact.Sum
	for k := 0.0; k*s.epsilon <= tailCut; k++ {
		sum.Add(term(k + s.step))
	}
	return closed(c * c / w * sum.Value())
}

// searchStep minimizes the expected loss over the step: a scan, then golden-section search around
// the best point. The scan takes equal distances of the logit of γ, which covers the tiny steps of
// a large ε and the steps near 1 alike, and the steps that put a drop of the density on a kink or
// jump of the loss: with a jump the minimum may be a cusp there, narrower than any scan. Any step
// is private, so a local minimum costs loss, never privacy.
func (s stairs) searchStep(l loss.Loss) float64 {
	if s.epsilon < smallStepEpsilon {
		step, _ := staircaseStep(s.epsilon, loss.L1)
		return step
	}
	const (
		scans  = 24
		beyond = 6.0 // logit 6 is γ = 0.9975
	)
	low := -(s.epsilon + beyond)
	pitch := (beyond - low) / scans
	var logits []float64
	for i := -1; i <= scans+1; i++ {
		logits = append(logits, low+float64(i)*pitch)
	}
	for _, step := range s.kinkSteps(l) {
		if z := math.Log(step / (1 - step)); z > low && z < beyond {
			logits = append(logits, z)
		}
	}
	slices.Sort(logits)
	logits = slices.Compact(logits)
	step := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	best, bestLoss := 0.0, math.Inf(1)
	at := func(z float64) float64 {
		trial := s
		trial.step = step(z)
		v, _ := trial.numericLoss(l)
		if v < bestLoss {
			best, bestLoss = z, v
		}
		return v
	}
	for _, z := range logits[1 : len(logits)-1] {
		at(z)
	}
	// The neighbors of the best point of the scan, if any was finite.
	i := min(max(slices.Index(logits, best), 1), len(logits)-2)
	a, b := logits[i-1], logits[i+1]
	quadrature.Minimum(at, a, b, sections) // which remembers the best
	return step(best)
}

// kinkSteps are some steps that put a drop of the density on a kink of the loss next to 0.
func (s stairs) kinkSteps(l loss.Loss) []float64 {
	const most = 16
	var distances []float64
	for _, x := range loss.Of(l).Kinks() {
		distances = append(distances, math.Abs(x)/s.sensitivity)
	}
	slices.Sort(distances)
	distances = slices.Compact(distances)
	var steps []float64
	for _, d := range distances[:min(most, len(distances))] {
		if _, fraction := math.Modf(d); fraction > 0 {
			steps = append(steps, fraction)
		}
	}
	return steps
}

// DiscreteStaircase returns the least expected loss, L1 or L2, of any (ε, 0)-private integer noise
// on an integer query of the given sensitivity K, and the step r, 1 <= r <= K, of the law that has
// it (Geng & Viswanath 2016, discrete setting): with b = e^-ε, even and for i >= 0
//
//	p(i) = a for i < r,  ab for r <= i < K,  p(i+K) = b p(i),
//	a = (1-b)/(2r + 2b(K-r) - (1-b)).
//
// For K = 1 it is two-sided geometric noise. The error wraps [dp.ErrInvalid] for
// bad parameters and is a [NotApplicableError] for ε = 0 and for other losses. The
// relative rounding error is below 1e-13; the cost is O(log K).
func DiscreteStaircase(epsilon float64, sensitivity int64, l loss.Loss) (step int64, value float64, err error) {
	const name = "discrete staircase"
	if err := (dp.Privacy{Epsilon: epsilon, Sensitivity: float64(sensitivity)}).Validate(); err != nil {
		return 0, 0, err
	}
	if err := checkLoss(l); err != nil {
		return 0, 0, err
	}
	if epsilon == 0 {
		return 0, 0, notApplicable(name, "its steps fall by exp(-epsilon) and epsilon = 0, want epsilon > 0")
	}
	moment := 0
	switch l {
	case loss.L1:
	case loss.L2:
		moment = 1
	default:
		return 0, 0, notApplicable(name, "its loss is known for l1 and l2 only, loss = %s", l.Name())
	}
	at := func(r int64) float64 {
		return discreteStaircaseMoments(epsilon, float64(sensitivity), float64(r))[moment]
	}
	// The loss is a convex function of r over a positive linear one, hence
	// falls and then rises: bisect on the sign of its difference.
	low, high := int64(1), sensitivity
	for low < high {
		if r := low + (high-low)/2; at(r) <= at(r+1) {
			high = r
		} else {
			low = r + 1
		}
	}
	value = at(low)
	if !check.Finite(value) {
		return 0, 0, check.Errorf("noise", dp.ErrInvalid, "%s: expected %s loss = %g, want a finite float64", name, l.Name(), value)
	}
	return low, value, nil
}

// These are E|X| and E X² of the law with step r, for a sensitivity of K. With |X| = KG+I on i >=
// 0, M_j = Σ_{i<K} i^j p(i) and Σ b^g = 1/(1-b), Σ g b^g = b/(1-b)², Σ g² b^g = b(1+b)/(1-b)³, each
// sum below is over G, then I, then doubled for the two sides (0 contributes nothing).
func discreteStaircaseMoments(epsilon, k, r float64) [2]float64 {
	b, c := math.Exp(-epsilon), -math.Expm1(-epsilon)
	// Σ_{i<n} i and Σ_{i<n} i².
	sum1 := func(n float64) float64 { return n * (n - 1) / 2 }
	sum2 := func(n float64) float64 { return n * (n - 1) * (2*n - 1) / 6 }
	// A sum over i < K with weight 1 below r and b from r on is b·(all) + (1-b)·(below r).
	m0 := b*k + c*r
	m1 := b*sum1(k) + c*sum1(r)
	m2 := b*sum2(k) + c*sum2(r)
	// 2r+2b(K-r)-(1-b) = 2bK + (1-b)(2r-1).
	a := c / (2*b*k + c*(2*r-1))
	return [2]float64{
		2 * a * (k*b/(c*c)*m0 + m1/c),
		2 * a * (k*k*b*(1+b)/(c*c*c)*m0 + 2*k*b/(c*c)*m1 + m2/c),
	}
}
