// SPDX-License-Identifier: Apache-2.0

package account

import (
	"cmp"
	"context"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// localDesigner designs a randomizer of bounded values that is (epsilon, delta)-private,
// such as one by lp.DesignLocal for a fixed problem: with a loss that is at most the relative
// gap above the least possible. A randomizer beside an error is the best one proved before a
// limit; it is used, and the error kept.
type localDesigner = func(ctx context.Context, epsilon, delta, gap float64) (*local.Verified, error)

// CalibrateLocal returns the randomizer of a single release that has the smallest loss of
// those found such that all releases of one value together keep the total, by exact
// composition. Of several releases each has a delta of 0, and the composition that of the
// total: such randomizers are quickly designed, and those that use delta gain little. gap is
// the relative gap asked for, 0 what the designer takes it for.
//
// Guarantee: total.Releases answers to one value, or to several about the same person, are
// (total.Epsilon, total.Delta)-private, as [Composition.Epsilon] proves.
//
// Errors are as those of [Calibrate]. The cost is up to some ten designs, most of them
// coarse, and as many compositions; for a delta of 0 or a single release it is one design.
func CalibrateLocal(ctx context.Context, total tables.Total, design localDesigner, gap float64) (*Calibration, error) {
	t := Target{
		Problem:  dp.Problem{Privacy: dp.Privacy{Epsilon: total.Epsilon, Delta: total.Delta, Sensitivity: 1}, Loss: loss.L1},
		Releases: total.Releases,
	}
	if err := t.validate(); err != nil {
		return nil, err
	}
	c, err := t.searched(ctx, func(gap float64) maker { return randomizers(design, gap) }, gap, (*search).pure)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // what there is may not be the best
		return nil, err
	}
	return c, nil
}

// pure finds the release of a delta of 0.
func (s *search) pure(ctx context.Context) (*Calibration, error) { return s.findAt(ctx, 0, s.start()) }

// randomizers makes releases by the designer.
func randomizers(design localDesigner, gap float64) maker {
	return func(ctx context.Context, epsilon, delta float64) (*Calibration, error) {
		v, limit := design(ctx, epsilon, delta, gap)
		if v == nil || v.Mechanism() == nil {
			return nil, cmp.Or(limit, check.Errorf("account", dp.ErrInvalid, "no randomizer was designed"))
		}
		// Basic composition rests on it.
		if s := v.Mechanism().Spec(); s.Epsilon > epsilon || s.Delta > delta {
			return nil, check.Errorf("account", nil, "the designed randomizer is for epsilon = %g, delta = %g, want %g, %g", s.Epsilon, s.Delta, epsilon, delta)
		}
		pld, err := LossOf(v.Mechanism())
		if err != nil {
			return nil, err
		}
		loss, _ := v.Certificate().Loss().Float64()
		return &Calibration{PLD: pld, loss: loss, Randomizer: v, Limit: limit}, nil
	}
}
