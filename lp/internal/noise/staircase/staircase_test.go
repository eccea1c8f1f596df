// SPDX-License-Identifier: Apache-2.0

package staircase

import (
	"math"
	"testing"

	"github.com/noisewright/noisewright/loss"
)

// TestSearchClosedForm: for the absolute error the core of the best staircase is [−γ, γ],
// γ = 1/(1+e^(ε/2)) (Geng & Viswanath 2014), for whatever sensitivity.
func TestSearchClosedForm(t *testing.T) {
	for _, epsilon := range []float64{0.3, 1, 4} {
		for _, symmetric := range []bool{true, false} {
			c, ok := Search(t.Context(), Problem{Loss: loss.L1, Epsilon: epsilon, Sensitivity: 0.7, Periods: int(60/epsilon) + 3, Symmetric: symmetric})
			gamma := 1 / (1 + math.Exp(epsilon/2))
			if !ok || math.Abs(c.From+gamma) > 1e-5 || math.Abs(c.Width-2*gamma) > 1e-5 {
				t.Errorf("epsilon %g: core %+v, %v; want ±%g", epsilon, c, ok, gamma)
			}
		}
	}
}

// TestSearchIsBest compares with all cores around 0 of noise on few points.
func TestSearchIsBest(t *testing.T) {
	asymmetric, err := loss.New("asymmetric", 1, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []loss.Loss{loss.L1, loss.L2, asymmetric} {
		p := Problem{Loss: l, Epsilon: 0.8, Sensitivity: 6, Points: 6, Unit: 1, Periods: 60}
		c, ok := Search(t.Context(), p)
		if !ok {
			t.Fatalf("%s: none found", l.Name())
		}
		s := newSearch(p)
		least := math.Inf(1)
		for left := int64(-20); left <= 20; left++ {
			for right := 1 - left + 1; right <= 30; right++ {
				if e := (ends{left, right}); s.width(e) >= 1 {
					least = min(least, s.value(e))
				}
			}
		}
		left := -int64(math.Round(c.From*6 - 0.5))
		if got := s.value(ends{left, int64(math.Round(c.Width*6)) + 1 - left}); got > least*(1+1e-12) {
			t.Errorf("%s: core %+v has %g, the best %g", l.Name(), c, got, least)
		}
	}
}

// TestDual: the multipliers are not negative, and prove nearly the loss of the best
// staircase: every coefficient is at least that of the level.
func TestDual(t *testing.T) {
	asymmetric, err := loss.New("asymmetric", 1, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []loss.Loss{loss.L1, asymmetric} {
		const k, n, epsilon = 6, 400, 0.8
		p := Problem{Loss: l, Epsilon: epsilon, Sensitivity: k, Points: k, Unit: 1, Periods: 60}
		c, _ := Search(t.Context(), p)
		s := newSearch(p)
		left := -int64(math.Round(c.From*k - 0.5))
		value := s.value(ends{left, int64(math.Round(c.Width*k)) + 1 - left})
		middle := int(math.Round((c.From + c.Width/2) * k))
		y := Dual(Nodes{At: func(j int) float64 { return l.At(float64(j)) }, K: k, Middle: middle, N: n}, epsilon, value, false)
		if y == nil {
			t.Fatalf("%s: no multipliers", l.Name())
		}
		least := math.Inf(1)
		coefficient := make(map[int]float64)
		for j := middle - n; j <= middle+n; j++ {
			coefficient[j] = l.At(float64(j))
		}
		for shift, run := range y {
			for i, v := range run.Y {
				j := run.First + i
				if v < 0 || shift == 0 || shift > k || shift < -k {
					t.Errorf("%s: multiplier %g of cell %d and shift %d", l.Name(), v, j, shift)
				}
				if v > 0 {
					coefficient[j] += v
					coefficient[j-shift] -= math.Exp(epsilon) * v
				}
			}
		}
		for _, c := range coefficient {
			least = min(least, c)
		}
		if least < value*(1-1e-6) {
			t.Errorf("%s: the multipliers prove %g, the best staircase has %g", l.Name(), least, value)
		}
	}
}

// TestTransport: the multipliers are not negative, leave every coefficient at the level or above it, have the
// price that is said, not far above the level if they are cheap, and prove nearly the loss of the best staircase.
func TestTransport(t *testing.T) {
	const k, epsilon = 400, 9.0
	flat := func(free float64) func(x float64) float64 {
		return func(x float64) float64 { return max(0, math.Abs(x)-free) }
	}
	isFlat := map[string]bool{"flat": true, "most left": true, "few left": true}
	for name, c := range map[string]func(x float64) float64{
		"l1":         math.Abs,
		"lp:1.5":     func(x float64) float64 { return math.Pow(math.Abs(x), 1.5) },
		"asymmetric": func(x float64) float64 { return max(3*x, -x) },
		"flat":       flat(0.05),
		"most left":  flat(0.0451),
		"few left":   flat(0.0487),
	} {
		at := func(j int) float64 { return c(float64(j) / k) }
		least := math.Inf(1) // of the staircases on the nodes
		for from := -26; from <= 0; from++ {
			for to := 0; to <= 26; to++ {
				sum, mass := 0.0, 0.0
				for j := from - 3*k; j <= to+3*k; j++ {
					w := math.Exp(-epsilon * math.Ceil(float64(max(from-j, j-to, 0))/k))
					sum, mass = sum+w*at(j), mass+w
				}
				least = min(least, sum/mass)
			}
		}
		for _, kind := range []Kind{{}, {Cheap: true}, {Sparse: true}, {Cheap: true, Whole: true}, {Cheap: true, Whole: true, Far: true}} {
			if kind.Whole && !isFlat[name] {
				continue
			}
			made := NewTransport(Nodes{At: at, K: k, N: 120}, epsilon, 1, kind)
			if made == nil {
				t.Fatalf("%s, %+v: none", name, kind)
			}
			coefficient, price := make(map[int]float64), 0.0
			for j := -3 * k; j <= 3*k; j++ {
				coefficient[j] = at(j)
			}
			for shift, run := range made.Multipliers() {
				top := 0.0
				for i, y := range run.Y {
					if y < 0 || shift == 0 || shift > k || shift < -k {
						t.Fatalf("%s, %+v: multiplier %g of shift %d", name, kind, y, shift)
					}
					coefficient[run.First+i] += y
					coefficient[run.First+i-shift] -= math.Exp(epsilon) * y
					top = max(top, y)
				}
				price += top
			}
			for j, v := range coefficient {
				if v < made.Level*(1-1e-9) {
					t.Fatalf("%s, %+v: coefficient %g of node %d, the level is %g", name, kind, v, j, made.Level)
				}
			}
			if math.Abs(price-made.Price) > 1e-9*price {
				t.Errorf("%s, %+v: price %g, said to be %g", name, kind, price, made.Price)
			}
			most, reached := 1.35, 0.99
			if kind.Whole { // little more than 1 and the width of the core, in sensitivities
				most, reached = 1.11, 0.9998
			}
			if kind.Cheap && kind.Whole == isFlat[name] && price > most*made.Level {
				t.Errorf("%s: a price of %g levels, want at most %g", name, price/made.Level, most)
			}
			if made.Level > least*(1+1e-9) || made.Level < reached*least {
				t.Errorf("%s, %+v: level %g, the best staircase has %g", name, kind, made.Level, least)
			}
		}
	}
}
