// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"fmt"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/quadrature"
	"github.com/noisewright/noisewright/loss"
)

// tulapCDF is the distribution function of Tulap(0, b, q) as Awan & Slavković (2018,
// Definition 4.4) have it, [x] the nearest integer: for q = 0 and x <= 0
// b^(-[x])/(1+b)·(b + (x-[x]+1/2)(1-b)), one less that of -x above, and for q > 0 what q/2
// cut off either side leaves. For (ε, δ) it has b = e^-ε, q = 2δb/(1-b+2δb).
func tulapCDF(x, epsilon, delta float64) float64 {
	b := math.Exp(-epsilon)
	q := 2 * delta * b / (1 - b + 2*delta*b)
	below := func(x float64) float64 {
		n := math.RoundToEven(x)
		return math.Pow(b, -n) / (1 + b) * (b + (x-n+0.5)*(1-b))
	}
	f := below(-math.Abs(x))
	if x > 0 {
		f = 1 - f
	}
	return math.Min(1, math.Max(0, (f-q/2)/(1-q)))
}

// TestCanonicalIsTulap: the density integrates to the distribution function of the
// papers, which keeps the recursion that defines canonical noise.
func TestCanonicalIsTulap(t *testing.T) {
	for _, epsilon := range []float64{0.05, 0.7, 1, 3, 8} {
		for _, delta := range []float64{0, 1e-6, 0.05, 0.3, 0.6, 0.95} {
			c := conditions{name: "canonical", privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}}
			s := c.newTulap()
			if c.err != nil {
				t.Fatal(c.err)
			}
			tradeoff := func(alpha float64) float64 {
				return math.Max(0, math.Max(1-delta-math.Exp(epsilon)*alpha, math.Exp(-epsilon)*(1-delta-alpha)))
			}
			for x := -0.5; x < 12; x += 0.0625 {
				what := fmt.Sprintf("(%g, %g) at %g", epsilon, delta, x)
				if got, want := s.between(-0.5, x)+tulapCDF(-0.5, epsilon, delta), tulapCDF(x, epsilon, delta); math.Abs(got-want) > 1e-12 {
					t.Errorf("%s: distribution function %.17g, want %.17g", what, got, want)
				}
				if got, want := 1-tulapCDF(x+1, epsilon, delta), tradeoff(tulapCDF(x, epsilon, delta)); math.Abs(got-want) > 1e-12 {
					t.Errorf("%s: 1-F(x+1) = %.17g, want f(F(x)) = %.17g", what, got, want)
				}
			}
		}
	}
}

// TestCanonicalProfile: at a shift of the sensitivity the divergence at every ε' is that
// of the worst mechanism that is (ε, δ)-private, 1-(1-δ)(1+e^ε')/(1+e^ε) below ε and δ
// from there on; at shorter shifts it is no larger.
func TestCanonicalProfile(t *testing.T) {
	for _, epsilon := range []float64{0.3, 1, 4} {
		for _, delta := range []float64{0, 1e-3, 0.2, 0.7} {
			p := dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 2.5}
			m := baseline(t, "canonical", p, loss.L1)
			points, end := kinks(t, m, p, loss.L1)
			for _, share := range []float64{0, 0.4, 0.9, 1, 1.5} {
				at := share * epsilon
				want := math.Max(delta, 1-(1-delta)*(1+math.Exp(at))/(1+math.Exp(epsilon)))
				for _, part := range []float64{1, 0.8, 0.5, 0.1} {
					panels := []float64{}
					for _, x := range points {
						panels = append(panels, x, -x, x+part*p.Sensitivity, -x+part*p.Sensitivity)
					}
					got, _ := quadrature.Integrate(func(x float64) float64 {
						return math.Max(0, m.Density(x)-math.Exp(at)*m.Density(x-part*p.Sensitivity))
					}, compactSorted(append(panels, end+p.Sensitivity)))
					what := fmt.Sprintf("(%g, %g) at epsilon %g, %g of the sensitivity", epsilon, delta, at, part)
					if got > want+1e-10 || part == 1 && math.Abs(got-want) > 1e-10 {
						t.Errorf("%s: divergence %.15g, want %.15g", what, got, want)
					}
				}
			}
		}
	}
}

// TestCanonicalLosses: the losses of OpenDP's make_canonical_noise, measured (four
// digits), and the closed form for δ = 0.
func TestCanonicalLosses(t *testing.T) {
	for _, c := range []struct{ epsilon, delta, first float64 }{
		{1, 0.05, 0.7975}, {2, 1e-6, 0.4661}, {5, 1e-6, 0.2601}, {10, 0.05, 0.2501},
	} {
		if got := lossOf(t, "canonical", dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: 1}, loss.L1); math.Abs(got-c.first) > 5e-4 {
			t.Errorf("(%g, %g): E|X| = %g, want about %g", c.epsilon, c.delta, got, c.first)
		}
	}
	for _, epsilon := range []float64{0.01, 1, 7} {
		b := math.Exp(-epsilon)
		p := dp.Privacy{Epsilon: epsilon, Sensitivity: 3}
		g := (1 - b) / (1 + b)
		near(t, "l1", lossOf(t, "canonical", p, loss.L1), 3*2*g*(0.125+b/((1-b)*(1-b))), 1e-12)
		near(t, "l2", lossOf(t, "canonical", p, loss.L2), 9*2*g*(1.0/24+b*(1+b)/((1-b)*(1-b)*(1-b))+b/(12*(1-b))), 1e-12)
	}
}

// TestDiscreteCanonical: for sensitivity 1 the masses and losses are those of the optimal
// integer noise, and for larger ones the masses add up to 1 and no shift has a divergence
// above δ.
func TestDiscreteCanonical(t *testing.T) {
	for _, epsilon := range []float64{0, 0.1, 1, 4} {
		for _, delta := range []float64{0, 1e-6, 0.02, 0.4, 0.9} {
			if epsilon == 0 && delta < 0.02 {
				continue
			}
			tails := awanDongTails(epsilon, delta)
			p := dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}
			m := baseline(t, "discrete-canonical", p, loss.L1)
			if s := m.Support(); delta > 0 && (m.Mass(s+1) != 0 || s-1 > float64(len(tails))) || math.IsInf(s, 1) != (delta == 0) {
				t.Errorf("(%g, %g): support %g, with %d tails", epsilon, delta, s, len(tails))
			}
			for k, tail := range tails {
				next := 0.0
				if k+1 < len(tails) {
					next = tails[k+1]
				}
				if got, want := m.Mass(-float64(k+1)), tail-next; math.Abs(got-want) > 1e-15 {
					t.Errorf("(%g, %g): mass of %d is %.17g, want %.17g", epsilon, delta, k+1, got, want)
				}
			}
			first, second := lawLosses(tails)
			near(t, "l1", lossOf(t, "discrete-canonical", p, loss.L1), first, 1e-12)
			near(t, "l2", lossOf(t, "discrete-canonical", p, loss.L2), second, 1e-12)
			for _, sensitivity := range []int{1, 2, 3, 8} {
				p.Sensitivity = float64(sensitivity)
				m := baseline(t, "discrete-canonical", p, loss.L1)
				reach, mass := 40*sensitivity+int(float64(sensitivity)/max(delta, 0.1/(1+epsilon))), 0.0
				if epsilon > 0 {
					reach = min(reach, int(40*float64(sensitivity)/epsilon))
				}
				for k := -reach; k <= reach; k++ {
					mass += m.Mass(float64(k))
				}
				if epsilon*float64(reach) >= 40*float64(sensitivity)-1 || delta >= 0.02 {
					near(t, fmt.Sprintf("(%g, %g), sensitivity %d: total mass", epsilon, delta, sensitivity), mass, 1, 1e-12)
				}
				for shift := 1; shift <= sensitivity; shift++ {
					divergence := 0.0
					for k := -reach; k <= reach+shift; k++ {
						divergence += math.Max(0, m.Mass(float64(k))-math.Exp(epsilon)*m.Mass(float64(k-shift)))
					}
					if divergence > delta+1e-12 {
						t.Errorf("(%g, %g), sensitivity %d: divergence %g at shift %d", epsilon, delta, sensitivity, divergence, shift)
					}
				}
			}
		}
	}
}
