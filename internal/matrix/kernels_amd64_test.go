// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// codes lists which code there is on this processor, the one in Go first.
func codes() map[string][2]bool {
	all := map[string][2]bool{"Go": {false, false}}
	if useAVX2 {
		all["AVX2"] = [2]bool{true, false}
	}
	if useAVX512 {
		all["AVX512"] = [2]bool{true, true}
	}
	return all
}

// with runs something with one of the codes.
func with(code [2]bool, run func()) {
	was2, was512 := useAVX2, useAVX512
	defer func() { useAVX2, useAVX512 = was2, was512 }()
	useAVX2, useAVX512 = code[0], code[1]
	run()
}

// everything computes all that the package can, from random numbers.
func everything(seed uint64, rows, columns int, extreme bool) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	b, m := random(r, rows, columns, extreme), NewMatrix(rows)
	for i := range rows {
		m.Data()[m.Index(i, i)] = math.Exp(r.NormFloat64())
	}
	right, left, scale := b.Row(), b.Vector(), b.Vector()
	for i := range right {
		right[i] = number(r, extreme)
	}
	for i := range left {
		left[i], scale[i] = number(r, extreme), r.Float64()
	}
	across := b.Row()
	b.TransposedTimes(across, left)
	b.AddTimes(left, right)
	m.Add(context.Background(), b)
	m.Scale(scale, 1e-3)
	var out []float64
	if !extreme && m.Factor(context.Background()) {
		m.Solve(left)
		out = append(out, 1)
	}
	x, d := random(r, width, width, extreme), random(r, width, width, extreme)
	divide((*tile)(x.data), (*tile)(d.data))
	return append(append(append(append(out, across...), left...), m.Data()...), x.data...)
}

// same reports whether two vectors are the same bits, but for those of NaN.
func same(x, y []float64) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if math.Float64bits(x[i]) != math.Float64bits(y[i]) && !(math.IsNaN(x[i]) && math.IsNaN(y[i])) {
			return false
		}
	}
	return true
}

// TestSameBitsOnAllCores: dividing the work changes nothing.
func TestSameBitsOnAllCores(t *testing.T) {
	const rows, columns = parallelFrom*width + 5, 40
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := everything(1, rows, columns, false)
	if want[0] != 1 {
		t.Fatal("not positive definite")
	}
	for procs := 2; procs < 5; procs++ {
		runtime.GOMAXPROCS(procs)
		if !same(everything(1, rows, columns, false), want) {
			t.Errorf("%d cores: other results than one", procs)
		}
	}
}

// TestNotPositiveOnAllCores: a matrix that is not positive definite stops all.
func TestNotPositiveOnAllCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const rows = parallelFrom * width
	for bad := 0; bad < rows; bad += 37 {
		m := NewMatrix(rows)
		for i := range rows {
			m.data[m.Index(i, i)] = 1
		}
		m.data[m.Index(bad, bad)] = -1
		if m.Factor(t.Context()) {
			t.Errorf("row %d has −1: factored", bad)
		}
	}
}

// compare checks that all codes give the same bits.
func compare(t *testing.T, seed uint64, rows, columns int, extreme bool) {
	t.Helper()
	var want []float64
	all := codes()
	with(all["Go"], func() { want = everything(seed, rows, columns, extreme) })
	for name, code := range all {
		with(code, func() {
			if !same(everything(seed, rows, columns, extreme), want) {
				t.Errorf("%s: other results than Go: seed %d, %d × %d, extreme %t", name, seed, rows, columns, extreme)
			}
		})
	}
}

func TestSameBits(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		compare(t, seed, r.IntN(50), r.IntN(50), seed%3 == 0)
	}
}

func FuzzSameBits(f *testing.F) {
	f.Add(uint64(1), uint8(9), uint8(17), true)
	f.Fuzz(func(t *testing.T, seed uint64, rows, columns uint8, extreme bool) {
		compare(t, seed, int(rows), int(columns), extreme)
	})
}

// BenchmarkFactor adds 150 products to a matrix of 400 rows and factors it, with each code.
func BenchmarkFactor(b *testing.B) {
	const rows, columns = 400, 150
	r := rand.New(rand.NewPCG(5, 6))
	p, m := random(r, rows, columns, false), NewMatrix(rows)
	x := m.Vector()
	for name, code := range codes() {
		with(code, func() {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					m.Clear()
					for i := range rows {
						m.data[m.Index(i, i)] = 1e6
					}
					m.Add(b.Context(), p)
					if !m.Factor(b.Context()) {
						b.Fatal("not positive definite")
					}
				}
				flops := float64(rows*rows*columns + rows*rows*rows/3)
				b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFlop/s")
			})
			b.Run(name+"/Solve", func(b *testing.B) {
				for b.Loop() {
					m.Solve(x)
				}
			})
		})
	}
}
