// SPDX-License-Identifier: Apache-2.0

package local

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/internal/formfile"
)

// scaled returns the randomizer for values and answers in units that are 1/unit as large,
// a power of two, maybe negative: then it is the mirror image, and all orders are turned.
func scaled(s Spec, unit float64) Spec {
	s = formfile.Clone(s)
	power := 1.0 // of the loss
	if s.Loss.Name() == "l2" {
		power = 2
	}
	size := math.Abs(unit)
	mirrored := unit < 0
	apply := func(list []float64, by float64, turn bool) {
		for i := range list {
			list[i] *= by
		}
		if turn && mirrored {
			slices.Reverse(list)
		}
	}
	d := s.Dual
	cost := math.Pow(size, power)
	per := 1.0 // of a density
	if s.averaged() && s.Delta == 0 {
		per = size
	}
	for _, list := range [][]float64{s.Nodes, s.Answers, d.Nodes, d.Answers} {
		apply(list, unit, true)
	}
	for _, list := range []struct {
		x  []float64
		by float64
	}{
		{d.Weights, 1},
		{d.Totals, cost / per},
		{d.Means, cost / per / unit},
		{d.Caps, 1 / per},
		{d.PointTotals, cost},
		{d.PointMeans, cost / unit},
	} {
		apply(list.x, list.by, true)
	}
	places, outputs := s.places(), len(d.Answers)
	for i := range d.Pairs {
		p := &d.Pairs[i]
		apply(p.Multipliers, cost, true)
		if mirrored {
			p.Gain, p.Lose, p.First = places-1-p.Gain, places-1-p.Lose, outputs-p.First-len(p.Multipliers)
		}
	}
	s.Values.Lower, s.Values.Upper = s.Nodes[0], s.Nodes[len(s.Nodes)-1]
	ends := make([]float64, 0, len(s.Values.Weight))
	for i := range s.Values.Weight {
		s.Values.Weight[i].From *= unit
		ends = append(ends, s.Values.Weight[i].From)
	}
	if mirrored && len(ends) > 0 { // a piece starts where the next one did
		for i := range s.Values.Weight {
			s.Values.Weight[i].From = s.Values.Lower
			if i+1 < len(ends) {
				s.Values.Weight[i].From = ends[i+1]
			}
		}
		slices.Reverse(s.Values.Weight)
	}
	if mirrored {
		slices.Reverse(s.Rows)
		for i := range s.Rows {
			slices.Reverse(s.Rows[i])
		}
	}
	s.Demands.Cap *= cost
	s.Claims = Claims{}
	return s
}

// TestUnits: other units, from very small to very large ones, and the mirror image change
// all numbers by the power of the loss, and delta not at all.
func TestUnits(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(81, 82))
	proved := 0
	for n := range 8 {
		s := randomSpec(rng)
		s.Demands.Cap = []float64{0, 90}[n%2]
		s.Dual = randomDual(rng, &s)
		want := newRandomizer(t, s).Certify()
		if want.LowerBound.Sign() > 0 {
			proved++
		}
		for _, unit := range []float64{-1, 0x1p-300, -0x1p40} {
			changed := scaled(s, unit)
			got := newRandomizer(t, changed).Certify()
			cost := new(big.Rat).SetFloat64(math.Abs(unit))
			if s.Loss.Name() == "l2" {
				cost.Mul(cost, cost)
			}
			if got.DeltaUpper.Cmp(want.DeltaUpper) != 0 {
				t.Errorf("unit %g: delta %g, want %g", unit, float(got.DeltaUpper), float(want.DeltaUpper))
			}
			bias := new(big.Rat).Mul(want.Bias, new(big.Rat).SetFloat64(math.Abs(unit)))
			if got.Bias.Cmp(bias) != 0 {
				t.Errorf("unit %g: bias %v, want %v", unit, got.Bias, bias)
			}
			for _, c := range []struct {
				name      string
				got, want *big.Rat
				tolerance float64
			}{
				{"mean loss", got.MeanLoss, want.MeanLoss, 1e-30},
				{"worst loss", got.WorstLoss, want.WorstLoss, 1e-3},
				{"lower bound", got.LowerBound, want.LowerBound, 5e-2},
			} {
				there := new(big.Rat).Quo(c.got, cost)
				if off := math.Abs(float(there.Sub(there, c.want))); off > c.tolerance*float(c.want)+1e-30 {
					t.Errorf("unit %g, %s %s: %s %g, off by %g", unit, s.Objective, s.Loss.Name(), c.name, float(c.want), off)
				}
			}
		}
	}
	if proved < 2 {
		t.Errorf("%d lower bounds above 0, want some", proved)
	}
}
