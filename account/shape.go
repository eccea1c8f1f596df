// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// shaped tries exponential power noise of the exponents as long as the loss falls.
func (t Target) shaped(ctx context.Context, exponents []float64) (*Calibration, error) {
	best, err := t.shape(ctx, exponents[0])
	if err != nil {
		return nil, err
	}
	for _, exponent := range exponents[1:] {
		next, err := t.shape(ctx, exponent)
		if err != nil || next.loss >= best.loss {
			break
		}
		best = next
	}
	return best, nil
}

// shapeTolerance is how close to the target the composed epsilon of shaped noise has to come.
const shapeTolerance = 1e-3

// shape makes a table of such noise whose releases keep the target: the scale is searched for, from
// that of continuous normal noise on, until the table itself is proved to compose to little less.
func (t Target) shape(ctx context.Context, exponent float64) (*Calibration, error) {
	p := t.Privacy
	p.Sensitivity *= math.Sqrt(float64(t.Releases))
	sigma, err := noise.GaussianSigma(p)
	if err != nil {
		return nil, err
	}
	none := check.Errorf("account", dp.ErrInvalid, "noise of exponent %g: no table was found that keeps epsilon = %g, delta = %g over %d releases", exponent, t.Epsilon, t.Delta, t.Releases)
	lo, hi := 0.0, math.Inf(1) // too small, large enough
	scale := sigma * math.Sqrt2 * (1 + 1e-6)
	for hi > lo*(1+shapeTolerance/4) {
		r, err := t.shapeOf(ctx, exponent, scale, coarseWidth)
		if err != nil {
			return nil, err
		}
		ratio := r.Composed.Upper / t.Epsilon
		if r.Composed.Upper <= t.Epsilon {
			hi = scale
		} else {
			lo = scale
		}
		if ratio <= 1 && ratio >= 1-shapeTolerance/2 {
			break
		}
		// The composed epsilon falls about as the scale grows.
		scale *= math.Min(math.Max(ratio, 0.25), 4) * (1 + shapeTolerance/8)
		if !(scale > lo && scale < hi) {
			scale = lo + (hi-lo)/2
		}
		if scale > 1e3*sigma {
			return nil, none
		}
	}
	// On a finer grid the bound may be a little larger, or smaller.
	for scale = hi; scale < 2*hi; scale *= 1 + shapeTolerance/4 {
		r, err := t.shapeOf(ctx, exponent, scale, 0)
		if err != nil {
			return nil, err
		}
		if r.Composed.Upper > t.Epsilon {
			continue
		}
		if err := t.promise(r, exponent, scale); err != nil {
			return nil, err
		}
		// What a table promises steers its grid of losses, and so the bound a little.
		if r.PLD, err = LossOf(r.Table.Mechanism()); err != nil {
			return nil, err
		}
		if r.Composed, err = t.compose(r.PLD, 0); err != nil || r.Composed.Upper <= t.Epsilon {
			return r, err
		}
	}
	return nil, none
}

// shapeOf makes noise of the exponent and the scale and composes it.
func (t Target) shapeOf(ctx context.Context, exponent, scale, width float64) (*Calibration, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// The table's own promise is not used here.
	table, err := shapes.ExponentialPower(t.single(1, 0), exponent, scale, tables.Grid{})
	if err != nil {
		return nil, err
	}
	r := &Calibration{Exponent: exponent}
	if r.PLD, err = LossOf(table.Mechanism()); err != nil {
		return nil, err
	}
	r.Composed, err = t.compose(r.PLD, width)
	return r, err
}

// promise gives the release its table: of the points of the profile it promises one
// with half of its part of the total delta.
func (t Target) promise(r *Calibration, exponent, scale float64) error {
	single, err := Compose([]Release{{r.PLD, 1}}, Options{})
	if err != nil {
		return err
	}
	e, err := single.Epsilon(t.Delta / float64(t.Releases) / 2)
	if err != nil {
		return err
	}
	if r.Table, err = shapes.ExponentialPower(t.single(e.Upper, 0), exponent, scale, tables.Grid{}); err != nil {
		return err
	}
	r.loss, _ = r.Table.Certificate().ExpectedLoss.Float64()
	return nil
}
