// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"errors"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// maker makes the release that is (epsilon, delta)-private, on which basic
// composition relies; epsilon, delta and Composed are for the search to fill in.
type maker func(ctx context.Context, epsilon, delta float64) (*Calibration, error)

// search looks for the release of least loss that keeps the target. It makes some ten
// to thirty of them, with epsilons of at least target.Epsilon/target.Releases.
type search struct {
	target Target
	make   maker
	// width is that of Options for the compositions. Wide bounds save time and
	// hardly any privacy, for it is the lower ones that pay.
	width float64
	// hopeless, if not 0, is a loss above which the search of shares ends.
	hopeless float64
}

// tolerance is how close to the target the composed epsilon has to come from below; coarse designs only steer.
func (s *search) tolerance() float64 {
	if s.width > 0 {
		return 0.004
	}
	return 0.001
}

// settled reports whether there is nothing to search for: a single release, or pure
// ones, for which basic composition is exact.
func (t Target) settled() bool { return t.Releases == 1 || t.Delta == 0 }

func better(a, b *Calibration) *Calibration {
	if a == nil || b.loss < a.loss {
		return b
	}
	return a
}

// portion returns the largest float64 that n times is at most the whole, exactly.
func portion(whole float64, n int) float64 {
	part := exact.Rational(whole)
	return exact.FloatDown(part.Quo(part, new(big.Rat).SetInt64(int64(n))))
}

// basic makes the release for an equal part of epsilon and delta.
func (s *search) basic(ctx context.Context) (*Calibration, error) {
	return s.at(ctx, portion(s.target.Epsilon, s.target.Releases), portion(s.target.Delta, s.target.Releases))
}

// climb tries shares of the total delta from 0.5 on up and down as long as the loss falls, beside
// pure releases, which are the better ones for many, and basic composition, which is for few: those that have
// not twice its epsilon with half its delta.
func (s *search) climb(ctx context.Context) (*Calibration, error) {
	middle, err := s.findAt(ctx, s.part(0.5), s.start())
	best := middle
	if err != nil || middle.epsilon < 2*portion(s.target.Epsilon, s.target.Releases) {
		basic, basicErr := s.basic(ctx)
		switch {
		case err == nil && basicErr == nil:
			best = better(best, basic)
		case err != nil && basicErr == nil && ctx.Err() == nil:
			return basic, nil
		case err != nil:
			return nil, err
		}
	}
	if pure, err := s.findAt(ctx, 0, middle.epsilon); err == nil { // not every loss has one
		best = better(best, pure)
	}
	if s.hopeless > 0 && best.loss > s.hopeless {
		best.hopeless = true
		return best, ctx.Err()
	}
	for _, path := range [][]float64{{0.2, 0.05}, {0.75, 0.9}} {
		last := middle
		for _, share := range path {
			found, err := s.findAt(ctx, s.part(share), last.epsilon)
			if err != nil {
				return nil, err
			}
			best = better(best, found)
			if found.loss >= last.loss {
				break
			}
			last = found
		}
	}
	return best, ctx.Err()
}

// start is an epsilon to start from. Many releases have much more each than their part; there
// may not even be noise for that.
func (s *search) start() float64 {
	n := s.target.Releases
	return portion(s.target.Epsilon, n) * math.Max(1, math.Sqrt(float64(n))/8)
}

// part is a release's part of a share of delta; the rest is left for the composition.
func (s *search) part(share float64) float64 {
	return s.target.Delta * share / float64(s.target.Releases)
}

// at makes the release and composes it.
func (s *search) at(ctx context.Context, epsilon, delta float64) (*Calibration, error) {
	r, err := s.make(ctx, epsilon, delta)
	if err != nil {
		return nil, err
	}
	r.epsilon, r.delta = epsilon, delta
	if r.Composed, err = s.target.compose(r.PLD, s.width); err != nil {
		return nil, err
	}
	r.Composed = s.target.orBasic(r.Composed, epsilon, delta)
	return r, nil
}

// orBasic is what basic composition makes of bounds on the composed epsilon, if the
// releases, (epsilon, delta)-private each, keep to their parts.
func (t Target) orBasic(b Bounds, epsilon, delta float64) Bounds {
	if epsilon <= portion(t.Epsilon, t.Releases) && delta <= portion(t.Delta, t.Releases) {
		b.Upper = math.Min(b.Upper, t.Epsilon)
		b.Lower = math.Min(b.Lower, b.Upper)
	}
	return b
}

// compose returns bounds on the epsilon of all at the target's delta, +Inf if none is enough. Of a width, which
// is that of a search, the upper one counts alone, and the lower is 0.
func (t Target) compose(pld *PrivacyLossDistribution, width float64) (Bounds, error) {
	composition, err := Compose([]Release{{pld, t.Releases}}, Options{Width: width})
	if err != nil {
		return Bounds{}, err
	}
	composition.oneSided = width > 0
	b, err := composition.Epsilon(t.Delta)
	if errors.Is(err, ErrDeltaTooSmall) {
		return Bounds{math.Inf(1), math.Inf(1)}, nil
	}
	return b, err
}

// findAt returns the release with this delta and the largest epsilon that keeps the
// target, or the one of basic composition if there is nothing to search for.
func (s *search) findAt(ctx context.Context, delta, start float64) (*Calibration, error) {
	t := s.target
	if t.settled() {
		return s.basic(ctx)
	}
	var best, previous *Calibration
	tolerance := s.tolerance()
	lo, hi := 0.0, math.Inf(1)
	x, power := start, 1.0 // the composed epsilon grows about as x^power
	for range 16 {
		now, err := s.at(ctx, x, delta)
		if err != nil {
			return nil, err
		}
		if previous != nil && !math.IsInf(now.Composed.Upper, 1) && !math.IsInf(previous.Composed.Upper, 1) {
			p := math.Log(now.Composed.Upper/previous.Composed.Upper) / math.Log(now.epsilon/previous.epsilon)
			if p > 0.5 && p < 3 {
				power = p
			}
		}
		previous = now
		ratio := t.Epsilon / now.Composed.Upper
		if ratio >= 1 {
			if lo = x; best == nil || x > best.epsilon {
				best = now
			}
			if ratio <= 1+tolerance {
				return best, nil
			}
		} else {
			hi = x
		}
		if hi <= lo*(1+tolerance/2) {
			break
		}
		x *= math.Pow(ratio*(1-tolerance/2), 1/power)
		// Basic composition allows this much in any case, if delta does.
		x = math.Max(x, t.Epsilon/float64(t.Releases))
		if x >= hi || x <= lo {
			x = lo + (hi-lo)/2
		}
		if x <= lo || math.IsInf(x, 1) {
			break
		}
	}
	if best == nil {
		return nil, check.Errorf("account", dp.ErrInvalid, "releases = %d, want fewer, or a larger epsilon or delta: no single release was found that keeps epsilon = %g, delta = %g together", t.Releases, t.Epsilon, t.Delta)
	}
	return best, nil
}
