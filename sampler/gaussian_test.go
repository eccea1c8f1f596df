// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"errors"
	"math"
	"math/big"
	"testing"
	"testing/iotest"

	"github.com/noisewright/noisewright/dp"
)

// TestGaussianLaw: counts of draws of small and of large deviations fit the rounded normal
// law, by chi-square.
func TestGaussianLaw(t *testing.T) {
	for i, deviation := range []float64{0.3, 1, 2.7, 1 << 30} {
		g := newGaussian(deviation, newFixedGenerator([32]byte{byte(i)}))
		const draws, cells = 100000, 12
		dst := make([]int64, draws)
		if err := g.Fill(dst); err != nil {
			t.Fatal(err)
		}
		width := max(1, math.Floor(deviation/2)) // of a class, in steps
		counts, masses := make([]float64, 2*cells+1), make([]float64, 2*cells+1)
		phi := func(x float64) float64 { return math.Erfc(-x/deviation/math.Sqrt2) / 2 }
		for _, n := range dst {
			counts[int(min(max(math.Floor(float64(n)/width), -cells), cells))+cells]++
		}
		for c := range masses {
			from, to := math.Inf(-1), math.Inf(1)
			if c > 0 {
				from = float64(c-cells)*width - 0.5
			}
			if c < 2*cells {
				to = float64(c-cells+1)*width - 0.5
			}
			masses[c] = phi(to) - phi(from)
		}
		fits(t, "rounded normal noise", counts, masses)
	}
}

// TestGaussianRounding: what one word decides is what all digits decide, and it leaves
// undecided what it must.
func TestGaussianRounding(t *testing.T) {
	words := &wordReader{gen: newFixedGenerator([32]byte{7}), pos: blockBytes}
	undecided := 0
	for trial := range 20000 {
		u, err := words.word()
		if err != nil {
			t.Fatal(err)
		}
		deviation := math.Ldexp(1+float64(u>>12)*0x1p-52, trial%41)
		g := newGaussian(deviation, nil)
		w, err := words.word()
		if err != nil {
			t.Fatal(err)
		}
		g.normal = deviate{whole: u % 7, fraction: uniform{w}}
		if trial%2 == 0 { // next to half a step
			half := new(big.Int).Lsh(big.NewInt(int64(u%50)*2+1), 64+g.shift-1)
			half.Quo(half, new(big.Int).SetUint64(g.mantissa))
			if half.Sub(half, big.NewInt(int64(u%3))); !half.IsInt64() {
				continue
			}
			g.normal = deviate{fraction: uniform{half.Uint64()}}
		}
		n, ok := g.quickly(g.normal.fraction[0])
		var x fixedPoint
		if err := x.set(&g.normal, 1, words); err != nil {
			t.Fatal(err)
		}
		m := new(big.Int).SetUint64(g.mantissa)
		want, sure, err := x.round(m, m, 64+g.shift)
		if err != nil {
			t.Fatal(err)
		}
		if ok && (!sure || n != want) {
			t.Errorf("deviation %g, %d + %d/2^64: %d, want %d, %t", deviation, g.normal.whole, g.normal.fraction[0], n, want, sure)
		}
		if !ok {
			undecided++
		}
	}
	if undecided == 0 || undecided > 15000 {
		t.Errorf("%d of 20000 are undecided", undecided)
	}
}

func TestGaussianErrors(t *testing.T) {
	for _, deviation := range []float64{0, -1, math.NaN(), math.Inf(1), 0x1p41} {
		if g, err := NewGaussian(deviation, Options{}); g != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("deviation %g: %v, want it to wrap dp.ErrInvalid", deviation, err)
		}
	}
	if _, err := NewGaussian(1, Options{ConstantTime: true}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("constant time: %v", err)
	}
	g, err := NewGaussian(1, Options{Entropy: iotest.ErrReader(errors.New("none"))})
	if err != nil {
		t.Fatal(err)
	}
	dst := []int64{1, 2}
	if err := g.Fill(dst); !errors.Is(err, ErrEntropy) || dst[0] != 0 || dst[1] != 0 {
		t.Errorf("no entropy: %v, %v", dst, err)
	}
}

func BenchmarkGaussian(b *testing.B) {
	g, err := NewGaussian(0x1p30, Options{})
	if err != nil {
		b.Fatal(err)
	}
	dst := make([]int64, 1000)
	for b.Loop() {
		if err := g.Fill(dst); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/draw")
}
