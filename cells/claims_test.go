// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// twoCells has cells from 0 to 3 and on to 6, of two points a bin, with laws that are a point apart.
func twoCells() Spec {
	return Spec{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 5}, Loss: loss.L1, Edges: []float64{0, 3, 6}, Weight: []float64{1, 1},
		Grid: Grid{PointsPerBin: 1, FirstBin: -1}, Rows: [][]uint64{{1 << 62, 1 << 63, 1 << 62}, {1 << 62, 1 << 63, 1 << 62}},
	}
}

// TestDualsRefused: multipliers are about what values within the sensitivity can have, and none is below 0.
func TestDualsRefused(t *testing.T) {
	shift := func(gain, lose, by int) []dualShift {
		return []dualShift{{Gain: gain, Lose: lose, Shift: by, Multipliers: []int64{1}}}
	}
	for name, x := range map[string]struct {
		d  Dual
		ok bool
	}{
		// A value of the first cell is 0 to 6 less than one of the second, 5 are within the sensitivity: of 2.5, 2.
		"as far as it goes": {Dual{NodesPerSensitivity: 2, Shifts: shift(0, 1, -2)}, true},
		"as near as it is":  {Dual{NodesPerSensitivity: 2, Shifts: shift(0, 1, 0)}, true},
		"on the other side": {Dual{NodesPerSensitivity: 2, Shifts: shift(0, 1, 1)}, false},
		"too far":           {Dual{NodesPerSensitivity: 2, Shifts: shift(0, 1, -3)}, false},
		"in the cell":       {Dual{NodesPerSensitivity: 2, Shifts: shift(0, 0, 1)}, true},
		"beyond the cell":   {Dual{NodesPerSensitivity: 2, Shifts: shift(0, 0, 2)}, false},
		"nothing":           {Dual{NodesPerSensitivity: 2, Shifts: shift(0, 0, 0)}, false},
		"caps":              {Dual{NodesPerSensitivity: 2, Caps: []int64{1, 2}}, true},
		"a cap below 0":     {Dual{NodesPerSensitivity: 2, Caps: []int64{1, -2}}, false},
		"caps too large":    {Dual{NodesPerSensitivity: 2, Caps: []int64{1 << 61, 1}}, false},
		"a price below 0":   {Dual{NodesPerSensitivity: 2, Shifts: []dualShift{{Gain: 0, Lose: 1, Multipliers: []int64{-1}}}}, false},
	} {
		s := twoCells()
		s.Dual = &x.d
		if _, err := New(s); (err == nil) != x.ok || !x.ok && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFarMultipliers: with shifts as far as cells without ends have, and the largest multipliers at the ends, the bound
// is that of the formula; multipliers of a cap count only where there is one, and it needs none.
func TestFarMultipliers(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	positive := 0
	for trial := range 400 {
		s := twoCells()
		s.Privacy.Delta = 1e-3 * rng.Float64()
		s.Edges = []float64{math.Inf(-1), 0, math.Inf(1)}
		s.Dual = &Dual{NodesPerSensitivity: 5, Exponent: -8, Caps: []int64{}}
		for range 1 + rng.IntN(2) {
			m := dualShift{Gain: rng.IntN(2), First: -2 + rng.IntN(5), Shift: 1 + rng.IntN(5), Multipliers: make([]int64, 1+rng.IntN(4))}
			if m.Lose = 1 - m.Gain; m.Gain == 0 {
				m.Shift = -m.Shift
			}
			m.Multipliers[rng.IntN(2)*(len(m.Multipliers)-1)] = 1 + rng.Int64N(1<<8)
			m.Below, m.Above = rng.Int64N(2)*rng.Int64N(1<<8), rng.Int64N(2)*rng.Int64N(1<<8)
			s.Dual.Shifts = append(s.Dual.Shifts, m)
		}
		if len(s.Dual.Shifts) == 2 && s.Dual.Shifts[0].Gain == s.Dual.Shifts[1].Gain && s.Dual.Shifts[0].Shift == s.Dual.Shifts[1].Shift {
			s.Dual.Shifts = s.Dual.Shifts[:1]
		}
		if err := s.Dual.validate(&s); err != nil {
			t.Fatal(err)
		}
		want := plainBound(s)
		if got := s.LowerBound(); got.Cmp(want) > 0 || new(big.Rat).Sub(want, got).Cmp(big.NewRat(1, 1<<40)) > 0 {
			t.Fatalf("trial %d: bound %s, want %s\n%+v", trial, got.FloatString(12), want.FloatString(12), s.Dual.Shifts)
		}
		if want.Sign() > 0 {
			positive++
		}
		// A cap without multipliers, and multipliers without a cap.
		s.InstanceCap = 100
		without := s.LowerBound()
		s.InstanceCap, s.Dual.Caps = 0, []int64{1 << 20, 1 << 20}
		if with := s.LowerBound(); with.Cmp(want) > 0 || without.Cmp(want) > 0 || new(big.Rat).Sub(want, without).Cmp(big.NewRat(1, 1<<40)) > 0 {
			t.Fatalf("trial %d: bounds %s and %s, want %s", trial, with.FloatString(12), without.FloatString(12), want.FloatString(12))
		}
	}
	if positive < 8 {
		t.Errorf("only %d bounds are above 0", positive)
	}
}

// TestPromisesToTheirEnds: a delta and a cap that are exactly what is certified hold, and a unit less does not.
func TestPromisesToTheirEnds(t *testing.T) {
	s := twoCells()
	s.Privacy.Epsilon, s.Privacy.Sensitivity, s.InstanceCap = 0, 1, 1000
	k := newKernel(t, s)
	delta, capped := exact.FloatUp(k.Certify().DeltaUpper), exact.FloatUp(k.Certify().CapLoss)
	if exact.Rational(delta).Cmp(k.Certify().DeltaUpper) != 0 || exact.Rational(capped).Cmp(k.Certify().CapLoss) != 0 {
		t.Fatalf("delta %v and a largest loss %v are rounded", delta, capped)
	}
	for _, x := range []struct {
		delta, limit float64
		want         error
	}{
		{delta, capped, nil}, {math.Nextafter(delta, 0), capped, proof.ErrNotPrivate}, {delta, math.Nextafter(capped, 0), proof.ErrFalseClaim}, {delta, 0, nil},
	} {
		s.Privacy.Delta, s.InstanceCap = x.delta, x.limit
		if _, err := newKernel(t, s).Verify(); !errors.Is(err, x.want) {
			t.Errorf("delta %v and cap %v: %v, want %v", x.delta, x.limit, err, x.want)
		}
	}
}

// TestRefusedEdges: edges ascend strictly, and steps have exponents that can be computed with.
func TestRefusedEdges(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*Spec)
		ok     bool
	}{
		"as they are":          {func(*Spec) {}, true},
		"equal":                {func(s *Spec) { s.Edges = []float64{0, 3, 3} }, false},
		"the first two equal":  {func(s *Spec) { s.Edges = []float64{3, 3, 6} }, false},
		"descending":           {func(s *Spec) { s.Edges = []float64{3, 0, 6} }, false},
		"all numbers":          {func(s *Spec) { s.Edges = []float64{math.Inf(-1), 0, math.Inf(1)} }, true},
		"an end in the middle": {func(s *Spec) { s.Edges = []float64{0, math.Inf(1), math.Inf(1)} }, false},
		"the wrong ends":       {func(s *Spec) { s.Edges = []float64{math.Inf(1), 0, math.Inf(-1)} }, false},
		"steps too fine":       {func(s *Spec) { s.Grid.GranularityExponent = -exponentRange - 1 }, false},
		"steps too coarse":     {func(s *Spec) { s.Grid.GranularityExponent = exponentRange + 1 }, false},
	} {
		s := twoCells()
		x.change(&s)
		if _, err := New(s); (err == nil) != x.ok || !x.ok && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	k := newKernel(t, twoCells())
	if in, want := k.Inputs(), (proof.Space{Kind: proof.Numbers, Lower: 0, Upper: 6}); !reflect.DeepEqual(in, want) {
		t.Errorf("inputs %+v, want %+v", in, want)
	}
}
