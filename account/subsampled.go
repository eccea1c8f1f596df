// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
)

// minRate bounds sampling rates from below: less than one person in 2^40.
const minRate = 0x1p-40

// SubsampledGaussian is the sum of vectors of the people in a sample, clipped to an l2
// norm, with normal noise: every person is in the sample with probability rate, 0 < rate
// <= 1, independently of the others and afresh for each release (Poisson sampling).
// multiplier is the standard deviation of the noise divided by the norm. A step of DP-SGD is
// one such release (Abadi et al. 2016).
//
// Neighbors differ by one person who is added or removed. Guarantee: none for neighbors in
// which one person is replaced, nor for batches of a fixed size or taken in turn.
//
// With A = N(0, multiplier²) and B = (1−rate)·A + rate·N(1, multiplier²), the pair (B, A) dominates
// when the person is removed, and (A, B) when added (Zhu, Dong & Wang 2022, Theorem 11). Which it
// is, is the same for all releases of a composition, and neither is the worse always (Lebeda,
// Regehr, Kamath & Steinke 2024), so both are composed. For r = 1 + (e^ε−1)/rate and h the profile
// of the Gaussian, the profile when removed is rate·h(log r), and 1−e^ε where r <= 0; for r = 1 +
// (e^−ε−1)/rate that when added is e^ε·rate·r·h(−log r), and 0 where r <= 0.
func SubsampledGaussian(multiplier, rate float64) (*PrivacyLossDistribution, error) {
	bad := check.In("account")
	bad.If(!(rate >= minRate && rate <= 1), "rate", rate, "a probability from 2^-40 to 1")
	if err := errors.Join(checkMultiplier(multiplier), bad.Err()); err != nil {
		return nil, err
	}
	g := gaussian(multiplier)
	if rate == 1 {
		return &PrivacyLossDistribution{pair: g}, nil
	}
	s := &subsampled{gaussian: g, multiplier: multiplier, rate: rate}
	return &PrivacyLossDistribution{pair: s.removed(), added: s.added()}, nil
}

// subsampled is a Gaussian of which a person is part with probability rate.
type subsampled struct {
	gaussian         *continuous
	multiplier, rate float64
}

// inner brackets r = 1 + (e^loss−1)/rate, and log r, the loss of the Gaussian where that of B
// against A is loss; −∞ where r may be 0 or less.
//
// math.Exp, math.Expm1, math.Log and math.Log1p are right to 4 roundoffs by test; 8 are assumed.
func (s *subsampled) inner(loss float64) (log, r bracket) {
	about := func(x, wrong float64) bracket { return bracket{x - wrong, x + wrong} }
	relative := func(x float64) bracket {
		if math.IsInf(x, 0) {
			return bracket{x, x}
		}
		return about(x, 16*roundoff*math.Abs(x))
	}
	switch {
	case loss > 40: // what is 1−rate is below 2^-57 of e^loss
		log = relative(loss - math.Log(s.rate))
		return log, bracket{math.Exp(log.low) * (1 - 8*roundoff), math.Exp(log.high) * (1 + 8*roundoff)}
	case loss > -math.Ln2:
		y := relative(math.Expm1(loss) / s.rate)
		log = bracket{relative(math.Log1p(math.Max(-1, y.low))).low, relative(math.Log1p(math.Max(-1, y.high))).high}
		return log, bracket{math.Max(0, 1+y.low) * (1 - 4*roundoff), math.Max(0, 1+y.high) * (1 + 4*roundoff)}
	}
	// r is below 1/2.
	kept, missed := math.Exp(loss), 1-s.rate
	r = about(kept-missed, 16*roundoff*kept+4*roundoff*missed)
	r = bracket{math.Max(0, r.low/s.rate*(1-4*roundoff)), math.Max(0, r.high/s.rate*(1+4*roundoff))}
	return bracket{relative(math.Log(r.low)).low, relative(math.Log(r.high)).high}, r
}

// reach brackets the losses of B against A that are of any weight.
func (s *subsampled) reach() (least, most float64) {
	most = s.gaussian.most
	if most < maxGridLoss { // else log r, which is a little less
		most = math.Log1p(s.rate * math.Expm1(most))
	}
	return math.Max(-s.narrow(), -s.gaussian.most), most
}

// narrow is where the losses of B against A end below: at small rates most are so close to 0.
func (s *subsampled) narrow() float64 { return -math.Log1p(-s.rate) }

// removed is the pair (B, A).
func (s *subsampled) removed() *continuous {
	least, most := s.reach()
	return &continuous{
		least: least, most: most, near: s.narrow(),
		profile: func(e float64) (low, high float64) {
			log, r := s.inner(e)
			// The profile is at least 1−e^ε, and falls: from where r is 0 on it is at most rate.
			none := -math.Expm1(e)
			if low = none * (1 - 8*roundoff); none < 0 {
				low = 0
			}
			if r.high > 0 {
				h, _ := s.gaussian.profile(log.high)
				low = math.Max(low, s.rate*h*(1-4*roundoff))
			}
			if r.low <= 0 {
				return low, math.Max(none, s.rate) * (1 + 8*roundoff)
			}
			_, h := s.gaussian.profile(log.low)
			return low, s.rate * h * (1 + 4*roundoff)
		},
		survival: func(l float64) (p, q bracket) {
			log, _ := s.inner(l)
			t, moved := s.tails(log, 1)
			return s.mixture(t, moved), t
		},
	}
}

// added is the pair (A, B).
func (s *subsampled) added() *continuous {
	least, most := s.reach()
	return &continuous{
		least: -most, most: -least, near: s.narrow(),
		profile: func(e float64) (low, high float64) {
			log, r := s.inner(-e)
			alpha := math.Exp(math.Min(e, maxGridLoss))
			if r.low > 0 {
				h, _ := s.gaussian.profile(-log.low)
				low = alpha * s.rate * r.low * h * (1 - 16*roundoff)
			}
			if r.high > 0 {
				_, h := s.gaussian.profile(-log.high)
				high = alpha * s.rate * r.high * h * (1 + 16*roundoff)
			}
			return low, high
		},
		survival: func(l float64) (p, q bracket) {
			log, _ := s.inner(-l)
			t, moved := s.tails(log, -1)
			return t, s.mixture(t, moved)
		},
	}
}

// tails brackets the probabilities of the losses above log r under A, and under the Gaussian
// moved by 1; of those below if side is −1.
func (s *subsampled) tails(log bracket, side float64) (still, moved bracket) {
	tail := func(log, shift float64) bracket {
		if math.IsInf(log, -1) {
			return bracket{(1 + side) / 2, (1 + side) / 2}
		}
		low, high := normalTail(side*log*s.multiplier, side*shift)
		return bracket{low, high}
	}
	if side > 0 {
		log.low, log.high = log.high, log.low
	}
	half := 0.5 / s.multiplier
	return bracket{tail(log.low, half).low, tail(log.high, half).high},
		bracket{tail(log.low, -half).low, tail(log.high, -half).high}
}

// mixture brackets the probability under B.
func (s *subsampled) mixture(still, moved bracket) bracket {
	mix := func(still, moved float64) float64 { return (1-s.rate)*still + s.rate*moved }
	return bracket{mix(still.low, moved.low) * (1 - 8*roundoff), math.Min(1, mix(still.high, moved.high)*(1+8*roundoff))}
}

// multiplierTolerance is how far below the epsilon asked that of a calibrated multiplier may be.
const multiplierTolerance = 1e-3

// SubsampledMultiplier returns a multiplier with which so many steps of [SubsampledGaussian]
// together are (epsilon, delta)-private, and bounds on the epsilon they have at that delta,
// [Composition.BestEpsilon].
//
// Guarantee: with no error, bounds.Upper <= epsilon. It is at most 0.1 % smaller, or the
// multiplier the smallest there is, 0.05. The error wraps [dp.ErrInvalid] for an input out of
// its range, or if no multiplier up to 10^6 is enough. Cost: some ten compositions.
func SubsampledMultiplier(rate float64, steps int, epsilon, delta float64) (multiplier float64, bounds Bounds, err error) {
	bad := check.In("account")
	bad.If(!(epsilon > 0) || math.IsInf(epsilon, 1), "epsilon", epsilon, "a finite number > 0")
	bad.If(!(delta > 0 && delta < 1), "delta", delta, "0 < delta < 1")
	if err := bad.Err(); err != nil {
		return 0, Bounds{}, err
	}
	lo, most := minMultiplier, math.Inf(1) // too small, and its epsilon
	for m := 1.0; multiplier == 0 || bounds.Upper < epsilon*(1-multiplierTolerance) && multiplier > lo*(1+multiplierTolerance/64); {
		b, err := subsampledEpsilon(m, rate, steps, delta)
		switch {
		case err != nil:
			return 0, Bounds{}, err
		case b.Upper <= epsilon:
			multiplier, bounds = m, b
		case m == maxMultiplier:
			return 0, Bounds{}, check.Errorf("account", dp.ErrInvalid, "epsilon = %g at delta = %g: no multiplier up to %g is proved to be enough for %d steps, want a larger epsilon or delta, or fewer steps", epsilon, delta, float64(maxMultiplier), steps)
		default:
			lo, most = m, b.Upper
		}
		if multiplier == 0 { // epsilon falls about as the multiplier grows, or faster
			m = math.Min(lo*math.Min(math.Max(2, b.Upper/epsilon), 1e3), maxMultiplier)
			continue
		}
		share := 0.5 // of the way to the multiplier that is enough
		if !math.IsInf(most, 1) && bounds.Upper > 0 {
			share = math.Log(most/(epsilon*(1-multiplierTolerance/2))) / math.Log(most/bounds.Upper)
			share = math.Min(math.Max(share, 1.0/16), 15.0/16)
		}
		m = lo * math.Pow(multiplier/lo, share)
	}
	return multiplier, bounds, nil
}

// subsampledEpsilon bounds the epsilon of so many steps.
func subsampledEpsilon(multiplier, rate float64, steps int, delta float64) (Bounds, error) {
	pld, err := SubsampledGaussian(multiplier, rate)
	if err != nil {
		return Bounds{}, err
	}
	return bestEpsilon([]Release{{PLD: pld, Times: steps}}, delta, 0)
}
