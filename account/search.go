package account

import (
	"context"
	"errors"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/tables"
)

// release is one of those that a search tries: (epsilon, delta)-private, for an
// expected loss.
type release struct {
	epsilon, delta float64
	pld            *PrivacyLossDistribution
	loss           float64
	composed       Bounds // on the epsilon of all releases; +Inf if none is enough

	table      *tables.Verified // nil for a law without one
	randomizer *local.Verified  // nil but for CalibrateLocal
	limit      error            // of its design
	exponent   float64          // of its shape
}

func (r *release) calibration() *Calibration {
	if r == nil {
		return nil
	}
	return &Calibration{Table: r.table, PLD: r.pld, Composed: r.composed, Exponent: r.exponent, Limit: r.limit, loss: r.loss}
}

// maker makes the release that is (epsilon, delta)-private, on which basic
// composition relies; epsilon, delta and composed are for the search to fill in.
type maker func(ctx context.Context, epsilon, delta float64) (*release, error)

// search looks for the release of least loss that keeps the target. It makes some ten
// to thirty of them, with epsilons of at least target.Epsilon/target.Releases.
type search struct {
	target Target
	make   maker
	// width is that of Options for the compositions. Wide bounds save time and
	// hardly any privacy, for it is the lower ones that pay.
	width float64
}

// searchTolerance is how close to the target the composed epsilon has to come from
// below.
const searchTolerance = 0.001

// settled reports whether there is nothing to search for: a single release, or pure
// ones, for which basic composition is exact.
func (t Target) settled() bool { return t.Releases == 1 || t.Delta == 0 }

func better(a, b *release) *release {
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
func (s *search) basic(ctx context.Context) (*release, error) {
	return s.at(ctx, portion(s.target.Epsilon, s.target.Releases), portion(s.target.Delta, s.target.Releases))
}

// climb tries shares of the total delta from 0.5 on up and down as long as the loss
// falls, beside pure releases, which are the better ones for many, and basic
// composition, which is for few.
func (s *search) climb(ctx context.Context) (*release, error) {
	basic, basicErr := s.basic(ctx)
	// Many releases have much more each than their part; there may not even be noise
	// for that.
	n := float64(s.target.Releases)
	middle, err := s.findAt(ctx, s.part(0.5), portion(s.target.Epsilon, s.target.Releases)*math.Max(1, math.Sqrt(n)/8))
	if err != nil {
		if basicErr == nil && ctx.Err() == nil {
			return basic, nil
		}
		return nil, err
	}
	best := middle
	if basicErr == nil {
		best = better(best, basic)
	}
	if pure, err := s.findAt(ctx, 0, middle.epsilon); err == nil { // not every loss has one
		best = better(best, pure)
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

// part returns what a release has of a share of the total delta; the rest is left for
// the composition.
func (s *search) part(share float64) float64 {
	return s.target.Delta * share / float64(s.target.Releases)
}

// at makes the release and composes it.
func (s *search) at(ctx context.Context, epsilon, delta float64) (*release, error) {
	r, err := s.make(ctx, epsilon, delta)
	if err != nil {
		return nil, err
	}
	r.epsilon, r.delta = epsilon, delta
	if r.composed, err = s.target.compose(r.pld, s.width); err != nil {
		return nil, err
	}
	r.composed = s.target.orBasic(r.composed, epsilon, delta)
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

// compose returns bounds on the epsilon of all releases at the target's delta, +Inf if
// none is enough.
func (t Target) compose(pld *PrivacyLossDistribution, width float64) (Bounds, error) {
	composition, err := Compose([]Release{{pld, t.Releases}}, Options{Width: width})
	if err != nil {
		return Bounds{}, err
	}
	b, err := composition.Epsilon(t.Delta)
	if errors.Is(err, ErrDeltaTooSmall) {
		return Bounds{math.Inf(1), math.Inf(1)}, nil
	}
	return b, err
}

// findAt returns the release with this delta and the largest epsilon that keeps the
// target, or the one of basic composition if there is nothing to search for.
func (s *search) findAt(ctx context.Context, delta, start float64) (*release, error) {
	t := s.target
	if t.settled() {
		return s.basic(ctx)
	}
	var best, previous *release
	lo, hi := 0.0, math.Inf(1)
	x, power := start, 1.0 // the composed epsilon grows about as x^power
	for range 16 {
		now, err := s.at(ctx, x, delta)
		if err != nil {
			return nil, err
		}
		if previous != nil && !math.IsInf(now.composed.Upper, 1) && !math.IsInf(previous.composed.Upper, 1) {
			p := math.Log(now.composed.Upper/previous.composed.Upper) / math.Log(now.epsilon/previous.epsilon)
			if p > 0.5 && p < 3 {
				power = p
			}
		}
		previous = now
		ratio := t.Epsilon / now.composed.Upper
		if ratio >= 1 {
			if lo = x; best == nil || x > best.epsilon {
				best = now
			}
			if ratio <= 1+searchTolerance {
				return best, nil
			}
		} else {
			hi = x
		}
		if hi <= lo*(1+searchTolerance/2) {
			break
		}
		x *= math.Pow(ratio*(1-searchTolerance/2), 1/power)
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
