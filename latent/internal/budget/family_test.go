// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
)

func families() []Family {
	return []Family{Laplace(), TruncatedLaplace(), Staircase(), TruncatedStaircase()}
}

// randomPrivacy returns ε from 0.001 to 50 and δ from 1e-12 to 0.9, both spread
// over their magnitudes.
func randomPrivacy(r *rand.Rand) (epsilon, delta float64) {
	return 1e-3 * math.Pow(5e4, r.Float64()), 1e-12 * math.Pow(0.9e12, r.Float64())
}

func variance(t *testing.T, f Family, epsilon, delta float64) float64 {
	t.Helper()
	v, err := f.Variance(epsilon, delta)
	if err != nil {
		t.Fatalf("%s at (%g, %g): %v", f.Name, epsilon, delta, err)
	}
	if !(v >= 0) || math.IsInf(v, 1) {
		t.Fatalf("%s at (%g, %g): variance %g", f.Name, epsilon, delta, v)
	}
	return v
}

func near(a, b, relative float64) bool {
	return math.Abs(a-b) <= relative*math.Max(math.Abs(a), math.Abs(b))
}

func TestFamiliesHaveKnownVariances(t *testing.T) {
	if v := variance(t, Laplace(), 0.5, 0.1); !near(v, 8, 1e-13) || v < 8 {
		t.Errorf("laplace at 0.5: %g, want 8 or just above", v)
	}
	// Geng & Viswanath (2016): (2^(-2/3) b^(2/3) (1+b)^(2/3) + b)/(1-b)², b = e^-ε.
	b := math.Exp(-3)
	want := (math.Cbrt(b*b*(1+b)*(1+b)/4) + b) / ((1 - b) * (1 - b))
	if v := variance(t, Staircase(), 3, 0.1); !near(v, want, 1e-13) {
		t.Errorf("staircase at 3: %g, want %g", v, want)
	}
	if v := variance(t, TruncatedLaplace(), 0, 0.25); !near(v, 4.0/3, 1e-13) {
		t.Errorf("truncated-laplace at (0, 0.25): %g, want 1/(12δ²) = 4/3", v)
	}
}

// No noise varies less than the lower bound of every noise, so neither do the
// bounds on the variance.
func TestVariancesAreAboveTheLowerBound(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		epsilon, delta := randomPrivacy(r)
		for _, f := range families() {
			p := dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}
			if f.Pure {
				p.Delta = 0
			}
			optimum, err := noise.New("discrete-canonical", p, loss.L2)
			if err != nil {
				t.Fatal(err)
			}
			least, _, err := optimum.ExpectedLoss(loss.L2)
			if err != nil {
				t.Fatal(err)
			}
			least -= 0.25
			if v := variance(t, f, epsilon, delta); v < least*(1-1e-9) {
				t.Errorf("%s at (%g, %g): variance %g below the bound %g", f.Name, epsilon, delta, v, least)
			}
		}
	}
}

func TestVariancesFallWithEpsilonAndDelta(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range 5000 {
		e1, d1 := randomPrivacy(r)
		e2, d2 := e1*(1+r.Float64()), math.Min(0.9, d1*(1+r.Float64()))
		for _, f := range families() {
			// The bound changes its law at minStepEpsilon.
			slack := 1 + 1e-5
			if v1, v2 := variance(t, f, e1, d1), variance(t, f, e2, d2); v2 > v1*slack {
				t.Errorf("%s: %g at (%g, %g), but %g at (%g, %g)", f.Name, v1, e1, d1, v2, e2, d2)
			}
		}
	}
}

func TestFamiliesRefuseNoNoise(t *testing.T) {
	for _, f := range families() {
		if _, err := f.Variance(0, 0); err == nil {
			t.Errorf("%s has noise that is (0, 0)-private", f.Name)
		}
		for _, bad := range [][2]float64{{math.NaN(), 0.1}, {-1, 0.1}, {1, 1}, {math.Inf(1), 0}} {
			if _, err := f.Variance(bad[0], bad[1]); !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%s at %v: %v, want ErrInvalid", f.Name, bad, err)
			}
		}
	}
	var inapplicable *noise.NotApplicableError
	if _, err := TruncatedLaplace().Variance(1, 0); !errors.As(err, &inapplicable) {
		t.Errorf("truncated-laplace at δ = 0: %v, want a NotApplicableError", err)
	}
}

// cutStaircase integrates the truncated staircase step by step: its variance and
// its δ.
func cutStaircase(epsilon, gamma, end float64) (v, delta float64) {
	var mass, second, last float64
	low := 0.0
	for k := 0.0; low < end; k++ {
		high, f := math.Min(k+gamma, end), math.Exp(-epsilon*k)
		mass += f * (high - low)
		second += f * (high*high*high - low*low*low) / 3
		last += f * math.Max(0, high-math.Max(low, end-1))
		low = high
	}
	return second / mass, last / (2 * mass)
}

// The closed form is the law it says, and that law keeps δ.
func TestTruncatedStaircaseIsItsLaw(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for range 300 {
		epsilon, delta := randomPrivacy(r)
		epsilon = math.Max(epsilon, minStepEpsilon)
		gamma, _ := noise.StaircaseStep(dp.Privacy{Epsilon: epsilon, Sensitivity: 1}, loss.L2)
		// The end with this δ, by bisection; never below 1, where δ is a bound.
		low, high := 1.0, 2.0
		for _, d := cutStaircase(epsilon, gamma, high); d > delta; _, d = cutStaircase(epsilon, gamma, high) {
			high *= 2
		}
		if _, d := cutStaircase(epsilon, gamma, low); d <= delta {
			high = low
		}
		for range 80 {
			if mid := (low + high) / 2; mid > low {
				if _, d := cutStaircase(epsilon, gamma, mid); d > delta {
					low = mid
				} else {
					high = mid
				}
			}
		}
		want, _ := cutStaircase(epsilon, gamma, high)
		if got := truncatedStaircase(epsilon, delta); !near(got, want, 1e-9) {
			t.Errorf("(%g, %g): variance %.15g, integrated %.15g", epsilon, delta, got, want)
		}
	}
}

// The law has the hockey-stick divergence claimed at all shifts up to 1, for a
// step and an end on a grid, where sums are integrals.
func TestTruncatedStaircaseIsPrivate(t *testing.T) {
	const perUnit = 200
	for _, epsilon := range []float64{0.3, 1, 3} {
		gamma, _ := noise.StaircaseStep(dp.Privacy{Epsilon: epsilon, Sensitivity: 1}, loss.L2)
		gamma = math.Round(gamma*perUnit) / perUnit
		for _, end := range []float64{1, 1 + gamma, 2.6, 5} {
			_, delta := cutStaircase(epsilon, gamma, end)
			half := int(math.Round(end * perUnit))
			f := make([]float64, 2*half)
			var sum float64
			for i := range f {
				x := math.Abs(float64(i-half)+0.5) / perUnit
				k := math.Floor(x)
				if x-k >= gamma {
					k++
				}
				f[i] = math.Exp(-epsilon * k)
				sum += f[i]
			}
			for shift := 1; shift <= perUnit; shift++ {
				var stick float64
				for i := range f {
					var other float64
					if i >= shift {
						other = f[i-shift]
					}
					stick += math.Max(0, f[i]-math.Exp(epsilon)*other*(1+1e-12))
				}
				if stick /= sum; stick > delta*(1+1e-9) {
					t.Errorf("ε = %g, A = %g: δ = %g at shift %d/%d, want at most %g", epsilon, end, stick, shift, perUnit, delta)
				}
			}
		}
	}
}

// It is what a design finds: designs with a gap of 0.1 %, computed once.
func TestTruncatedStaircaseIsCloseToDesigns(t *testing.T) {
	for _, c := range []struct{ epsilon, delta, designed, within float64 }{
		{0.2, 0.01, 24.6915, 0.001},
		{1, 0.01, 1.58658, 0.001},
		{1, 1e-3, 1.8508, 0.001},
		{2, 1e-3, 0.41685, 0.001},
		{5, 0.01, 0.0291248, 0.005},
		{1, 0.2, 0.512561, 0.02},
		{2, 0.2, 0.218728, 0.04},
		{5, 0.2, 0.0230562, 0.04},
	} {
		if v := variance(t, TruncatedStaircase(), c.epsilon, c.delta); !near(v, c.designed, c.within) {
			t.Errorf("(%g, %g): %g, designed %g", c.epsilon, c.delta, v, c.designed)
		}
	}
}

func BenchmarkTruncatedStaircase(b *testing.B) {
	f := TruncatedStaircase()
	for b.Loop() {
		if _, err := f.Variance(0.7, 1e-5); err != nil {
			b.Fatal(err)
		}
	}
}
