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
