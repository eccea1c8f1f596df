// SPDX-License-Identifier: Apache-2.0

package interior

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// extreme are numbers at which loops could differ.
var extreme = []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 5e-324, math.MaxFloat64, -1}

// everyLoop runs all loops on random numbers, some of them extreme now and then, and returns
// all that they have computed, by name.
func everyLoop(seed uint64, n int, extremes bool) map[string][]float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	vector := func(length int) []float64 {
		x := make([]float64, length)
		for i := range x {
			if x[i] = math.Exp(5 * r.NormFloat64()); extremes && r.IntN(20) == 0 {
				x[i] = extreme[r.IntN(len(extreme))]
			}
		}
		return x
	}
	const before, after = 3, 2 // of other terms
	var t terms
	all := []*[]float64{&t.s, &t.t, &t.y, &t.w, &t.ds, &t.dt, &t.dy, &t.dw, &t.cs, &t.ct, &t.rg, &t.inverse, &t.iw, &t.iy}
	for _, v := range all {
		*v = vector(before + n + after)
	}
	out := make(map[string][]float64)
	f, x, z := vector(n), vector(n), vector(n+1)
	note := func(name string, more ...[]float64) {
		for i, v := range append(more, t.first[:], t.second[:], t.third[:]) {
			out[fmt.Sprint(name, i)] = append([]float64(nil), v...)
		}
		for i, v := range all {
			out[fmt.Sprint(name, ", term vector ", i)] = append([]float64(nil), *v...)
		}
	}
	t.residuals(before, f)
	note("residuals", f)
	t.weigh(before, f)
	note("weigh", f)
	t.sides(before, f)
	note("sides", f)
	t.expand(before, f, r.NormFloat64())
	note("expand")
	compare(f, x, z, 1+r.Float64())
	note("compare", f)
	add(z, x, r.NormFloat64())
	note("add", z)
	steps := parts{1, 1, 1, 1}
	for i := range x {
		f[i] = -x[i] * 3 * (r.Float64() - 0.3)
	}
	within(&steps, x, f, 0.995)
	note("within", steps[:])
	b := block{x, vector(n), f, vector(n), vector(n)}
	var sum parts
	b.products(&sum, 0.7, 0.8)
	b.correct(0.7, 0.8, 0.1, 10)
	note("block", sum[:], b.c)
	aim(b.c, b.dx, b.dz, 0.5)
	note("aim", b.c)
	return out
}

// sameBits checks that vector code and that in Go give the same bits, but for those of NaN.
func sameBits(t *testing.T, seed uint64, n int, extremes bool) {
	t.Helper()
	if !useAVX2 {
		t.Skip("no AVX2")
	}
	got := everyLoop(seed, n, extremes)
	useAVX2 = false
	want := everyLoop(seed, n, extremes)
	useAVX2 = true
	for name, x := range want {
		for i := range x {
			if y := got[name][i]; math.Float64bits(x[i]) != math.Float64bits(y) && !(math.IsNaN(x[i]) && math.IsNaN(y)) {
				t.Fatalf("%s, seed %d, %d numbers, extremes %t: %g at %d, want %g", name, seed, n, extremes, y, i, x[i])
			}
		}
	}
}

func TestSameBits(t *testing.T) {
	for seed := range uint64(600) {
		sameBits(t, seed, int(seed/3%31), seed%3 == 0)
	}
}

func FuzzSameBits(f *testing.F) {
	f.Add(uint64(1), uint8(9), true)
	f.Fuzz(func(t *testing.T, seed uint64, n uint8, extremes bool) { sameBits(t, seed, int(n), extremes) })
}

// BenchmarkLoops does the loops of a Newton direction, on terms that the cache holds.
func BenchmarkLoops(b *testing.B) {
	const n = 200
	r := rand.New(rand.NewPCG(1, 2))
	var t terms
	for _, v := range []*[]float64{&t.s, &t.t, &t.y, &t.w, &t.ds, &t.dt, &t.dy, &t.dw, &t.cs, &t.ct, &t.rg, &t.inverse, &t.iw, &t.iy} {
		for range n {
			*v = append(*v, 1+r.Float64())
		}
	}
	f := make([]float64, n)
	defer func(was bool) { useAVX2 = was }(useAVX2)
	for _, code := range []string{"AVX2", "Go"} {
		if code == "AVX2" && !useAVX2 {
			continue
		}
		useAVX2 = code == "AVX2"
		b.Run(code, func(b *testing.B) {
			for b.Loop() {
				t.sides(0, f)
				compare(f, t.s, t.t, 2)
				t.expand(0, f, 0.5)
				steps := parts{1, 1, 1, 1}
				within(&steps, t.s, t.ds, 0.995)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/term")
		})
	}
}
