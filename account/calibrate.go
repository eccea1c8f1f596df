// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// Target is what equal releases are to cost together at most. The Problem is that of one release,
// but for Epsilon and Delta, which are of all of them together: Epsilon > 0, 0 <= Delta < 1.
type Target struct {
	dp.Problem
	Releases int // from 1 to limits.TableReleases
}

func (t Target) validate() error {
	bad := check.In("account")
	bad.Add(t.Problem.Validate())
	bad.If(t.Epsilon == 0, "epsilon", t.Epsilon, "a finite number > 0")
	bad.If(t.Releases < 1 || t.Releases > limits.TableReleases, "releases", t.Releases, "1 to %d", limits.TableReleases)
	return bad.Err()
}

// shapes says if exponential power noise will do: it keeps no constraint, and needs delta > 0.
func (t Target) shapes() bool { return t.Constraints.None() && t.Delta > 0 }

// single returns the problem of one release with this promise.
func (t Target) single(epsilon, delta float64) dp.Problem {
	p := t.Problem
	p.Epsilon, p.Delta = epsilon, delta
	return p
}

// Designer designs noise for the problem, such as lp.Design: with an expected loss
// that is at most the relative gap above the least possible. A table beside an error
// is the best one proved before a limit; it is used, and the error kept.
type Designer func(ctx context.Context, p dp.Problem, gap float64) (*tables.Verified, error)

// CalibrateOptions tune Calibrate; the zero value is useful.
type CalibrateOptions struct {
	// Gap is the relative gap asked for, 0 what the Designer takes it for. Designs that only steer
	// the search ask for 0.02, if that is more, and need not be good.
	Gap float64
	// Exponents are those of exponential power noise, from 1 to 2, tried in order while the loss
	// falls. nil means 2, which is Gaussian noise, 1.75, 1.5 and 1.25; an empty slice means none.
	Exponents []float64
}

// The gap of designs and the width of compositions that only steer the search.
const (
	coarseGap   = 0.02
	coarseWidth = 0.05
)

// hopelessLoss is what a design of half the delta, or a pure one, has to come near to be searched for further,
// relative to noise of a shape: other shares of delta took at most 1.1 % off l1 and 4.3 % off l2.
const hopelessLoss = 1.2

// Calibration is the noise of a single release that keeps a Target.
type Calibration struct {
	// Table is the noise, with the target as its claimed total, which ProveTotal
	// proves; nil of CalibrateLocal. Its own promise is about one release; for exponential power noise it
	// is one point of a profile, and not what the target rests on.
	Table *tables.Verified
	// Randomizer is that of CalibrateLocal, which promises what a single release keeps.
	Randomizer *local.Verified
	// PLD is its privacy loss distribution, and Composed are bounds on the epsilon
	// of all releases together, at the target's delta.
	PLD      *PrivacyLossDistribution
	Composed Bounds
	// Exponent is that of exponential power noise, 0 for designed noise.
	Exponent float64
	// Limit is why its design ended early, nil if it did not.
	Limit error
	// DesignError is why no designed noise was found to choose, nil if it was.
	DesignError error

	// A single release is (epsilon, delta)-private, for this expected loss. Composed is +Inf
	// while no epsilon is enough, and Table nil for a law without one.
	epsilon, delta, loss float64
	scale                float64 // of exponential power noise
	hopeless             bool    // it was not searched for to the end
}

// Calibrate returns the noise of a single release that has the smallest expected loss of those that
// keep the target: noise by the Designer, or noise of exponential power shape between Laplace and
// Gaussian noise, which has the smaller loss for many releases. A nil Designer leaves the latter
// alone, which is for targets without constraints and delta above 0.
//
// Guarantee: target.Releases releases of the table, each with fresh noise, are
// (target.Epsilon, target.Delta)-private, as [Composition.Epsilon] proves.
//
// All bad fields are reported together, wrapping [dp.ErrInvalid], and so is a target for which
// nothing was found. Other errors are those of the Designer and of the context. The cost is some
// ten to thirty designs, most of them coarse, and as many compositions; the search for designed noise ends early
// where its loss is far above that of exponential power noise.
func Calibrate(ctx context.Context, target Target, design Designer, o CalibrateOptions) (*Calibration, error) {
	if err := target.validate(); err != nil {
		return nil, err
	}
	exponents := o.Exponents
	if exponents == nil {
		exponents = []float64{2, 1.75, 1.5, 1.25}
	}
	if !target.shapes() {
		exponents = nil
	}
	if design == nil && len(exponents) == 0 {
		return nil, check.Errorf("account", dp.ErrInvalid, "no noise to choose from, want a designer, or no constraints on the noise, delta above 0 and an exponent")
	}
	var best *Calibration // of shape
	var unfit error
	if len(exponents) > 0 {
		best, unfit = target.shaped(ctx, exponents)
	}
	var failed error
	if design != nil {
		var found *Calibration
		hopeless := math.Inf(1)
		if best != nil {
			hopeless = best.loss * hopelessLoss
		}
		found, failed = target.searched(ctx, func(gap float64) maker { return target.designs(design, gap) }, o.Gap, func(s *search, ctx context.Context) (*Calibration, error) {
			s.hopeless = hopeless
			return s.climb(ctx)
		})
		if failed == nil && (best == nil || best.loss >= found.loss) {
			best = found
		}
	}
	switch {
	case best == nil && failed != nil:
		return nil, failed
	case best == nil:
		return nil, unfit
	}
	if err := ctx.Err(); err != nil { // what there is may not be the best
		return nil, err
	}
	best.DesignError = failed
	return best, best.claim(ctx, target)
}

// claim writes the target into the table.
func (c *Calibration) claim(ctx context.Context, t Target) error {
	table, err := c.Table.Mechanism().WithTotal(tables.Total{Releases: t.Releases, Epsilon: t.Epsilon, Delta: t.Delta})
	if err == nil {
		// It was verified without the claim, whatever work that took.
		c.Table, err = proof.Verify(ctx, table, proof.Options{Work: math.MaxInt64})
	}
	return err
}

// searched searches with coarse designs and ends with fine ones.
func (t Target) searched(ctx context.Context, at func(gap float64) maker, gap float64, coarsely func(*search, context.Context) (*Calibration, error)) (*Calibration, error) {
	fine := &search{target: t, make: at(gap)}
	if t.settled() {
		return fine.basic(ctx)
	}
	found, err := coarsely(&search{target: t, make: at(max(coarseGap, gap)), width: coarseWidth}, ctx)
	if err != nil || found.hopeless {
		return found, err
	}
	return fine.findAt(ctx, found.delta, found.epsilon)
}

// answers refuses a designed table that promises less than was asked for, or that is for
// another query: the guarantee of Calibrate rests on it.
func answers(got, want dp.Problem) error {
	if want.Query == "" {
		want.Query = dp.RealQuery
	}
	if got.Epsilon > want.Epsilon || got.Delta > want.Delta || got.Sensitivity < want.Sensitivity || got.Query != want.Query || got.Step != want.Step {
		return check.Errorf("account", nil, "the designed table is for another problem: %s, step %g, %+v, want %s, step %g, %+v", got.Query, got.Step, got.Privacy, want.Query, want.Step, want.Privacy)
	}
	return nil
}

// designs makes releases by the Designer.
func (t Target) designs(design Designer, gap float64) maker {
	return func(ctx context.Context, epsilon, delta float64) (*Calibration, error) {
		table, limit := design(ctx, t.single(epsilon, delta), gap)
		if table == nil {
			return nil, limit
		}
		if err := answers(table.Mechanism().Problem(), t.single(epsilon, delta)); err != nil {
			return nil, err
		}
		pld, err := LossOf(table.Mechanism())
		if err != nil {
			return nil, err
		}
		loss, _ := table.Certificate().ExpectedLoss.Float64()
		return &Calibration{PLD: pld, loss: loss, Table: table, Limit: limit}, nil
	}
}

// ProveTotal proves the total that a table claims to be made for, its ClaimedTotal, and
// returns bounds on the epsilon of so many releases together at the total's delta.
//
// Guarantee: without an error, total.Releases releases of the table, each with fresh
// noise, are (total.Epsilon, total.Delta)-differentially private, by exact composition
// of the table's weights ([Composition.Epsilon]) or by basic composition of what was
// verified of one (docs/proofs/composition.md).
//
// The error wraps [proof.ErrFalseClaim] if that is not proved, with the bounds beside
// it, their Upper +Inf where no epsilon is; [dp.ErrInvalid] if there is no table or it
// claims no total; and [proof.ErrWork] if the table is more than [LossOf] takes, which
// says nothing about the total. The cost is one composition.
func ProveTotal(v *tables.Verified) (Bounds, error) {
	if v == nil || v.Mechanism() == nil {
		return Bounds{}, check.Field("account", "table", "none", "a verified one")
	}
	total, ok := v.Mechanism().ClaimedTotal()
	if !ok {
		return Bounds{}, check.Field("account", "total", "none", "a table that claims one")
	}
	t := Target{Problem: v.Mechanism().Problem(), Releases: total.Releases}
	promised := t.Privacy
	t.Epsilon, t.Delta = total.Epsilon, total.Delta
	var b Bounds
	pld, err := LossOf(v.Mechanism())
	if err == nil {
		b, err = t.compose(pld, 0)
	}
	if err != nil { // basic composition is all there is
		b = Bounds{Upper: math.Inf(1)}
	}
	b = t.orBasic(b, promised.Epsilon, promised.Delta)
	if b.Upper <= total.Epsilon {
		return b, nil
	}
	if err != nil && !errors.Is(err, dp.ErrInvalid) {
		return b, err
	}
	proved := "no epsilon is proved"
	if !math.IsInf(b.Upper, 1) {
		proved = fmt.Sprintf("only epsilon = %v is proved", b.Upper)
	}
	return b, check.Errorf("account", proof.ErrFalseClaim, "total = %d releases with epsilon = %g, delta = %g is claimed but %s at this delta", total.Releases, total.Epsilon, total.Delta, proved)
}
