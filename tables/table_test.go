// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// geometricSpec is a table whose masses fall by e^(-ε/K) per cell and end where
// the mass left over is below delta: private by construction, and not optimal.
func geometricSpec(tb testing.TB, epsilon, delta float64, k int) Spec {
	tb.Helper()
	fall := math.Exp(-epsilon * (1 - 1e-9) / float64(k))
	var pmf []float64
	half := 0
	for edge := 1.0; edge > 0.9*delta; half += k {
		pmf = make([]float64, 2*half+2*k+1)
		var sum float64
		for i := range pmf {
			pmf[i] = math.Pow(fall, math.Abs(float64(i-half-k)))
			sum += pmf[i]
		}
		edge = 0
		for i := range pmf {
			pmf[i] /= sum
			if i < k { // what a shift by K cells moves beyond the end
				edge += pmf[i]
			}
		}
	}
	w, a, err := Quantize(pmf, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, Loss: loss.L1},
		Grid:    Grid{GranularityExponent: -10, PointsPerCell: oddUp(1024, k), CellsPerSensitivity: k, FirstCell: -half},
		Weights: w, Atom: a,
	}
}

// oddUp returns the least odd s with s·k >= points.
func oddUp(points, k int) int64 {
	s := (points + k - 1) / k
	return int64(s + 1 - s%2)
}

func geometricTable(tb testing.TB, epsilon, delta float64, k int) *Table {
	tb.Helper()
	t, err := New(geometricSpec(tb, epsilon, delta, k))
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func TestGeometricTablesVerify(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 3} {
		for _, delta := range []float64{1e-6, 1e-3, 0.1} {
			for _, k := range []int{1, 3, 8} {
				tab := geometricTable(t, epsilon, delta, k)
				if _, err := tab.Verify(); err != nil {
					t.Errorf("ε=%g δ=%g K=%d: %v", epsilon, delta, k, err)
				}
				c := tab.Certify()
				if f, _ := c.ExpectedLoss.Float64(); f < 0.1/epsilon || f > 3/epsilon+1 {
					t.Errorf("ε=%g δ=%g K=%d: expected loss %g", epsilon, delta, k, f)
				}
			}
		}
	}
}

// bruteDelta evaluates the privacy test from its definition, in rationals, over
// all grid shifts up to K·S, with the exact probability of every grid point.
func bruteDelta(s Spec, e *big.Rat) *big.Rat {
	points := map[int64]*big.Rat{}
	add := func(n int64, p *big.Rat) {
		if points[n] == nil {
			points[n] = new(big.Rat)
		}
		points[n].Add(points[n], p)
	}
	size := s.Grid.PointsPerCell
	for i, w := range s.Weights {
		c := (int64(s.Grid.FirstCell) + int64(i)) * size
		share := new(big.Rat).SetInt(new(big.Int).SetUint64(w))
		share.Quo(share, new(big.Rat).SetInt64(size))
		for n := c - (size-1)/2; n <= c+(size-1)/2; n++ {
			add(n, share)
		}
	}
	add(0, new(big.Rat).SetInt(new(big.Int).SetUint64(s.Atom)))
	worst := new(big.Rat)
	m := int64(s.Grid.CellsPerSensitivity) * size
	for shift := -m; shift <= m; shift++ {
		if shift == 0 {
			continue
		}
		h := new(big.Rat)
		for n, p := range points {
			d := new(big.Rat).Set(p)
			if q := points[n-shift]; q != nil {
				d.Sub(d, new(big.Rat).Mul(e, q))
			}
			if d.Sign() > 0 {
				h.Add(h, d)
			}
		}
		if h.Cmp(worst) > 0 {
			worst = h
		}
	}
	return worst.Quo(worst, exact.PowerOfTwo(64))
}

// TestDeltaAgainstBruteForce checks the certified delta on random small tables
// with the definition itself: every point, every shift of the grid. Without an
// atom the two agree exactly; an atom is charged in full, so the certificate
// may only be larger.
func TestDeltaAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 60 {
		n := 2 + rng.IntN(8)
		pmf := make([]float64, n)
		atom := 0.0
		if i%3 == 0 {
			atom = rng.Float64() / 2
		}
		left := 1 - atom
		for j := range pmf {
			pmf[j] = left * (0.05 + 0.9*rng.Float64())
			if j > 0 && rng.IntN(4) == 0 {
				pmf[j] = 0
			}
			if j == n-1 {
				pmf[j] = left
			}
			left -= pmf[j]
		}
		w, a, err := Quantize(pmf, atom)
		if err != nil {
			t.Fatal(err)
		}
		epsilon := []float64{0, 0.3, 1, 4, 50}[rng.IntN(5)]
		s := Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: 0.5, Sensitivity: 1}, Loss: loss.L1},
			Grid: Grid{
				PointsPerCell: int64(1 + 2*rng.IntN(3)), CellsPerSensitivity: 1 + rng.IntN(4),
				FirstCell: -rng.IntN(n + 1),
			},
			Weights: w, Atom: a,
		}
		tab, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		e := new(big.Rat).SetFrac(exact.ExpDown(epsilon, exact.RatioBits), new(big.Int).Lsh(big.NewInt(1), exact.RatioBits))
		got, want := tab.Certify().DeltaUpper, bruteDelta(s, e)
		if got.Cmp(want) < 0 || (a == 0 && got.Cmp(want) != 0) {
			t.Fatalf("case %d: certified %s, truth %s\n%+v", i, got.FloatString(20), want.FloatString(20), s)
		}
	}
}

// TestShiftDeltas compares each shift with the definition in rationals, cell by
// cell, and the largest with the certificate.
func TestShiftDeltas(t *testing.T) {
	lopsided := geometricSpec(t, 1, 0.1, 4)
	lopsided.Weights = append([]uint64(nil), lopsided.Weights...)
	lopsided.Weights[1] += lopsided.Weights[4] / 2
	lopsided.Weights[4] -= lopsided.Weights[4] / 2
	long := geometricSpec(t, 1, 0.5, 1)
	long.Grid.CellsPerSensitivity = len(long.Weights) + 3
	for _, s := range []Spec{lopsided, long, geometricSpec(t, 3, 1e-6, 5)} {
		tab, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		weight := func(j int) *big.Rat {
			if j < 0 || j >= len(s.Weights) {
				return new(big.Rat)
			}
			return new(big.Rat).SetInt(new(big.Int).SetUint64(s.Weights[j]))
		}
		e := new(big.Rat).SetFrac(exact.ExpDown(s.Privacy.Epsilon, exact.RatioBits), new(big.Int).Lsh(big.NewInt(1), exact.RatioBits))
		deltas := tab.ShiftDeltas()
		largest := new(big.Rat)
		for i, got := range deltas {
			want := new(big.Rat)
			for _, shift := range []int{i + 1, -i - 1} {
				sum := new(big.Rat)
				for j := range s.Weights {
					if d := new(big.Rat).Sub(weight(j), new(big.Rat).Mul(e, weight(j-shift))); d.Sign() > 0 {
						sum.Add(sum, d)
					}
				}
				if sum.Cmp(want) > 0 {
					want = sum
				}
			}
			want.Quo(want, exact.PowerOfTwo(64))
			if got.Cmp(want) != 0 {
				t.Errorf("shift %d: %s, want %s", i+1, got.FloatString(20), want.FloatString(20))
			}
			if got.Cmp(largest) > 0 {
				largest = got
			}
		}
		if c := tab.Certify(); len(deltas) != s.Grid.CellsPerSensitivity || c.DeltaUpper.Cmp(largest) != 0 {
			t.Errorf("%d shifts, largest %s, certificate %s", len(deltas), largest, c.DeltaUpper)
		}
	}
}

// TestVerifyRejectsFalseClaims makes a sound table claim slightly too much.
func TestVerifyRejectsFalseClaims(t *testing.T) {
	base := geometricSpec(t, 1, 1e-3, 4)
	tab, err := New(base)
	if err != nil {
		t.Fatal(err)
	}
	c := tab.Certify()
	good := tab.spec.Claims
	lower := func(s string) string { // one unit less in the last digit
		r, err := exact.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return exact.DecimalDown(new(big.Rat).Mul(r, big.NewRat(999999999999, 1000000000000)), 15)
	}
	delta, _ := c.DeltaUpper.Float64()
	cases := []struct {
		name   string
		change func(*Spec)
		want   error
	}{
		{"delta promised too small", func(s *Spec) { s.Privacy.Delta = delta * (1 - 1e-12) }, proof.ErrNotPrivate},
		{"epsilon too small", func(s *Spec) { s.Privacy.Epsilon = 0.9 }, proof.ErrNotPrivate},
		{"sensitivity too large", func(s *Spec) { s.Privacy.Sensitivity = 1.01 }, proof.ErrNotPrivate},
		{"mass moved to the end", func(s *Spec) {
			s.Weights = append([]uint64(nil), s.Weights...)
			s.Weights[len(s.Weights)/2] -= 1 << 60
			s.Weights[len(s.Weights)-1] += 1 << 60
		}, proof.ErrNotPrivate},
		{"delta claimed too small", func(s *Spec) { s.Claims.Delta = lower(good.Delta) }, proof.ErrFalseClaim},
		{"loss claimed too small", func(s *Spec) { s.Claims.ExpectedLoss = lower(good.ExpectedLoss) }, proof.ErrFalseClaim},
		{"bound claimed without a dual", func(s *Spec) { s.Claims.LowerBound = "0.000001" }, proof.ErrFalseClaim},
	}
	for _, c := range cases {
		s := base
		s.Claims = good
		c.change(&s)
		bad, err := New(s)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if _, err := bad.Verify(); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
}

// TestDualNeverExceedsAnAchievedLoss is weak duality: whatever multipliers are
// written down, the bound stays below the loss of a table known to be private.
func TestDualNeverExceedsAnAchievedLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(9, 10))
	exceed, err := loss.New("exceed", 0.5)
	if err != nil {
		t.Fatal(err)
	}
	for i, loss := range []loss.Loss{loss.L1, loss.L2, exceed, loss.L1, exceed} {
		s := geometricSpec(t, 1, 0.05, 3)
		s.Loss = loss
		tab, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tab.Verify(); err != nil {
			t.Fatal(err)
		}
		c := tab.Certify()
		var best float64
		for range 3000 {
			d := Dual{CellsPerSensitivity: 1 + rng.IntN(4), Exponent: -40, Mirrored: rng.IntN(2) == 0, Edges: i >= 3}
			for _, k := range rng.Perm(2 * d.CellsPerSensitivity)[:1+rng.IntN(d.CellsPerSensitivity)] {
				k -= d.CellsPerSensitivity
				if k >= 0 {
					k++
				}
				if d.Mirrored && k < 0 {
					continue
				}
				// Multipliers that rise away from the middle, as good ones do.
				m := make([]int64, 1+rng.IntN(12))
				scale := rng.Float64() * 0x1p39
				for i := range m {
					m[i] = int64(scale * rng.Float64() * float64(i+1) / float64(len(m)))
				}
				d.Shifts = append(d.Shifts, dualShift{Shift: k, FirstCell: rng.IntN(9) - 4, Multipliers: m})
			}
			if err := d.validate(); err != nil {
				t.Fatal(err)
			}
			lb := d.LowerBound(dp.Problem{Privacy: s.Privacy, Loss: loss})
			if d.Mirrored {
				if all := writtenOut(d).LowerBound(dp.Problem{Privacy: s.Privacy, Loss: loss}); all.Cmp(lb) != 0 {
					t.Fatalf("%s: bound %s of mirrored multipliers, %s of all: %+v", loss.Name(), lb.FloatString(10), all.FloatString(10), d)
				}
			}
			if d.Edges { // which are about noise that keeps more, too
				restricted := dp.Problem{Privacy: s.Privacy, Loss: loss, Constraints: dp.Constraints{Unbiased: true, Monotone: true}}
				if same := d.LowerBound(restricted); same.Cmp(lb) != 0 {
					t.Fatalf("%s: bound %s with constraints, %s without: %+v", loss.Name(), same.FloatString(10), lb.FloatString(10), d)
				}
			}
			if lb.Cmp(c.ExpectedLoss) > 0 {
				t.Fatalf("%s: bound %s above the achieved %s: %+v", loss.Name(), lb.FloatString(10), c.ExpectedLoss.FloatString(10), d)
			}
			f, _ := lb.Float64()
			best = max(best, f)
		}
		if best == 0 {
			t.Errorf("%s: every random bound was 0; the test tests nothing", loss.Name())
		}
	}
}

func TestQuantizeSumsAndStaysClose(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		pmf := make([]float64, 1+rng.IntN(500))
		var sum float64
		for i := range pmf {
			pmf[i] = math.Exp(-40 * rng.Float64())
			sum += pmf[i]
		}
		atom := rng.Float64()
		for i := range pmf {
			pmf[i] *= (1 - atom) / sum
		}
		w, a, err := Quantize(pmf, atom)
		if err != nil {
			t.Fatal(err)
		}
		if total := (&Spec{Weights: w, Atom: a}).total(); total != (exact.Uint128{Hi: 1}) {
			t.Fatalf("weights sum to %s", total.Big())
		}
		for i, p := range pmf {
			if d := float64(w[i]) - p*0x1p64; math.Abs(d) > 0x1p16 {
				t.Fatalf("weight %d is %g units off", i, d)
			}
			if p > 0 && w[i] == 0 {
				t.Fatalf("mass %g became 0", p)
			}
		}
	}
	for _, bad := range [][]float64{{-0.5, 1.5}, {math.NaN(), 1}, {0.4, 0.4}, {}, {math.Inf(1)}, {1}} {
		if _, _, err := Quantize(bad, 0); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("Quantize(%v): error %v, want ErrInvalid", bad, err)
		}
	}
}

func TestNewNamesBadFields(t *testing.T) {
	base := geometricSpec(t, 1, 0.1, 2)
	cases := []struct {
		change func(*Spec)
		field  string
	}{
		{func(s *Spec) { s.Privacy.Epsilon = math.NaN() }, "epsilon"},
		{func(s *Spec) { s.Privacy.Epsilon = -1 }, "epsilon"},
		{func(s *Spec) { s.Privacy.Delta = 1 }, "delta"},
		{func(s *Spec) { s.Privacy.Sensitivity = 0 }, "sensitivity"},
		{func(s *Spec) { s.Privacy.Sensitivity = math.Inf(1) }, "sensitivity"},
		{func(s *Spec) { s.Loss = nil }, "loss"},
		{func(s *Spec) { s.Grid.PointsPerCell = 4 }, "points_per_cell"},
		{func(s *Spec) { s.Grid.PointsPerCell = -1 }, "points_per_cell"},
		{func(s *Spec) { s.Grid.PointsPerCell = 1<<40 - 1; s.Grid.FirstCell = limits.TableCells }, "points_per_cell"},
		{func(s *Spec) { s.Grid.CellsPerSensitivity = 0 }, "cells_per_sensitivity"},
		{func(s *Spec) { s.Grid.FirstCell = -limits.TableCells - 1 }, "first_cell"},
		{func(s *Spec) { s.Grid.GranularityExponent = 2000 }, "granularity_exponent"},
		{func(s *Spec) { s.Atom++ }, "weights"},
		{func(s *Spec) { s.Weights = nil }, "weights"},
		{func(s *Spec) { s.Claims.Delta = "1e-3" }, "certificate.delta"},
		{func(s *Spec) { s.Dual = &Dual{} }, "dual.cells_per_sensitivity"},
		{func(s *Spec) {
			s.Dual = &Dual{CellsPerSensitivity: 2, Shifts: []dualShift{{Shift: 3}}}
		}, "dual.shift"},
		{func(s *Spec) {
			s.Dual = &Dual{CellsPerSensitivity: 2, Mirrored: true, Shifts: []dualShift{{Shift: 1}, {Shift: -1}}}
		}, "dual.shift"},
		{func(s *Spec) {
			s.Dual = &Dual{CellsPerSensitivity: 2, Shifts: []dualShift{{Shift: 1, Multipliers: []int64{-1}}}}
		}, "dual.multipliers"},
		{func(s *Spec) {
			s.Dual = &Dual{CellsPerSensitivity: 2, Shifts: []dualShift{{Shift: 1, Multipliers: []int64{math.MaxInt64}}}}
		}, "dual.multipliers"},
	}
	for _, c := range cases {
		s := base
		c.change(&s)
		_, err := New(s)
		if !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: error %v", c.field, err)
		}
	}
}

// TestExtremeGrids: whatever New makes, Verify judges and Decode reads back.
func TestExtremeGrids(t *testing.T) {
	for _, e := range []int{-exponentRange, exponentRange} {
		for _, loss := range []loss.Loss{loss.L1, loss.L2} {
			s := geometricSpec(t, 1, 0.1, 1)
			s.Loss = loss
			s.Grid.GranularityExponent = e
			s.Privacy.Sensitivity = math.Ldexp(1, e+10)
			tab, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			back, err := Decode(strings.NewReader(encoded(t, tab)))
			if err != nil {
				t.Errorf("exponent %d: %v", e, err)
				continue
			}
			if _, err := back.Verify(); err != nil {
				t.Errorf("exponent %d: %v", e, err)
			}
		}
	}
	if _, err := new(Table).Verify(); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("zero table: %v", err)
	}
}

func TestTableDoesNotAliasItsSpec(t *testing.T) {
	s := geometricSpec(t, 1, 0.1, 2)
	s.Dual = &Dual{CellsPerSensitivity: 1, Shifts: []dualShift{{Shift: 1, Multipliers: []int64{1}}}}
	s.Constraints = dp.Constraints{Support: &dp.Interval{Lower: -99, Upper: 99}, Quantiles: []dp.Quantile{{Probability: 0.1, Magnitude: 50}}}
	tab, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	var before, after bytes.Buffer
	if err := tab.Encode(&before); err != nil {
		t.Fatal(err)
	}
	s.Weights[0], s.Dual.Shifts[0].Multipliers[0] = 7, 7
	tab.Dual().Shifts[0].Multipliers[0] = 9
	for _, c := range []dp.Constraints{s.Constraints, tab.Problem().Constraints} {
		c.Support.Upper, c.Quantiles[0].Probability = 7, 0.9
	}
	if err := tab.Encode(&after); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before.Bytes(), after.Bytes()) {
		t.Error("the table changed with the slices it was made from")
	}
}

// TestStep: the step of a table's problem is that of its grid.
func TestStep(t *testing.T) {
	for _, c := range []struct {
		query      dp.Query
		step, unit float64
		want       float64 // -1: refused
	}{
		{dp.LatticeQuery, 0, 0, 1},
		{dp.LatticeQuery, 0, 0.1, 0.1},
		{dp.LatticeQuery, 0.1, 0.1, 0.1},
		{dp.LatticeQuery, 1, 0, 1},
		{dp.LatticeQuery, 0.2, 0.1, -1},
		{dp.LatticeQuery, 0.1, 0, -1},
		{dp.LatticeQuery, math.NaN(), 0.1, -1},
		{dp.IntegerQuery, 0, 0, 0},
		{dp.IntegerQuery, 1, 0, -1},
		{dp.RealQuery, 0, 0, 0},
		{"", 0.5, 0, -1},
	} {
		table, err := New(Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Query: c.query, Step: c.step, Loss: loss.L1},
			Grid:    Grid{Unit: c.unit, PointsPerCell: 1, CellsPerSensitivity: 10, FirstCell: -1},
			Weights: []uint64{1 << 62, 1 << 63, 1 << 62},
		})
		switch {
		case c.want < 0:
			if !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "step = ") {
				t.Errorf("%+v: error %v, want one about the step", c, err)
			}
		case err != nil || table.Problem().Step != c.want:
			t.Errorf("%+v: step %v, %v", c, table.Problem().Step, err)
		}
	}
	// A lattice without a step is no problem that could have a bound.
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Query: dp.LatticeQuery, Loss: loss.L1}
	d := &Dual{CellsPerSensitivity: 1, Exponent: -40, Shifts: []dualShift{{Shift: 1, Multipliers: []int64{1 << 38}}, {Shift: -1, Multipliers: []int64{1 << 38}}}}
	for step, bounded := range map[float64]bool{1: true, 0: false, -1: false, math.NaN(): false, math.Inf(1): false} {
		p.Step = step
		if got := d.LowerBound(p).Sign() > 0; got != bounded {
			t.Errorf("a bound for a step of %v: %v, want %v", step, got, bounded)
		}
	}
}

// TestDeltaUpperAt has the certified delta at a table's own epsilon, and at others
// that of a table made for them; it falls in epsilon.
func TestDeltaUpperAt(t *testing.T) {
	bounded, tailed := geometricSpec(t, 1, 0.1, 3), twoSided(t, 0.5)
	for name, s := range map[string]Spec{"bounded": bounded, "tail": tailed} {
		table := mustTable(t, s)
		own := s.Privacy.Epsilon
		if got, want := table.DeltaUpperAt(own), table.Certify().DeltaUpper; got.Cmp(want) != 0 {
			t.Errorf("%s: at its epsilon %s, certified %s", name, got, want)
		}
		before := big.NewRat(1, 1)
		for _, epsilon := range []float64{0, 5e-324, 0.1, own, 2, 43, 45, check.MaxEpsilon} {
			got := table.DeltaUpperAt(epsilon)
			if got.Sign() < 0 || got.Cmp(before) > 0 {
				t.Errorf("%s: %s at %g, above %s before or negative", name, got, epsilon, before)
			}
			before = got
			other := s
			other.Privacy.Epsilon, other.Claims = epsilon, formfile.Claims{}
			if want := mustTable(t, other).Certify().DeltaUpper; got.Cmp(want) != 0 {
				t.Errorf("%s: %s at %g, want %s", name, got, epsilon, want)
			}
		}
		if table.Privacy().Epsilon != own {
			t.Errorf("%s: the table changed", name)
		}
		for _, epsilon := range []float64{-1, math.NaN(), check.MaxEpsilon + 1} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic at %g", name, epsilon)
					}
				}()
				table.DeltaUpperAt(epsilon)
			}()
		}
	}
}

// TestExpectedLossOf has the loss of the table, and another one summed by hand.
// writtenOut returns a dual with the multipliers that a mirrored one stands for.
func writtenOut(d Dual) *Dual {
	d.Mirrored = false
	for _, s := range slices.Clone(d.Shifts) {
		last := s.FirstCell + len(s.Multipliers) - 1
		if d.Edges {
			last++
		}
		m := slices.Clone(s.Multipliers)
		slices.Reverse(m)
		d.Shifts = append(d.Shifts, dualShift{Shift: -s.Shift, FirstCell: -last, Multipliers: m})
	}
	return &d
}
