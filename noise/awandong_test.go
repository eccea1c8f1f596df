// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

// awanDongTails returns the tails P(X >= 1), P(X >= 2), … > 0 of the optimal integer noise for sensitivity 1, by their
// recursion (see newDiscreteCanonical). For δ = 0 the list ends where they fall below e^-300.
func awanDongTails(epsilon, delta float64) (tails []float64) {
	b := math.Exp(-epsilon)
	for t := (1 - delta) * b / (1 + b); t > math.Exp(-tailCut); t = (t - delta) * b {
		tails = append(tails, t)
	}
	return tails
}

// TestAwanDongTails: the law that the tails describe has mass 1, wastes no
// privacy at a shift of 1, and its losses are sums over its tails.
func TestAwanDongTails(t *testing.T) {
	for _, epsilon := range []float64{0, 1e-6, 0.01, 0.3, 1, 4, 20} {
		for _, delta := range []float64{0, 1e-9, 1e-4, 0.02, 0.3, 0.5, 0.8, 0.99} {
			if epsilon <= 1e-6 && delta < 1e-6 {
				continue // too long a list, or no such noise
			}
			tails := awanDongTails(epsilon, delta)
			// p(0), p(1), …; p(-k) = p(k).
			p := []float64{1 - 2*tails[0]}
			for k, tail := range tails {
				next := 0.0
				if k+1 < len(tails) {
					next = tails[k+1]
				}
				if !(tail > next) {
					t.Fatalf("(%g, %g): tails %g, %g do not decrease", epsilon, delta, tail, next)
				}
				p = append(p, tail-next)
			}
			at := func(k int) float64 {
				if k < 0 {
					k = -k
				}
				if k < len(p) {
					return p[k]
				}
				return 0
			}
			var mass, first, second, divergence exact.Sum
			for k := -len(p); k <= len(p); k++ {
				x := float64(k)
				mass.Add(at(k))
				first.Add(at(k) * math.Abs(x))
				second.Add(at(k) * x * x)
				divergence.Add(math.Max(0, at(k)-math.Exp(epsilon)*at(k-1)))
			}
			near(t, "mass", mass.Value(), 1, 1e-13)
			if !(math.Abs(divergence.Value()-delta) <= 1e-12) {
				t.Errorf("(%g, %g): hockey-stick at 1 is %g", epsilon, delta, divergence.Value())
			}
			v1, v2 := lawLosses(tails)
			near(t, "first moment", first.Value(), v1, 1e-10)
			near(t, "second moment", second.Value(), v2, 1e-10)
		}
	}
}

// TestAwanDongSmallest: no other private integer noise has a smaller tail. The
// others: geometric noise with an atom, and uniform integer noise.
func TestAwanDongSmallest(t *testing.T) {
	for _, epsilon := range []float64{0.2, 1, 3} {
		for _, delta := range []float64{1e-6, 0.01, 0.2, 0.6} {
			tails := awanDongTails(epsilon, delta)
			q := math.Exp(-epsilon)
			n := math.Ceil((1/delta - 1) / 2) // 2n+1 >= 1/δ points
			for i, tail := range tails {
				k := float64(i + 1)
				if geometric := (1 - delta) * math.Pow(q, k) / (1 + q); tail > geometric*(1+1e-12) {
					t.Errorf("(%g, %g): T_%g = %g, geometric noise with an atom has %g", epsilon, delta, k, tail, geometric)
				}
				if uniform := math.Max(0, n-k+1) / (2*n + 1); tail > uniform*(1+1e-12) {
					t.Errorf("(%g, %g): T_%g = %g, uniform noise has %g", epsilon, delta, k, tail, uniform)
				}
			}
		}
	}
}

// lawLosses returns E|X| and E X² of the integer noise with these tails.
func lawLosses(tails []float64) (first, second float64) {
	var sum, weighted exact.Sum
	for k, tail := range tails {
		sum.Add(2 * tail)
		weighted.Add(2 * float64(2*k+1) * tail)
	}
	return sum.Value(), weighted.Value()
}

// integerReference was computed from the textbook formulas with 80 digits (mpmath),
// where nothing cancels; the inputs are the float64 values.
var integerReference = []struct{ epsilon, delta, first, second float64 }{
	{0, 0.1, 2.4999999999999999, 8.4999999999999991},
	{0, 0.75, 0.25, 0.25},
	{1e-09, 0.1, 2.4999999927499999, 8.4999999557499992},
	{0.001, 1e-12, 999.99979329214249, 1999998.9512007167},
	{0.001, 0.9, 0.099950000004166644, 0.099950000004166644},
	{0.01, 1e-05, 98.760224273263823, 18981.913556793297},
	{0.1, 1e-06, 9.9812855124304709, 199.56741844545631},
	{0.1, 0.5, 0.47502081252106001, 0.47502081252106001},
	{0.5, 1e-09, 1.9190346304933726, 7.8353909777014507},
	{0.5, 0.75, 0.18877033439907272, 0.18877033439907272},
	{1, 1e-12, 0.85091812820728591, 1.8413471874793814},
	{1, 1e-05, 0.85078578570901871, 1.8396168204220158},
	{1, 0.1, 0.58860710587430771, 0.79763220069094069},
	{2, 0.001, 0.2744622109964036, 0.35627392531556986},
	{2, 0.9, 0.023840584404423506, 0.023840584404423506},
	{5, 1e-09, 0.013476505762748217, 0.013659345419325379},
	{5, 0.25, 0.010039276386427283, 0.010039276386427283},
	{10, 1e-12, 9.0799859711841262e-5, 9.0808104700074119e-5},
	{20, 1e-12, 4.122307244868871e-9, 4.1223072618540434e-9},
	{20, 0.001, 4.1181849291440268e-9, 4.1181849291440268e-9},
	{20, 0.9, 4.1223072363804062e-10, 4.1223072363804062e-10},
	{100, 1e-05, 7.4400775505221515e-44, 7.4400775505221515e-44},
}

// TestAwanDongLosses: the losses of the law against 80 digits, and its limits: at
// δ = 0 geometric noise, at ε = 0 and δ = 1/(2n+1) uniform noise on 2n+1 points.
func TestAwanDongLosses(t *testing.T) {
	check := func(epsilon, delta, first, second, tolerance float64) {
		t.Helper()
		tails := awanDongTails(epsilon, delta)
		v1, v2 := lawLosses(tails)
		near(t, "first moment", v1, first, tolerance)
		near(t, "second moment", v2, second, tolerance)
	}
	for _, c := range integerReference {
		check(c.epsilon, c.delta, c.first, c.second, 1e-12)
	}
	for _, epsilon := range []float64{0.1, 1, 5} {
		b := math.Exp(-epsilon)
		check(epsilon, 0, 2*b/(1-b*b), 2*b/((1-b)*(1-b)), 1e-13)
	}
	for _, n := range []float64{1, 2, 50, 1e6} {
		check(0, 1/(2*n+1), n*(n+1)/(2*n+1), n*(n+1)/3, 1e-9)
	}
}

// TestLowerBound: the bound on noise for real queries that follows from the tails is
// below every baseline and below certified brackets of an independent linear program;
// where 1/(2δ) is an integer it meets uniform noise at ε = 0.
func TestLowerBound(t *testing.T) {
	lower := func(epsilon, delta float64) map[loss.Loss]float64 {
		tails := awanDongTails(epsilon, delta)
		first, second := lawLosses(tails)
		return map[loss.Loss]float64{loss.L1: first, loss.L2: second - 0.25}
	}
	for _, epsilon := range append([]float64{0.999}, gridEpsilons...) {
		for _, delta := range append([]float64{1e-200, 0.99}, gridDeltas...) {
			for l, bound := range lower(epsilon, delta) {
				p := dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}
				for _, b := range Baselines() {
					if m, err := b.New(p, l); err == nil && !onIntegers(b.Name) {
						if v, _, err := m.ExpectedLoss(l); err == nil && v < bound*(1-1e-12) {
							t.Errorf("%+v %s: %s %g below the lower bound %g", p, l.Name(), b.Name, v, bound)
						}
					}
				}
			}
		}
	}
	for _, c := range []struct {
		epsilon, delta float64
		loss           loss.Loss
		upper          float64
	}{
		{0.3, 1e-5, loss.L1, 3.3190292},
		{0.3, 1e-5, loss.L2, 22.0666661},
		{1, 1e-6, loss.L1, 0.9595527},
		{1, 1e-6, loss.L2, 1.9178739},
		{3, 0.3, loss.L1, 0.1630606},
		{3, 0.3, loss.L2, 0.0860831},
		{0.5, 0.01, loss.L1, 1.7626644},
		{0.5, 0.01, loss.L2, 5.5412402},
		{1, 0.1, loss.L1, 0.69086},
		{1, 0.2, loss.L1, 0.5588},
		{2, 0.02, loss.L1, 0.40819},
		{0.2, 0.05, loss.L1, 2.35423},
		{1, 0.005, loss.L1, 0.92926},
		{0.5, 0.75, loss.L1, 0.20771},
		{5, 0.25, loss.L1, 0.06252},
	} {
		if v := lower(c.epsilon, c.delta)[c.loss]; v > c.upper {
			t.Errorf("(%g, %g) %s: lower bound %g, above the upper bound %g", c.epsilon, c.delta, c.loss.Name(), v, c.upper)
		}
	}
	for _, n := range []float64{1, 2, 7} {
		near(t, "lower bound", lower(0, 1/(2*n))[loss.L1], n/2, 1e-14)
	}
}
