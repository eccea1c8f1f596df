// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// lawOf is the law of weights in units of 2^-64.
func lawOf(weights []uint64) law { return law{weights, logs(weights)} }

// TestLeast: the least weight of a window, 0 at the ends, against a search.
func TestLeast(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		w := make([]uint64, 1+r.IntN(12))
		for i := range w {
			w[i] = r.Uint64N(5)
		}
		from := r.IntN(9) - 6
		to := from + r.IntN(5)
		got := lawOf(w).least(from, to)
		for j := range w {
			least := uint64(math.MaxUint64)
			for k := from; k <= to; k++ {
				least = min(least, at(w, j+k))
			}
			if got.weights[j] != least || got.logs[j] != math.Log(float64(least)) {
				t.Fatalf("%v from %d to %d: %d at %d, want %d", w, from, to, got.weights[j], j, least)
			}
		}
	}
}

// TestEnvelope: the envelope is that of all shifts looked at one by one, but for what ranges
// may exceed it by; where no weight rises away from the largest, one shift is all it takes.
func TestEnvelope(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	laws := map[string]func(n int) []uint64{
		"unimodal": func(n int) []uint64 {
			w := make([]uint64, n)
			for i := range w {
				w[i] = uint64(0x1p55 * math.Exp(-0.02*math.Abs(float64(i-n/3))))
			}
			return w
		},
		"nearly": func(n int) []uint64 { // but for rounding
			w := make([]uint64, n)
			for i := range w {
				w[i] = uint64(0x1p55*math.Exp(-0.3*math.Abs(math.Floor(float64(i-n/2)/10+0.5)))) + r.Uint64N(64)
			}
			return w
		},
		"waves": func(n int) []uint64 {
			w := make([]uint64, n)
			for i := range w {
				x := float64(i - n/2)
				w[i] = uint64(0x1p53 * (1.2 + math.Sin(x/3)) * math.Exp(-x*x/float64(n*n/20)))
			}
			return w
		},
		"random": func(n int) []uint64 {
			w := make([]uint64, n)
			for i := range w {
				w[i] = r.Uint64N(1 << 55)
			}
			return w
		},
	}
	g := grid{step: 1.0 / 16, first: -40, last: 60}
	const n, most = 240, 60
	for name, weights := range laws {
		p := lawOf(weights(n))
		for _, sign := range []int{1, -1} {
			extra := exact.Uint128{Lo: 12345}
			e := newEnvelope(g, p, p, extra)
			e.shift(sign * most)
			e.shifts(1, most-1, sign)
			want := newEnvelope(g, p, p, extra)
			for k := 1; k <= most; k++ {
				want.shift(sign * k)
			}
			for i, h := range e.heights {
				if h < want.heights[i] || h > want.heights[i]*(1+2*closeTogether)+1 {
					t.Errorf("%s: %.17g at loss %g, want %.17g", name, h, g.at(g.first+i), want.heights[i])
				}
			}
			tried := slices.Sorted(slices.Values(e.tried))
			if len(slices.Compact(tried)) != len(e.tried) {
				t.Errorf("%s: a shift was looked at twice: %v", name, e.tried)
			}
			if name == "unimodal" && len(e.tried) != 1 {
				t.Errorf("%s: %d shifts were looked at, want the longest alone", name, len(e.tried))
			}
			if name == "nearly" && len(e.tried) > most/2 {
				t.Errorf("%s: %d shifts were looked at", name, len(e.tried))
			}
		}
	}
}

// TestTogether: the bound of a range is above every shift in it, at every loss.
func TestTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	g := grid{step: 0.25, first: -12, last: 12}
	for range 200 {
		p, q := make([]uint64, 30), make([]uint64, 30)
		for i := range p {
			p[i], q[i] = r.Uint64N(1<<r.IntN(58)+1), r.Uint64N(1<<r.IntN(58)+1)
		}
		e := newEnvelope(g, lawOf(p), lawOf(q), exact.Uint128{})
		from, sign := 1+r.IntN(8), 1-2*r.IntN(2)
		to := from + r.IntN(8)
		bound := e.together(from, to, sign)
		for k := from; k <= to; k++ {
			for i := range bound {
				alpha, sum := math.Exp(g.at(g.first+i)), 0.0
				for j := range p {
					sum += math.Max(0, float64(p[j])-alpha*float64(at(q, j-sign*k)))
				}
				if bound[i] < sum*(1-1e-12) {
					t.Fatalf("shifts %d to %d at loss %g: %g, and shift %d has %g", from, to, g.at(g.first+i), bound[i], k, sum)
				}
			}
		}
	}
}

// TestEpsilonAtTheEnds asks for the delta that is left at any epsilon, exactly, and for one so little
// below that at 0 that the epsilon is next to nothing.
func TestEpsilonAtTheEnds(t *testing.T) {
	weights := []uint64{1 << 60, 1 << 62, 1 << 62, 1 << 62, 1 << 61, 1 << 59, 1 << 59}
	made, err := tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Loss: loss.L1},
		Weights: weights, Grid: tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -3},
	})
	if err != nil {
		t.Fatal(err)
	}
	release, err := LossOf(made)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compose([]Release{{release, 1}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	left, exact := made.DeltaUpperAt(40).Float64()
	if !exact {
		t.Fatalf("delta = %v at epsilon = 40 is not a float64", left)
	}
	if b, err := c.Epsilon(left); err != nil || made.DeltaUpperAt(b.Upper).Cmp(new(big.Rat).SetFloat64(left)) > 0 {
		t.Errorf("Epsilon(%v) = %v, %v", left, b, err)
	}
	if _, err := c.Epsilon(left * (1 - 0x1p-40)); !errors.Is(err, ErrDeltaTooSmall) {
		t.Errorf("less than is left at any epsilon: %v", err)
	}
	l := release.pair.(*table)
	atZero := l.upper(grid{step: 1, first: 0, last: 1})[0]
	for _, below := range []float64{1e-6, 1e-7, 1e-9, 1e-11, 1e-13} {
		delta := atZero - below
		e, err := l.epsilonUpper(delta)
		if err != nil || e > 16*below+1e-11 {
			t.Fatalf("epsilonUpper(%v) = %v, %v", delta, e, err)
		}
		if h := l.upper(grid{step: e, first: 1, last: 2})[0]; h > delta {
			t.Errorf("delta = %v has epsilon %v, where the bound is %v", delta, e, h)
		}
	}
}
