// SPDX-License-Identifier: Apache-2.0

package taskspace_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/taskspace"
)

// wantClose fails unless |got − want| ≤ absolute + relative·|want|.
func wantClose(t *testing.T, what string, got, want, absolute, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= absolute+relative*math.Abs(want)) {
		t.Errorf("%s = %.17g, want %.17g (absolute %g, relative %g)", what, got, want, absolute, relative)
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// randomPrices returns n descending prices over several orders of magnitude,
// sometimes with ties and zeros.
func randomPrices(rng *rand.Rand, n int) []float64 {
	lambda := make([]float64, n)
	for i := range lambda {
		switch rng.IntN(8) {
		case 0: // stays zero
		case 1:
			lambda[i] = 1
		default:
			lambda[i] = math.Exp(3 * rng.NormFloat64())
		}
	}
	slices.Sort(lambda)
	slices.Reverse(lambda)
	if lambda[0] == 0 {
		lambda[0] = 1
	}
	return lambda
}

// equalLoss is that of the first z coordinates with equal scales (Cheng, Tang and
// Chinchali 2022, (55)), and with L = I that of noise on the features for z = n (54).
func equalLoss(lambda []float64, r, epsilon float64, z int) float64 {
	zs := float64(z) * 8 * r * r / (epsilon * epsilon)
	return zs/(1+zs)*sumOf(lambda[:z]) + sumOf(lambda[z:])
}

// The numbers of Fig. 3 of Cheng, Tang and Chinchali (2022): L = I and x = r/ε.
func TestFigure3(t *testing.T) {
	one := func(a, b, c, d float64) []float64 { return []float64{a, b, c, d} }
	for _, test := range []struct {
		lambda []float64
		x      float64
		z      int
		aware  float64
	}{
		{one(4, 0, 0, 0), .1, 1, .2963},
		{one(4, 0, 0, 0), .2, 1, .9697},
		{one(4, 0, 0, 0), .5, 1, 2.6667},
		{one(4, 0, 0, 0), 1, 1, 3.5556},
		{one(4, 1, 1, 1), .1, 4, 1.5152},
		{one(4, 1, 1, 1), .2, 4, 3.5088},
		{one(4, 1, 1, 1), .5, 1, 5.6667},
		{one(4, 1, 1, 1), 1, 1, 6.5556},
		{one(4, 2, 2, 2), .1, 4, 2.3619},
		{one(4, 2, 2, 2), .2, 4, 5.4696},
		{one(4, 2, 2, 2), .5, 4, 8.6601},
		{one(4, 2, 2, 2), 1, 1, 9.5556},
	} {
		name := fmt.Sprintf("lambda %v, r/epsilon %g: ", test.lambda, test.x)
		a, err := taskspace.Waterfill(test.lambda, test.x, 1)
		if err != nil {
			t.Fatal(err)
		}
		if a.Z != test.z {
			t.Errorf("%sZ' = %d, want %d", name, a.Z, test.z)
		}
		wantClose(t, name+"task-aware", a.Loss, test.aware, 1e-4, 0)
	}
}

// Formula (13) and the scales, as printed, against the general water-filling.
func TestWaterfillIsFormula13(t *testing.T) {
	rng := newRand(1)
	for range 500 {
		lambda := randomPrices(rng, 1+rng.IntN(8))
		r, epsilon := math.Exp(rng.NormFloat64()), math.Exp(2*rng.NormFloat64())
		s := 8 * r * r / (epsilon * epsilon)
		z, root := 0, 0.
		for ; z < len(lambda); z++ {
			next := root + math.Sqrt(lambda[z])
			margin := math.Sqrt(lambda[z])/next*(1+float64(z+1)*s) - s
			if margin <= 1e-9*(1+s) {
				break
			}
			root = next
		}
		want := s / (1 + float64(z)*s) * root * root
		for _, v := range lambda[z:] {
			want += v
		}
		a, err := taskspace.Waterfill(lambda, r, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		wantClose(t, "loss", a.Loss, want, 0, 1e-7) // a scale below the margin above changes it by as much
		total := 0.
		for i, v := range a.Sigma2 {
			total += v
			if i < z {
				wantClose(t, "scale", v, math.Sqrt(lambda[i])/root*(1+float64(z)*s)-s, 1e-8*(1+s), 1e-7)
			}
		}
		wantClose(t, "sum of scales", total, 1, 1e-12, 0)
	}
}

func TestWaterfillInvariants(t *testing.T) {
	rng := newRand(2)
	const slack = 1e-12
	for range 300 {
		n := 1 + rng.IntN(6)
		lambda := randomPrices(rng, n)
		r, epsilon := math.Exp(rng.NormFloat64()), math.Exp(2*rng.NormFloat64())
		a, err := taskspace.Waterfill(lambda, r, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		for z := 1; z <= n; z++ {
			if equal := equalLoss(lambda, r, epsilon, z); a.Loss > equal*(1+slack) {
				t.Errorf("lambda %v, r %g, epsilon %g: loss %g above that of %d equal scales, %g", lambda, r, epsilon, a.Loss, z, equal)
			}
			at, err := taskspace.Waterfill(lambda[:z], r, epsilon)
			if err != nil {
				t.Fatal(err)
			}
			at.Loss += sumOf(lambda[z:])
			if at.Z != min(z, a.Z) {
				t.Errorf("restricted to %d: Z = %d, want %d", z, at.Z, min(z, a.Z))
			}
			if at.Loss < a.Loss*(1-slack) {
				t.Errorf("restricted to %d: loss %g below the optimum %g", z, at.Loss, a.Loss)
			}
		}
		rho := math.Exp(rng.NormFloat64())
		scaled, err := taskspace.Waterfill(lambda, rho*r, rho*epsilon)
		if err != nil {
			t.Fatal(err)
		}
		wantClose(t, "loss of scaled r and epsilon", scaled.Loss, a.Loss, 0, 1e-12)
	}
}

// A loss of scales t for a total of 1, as in the derivations.
func boxLoss(lambda, q, t []float64) float64 {
	loss := 0.
	for i, v := range lambda {
		loss += v * q[i] / (t[i] + q[i])
	}
	return loss
}

// The general linear mechanism with diagonal scales: Δ₁ = 2r(Σσ²)^½, so that the
// noise grows with the scales. No perturbation may lower the loss.
func TestWaterfillIsOptimal(t *testing.T) {
	rng := newRand(3)
	for range 200 {
		n := 2 + rng.IntN(4)
		lambda := randomPrices(rng, n)
		r, epsilon := 1.5, math.Exp(2*rng.NormFloat64())
		a, err := taskspace.Waterfill(lambda, r, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		loss := func(sigma2 []float64) float64 {
			total := 0.
			for _, v := range sigma2 {
				total += v
			}
			b := 2 * r * math.Sqrt(total) / epsilon
			sum := 0.
			for i, v := range lambda {
				sum += v * 2 * b * b / (sigma2[i] + 2*b*b)
			}
			return sum
		}
		best := loss(a.Sigma2)
		wantClose(t, "stated loss", a.Loss, best, 0, 1e-12)
		for range 200 {
			perturbed := slices.Clone(a.Sigma2)
			size := math.Exp(-8 * rng.Float64())
			for i := range perturbed {
				perturbed[i] = max(0, perturbed[i]+size*rng.NormFloat64())
			}
			if sumOf(perturbed) == 0 {
				continue
			}
			if got := loss(perturbed); got < best*(1-1e-12) {
				t.Fatalf("lambda %v, epsilon %g: scales %v lose %g, below %g of %v", lambda, epsilon, perturbed, got, best, a.Sigma2)
			}
		}
	}
}

func sumOf(values []float64) float64 {
	total := 0.
	for _, v := range values {
		total += v
	}
	return total
}

// The Karush–Kuhn–Tucker conditions are sufficient, the problem being convex.
func TestGaussianBoxKKT(t *testing.T) {
	rng := newRand(4)
	for range 500 {
		n := 1 + rng.IntN(7)
		lambda := randomPrices(rng, n)
		c, q := make([]float64, n), make([]float64, n)
		tau := math.Exp(2 * rng.NormFloat64())
		for i := range c {
			c[i] = math.Exp(rng.NormFloat64())
			q[i] = 4 * c[i] * c[i] * tau * tau
		}
		a := taskspace.GaussianBox(lambda, c, tau)
		wantClose(t, "loss", a.Loss, boxLoss(lambda, q, a.Sigma2), 0, 1e-12)
		wantClose(t, "sum", sumOf(a.Sigma2), 1, 1e-12, 0)
		// The marginal gain λq/(t+q)² is one number where t > 0, and no more elsewhere.
		multiplier, used := 0., 0
		for i, v := range a.Sigma2 {
			if v > 0 {
				multiplier = max(multiplier, lambda[i]*q[i]/(v+q[i])/(v+q[i]))
				used++
			}
		}
		if used != a.Z {
			t.Errorf("%d scales are positive, Z = %d", used, a.Z)
		}
		for i, v := range a.Sigma2 {
			marginal := lambda[i] * q[i] / (v + q[i]) / (v + q[i])
			if v > 0 {
				wantClose(t, "marginal gain of a used coordinate", marginal, multiplier, 0, 1e-9)
			} else if marginal > multiplier*(1+1e-9) {
				t.Errorf("marginal gain of an unused coordinate %g above %g", marginal, multiplier)
			}
		}
	}
}

// The promise of SemiAxes, in exact arithmetic: 4Σs_i² ≤ 1 for the rounded s_i,
// also when nothing is left of the differences (strong privacy) or the noise.
func TestSemiAxesKeepSensitivity(t *testing.T) {
	rng := newRand(6)
	for range 500 {
		lambda := randomPrices(rng, 1+rng.IntN(60))
		a, err := taskspace.Waterfill(lambda, 1, math.Exp(25*(2*rng.Float64()-1)))
		if err != nil {
			t.Fatal(err)
		}
		total := new(big.Rat)
		for _, s := range a.SemiAxes() {
			x := new(big.Rat).SetFloat64(s)
			total.Add(total, x.Mul(x, x))
		}
		if total.Mul(total, big.NewRat(4, 1)).Cmp(big.NewRat(1, 1)) > 0 {
			t.Errorf("4·Σs² = 1 + %v", total.Sub(total, big.NewRat(1, 1)).FloatString(20))
		}
		if got, _ := total.Float64(); got < 1-1e-13 {
			t.Errorf("4·Σs² = %.17g, too far below 1", got)
		}
	}
	equal, err := taskspace.Waterfill([]float64{2, 2, 2, 2}, 1, 1e-9)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range equal.Sigma2 {
		wantClose(t, "scale of equal prices under strong privacy", v, .25, 0, 1e-13)
	}
}

// A task that reads nothing: nothing is released, and nothing lost.
func TestWaterfillOfNoPrices(t *testing.T) {
	for _, lambda := range [][]float64{{0}, {0, 0, 0}, {2, 0, 0}} {
		a, err := taskspace.Waterfill(lambda, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if want := lambda[0] * 8 / 9; a.Z != min(1, int(lambda[0])) || math.Abs(a.Loss-want) > 1e-15 {
			t.Errorf("prices %v: %+v, want only the positive ones released and a loss of %g", lambda, a, want)
		}
	}
}

func TestWaterfillRefuses(t *testing.T) {
	for _, bad := range [][2]float64{{0, 1}, {1, 0}, {1, math.Inf(1)}, {math.NaN(), 1}, {1e200, 1}} {
		if _, err := taskspace.Waterfill([]float64{2, 1}, bad[0], bad[1]); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("radius %g, epsilon %g: error %v, want ErrInvalid", bad[0], bad[1], err)
		}
	}
}
