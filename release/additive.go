// SPDX-License-Identifier: Apache-2.0

package release

import (
	"math"
	"math/big"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// scaled is the noise of a table for a query of another sensitivity: the points of the
// table are multiples of a unit, so many of which are the sensitivity as the table's
// proof counts it. A table for sensitivity 1 serves all.
type scaled struct {
	table *tables.Verified
	unit  *big.Rat // in query units
}

// newScaled scales a table to a sensitivity above 0.
func newScaled(v *tables.Verified, sensitivity *big.Rat) *scaled {
	g := v.Mechanism().Grid()
	points := new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(int64(g.CellsPerSensitivity)), big.NewInt(g.PointsPerCell)))
	return &scaled{v, points.Quo(sensitivity, points)}
}

// whole is the noise of a table for an integer query, unscaled.
func whole(v *tables.Verified) *scaled { return &scaled{v, big.NewRat(1, 1)} }

// adding is the mechanism that adds the noise, so many uses of it for a unit of privacy, to a
// number of every group.
func (n *scaled) adding(name string, uses int, of func(*tally) *big.Rat) *mechanism {
	return &mechanism{
		cost: account.Cost{Table: n.table, Times: uses}, name: name, meanError: n.meanError(), radius: n.radius,
		answer: func(tallies []tally) ([]Estimate, error) {
			values := make([]*big.Rat, len(tallies))
			for i := range tallies {
				values[i] = of(&tallies[i])
			}
			return n.estimates(values, big.NewRat(1, 1))
		},
	}
}

// index returns ⌊x/unit + 1/2⌋. Neighboring x, which differ by at most the sensitivity,
// get indices that differ by at most as many points (docs/proofs/rounding.md).
func (n *scaled) index(x *big.Rat) *big.Int {
	i := new(big.Rat).Quo(x, n.unit)
	return exact.Floor(i.Add(i, big.NewRat(1, 2)))
}

// spread returns how far the exact value may be below and above a released one, at the
// level, as multiples of the unit.
func (n *scaled) spread(level float64) (below, above *big.Rat, err error) {
	low, high, err := n.table.Mechanism().Interval(0, level)
	if err != nil {
		return nil, nil, err
	}
	return n.points(low), n.points(high), nil
}

// radius is the larger of both, in query units, rounded up.
func (n *scaled) radius(level float64) (float64, error) {
	below, above, err := n.spread(level)
	if err != nil {
		return 0, err
	}
	if below.Abs(below).Cmp(above) > 0 {
		above = below
	}
	return exact.FloatUp(above.Mul(above, n.unit)), nil
}

// points converts the units of the table to points.
func (n *scaled) points(x float64) *big.Rat {
	p := exact.Rational(x)
	return p.Quo(p, n.table.Mechanism().Grid().Step())
}

// meanError returns the mean absolute error of the noise, in query units, rounded up.
func (n *scaled) meanError() float64 {
	t := n.table.Mechanism()
	e := t.ExpectedLossOf(loss.L1)
	e.Quo(e, t.Grid().Step())
	return exact.FloatUp(e.Mul(e, n.unit))
}

// add draws the noise and adds it to exact values, all of them or none.
func (n *scaled) add(values []*big.Rat) ([]*big.Int, error) {
	s, err := sampler.NewNoise(n.table, sampler.Options{})
	if err != nil {
		return nil, err
	}
	out := make([]*big.Int, len(values))
	for i, x := range values {
		noise, err := s.SampleInt()
		if err != nil {
			return nil, err
		}
		out[i] = n.index(x)
		out[i].Add(out[i], big.NewInt(noise))
	}
	return out, nil
}

// ranged is a number with noise, and what the exact one is between.
type ranged struct{ value, low, high *big.Rat }

// ranges releases values, with what they are between.
func (n *scaled) ranges(values []*big.Rat, level float64) ([]ranged, error) {
	below, above, err := n.spread(level)
	if err != nil {
		return nil, err
	}
	indices, err := n.add(values)
	if err != nil {
		return nil, err
	}
	out := make([]ranged, len(values))
	for i, index := range indices {
		at := func(shift *big.Rat) *big.Rat {
			x := new(big.Rat).SetInt(index)
			return x.Mul(x.Add(x, shift), n.unit)
		}
		out[i] = ranged{at(new(big.Rat)), at(below), at(above)}
	}
	return out, nil
}

// estimates releases values divided by a public divisor, with their intervals.
func (n *scaled) estimates(values []*big.Rat, divisor *big.Rat) ([]Estimate, error) {
	list, err := n.ranges(values, level)
	if err != nil {
		return nil, err
	}
	out := make([]Estimate, len(list))
	for i, x := range list {
		out[i].Value, _ = x.value.Quo(x.value, divisor).Float64()
		out[i].Lower, out[i].Upper = exact.FloatDown(x.low.Quo(x.low, divisor)), exact.FloatUp(x.high.Quo(x.high, divisor))
		out[i].Value = min(max(out[i].Value, -math.MaxFloat64), math.MaxFloat64)
		out[i].Lower, out[i].Upper = max(out[i].Lower, -math.MaxFloat64), min(out[i].Upper, math.MaxFloat64)
	}
	return out, nil
}
