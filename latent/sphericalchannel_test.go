// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"math"
	"testing"

	"github.com/noisewright/noisewright/sampler"
)

// TestSphericalChannel: with one coordinate the law is Laplace's, in closed form; with more
// its quantiles are those of draws, and the variance is that of the density.
func TestSphericalChannel(t *testing.T) {
	c := newSphericalChannel(0.5, 1)
	for _, edge := range []float64{-3, -0.2, 0, 0.7, 4} {
		want := math.Exp(-math.Abs(edge)/0.5) / 2
		if edge > 0 {
			want = 1 - want
		}
		if got := c.below(1, 1+edge); math.Abs(got-want) > 1e-9 {
			t.Errorf("P(noise < %g) = %g, want %g", edge, got, want)
		}
	}
	const z, draws, scale = 7, 20000, 1 << 20
	c = newSphericalChannel(1, z)
	s, err := sampler.NewSpherical(z, scale, sampler.Options{Entropy: sampler.Deterministic([32]byte{4})})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]int64, z)
	edges := []float64{-4, -1, 0.5, 3}
	counts := make([]float64, len(edges))
	for range draws {
		if err := s.Fill(x); err != nil {
			t.Fatal(err)
		}
		for k, e := range edges {
			if float64(x[2])/scale < e {
				counts[k]++
			}
		}
	}
	for k, e := range edges {
		want := c.below(0, e)
		if sd := math.Sqrt(want * (1 - want) / draws); math.Abs(counts[k]/draws-want) > 6.2*sd {
			t.Errorf("P(noise < %g) = %g, drawn %g", e, want, counts[k]/draws)
		}
	}
	sum := 0.0
	for k, d := range c.deviations {
		sum += c.shares[k] * d * d
	}
	if math.Abs(sum/c.variance-1) > 1e-12 || c.variance != z+1 {
		t.Errorf("variance %g, by quadrature %g", c.variance, sum)
	}
}
