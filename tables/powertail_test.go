// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

func parseLoss(tb testing.TB, name string) loss.Loss {
	tb.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// TestPowerTailAgainstSum compares the loss of tables with arbitrary weights with
// sums over so many periods that what lies beyond does not count.
func TestPowerTailAgainstSum(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(51, 52))
	for _, name := range []string{"lp:1.5", "lp:3", "lp:2.25:0.3 + pinball:0.2", "lp:7.5 + lp:1.25"} {
		loss := parseLoss(t, name)
		for range 10 {
			s := randomTail(rng)
			s.Loss, s.TailRatio = loss, s.TailRatio>>3
			got := mustTable(t, s).Certify().ExpectedLoss
			sum := new(big.Rat)
			for j, q := range unrolled(s, 60*s.Grid.CellsPerSensitivity) {
				first := int64(j)*s.Grid.PointsPerCell - (s.Grid.PointsPerCell-1)/2
				sum.Add(sum, q.Mul(q, loss.GridMeanUp(first, s.Grid.PointsPerCell, s.Grid.Step())))
			}
			if d := new(big.Rat).Sub(got, sum); d.Sign() < 0 {
				t.Fatalf("%s: loss below its sum over 60 periods", name)
			}
			d, _ := got.Quo(got, sum).Float64()
			if !(d-1 < 1e-6) {
				t.Fatalf("%s: loss = %.12g times its sum over 60 periods, want 1", name, d)
			}
		}
	}
}

// cubed returns E|X|³ of twoSided noise with ratio ρ and the given weights: with w =
// side/2^64, 2w·(1-ρ)·Σ_j j³ρ^(j-1) = 2w·(1+4ρ+ρ²)/(1-ρ)³.
func cubed(s Spec) *big.Rat {
	r, one := s.ratio(), new(big.Rat).SetInt64(1)
	poly := new(big.Rat).Mul(r, r)
	poly.Add(poly, one).Add(poly, new(big.Rat).Mul(r, new(big.Rat).SetInt64(4)))
	rest := new(big.Rat).Sub(one, r)
	cube := new(big.Rat).Mul(rest, rest)
	poly.Quo(poly, cube.Mul(cube, rest))
	poly.Mul(poly, new(big.Rat).SetInt(new(big.Int).SetUint64(s.Weights[0])))
	return poly.Quo(poly, exact.PowerOfTwo(63))
}

// TestPowerTailCubed holds the bound against a closed form, also where tails are so long
// that chords stand for many periods.
func TestPowerTailCubed(t *testing.T) {
	for _, c := range []struct{ epsilon, within float64 }{{5, 1e-15}, {1, 1e-15}, {0.1, 1e-8}, {0.001, 1e-5}, {1e-5, 1e-5}} {
		s := twoSided(t, c.epsilon)
		s.Loss = parseLoss(t, "lp:3")
		want := cubed(s)
		got := s.expected(s.Loss, nil)
		if got.Cmp(want) < 0 {
			t.Errorf("epsilon = %g: loss = %s below the truth %s", c.epsilon, got.FloatString(30), want.FloatString(30))
		}
		if d, _ := new(big.Rat).Quo(got, want).Float64(); !(d-1 <= c.within) {
			t.Errorf("epsilon = %g: loss = %.12g times the truth, want within %g", c.epsilon, d, c.within)
		}
	}
}

// TestPowerTailSteep: the terms of a high power rise for long before they fall.
func TestPowerTailSteep(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	s := twoSided(t, 0.5)
	s.Loss = parseLoss(t, "lp:64")
	got := s.expected(s.Loss, nil)
	sum, term := new(big.Rat), new(big.Rat).SetInt(new(big.Int).SetUint64(s.Weights[0]))
	term.Mul(term, rest(s.ratio())).Quo(term, exact.PowerOfTwo(63))
	for j := int64(1); j < 400; j++ {
		sum.Add(sum, new(big.Rat).Mul(term, exact.PowDown(new(big.Rat).SetInt64(j), 64, 64)))
		term.Mul(term, s.ratio())
	}
	if d, _ := got.Quo(got, sum).Float64(); !(d >= 1-1e-12 && d < 1+1e-10) {
		t.Errorf("loss = %.15g times its sum over 400 periods, want 1", d)
	}
}

// TestChord holds the weighted chord against the sum it stands for.
func TestChord(t *testing.T) {
	ratio := big.NewRat(999, 1000)
	near, far := roundedUp().SetInt64(3), roundedUp().SetInt64(11)
	for _, n := range []int64{1, 2, 7, 500} {
		want, weight := new(big.Rat), rest(ratio)
		for i := range n {
			want.Add(want, new(big.Rat).Mul(weight, big.NewRat(3*n+8*i, n)))
			weight.Mul(weight, ratio)
		}
		got, _ := chord(near, far, ratio, n).Rat(nil)
		d, _ := new(big.Rat).Sub(got, want).Float64()
		if got.Cmp(want) < 0 || d > 1e-40 {
			t.Errorf("n = %d: chord - sum = %g, want 0 to 1e-40", n, d)
		}
	}
}

// TestPowerTailRuns: equal weights are summed together, and only those that are.
func TestPowerTailRuns(t *testing.T) {
	s := Spec{Weights: []uint64{5, 5, 6, 1, 7, 7, 7}, Grid: Grid{PointsPerCell: 1, CellsPerSensitivity: 3, FirstCell: -3}, TailRatio: 1 << 63}
	if got, want := s.blockRuns(), []blockRun{{0, 2, -1}, {2, 1, -1}, {4, 3, 1}}; !slices.Equal(got, want) {
		t.Errorf("runs = %v, want %v", got, want)
	}
	// Too many of them are refused.
	const k = maxTailRuns
	many := Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Loss: parseLoss(t, "lp:3")},
		Grid:    Grid{PointsPerCell: 1, CellsPerSensitivity: k, FirstCell: -k},
		Weights: make([]uint64, 2*k+1), TailRatio: 1 << 63,
	}
	many.Weights[k] = 1 << 63
	for i := range k {
		many.Weights[i], many.Weights[k+1+i] = 1<<52+uint64(i), 1<<52-uint64(i)
	}
	if _, err := New(many); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "runs") {
		t.Errorf("2048 runs: %v, want ErrInvalid", err)
	}
	many.Loss = loss.L1
	if _, err := New(many); err != nil {
		t.Error(err)
	}
}

// TestPowerTailLimits: periods so long that the points of a tail leave an int64 are
// refused, and the same table is fine with another loss.
func TestPowerTailLimits(t *testing.T) {
	s := twoSided(t, 1)
	s.Query = dp.RealQuery
	s.Grid.PointsPerCell, s.Privacy.Sensitivity = 1<<40-1, math.Ldexp(1, 39)
	s.TailRatio = maxTailRatio
	if _, err := New(s); err != nil {
		t.Error(err)
	}
	s.Loss = parseLoss(t, "lp:1.5")
	if _, err := New(s); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("tail of 2^40 points per period: %v, want ErrInvalid", err)
	}
}
