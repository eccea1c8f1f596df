// SPDX-License-Identifier: Apache-2.0

package account

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/noise"
)

// continuous is a law in closed form: bounds of the profile h(ε), any ε, and of the losses' laws.
type continuous struct {
	least, most float64
	natural     float64
	near        float64 // see narrow; 0: none
	multiplier  float64 // of normal noise, else 0
	profile     func(epsilon float64) (low, high float64)
	// survival bounds P(loss >= l) and Q(loss >= l).
	survival func(loss float64) (p, q bracket)
	lone     bracket // P(loss = +∞)
}

// bracket bounds a number.
type bracket struct{ low, high float64 }

func (c *continuous) deltaUpper(epsilon float64) float64 {
	_, high := c.profile(epsilon)
	return math.Min(1, math.Max(0, high))
}

func (c *continuous) epsilonUpper(delta float64) (float64, error) { return solve(c.deltaUpper, delta) }

func (c *continuous) deltaLower(epsilon float64) float64 {
	low, _ := c.profile(epsilon)
	return math.Max(0, low)
}

func (c *continuous) extent(tail float64) (least, most float64) {
	// The profile falls; find where it is below the tail.
	lo, hi := 0.0, c.most
	for range 40 {
		middle := (lo + hi) / 2
		if c.deltaUpper(middle) > tail {
			lo = middle
		} else {
			hi = middle
		}
	}
	least = c.least
	for range 40 {
		p, _ := c.survival(least / 2)
		if !(p.low > 1-math.Max(tail/2, 0x1p-44) && least < 0) {
			break
		}
		least /= 2
	}
	return least, hi
}

func (c *continuous) unit(float64) float64   { return c.natural }
func (c *continuous) fits(step float64) bool { return multiple(c.natural, step) }

func (c *continuous) narrow() float64 {
	if c.near == 0 {
		return math.Inf(1)
	}
	return c.near
}

func (c *continuous) upper(g grid) []float64 { return heights(g, c.deltaUpper) }

func (c *continuous) lower(g grid, _ float64) []*pmf {
	d := &pmf{step: g.step, first: g.first, mass: make([]float64, g.len())}
	gain, price := make([]float64, g.len()), make([]float64, g.len())
	p, q := c.lone, bracket{} // beyond the losses so far
	d.infinityMass = c.lone.low
	for i := range gain {
		i = len(gain) - 1 - i
		// An atom on the grid stays in its place.
		nextP, nextQ := c.survival(g.at(g.first+i) - g.slack()/2)
		gain[i], price[i] = math.Max(0, nextP.low-p.high), math.Max(0, nextQ.high-q.low)
		p, q = nextP, nextQ
	}
	d.regroup(g, gain, price)
	return []*pmf{d}
}

// Laplace is Laplace noise of scale sensitivity/epsilon.
//
// Its privacy loss is between −ε₀ and ε₀, with h(ε) = 1 − e^((ε−ε₀)/2) there and P(loss >= l) = 1 −
// e^((l−ε₀)/2)/2. The density is log-concave, so the full shift is the worst one.
func Laplace(epsilon float64) (*PrivacyLossDistribution, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return nil, err
	}
	const up, down = 1 + 0x1p-45, 1 - 0x1p-45 // a few units of arguments below 100
	c := &continuous{
		least: -epsilon, most: epsilon * up, natural: epsilon,
		profile: func(e float64) (low, high float64) {
			switch {
			case e >= epsilon:
				return 0, 0
			case e <= -epsilon:
				h := -math.Expm1(e)
				return h * down, h * up
			}
			h := -math.Expm1((e - epsilon) / 2)
			return h * down, h * up
		},
		survival: func(l float64) (p, q bracket) {
			switch {
			case l > epsilon:
				return bracket{}, bracket{}
			case l <= -epsilon:
				return bracket{1, 1}, bracket{1, 1}
			}
			x, y := 1-math.Exp((l-epsilon)/2)/2, math.Exp(-(l+epsilon)/2)/2
			return bracket{x * down, x * up}, bracket{y * down, y * up}
		},
	}
	return &PrivacyLossDistribution{pair: c}, nil
}

// TruncatedLaplace is Laplace noise of scale Δ/epsilon, Δ the sensitivity, cut off at
// A = (Δ/epsilon)·ln(1+q), q = (e^epsilon−1)/(2·delta), where a shift by Δ uncovers delta
// (Geng, Ding, Guo & Kumar 2020), 0 < delta <= 1/2.
//
// The density is log-concave, so the full shift is the worst one. With ε₀ = epsilon,
// r = 1/q and a density of (1+r)·ε₀/(2Δ) at 0, outputs are uncovered with probability
// delta, and other privacy losses are between −ε₀ and ε₀: for ε there
//
//	h(ε) = (1+r)·(1−e^((ε−ε₀)/2)) + delta·(e^ε−1)/(e^ε₀−1),
//	P(loss >= l) = 1/2 + (1+r)·(1−e^((l−ε₀)/2))/2,  Q(loss >= l) = ((1+r)·e^(−(l+ε₀)/2) − r)/2.
func TruncatedLaplace(epsilon, delta float64) (*PrivacyLossDistribution, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return nil, err
	}
	if !(delta > 0 && delta <= 0.5) {
		return nil, check.Field("account", "delta", delta, "0 < delta <= 0.5: above, truncated Laplace noise keeps a smaller one")
	}
	const up, down = 1 + 0x1p-44, 1 - 0x1p-44 // a few units of arguments below 100
	grown := math.Expm1(epsilon)
	r := 2 * delta / grown
	about := func(x float64) bracket { return bracket{x * down, x * up} }
	c := &continuous{
		least: -epsilon, most: epsilon * up, natural: epsilon, lone: bracket{delta, delta},
		profile: func(e float64) (low, high float64) {
			switch {
			case e >= epsilon:
				return delta, delta
			case e <= -epsilon: // Q loses what P has not
				h := about(-math.Expm1(e))
				return h.low + delta*math.Exp(e)*down, h.high + delta*math.Exp(e)*up
			}
			h, rest := about(-(1+r)*math.Expm1((e-epsilon)/2)), delta/grown*math.Expm1(e)
			wrong := math.Abs(rest) * 0x1p-44
			return h.low + rest - wrong, h.high + rest + wrong
		},
		survival: func(l float64) (p, q bracket) {
			switch {
			case l > epsilon:
				return bracket{delta, delta}, bracket{}
			case l <= -epsilon:
				return bracket{1, 1}, about(1 - delta)
			}
			price := (1 + r) / 2 * math.Exp(-(l+epsilon)/2)
			return about(0.5 - (1+r)/2*math.Expm1((l-epsilon)/2)), bracket{price*down - r/2*up, price*up - r/2*down}
		},
	}
	return &PrivacyLossDistribution{pair: c}, nil
}

// The range of noise multipliers: e^ε·Φ(…) must stay inside float64.
const (
	minMultiplier = 0.05
	maxMultiplier = 1e6
)

func checkMultiplier(m float64) error {
	if m >= minMultiplier && m <= maxMultiplier {
		return nil
	}
	return check.Field("account", "sigma/sensitivity", m, fmt.Sprintf("from %g to %g", minMultiplier, maxMultiplier))
}

// Gaussian is normal noise; multiplier is its standard deviation divided by the (l2) sensitivity.
//
// With μ = 1/multiplier the privacy loss is normal of mean μ²/2 and variance μ²,
// and h(ε) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) (Balle & Wang 2018, Theorem 5). The
// density is log-concave, so the full shift is the worst one.
func Gaussian(multiplier float64) (*PrivacyLossDistribution, error) {
	if err := checkMultiplier(multiplier); err != nil {
		return nil, err
	}
	return &PrivacyLossDistribution{pair: gaussian(multiplier)}, nil
}

func gaussian(multiplier float64) *continuous {
	mu := 1 / multiplier
	return &continuous{
		multiplier: multiplier,
		// Beyond 37μ nothing is left in float64.
		least: mu*mu/2 - 12*mu, most: mu*mu/2 + 37*mu,
		profile: func(e float64) (low, high float64) {
			e = math.Min(e, 1e6) // far beyond any loss
			gainLow, gainHigh := normalTail(e*multiplier, -mu/2)
			priceLow, priceHigh := normalTail(e*multiplier, mu/2)
			// The tails may have underflowed, or the exponential overflow.
			x := math.Exp(e)
			low = gainLow - x*(1+8*roundoff)*(priceHigh+0x1p-1060)
			high = gainHigh - x*(1-8*roundoff)*priceLow
			if math.IsInf(x, 1) {
				low, high = 0, gainHigh
			}
			return low - 4*roundoff*gainHigh - 0x1p-1000, high + 4*roundoff*gainHigh + 0x1p-1000
		},
		survival: func(l float64) (p, q bracket) {
			p.low, p.high = normalTail(l*multiplier, -mu/2)
			q.low, q.high = normalTail(l*multiplier, mu/2)
			return p, q
		},
	}
}

// mergeGaussians puts all normal noise among releases together, in the place of the first.
//
// Losses of multipliers m_i are normal of means 1/(2m_i²) and variances 1/m_i², so their
// sum is that of one multiplier m, 1/m² = Σ 1/m_i² (Dong, Roth & Su 2022, Corollary 3.3).
// The profile falls in m: it is bounded from above by that of m rounded down, and from
// below by that of m rounded up, whose pair of laws is also what is regrouped.
func mergeGaussians(releases []Release) []Release {
	first, kinds, squares := -1, 0, 0.0
	for i, r := range releases {
		if g, ok := r.PLD.pair.(*continuous); ok && r.PLD.added == nil && g.multiplier > 0 {
			kinds++
			squares += float64(r.Times) / g.multiplier / g.multiplier
			if first < 0 {
				first = i
			}
		}
	}
	m := 1 / math.Sqrt(squares)
	if first < 0 || kinds == 1 && releases[first].Times == 1 || m < minMultiplier {
		return releases
	}
	// Two roundings of each term, one of each sum and two of the root are halved or less.
	wrong := float64(kinds+8) * roundoff
	low, high := gaussian(m*(1-wrong)), gaussian(m*(1+wrong))
	merged := *low
	merged.survival = high.survival
	merged.profile = func(e float64) (float64, float64) {
		l, _ := high.profile(e)
		_, h := low.profile(e)
		return l, h
	}
	var out []Release
	for i, r := range releases {
		if g, ok := r.PLD.pair.(*continuous); i == first {
			out = append(out, Release{&PrivacyLossDistribution{pair: &merged}, 1})
		} else if !ok || r.PLD.added != nil || g.multiplier == 0 {
			out = append(out, r)
		}
	}
	return out
}

// normalTail brackets 1 − Φ(x), x = a+b of terms with a relative error of 2 roundoffs.
//
// math.Erfc and math.Exp are right to 4 roundoffs by test; 8 are assumed. An argument wrong by η
// moves the tail by a relative η·φ(x)/(1−Φ(x)), and φ(x)/(1−Φ(x)) <= max(x, 0) + 1.
func normalTail(a, b float64) (low, high float64) {
	x := a + b
	t := math.Erfc(x/math.Sqrt2) / 2
	wrong := 8 * roundoff * (math.Abs(a) + math.Abs(b))
	slack := 12*roundoff + 2*wrong*(math.Max(x, 0)+1)
	return t * (1 - slack), math.Min(1, t*(1+slack))
}

// AnalyticGaussian is the Gaussian that is (epsilon, delta)-private by itself
// (Balle & Wang 2018), with the smallest multiplier that is, rounded up.
func AnalyticGaussian(epsilon, delta float64) (*PrivacyLossDistribution, error) {
	sigma, err := noise.GaussianSigma(dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1})
	if err != nil {
		return nil, err
	}
	for range 60 {
		g, err := Gaussian(sigma)
		if err != nil {
			return nil, err
		}
		if g.pair.deltaUpper(epsilon) <= delta {
			return g, nil
		}
		sigma *= 1 + 0x1p-40
	}
	return nil, check.Errorf("account", dp.ErrInvalid, "delta = %g at epsilon = %g is below what float64 can prove of a Gaussian", delta, epsilon)
}
