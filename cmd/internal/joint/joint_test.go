// SPDX-License-Identifier: Apache-2.0

package joint

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestBaselines: losses of the same laws that were computed by another quadrature, and the last of all by draws.
func TestBaselines(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds")
	}
	for _, c := range []struct {
		d              int
		epsilon, delta float64
		want           [4]float64
	}{
		{2, 1, 0.1, [4]float64{2.358, 6, 2.808, 2.266}},
		{3, 1, 0.1, [4]float64{3.537, 12, 4.140, 3.474}},
		{2, 10, 1e-5, [4]float64{0.500, 0.06, 0.0600, 0.0565}},
	} {
		got := Baselines(c.d, dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: 2}, 2)
		if len(got) != 4 {
			t.Fatalf("%d baselines", len(got))
		}
		for i, b := range got {
			if math.Abs(b.Loss/4-c.want[i]) > 4e-3*c.want[i] {
				t.Errorf("d %d, epsilon %v, delta %v: %s loses %.6g, want %v", c.d, c.epsilon, c.delta, b.Name, b.Loss/4, c.want[i])
			}
		}
	}
}

// TestDivergence compares divergences with draws: r from its quantiles, a uniform direction. The share of events is off
// by more than six standard deviations once in 1e9 times.
func TestDivergence(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	f, s, epsilon := family{3, -0.75, 1.3}, 0.7, 0.8
	radii, weights := f.radii(1e-3)
	var all []float64
	sum := 0.0
	for _, w := range weights {
		sum += w
		all = append(all, sum)
	}
	const draws = 400000
	var gain, price float64
	for range draws {
		u := rng.Float64() * sum
		i := 0
		for lo, hi := 0, len(all); lo < hi; {
			if m := (lo + hi) / 2; all[m] < u {
				lo = m + 1
			} else {
				hi = m
			}
			i = lo
		}
		var x [3]float64
		norm := 0.0
		for j := range x {
			x[j] = rng.NormFloat64()
			norm += x[j] * x[j]
		}
		r := radii[i]
		length := func(move float64) float64 {
			y := r*x[0]/math.Sqrt(norm) + move
			return math.Sqrt(y*y + r*r*(norm-x[0]*x[0])/norm)
		}
		if f.log(r) > f.log(length(-s))+epsilon {
			gain++
		}
		if f.log(length(s)) > f.log(r)+epsilon {
			price++
		}
	}
	got := (gain - math.Exp(epsilon)*price) / draws
	want := f.divergence(radii, weights, epsilon, s)
	sigma := math.Sqrt(gain+math.Exp(2*epsilon)*price) / draws
	if math.Abs(got-want) > 6*sigma+2e-3 || sigma > 3e-3 {
		t.Errorf("divergence %.5f ± %.5f, want %.5f", got, sigma, want)
	}
}
