// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"math"
	"testing"

	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/sampler"
)

// uniformSpec has z coordinates of equal axes in 2z features.
func uniformSpec(b testing.TB, c Composition, z int) Spec {
	n := 2 * z
	s := Spec{
		Mean: make([]float64, n), Encoder: Matrix{z, n, make([]float64, z*n)}, Offset: make([]float64, z), Axes: make([]float64, z),
		Domain: Box, Composition: c, TableOf: make([]int, z), Decoder: Matrix{n, z, make([]float64, z*n)}, DecoderOffset: make([]float64, n),
	}
	for j := range n {
		s.Features = append(s.Features, fmt.Sprint("f", j))
	}
	for i := range z {
		s.Encoder.Data[i*n+i] = 1
		s.Axes[i] = 0.5 / math.Sqrt(float64(z))
		if c == jointL1 {
			s.Axes[i] = 0.5 / float64(z)
		}
	}
	if c == jointL1 {
		s.Noise, s.Promise.Epsilon = noise.Laplace, 1
		s.Tables = append(s.Tables, must(newLaplaceTable(1, Box, s.Axes)))
		return s
	}
	s.Noise, s.Promise = noise.Gaussian, Promise{1, 1e-6}
	table, tau, err := newGaussianTable(1, 1e-6, Box, s.Axes)
	if err != nil {
		b.Fatal(err)
	}
	s.Tables, s.Tau = append(s.Tables, table), tau
	return s
}

func BenchmarkVerify(b *testing.B) {
	for _, c := range []Composition{jointL1, jointL2} {
		for _, z := range []int{4, 64} {
			b.Run(fmt.Sprintf("%s/z=%d", c, z), func(b *testing.B) {
				bundle := must(New(uniformSpec(b, c, z)))
				b.ReportMetric(float64(tableAt(bundle, 0).Cells()), "cells")
				for b.Loop() {
					must(bundle.Verify(nil))
				}
			})
		}
	}
}

func BenchmarkPrivatize(b *testing.B) {
	for _, c := range []Composition{jointL1, jointL2} {
		for _, z := range []int{4, 64} {
			b.Run(fmt.Sprintf("%s/z=%d", c, z), func(b *testing.B) {
				p := must(must(must(New(uniformSpec(b, c, z))).Verify(nil)).NewPrivatizer(sampler.Options{}))
				x, u := make([]float64, 2*z), make([]float64, z)
				for b.Loop() {
					must(p.Privatize(u, x))
				}
			})
		}
	}
}

func BenchmarkGaussianTable(b *testing.B) {
	for b.Loop() {
		if _, _, err := newGaussianTable(1, 1e-6, Box, []float64{0.3, 0.4}); err != nil {
			b.Fatal(err)
		}
	}
}
