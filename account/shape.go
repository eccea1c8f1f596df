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
	return t.finer(ctx, best)
}

// shapeTolerance is how close to the target the composed epsilon of shaped noise has to come.
const shapeTolerance = 1e-3

// shape finds such noise whose releases keep the target, by wide bounds: the scale is searched for, from that on at which it tells
// as much of a small change as continuous normal noise for the target, until what a table of it composes to is so close that
// the scale that keeps the target can be told from it.
func (t Target) shape(ctx context.Context, exponent float64) (*Calibration, error) {
	p := t.Privacy
	p.Sensitivity *= math.Sqrt(float64(t.Releases))
	sigma, err := noise.GaussianSigma(p)
	if err != nil {
		return nil, err
	}
	lo, hi := 0.0, math.Inf(1) // too small, large enough
	// The Fisher information of noise of scale 1.
	information := exponent * exponent * math.Gamma(2-1/exponent) / math.Gamma(1/exponent)
	scale := sigma * math.Sqrt(information) * (1 + shapeTolerance/8)
	power, before, last := 1.0, 0.0, 0.0 // the composed epsilon falls about as scale^-power
	for {
		r, err := t.shapeOf(ctx, exponent, scale)
		if err != nil {
			return nil, err
		}
		ratio := r.Composed.Upper / t.Epsilon
		if p := math.Log(ratio/last) / math.Log(before/scale); p > 0.5 && p < 3 { // not at the first
			power = p
		}
		before, last = scale, ratio
		if ratio <= 1 {
			hi = scale
		} else {
			lo = scale
		}
		near := math.Abs(ratio-1) <= 4*shapeTolerance
		if near || hi <= lo*(1+shapeTolerance/4) { // the epsilon may fall to 0 at once
			if scale = hi; near {
				scale = before * math.Pow(ratio, 1/power) * (1 + shapeTolerance/8)
			}
			r = &Calibration{Exponent: exponent, scale: scale}
			return r, r.shaped(t.single(1, 0)) // for its loss
		}
		scale *= math.Pow(math.Min(math.Max(ratio, 0.25), 4), 1/power)
		if !(scale > lo && scale < hi) {
			scale = lo + (hi-lo)/2
		}
		if scale > 1e3*sigma {
			return nil, t.noShape(exponent)
		}
	}
}

// finer proves noise of about the scale that was found, of a little larger one if need be, and gives it its table.
func (t Target) finer(ctx context.Context, found *Calibration) (*Calibration, error) {
	// On a finer grid the bound may be a little larger, or smaller.
	for scale := found.scale; scale < 2*found.scale; scale *= 1 + shapeTolerance/4 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r := &Calibration{Exponent: found.Exponent, scale: scale}
		err := t.promise(r)
		if err != nil {
			return nil, err
		}
		if r.Composed, err = t.compose(r.PLD, 0); err != nil || r.Composed.Upper <= t.Epsilon {
			return r, err
		}
	}
	return nil, t.noShape(found.Exponent)
}

func (t Target) noShape(exponent float64) error {
	return check.Errorf("account", dp.ErrInvalid, "noise of exponent %g: no table was found that keeps epsilon = %g, delta = %g over %d releases", exponent, t.Epsilon, t.Delta, t.Releases)
}

// shapeOf makes noise of the exponent and the scale and composes it.
func (t Target) shapeOf(ctx context.Context, exponent, scale float64) (*Calibration, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &Calibration{Exponent: exponent, scale: scale}
	err := r.shaped(t.single(1, 0)) // the table's own promise is not used here
	if err != nil {
		return nil, err
	}
	r.Composed, err = t.compose(r.PLD, coarseWidth)
	return r, err
}

// shaped gives the release its table.
func (c *Calibration) shaped(p dp.Problem) (err error) {
	if c.Table, err = shapes.ExponentialPower(p, c.Exponent, c.scale, tables.Grid{}); err != nil {
		return err
	}
	c.loss, _ = c.Table.Certificate().ExpectedLoss.Float64()
	c.PLD, err = LossOf(c.Table.Mechanism())
	return err
}

// promise makes the table promise, of the points of its profile, one with half of its part of the total delta.
func (t Target) promise(r *Calibration) error {
	if err := r.shaped(t.single(1, 0)); err != nil {
		return err
	}
	single, err := Compose([]Release{{r.PLD, 1}}, Options{})
	if err != nil {
		return err
	}
	e, err := single.Epsilon(t.Delta / float64(t.Releases) / 2)
	if err != nil {
		return err
	}
	// It steers the grid of losses too, and so the bound a little.
	return r.shaped(t.single(e.Upper, 0))
}
