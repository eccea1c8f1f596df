// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// even has n >= 2 cells of nearly the same weight.
func even(n int) []uint64 {
	w := make([]uint64, n)
	for i := range n - 1 {
		w[i+1] = math.MaxUint64 / uint64(n) //nolint:gosec // positive
		w[0] -= w[i+1]
	}
	return w
}

// TestReach: it is the largest |point| of the cells, which says how large a value may be that noise is added to.
func TestReach(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	for range 300 {
		n := 2 + rng.IntN(5)
		g := Grid{PointsPerCell: 1 + 2*rng.Int64N(3), CellsPerSensitivity: 1, FirstCell: rng.IntN(14) - 10, Offset: rng.Int64N(9) - 4}
		s := Spec{Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Loss: loss.L1}, Grid: g, Weights: even(n)}
		table, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		most := int64(0)
		for i := range n {
			first := g.FirstPoint(i)
			most = max(most, -first, first+g.PointsPerCell-1)
		}
		if table.Reach() != most {
			t.Fatalf("%+v with %d cells: reach %d, want %d", g, n, table.Reach(), most)
		}
		in, out := table.Inputs(), table.Answers()
		if want := float64(exact.MaxInteger - most); in.Lower != -want || in.Upper != want || !math.IsInf(out.Lower, -1) || !math.IsInf(out.Upper, 1) {
			t.Errorf("inputs %+v, answers %+v", in, out)
		}
	}
	s := geometricSpec(t, 1, 0.1, 2)
	s.Grid.GranularityExponent = -3
	s.Privacy.Sensitivity /= 8
	table, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	if in := table.Inputs(); in.Kind != proof.Numbers || in.Upper != float64(exact.MaxInteger-table.Reach())/8 {
		t.Errorf("inputs %+v", in)
	}
}

// TestLimitsOfSpecs: the last that is taken, and the first that is not.
func TestLimitsOfSpecs(t *testing.T) {
	far := func(first int, points, offset int64) func(*Spec) {
		return func(s *Spec) { s.Grid.FirstCell, s.Grid.PointsPerCell, s.Grid.Offset = first, points, offset }
	}
	kind := func(q dp.Query, exponent int, unit, step float64) func(*Spec) {
		return func(s *Spec) { s.Query, s.Grid.GranularityExponent, s.Grid.Unit, s.Step = q, exponent, unit, step }
	}
	for i, c := range []struct {
		change func(*Spec)
		taken  bool
	}{
		{func(*Spec) {}, true},
		{func(s *Spec) { s.Epsilon = 100 }, true},
		{func(s *Spec) { s.Epsilon = math.Nextafter(100, 101) }, false},
		{func(s *Spec) { s.Privacy.Delta = 1 }, false},
		{func(s *Spec) { s.Weights = nil }, false},
		{func(s *Spec) { s.Weights = even(limits.TableCells) }, true},
		{func(s *Spec) { s.Weights = even(limits.TableCells + 1) }, false},
		{func(s *Spec) { s.Weights[0]++ }, false},
		{func(s *Spec) { s.Weights[0]--; s.Atom = 1 }, true},
		{func(s *Spec) { s.Weights, s.Grid.CellsPerSensitivity = even(1<<14), 1<<18 }, true}, // 2^32
		{func(s *Spec) { s.Weights, s.Grid.CellsPerSensitivity = even(1<<14+1), 1<<18 }, false},
		{func(s *Spec) { s.Grid.CellsPerSensitivity = limits.TableCells + 1 }, false},
		{func(s *Spec) { s.Grid.CellsPerSensitivity = 0 }, false},
		{func(s *Spec) { s.Grid.PointsPerCell = 0 }, false},
		{func(s *Spec) { s.Grid.PointsPerCell = 2 }, false},
		{func(s *Spec) { s.Grid.PointsPerCell = maxPointsPerCell - 1 }, true},
		{func(s *Spec) { s.Grid.PointsPerCell = maxPointsPerCell + 1 }, false},
		{func(s *Spec) { s.Grid.GranularityExponent = exponentRange }, true},
		{func(s *Spec) { s.Grid.GranularityExponent = exponentRange + 1 }, false},
		{func(s *Spec) { s.Grid.GranularityExponent = -exponentRange }, true},
		{func(s *Spec) { s.Grid.GranularityExponent = -exponentRange - 1 }, false},
		{func(s *Spec) { s.Grid.FirstCell = limits.TableCells }, true},
		{func(s *Spec) { s.Grid.FirstCell = limits.TableCells + 1 }, false},
		{func(s *Spec) { s.Grid.FirstCell = -limits.TableCells }, true},
		{func(s *Spec) { s.Grid.FirstCell = -limits.TableCells - 1 }, false},
		// (the largest cell + 1 + 1) points in the sum with the offset, at most 2^52.
		{far(-2, 1, maxReach-4), true},
		{far(-2, 1, maxReach-3), false},
		{far(-2, 1, -maxReach+4), true},
		{far(-2, 1, -maxReach+3), false},
		{far(3, 1, maxReach-9), true},
		{far(3, 1, maxReach-8), false},
		{far(-8, 1, maxReach-10), true},
		{far(-8, 1, maxReach-9), false},
		{far(0, 1, math.MaxInt64), false},
		{far(1<<14-6, 1<<38-1, 0), true},
		{far(1<<14, 1<<38-1, 0), false},
		{far(-(1<<14)+2, 1<<38-1, 0), true},
		{far(-(1 << 14), 1<<38-1, 0), false},
		{far(1<<18, 1<<40-1, 0), false},
		{kind("", 0, 1, 0), true},
		{kind("", 0, 2, 0), false},
		{kind(dp.RealQuery, 3, 2, 0), false},
		{kind(dp.IntegerQuery, 0, 0, 0), true},
		{kind(dp.IntegerQuery, 0, 1, 0), true},
		{kind(dp.IntegerQuery, 0, 2, 0), false},
		{kind(dp.IntegerQuery, 1, 0, 0), false},
		{kind(dp.IntegerQuery, -1, 1, 0), false},
		{kind(dp.LatticeQuery, 0, 0, 0), true},
		{kind(dp.LatticeQuery, 0, 0.3, 0.3), true},
		{kind(dp.LatticeQuery, 0, 0.3, 0), true},
		{kind(dp.LatticeQuery, 0, 0.3, 0.4), false},
		{kind(dp.LatticeQuery, 1, 0.3, 0.3), false},
		{kind(dp.LatticeQuery, 0, minUnit, minUnit), true},
		{kind(dp.LatticeQuery, 0, minUnit/2, minUnit/2), false},
		{kind(dp.LatticeQuery, 0, maxUnit, maxUnit), true},
		{kind(dp.LatticeQuery, 0, maxUnit*2, maxUnit*2), false},
		{kind(dp.LatticeQuery, 0, -1, -1), false},
	} {
		s := Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Loss: loss.L1},
			Grid:    Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -2}, Weights: even(5),
		}
		c.change(&s)
		if err := s.validate(); (err == nil) != c.taken {
			t.Errorf("case %d: %v, want it taken: %v", i, err, c.taken)
		}
	}
}

// TestWithDual: all but the lower bound stays, which is that of the dual.
func TestWithDual(t *testing.T) {
	s := geometricSpec(t, 1, 0.1, 2)
	table, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	with, err := table.WithDual(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if with.spec.Claims.LowerBound != "0" || with.spec.Claims.Delta != table.spec.Claims.Delta || with.Certify().LowerBound.Sign() != 0 {
		t.Errorf("claims %+v of no dual, %+v before", with.spec.Claims, table.spec.Claims)
	}
}

// TestDualOfNoConstraint: multipliers of constraints that the problem does not have prove nothing.
func TestDualOfNoConstraint(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 1}, Loss: loss.L1}
	y := []int64{1 << 18}
	d := Dual{CellsPerSensitivity: 1, Exponent: -20, Shifts: []dualShift{{Shift: 1, Multipliers: y}, {Shift: -1, Multipliers: y}}}
	if d.LowerBound(p).Sign() <= 0 {
		t.Fatalf("%+v proves nothing", d)
	}
	constraints := dp.Constraints{Unbiased: true, MaxVariance: 100, Quantiles: []dp.Quantile{{Probability: 0.001, Magnitude: 50}}}
	for name, change := range map[string]func(*Dual){
		"mean":      func(d *Dual) { d.Mean = 0x1p-10 },
		"variance":  func(d *Dual) { d.Variance = 0x1p-20 },
		"quantiles": func(d *Dual) { d.Quantiles = []float64{0x1p-20} },
	} {
		d := d
		change(&d)
		with := p
		if d.LowerBound(with).Sign() != 0 {
			t.Errorf("%s: a multiplier of no constraint proves %s", name, d.LowerBound(with))
		}
		if with.Constraints = constraints; d.LowerBound(with).Sign() <= 0 {
			t.Errorf("%s: with the constraint nothing is proved", name)
		}
	}
}
