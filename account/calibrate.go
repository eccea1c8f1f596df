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

// Designer makes the mechanism of a single release that is (epsilon,
// delta)-private, which Calibrate relies on, and says what it costs: its loss, in
// any unit.
type Designer func(ctx context.Context, epsilon, delta float64) (m *PrivacyLossDistribution, loss float64, err error)

// Target is what a number of equal releases are to cost together at most.
type Target struct {
	Releases       int     // from 1 to MaxReleases
	Epsilon, Delta float64 // Epsilon > 0, 0 <= Delta < 1
}

// Calibration is a mechanism whose releases keep a Target.
type Calibration struct {
	// Epsilon and Delta are of a single release.
	Epsilon, Delta float64
	Mechanism      *PrivacyLossDistribution
	Loss           float64
	// Composed are bounds on the epsilon of all releases at the target's delta.
	Composed Bounds
}

// CalibrateOptions tune Calibrate; the zero value is useful.
type CalibrateOptions struct {
	// Shares are the parts of the total delta that the releases may spend
	// themselves, each between 0 and 1, to choose from; the rest is left for
	// the composition. nil means 0.5, and what is near it and better.
	Shares []float64
	// Start, if not nil, is a calibration that should be close: only its own
	// share is tried, and the search starts from its epsilon.
	Start *Calibration
	// Width is that of Options for the compositions. Wide bounds save time and
	// hardly any privacy, for it is the lower ones that pay.
	Width float64
}

// calibrationTolerance is how close to the target the composed epsilon has to
// come from below.
const calibrationTolerance = 0.001

// Calibrate finds the single release of least loss such that so many of them
// keep the target. It calls design some ten to thirty times, with epsilons of at
// least target.Epsilon/Releases.
//
// Guarantee: so many releases of the Mechanism are (target.Epsilon,
// target.Delta)-private, as Composition.Epsilon proves. The errors wrap
// ErrInvalid, or are those of design.
func Calibrate(ctx context.Context, target Target, design Designer, o CalibrateOptions) (*Calibration, error) {
	if err := target.validate(); err != nil {
		return nil, err
	}
	c := &calibrator{target: target, design: design, width: o.Width}
	start := portion(target.Epsilon, target.Releases)
	if target.Releases == 1 || target.Delta == 0 { // nothing to choose
		return c.at(ctx, start, portion(target.Delta, target.Releases))
	}
	if o.Start != nil {
		return c.findAt(ctx, o.Start.Delta, o.Start.Epsilon)
	}
	if o.Shares != nil {
		var best *Calibration
		for _, s := range o.Shares {
			found, err := c.find(ctx, s, start)
			if err != nil {
				return nil, err
			}
			best = better(best, found)
		}
		return best, nil
	}
	return c.climb(ctx, start)
}

func (t Target) validate() error {
	if t.Releases < 1 || t.Releases > MaxReleases {
		return check.Errorf("account", dp.ErrInvalid, "releases = %d, want 1 to %d", t.Releases, MaxReleases)
	}
	if !(t.Epsilon > 0) || math.IsInf(t.Epsilon, 1) {
		return check.Field("account", "epsilon", t.Epsilon, "a finite number > 0")
	}
	if !(t.Delta >= 0 && t.Delta < 1) {
		return check.Field("account", "delta", t.Delta, "0 <= delta < 1")
	}
	return nil
}

func better(a, b *Calibration) *Calibration {
	if a == nil || b.Loss < a.Loss {
		return b
	}
	return a
}

// portion returns the largest float64 that n times is at most the whole, exactly.
func portion(whole float64, n int) float64 {
	part := exact.Rational(whole)
	return exact.FloatDown(part.Quo(part, new(big.Rat).SetInt64(int64(n))))
}

type calibrator struct {
	target Target
	design Designer
	width  float64
}

// climb tries shares from 0.5 on up and down as long as the loss falls, beside pure
// releases, which are the better ones for many, and basic composition, which is for few.
func (c *calibrator) climb(ctx context.Context, start float64) (*Calibration, error) {
	basic, basicErr := c.at(ctx, start, portion(c.target.Delta, c.target.Releases))
	// Many releases have much more each than their part; design may not even
	// have noise for that.
	middle, err := c.find(ctx, 0.5, start*math.Max(1, math.Sqrt(float64(c.target.Releases))/8))
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
	if pure, err := c.find(ctx, 0, middle.Epsilon); err == nil { // not every loss has one
		best = better(best, pure)
	}
	for _, path := range [][]float64{{0.2, 0.05}, {0.75, 0.9}} {
		last := middle
		for _, s := range path {
			found, err := c.find(ctx, s, last.Epsilon)
			if err != nil {
				return nil, err
			}
			best = better(best, found)
			if found.Loss >= last.Loss {
				break
			}
			last = found
		}
	}
	return best, ctx.Err()
}

// at makes the single release and composes it.
func (c *calibrator) at(ctx context.Context, epsilon, delta float64) (*Calibration, error) {
	m, loss, err := c.design(ctx, epsilon, delta)
	if err != nil {
		return nil, err
	}
	composition, err := Compose([]Release{{m, c.target.Releases}}, Options{Width: c.width})
	if err != nil {
		return nil, err
	}
	b, err := composition.Epsilon(c.target.Delta)
	if errors.Is(err, ErrDeltaTooSmall) {
		b, err = Bounds{math.Inf(1), math.Inf(1)}, nil
	}
	// Basic composition, if the releases keep to their parts.
	if epsilon <= portion(c.target.Epsilon, c.target.Releases) && delta <= portion(c.target.Delta, c.target.Releases) {
		b.Upper = math.Min(b.Upper, c.target.Epsilon)
		b.Lower = math.Min(b.Lower, b.Upper)
	}
	return &Calibration{epsilon, delta, m, loss, b}, err
}

// find returns the release with the largest epsilon that keeps the target, when
// each has its part of the share of the total delta.
func (c *calibrator) find(ctx context.Context, share, start float64) (*Calibration, error) {
	return c.findAt(ctx, c.target.Delta*share/float64(c.target.Releases), start)
}

// findAt is find for the delta of a release.
func (c *calibrator) findAt(ctx context.Context, delta, start float64) (*Calibration, error) {
	var best *Calibration
	lo, hi := 0.0, math.Inf(1)
	x, power := start, 1.0 // the composed epsilon grows about as x^power
	var previous *Calibration
	for range 16 {
		now, err := c.at(ctx, x, delta)
		if err != nil {
			return nil, err
		}
		if previous != nil && !math.IsInf(now.Composed.Upper, 1) && !math.IsInf(previous.Composed.Upper, 1) {
			p := math.Log(now.Composed.Upper/previous.Composed.Upper) / math.Log(now.Epsilon/previous.Epsilon)
			if p > 0.5 && p < 3 {
				power = p
			}
		}
		previous = now
		ratio := c.target.Epsilon / now.Composed.Upper
		if ratio >= 1 {
			if lo = x; best == nil || x > best.Epsilon {
				best = now
			}
			if ratio <= 1+calibrationTolerance {
				return best, nil
			}
		} else {
			hi = x
		}
		if hi <= lo*(1+calibrationTolerance/2) {
			break
		}
		x *= math.Pow(ratio*(1-calibrationTolerance/2), 1/power)
		// Basic composition allows this much in any case, if delta does.
		x = math.Max(x, c.target.Epsilon/float64(c.target.Releases))
		if x >= hi || x <= lo {
			x = lo + (hi-lo)/2
		}
		if x <= lo || math.IsInf(x, 1) {
			break
		}
	}
	if best == nil {
		return nil, check.Errorf("account", dp.ErrInvalid, "releases = %d, want fewer, or a larger epsilon or delta: no single release was found that keeps epsilon = %g, delta = %g together", c.target.Releases, c.target.Epsilon, c.target.Delta)
	}
	return best, nil
}
