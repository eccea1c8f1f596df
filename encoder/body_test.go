// SPDX-License-Identifier: Apache-2.0

package encoder

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/latent/bundle"
)

// random returns the random numbers of a test.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) } //nolint:gosec // for tests

// The gradient through the clipping is that of finite differences, of Σ g·clip(u).
func TestClipBackward(t *testing.T) {
	const h = 1e-6
	r := random(5)
	for _, domain := range domains {
		for _, z := range []int{1, 2, 5} {
			body := Body{domain, 0.8, z}
			inside, outside := 0, 0
			for range 200 {
				u, g := make([]float64, z), make([]float64, z)
				size := 2 * r.Float64()
				for i := range u {
					u[i], g[i] = size*(2*r.Float64()-1), r.NormFloat64()
				}
				value := func(i int, by float64) (sum float64) {
					c := append([]float64(nil), u...)
					c[i] += by
					body.Clip(row(c))
					for k, x := range c {
						sum += g[k] * x
					}
					return sum
				}
				d, clipped := append([]float64(nil), g...), append([]float64(nil), u...)
				body.Clip(row(clipped))
				body.ClipBackward(row(u), row(d))
				for i := range u {
					want := (value(i, h) - value(i, -h)) / (2 * h)
					if math.Abs(d[i]-want) > 1e-6*(1+math.Abs(want)) {
						t.Errorf("%s of %d: derivative %g in coordinate %d of %v, want %g", domain, z, d[i], i, u, want)
					}
				}
				if clipped[0] == u[0] {
					inside++
				} else {
					outside++
				}
			}
			if inside < 10 || outside < 10 {
				t.Errorf("%s of %d: %d rows inside, %d outside", domain, z, inside, outside)
			}
		}
	}
}

// row is a matrix of one row.
func row(v []float64) Matrix { return Matrix{Rows: 1, Cols: len(v), Stride: len(v), Data: v} }

// What was clipped lies in the body, and what was in it stays.
func TestClip(t *testing.T) {
	for _, c := range []struct {
		domain bundle.Domain
		u      []float64
		want   [2]float64
	}{
		{bundle.Box, []float64{3, -0.5}, [2]float64{2, -0.5}},
		{bundle.L1Ball, []float64{3, -1}, [2]float64{1.5, -0.5}},
		{bundle.Ball, []float64{3, -4}, [2]float64{1.2, -1.6}},
		{bundle.L1Ball, []float64{1, -1}, [2]float64{1, -1}},
		{bundle.Ball, []float64{1.2, -1.6}, [2]float64{1.2, -1.6}},
		{bundle.Box, []float64{math.NaN(), math.Inf(-1)}, [2]float64{0, -2}},
	} {
		Body{c.domain, 2, 2}.Clip(row(c.u))
		for i, want := range c.want {
			if math.Abs(c.u[i]-want) > 1e-15 {
				t.Errorf("%s: %v, want %v", c.domain, c.u, c.want)
			}
		}
	}
}
