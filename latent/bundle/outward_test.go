// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"crypto/sha256"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// TestRootIsAbove: a root is above the true one, by a relative 2^-128 at most, and exact where that can be.
func TestRootIsAbove(t *testing.T) {
	for n := int64(1); n < 200; n++ {
		x := big.NewRat(n, 7)
		above := root(x)
		near := new(big.Rat).Mul(above, new(big.Rat).Sub(big.NewRat(1, 1), exact.PowerOfTwo(-128)))
		if square(above).Cmp(x) < 0 || square(near).Cmp(x) > 0 {
			t.Errorf("root of %s = %s", x, above.FloatString(50))
		}
	}
	if r := root(big.NewRat(9, 4)); r.Cmp(big.NewRat(3, 2)) != 0 {
		t.Errorf("root of 9/4 = %s", r)
	}
}

// TestRangeL1IsAbove: beside the largest range, here of numbers that floating point has exactly, there is
// what its proof asks for: 2^-51 of all terms for every coordinate and feature and eight more.
func TestRangeL1IsAbove(t *testing.T) {
	for _, c := range []struct {
		m            Matrix
		lower, upper []float64
		most, total  float64
	}{
		{Matrix{2, 2, []float64{3, 5, 7, -2}}, []float64{0, -1}, []float64{1, 1}, 18, 24},
		{Matrix{1, 3, []float64{1, -2, 4}}, []float64{0, 0, 0}, []float64{1, 1, 0.5}, 5, 5},
		{Matrix{3, 1, []float64{1, 1, -1}}, []float64{-1}, []float64{3}, 12, 12},
	} {
		z, n := c.m.Rows, c.m.Cols
		least := c.most + float64(z+n+8)*0x1p-51*c.total
		last := math.Nextafter(c.most, 100) - c.most
		if got := c.m.RangeL1(c.lower, c.upper); got < least-last/2 || got > least+last {
			t.Errorf("%v: %v, want %v", c.m, got, least)
		}
	}
	// A product below all float64s is above 0.
	if got := (Matrix{1, 1, []float64{0x1p-600}}).RangeL1([]float64{0}, []float64{0x1p-600}); !(got > 0) {
		t.Errorf("range %g, want a number above 0", got)
	}
	for _, bounds := range [][2]int{{1, 2}, {2, 1}, {3, 2}, {2, 3}, {3, 3}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("bounds of %v features are taken for 2", bounds)
				}
			}()
			Matrix{1, 2, []float64{1, 1}}.RangeL1(make([]float64, bounds[0]), make([]float64, bounds[1]))
		}()
	}
}

// TestTableOfTheFormula: the formula for normal noise is applied to a table of single points about 0 without
// a tail, and to no other one, however well that keeps its own promise.
func TestTableOfTheFormula(t *testing.T) {
	for name, change := range map[string]func(s *tables.Spec){
		"none":             func(*tables.Spec) {},
		"points per cell":  func(s *tables.Spec) { s.Grid.PointsPerCell = 3 },
		"an offset":        func(s *tables.Spec) { s.Grid.Offset = 1 },
		"a tail":           func(s *tables.Spec) { s.TailRatio = 1 << 63 },
		"points and shift": func(s *tables.Spec) { s.Grid.PointsPerCell, s.Grid.Offset = 3, -1 },
	} {
		s := jointGaussian(t, Box, 1, 1e-5, 0.3, 0.4)
		was := s.Tables[0]
		p := was.Privacy()
		p.Delta = 0.9
		other := tables.Spec{Problem: dp.Problem{Privacy: p, Loss: was.Loss()}, Grid: was.Grid()}
		for i := range was.Cells() {
			other.Weights = append(other.Weights, was.Weight(i))
		}
		change(&other)
		s.Tables = []*tables.Table{must(tables.New(other))}
		v, err := must(New(s)).Verify(nil)
		if name == "none" {
			if err != nil {
				t.Errorf("the same table: %v", err)
			}
			continue
		}
		if v != nil || !errors.Is(err, proof.ErrNotPrivate) || !strings.Contains(err.Error(), "want 1, 0 and none") {
			t.Errorf("%s: %v, want ErrNotPrivate", name, err)
		}
	}
}

// TestTableOfSteps: what is charged by steps needs a table whose promise, with delta 0, is about one of them.
func TestTableOfSteps(t *testing.T) {
	for name, change := range map[string]func(s *tables.Spec){
		"none":            func(*tables.Spec) {},
		"delta":           func(s *tables.Spec) { s.Delta = 0.5 },
		"points per cell": func(s *tables.Spec) { s.Grid.PointsPerCell = 3 },
		"cells": func(s *tables.Spec) {
			s.Grid.CellsPerSensitivity, s.Sensitivity, s.Epsilon = 2, 2*s.Sensitivity, 2.1*s.Epsilon
			s.Weights, s.Grid.FirstCell = append(append([]uint64{0}, s.Weights...), 0), s.Grid.FirstCell-1
			s.TailRatio, s.Delta = 0, 0.9
		},
	} {
		s := jointLaplace(t, Box, 1, -6, 0.375, 0.125)
		was := s.Tables[0]
		other := tables.Spec{Problem: dp.Problem{Privacy: was.Privacy(), Loss: was.Loss()}, Grid: was.Grid(), TailRatio: was.TailRatio()}
		for i := range was.Cells() {
			other.Weights = append(other.Weights, was.Weight(i))
		}
		change(&other)
		s.Tables = []*tables.Table{must(tables.New(other))}
		v, err := must(New(s)).Verify(nil)
		if name == "none" {
			if err != nil {
				t.Errorf("the same table: %v", err)
			}
			continue
		}
		if v != nil || !errors.Is(err, proof.ErrNotPrivate) || !strings.Contains(err.Error(), "want 0 and 1 cell of 1 point") {
			t.Errorf("%s: %v, want ErrNotPrivate", name, err)
		}
	}
}

// TestLeastScale: the formula asks for a scale of eight steps, to the last place.
func TestLeastScale(t *testing.T) {
	for _, less := range []bool{false, true} {
		s := jointGaussian(t, Box, 1, 1e-5, 0.3, 0.4)
		s.Tau = 8 * s.gridStep()
		if less {
			s.Tau = math.Nextafter(s.Tau, 0)
		}
		_, err := must(New(s)).Verify(nil)
		if !errors.Is(err, proof.ErrNotPrivate) || strings.Contains(err.Error(), "tau = ") != less {
			t.Errorf("tau = %v: %v", s.Tau, err)
		}
	}
	if d := gaussianDeltaUp(0, new(big.Rat), 1); d.Sign() != 0 {
		t.Errorf("delta %v at the distance 0", d)
	}
}

// TestRangesHoldBothSides: a randomizer takes both ends of an axis, to the last place.
func TestRangesHoldBothSides(t *testing.T) {
	for _, c := range []struct {
		lower, upper, axis float64
		holds              bool
	}{
		{-0.5, 1, 0.5, true},
		{-0.5, 1, math.Nextafter(0.5, 1), false},
		{-0.5, 1, 1, false},
		{-1, 0.5, 0.5, true},
		{-1, 0.5, math.Nextafter(0.5, 1), false},
		{-1, 0.5, 1, false},
	} {
		s := randomized(t)
		r := randomizer(t, 1, 0.5).Spec()
		r.Values.Lower, r.Values.Upper = c.lower, c.upper
		r.Nodes[0], r.Nodes[2], r.Claims = c.lower, c.upper, local.Claims{}
		s.Randomizers[0], s.Axes[0] = must(local.New(t.Context(), r)), c.axis
		if _, err := must(New(s)).Verify(nil); (err == nil) != c.holds || !c.holds && (!errors.Is(err, proof.ErrNotPrivate) || !strings.Contains(err.Error(), "axes[0]")) {
			t.Errorf("an axis of %v in a range from %v to %v: %v", c.axis, c.lower, c.upper, err)
		}
	}
}

// TestFormulaIsAbove: δ is above Φ(−u) − e^ε·Φ(−v) by the bounds on these, with no more than e^ε itself.
func TestFormulaIsAbove(t *testing.T) {
	const fine = 300
	for _, epsilon := range []float64{0.1, 0.7, 1, 2, 3.3} {
		for _, tau := range []float64{0.25, 0.5, 1, 2} { // powers of two, of which the roots are exact
			got := gaussianDeltaUp(epsilon, big.NewRat(1, 1), tau)
			mu := exact.Rational(1 / tau)
			ratio := new(big.Rat).Quo(exact.Rational(epsilon), mu)
			half := mu.Mul(mu, big.NewRat(1, 2))
			tail := func(x *big.Rat) (low, high *big.Rat) {
				size := new(big.Rat).Abs(x)
				l, h := exact.NormalTail(size.Num(), size.Denom())
				unit := exact.PowerOfTwo(-exact.NormalBits)
				low, high = new(big.Rat).SetInt(l), new(big.Rat).SetInt(h)
				low.Mul(low, unit)
				high.Mul(high, unit)
				if one := big.NewRat(1, 1); x.Sign() < 0 {
					low, high = new(big.Rat).Sub(one, high), one.Sub(one, low)
				}
				return low, high
			}
			_, first := tail(new(big.Rat).Sub(ratio, half))
			second, _ := tail(new(big.Rat).Add(ratio, half))
			e := new(big.Rat).SetFrac(exact.ExpDown(epsilon, fine), new(big.Int).Lsh(big.NewInt(1), fine))
			least := first.Sub(first, e.Mul(e, second))
			// Below by what is lost of e^ε in its last place, or above.
			if off := new(big.Rat).Sub(got, least); off.Cmp(new(big.Rat).Neg(exact.PowerOfTwo(10-fine))) < 0 || off.Cmp(exact.PowerOfTwo(-80)) > 0 {
				t.Errorf("epsilon %g, tau %g: %s, want %s", epsilon, tau, got.FloatString(50), least.FloatString(50))
			}
		}
	}
}

// TestReleasedVectors: what is released is the clipped encoding and the noise of the seed, in steps.
func TestReleasedVectors(t *testing.T) {
	s := jointSpherical(t, Ball, 2, 0.5, 0.5)
	v := must(must(New(s)).Verify(nil))
	seed := [32]byte{3}
	p := must(v.NewDeterministicPrivatizer(seed, sampler.Options{}))
	step := v.bundle.body.step
	noise := must(sampler.NewSpherical(2, s.Tau/step, sampler.Options{Entropy: sampler.Deterministic(sha256.Sum256(append(seed[:], make([]byte, 8)...)))}))
	for i := range 20 {
		x := []float64{1 + 0.1*float64(i), 2 - 0.05*float64(i)}
		u, got := must(v.bundle.Encode(nil, x)), must(p.Privatize(nil, x))
		n := make([]int64, 2)
		if err := noise.Fill(n); err != nil {
			t.Fatal(err)
		}
		for k := range u {
			if want := u[k] + float64(n[k])*step; got[k] != want {
				t.Errorf("released %v, want %v of %v and %d steps", got[k], want, u[k], n[k])
			}
		}
	}
}

// TestAccountantsThatProveNothing: what an accountant returns is a number at least 0, and 0 is one.
func TestAccountantsThatProveNothing(t *testing.T) {
	s := perCoordinate(t)
	s.Composition = Exact
	for _, delta := range []float64{0, math.Copysign(0, -1), 0x1p-1074, -0x1p-1074, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		v, err := must(New(s)).Verify(func([]*tables.Table, Promise) (float64, error) { return delta, nil })
		if good := delta >= 0 && delta < 1; good != (err == nil) || !good && (v != nil || !errors.Is(err, proof.ErrNotPrivate)) {
			t.Errorf("delta = %v is proved: %v", delta, err)
		}
	}
}
