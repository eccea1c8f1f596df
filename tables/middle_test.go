// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// TestMiddleCell: of monotone noise with an atom at 0, twice the average mass of the middle cell, over random
// translations, is at least that of the two next to it, and neither of these alone need be less than the middle.
func TestMiddleCell(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	exceeds := false
	for range 2000 {
		const fine = 8                 // pieces of the density per cell
		var sides [2][4 * fine]float64 // from 0 outwards
		for side := range sides {
			level := rng.Float64()
			for i := range sides[side] {
				sides[side][i] = level
				if rng.IntN(6) == 0 {
					level *= rng.Float64()
				}
			}
		}
		// The mean of the hat around node j over the i-th piece on a side, in cells.
		hat := func(side, i, j int) float64 {
			x := (float64(i) + 0.5) / fine
			if side == 1 {
				x = -x
			}
			return max(0, 1-max(x-float64(j), float64(j)-x))
		}
		var q [3]float64 // of the nodes -1, 0 and 1
		for j := range q {
			for side := range sides {
				for i, f := range sides[side] {
					q[j] += f * hat(side, i, j-1)
				}
			}
		}
		atom := rng.Float64() * float64(rng.IntN(2))
		if q[1] += atom; q[0]+q[2] > 2*q[1]*(1+1e-12) {
			t.Fatalf("middle %g, beside it %g and %g", q[1], q[0], q[2])
		}
		exceeds = exceeds || max(q[0], q[2]) > q[1]
	}
	if !exceeds {
		t.Error("no middle cell weighs less than the next")
	}
}

// TestMiddlePoints is TestMiddleCell for noise on points, s of which make a cell.
func TestMiddlePoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	least := 1.0 // of what is more than is shown, relative
	for range 4000 {
		s := 1 + rng.IntN(6)
		var q [3]float64 // of the nodes -1, 0 and 1
		add := func(x int, p float64) {
			for j := range q {
				off := math.Abs(float64(x - (j-1)*s))
				q[j] += p * max(0, 1-off/float64(s))
			}
		}
		middle := 0.0
		for _, side := range []int{1, -1} {
			level := rng.Float64() * float64(rng.IntN(3))
			middle = max(middle, level)
			for x, last := 1, 1+rng.IntN(3*s); x <= last; x++ {
				add(side*x, level)
				if rng.IntN(2*s) == 0 {
					level *= rng.Float64()
				}
			}
		}
		add(0, middle)
		if q[0]+q[2] > 2*q[1]*(1+1e-12) {
			t.Fatalf("%d points a cell: middle %g, beside it %g and %g", s, q[1], q[0], q[2])
		}
		if q[1] > 0 {
			least = min(least, 1-(q[0]+q[2])/(2*q[1]))
		}
	}
	if least > 0.02 {
		t.Errorf("the middle cell always weighs %g more than is shown", least)
	}
}

// TestMiddleMultipliers: those of the middle cell are equal on both sides, for monotone noise, or prove nothing.
func TestMiddleMultipliers(t *testing.T) {
	l := parsed(t, "asymmetric:1,3")
	good := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-3, Sensitivity: 1}, Loss: l, Constraints: dp.Constraints{Monotone: true}}
	const unit = 1 << 37
	made := func() Dual {
		return Dual{
			CellsPerSensitivity: 1, Exponent: -40,
			Shifts:        []dualShift{{Shift: 1, FirstCell: -3, Multipliers: []int64{0, unit, unit, unit, 0}}, {Shift: -1, FirstCell: -1, Multipliers: []int64{0, unit, unit, unit, 0}}},
			MonotoneRight: &DualRun{Multipliers: []int64{unit / 64, 1}}, MonotoneLeft: &DualRun{Multipliers: []int64{unit / 64}},
		}
	}
	for name, change := range map[string]func(p *dp.Problem, d *Dual){
		"":             func(*dp.Problem, *Dual) {},
		"unequal":      func(_ *dp.Problem, d *Dual) { d.MonotoneLeft.Multipliers[0]++ },
		"one side":     func(_ *dp.Problem, d *Dual) { d.MonotoneLeft = nil },
		"moved":        func(_ *dp.Problem, d *Dual) { d.MonotoneLeft.FirstCell = 1 },
		"not monotone": func(p *dp.Problem, _ *Dual) { p.Constraints.Monotone = false },
		"points":       func(p *dp.Problem, _ *Dual) { p.Query, p.Sensitivity = dp.IntegerQuery, 12 },
		"points, unequal": func(p *dp.Problem, d *Dual) {
			p.Query, p.Sensitivity = dp.IntegerQuery, 12
			d.MonotoneLeft.Multipliers[0]--
		},
	} {
		p, d := good, made()
		change(&p, &d)
		n := newNodes(&d, &p)
		if (n != nil) != (name == "" || name == "points") {
			t.Errorf("%q: the multipliers count: %v", name, n != nil)
		}
		if bound := d.LowerBound(p); n == nil && bound.Cmp(new(big.Rat)) != 0 {
			t.Errorf("%q: bound %s", name, bound.FloatString(9))
		}
	}
	if good.Loss = loss.L1; newNodes(&Dual{CellsPerSensitivity: 1}, &good) == nil {
		t.Error("no multipliers are refused")
	}
}
