// SPDX-License-Identifier: Apache-2.0

package account

import (
	"math"
	"math/big"
	"math/rand"
	"testing"
)

// TestConnectDots holds H, in 400 bits, against the heights it must reach, for
// profiles, for heights that are not convex, and for grids where e^ε is extreme.
func TestConnectDots(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for trial := range 60 {
		g := grid{step: math.Exp(-8 * r.Float64()), first: -r.Intn(40), last: 1 + r.Intn(40)}
		if trial%10 == 0 {
			g = grid{step: 12, first: -30, last: 40}
		}
		heights := make([]float64, g.len())
		for i := range heights {
			e := g.at(g.first + i)
			switch trial % 3 {
			case 0: // randomized response
				heights[i] = math.Max(0, 0.7*-math.Expm1(e-1)) + math.Max(0, 0.3*-math.Expm1(e+1))
			case 1:
				heights[i] = math.Exp(-math.Max(0, e)-1) + 1e-9*r.Float64()
			case 2:
				heights[i] = r.Float64()
			}
		}
		d := connectDots(g, heights)
		number := func(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }
		alphas := make([]*big.Float, g.len())
		total := number(d.infinityMass)
		step := bigExp(g.step)
		alphas[-g.first] = number(1)
		for i := -g.first + 1; i < g.len(); i++ {
			alphas[i] = new(big.Float).Mul(alphas[i-1], step)
		}
		for i := -g.first - 1; i >= 0; i-- {
			alphas[i] = new(big.Float).Quo(alphas[i+1], step)
		}
		for i, m := range d.mass {
			if m < 0 {
				t.Fatalf("trial %d: mass %g", trial, m)
			}
			total.Add(total, number(m))
			sum := number(d.infinityMass)
			for j := i + 1; j < g.len(); j++ {
				x := new(big.Float).Quo(alphas[i], alphas[j])
				x.Sub(number(1), x)
				sum.Add(sum, x.Mul(x, number(d.mass[j])))
			}
			if sum.Cmp(number(heights[i])) < 0 {
				t.Errorf("trial %d: H = %s at %g, want at least %v", trial, sum.Text('g', 20), g.at(g.first+i), heights[i])
			}
		}
		if total.Cmp(number(1)) < 0 {
			t.Errorf("trial %d: total %s, want at least 1", trial, total.Text('g', 20))
		}
	}
}

// The largest losses may be so improbable that they do not matter even when tilted.
func TestLogMoment(t *testing.T) {
	d := &pmf{step: 1, first: -1200, mass: make([]float64, 1201)}
	d.mass[0], d.mass[1200] = 1, 1e-300 // losses -1200 and 0
	for theta, want := range map[float64]float64{
		0.01: -12, 0.5: -600, 1: math.Log(1e-300), -1: 1200, 0: 0,
	} {
		if got, _ := d.logMoment(theta); math.Abs(got-want) > 1e-9 {
			t.Errorf("logMoment(%g) = %g, want %g", theta, got, want)
		}
	}
	if got, _ := new(pmf).logMoment(1); !math.IsInf(got, -1) {
		t.Errorf("logMoment of nothing = %g", got)
	}
}
