// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// multiplication is a product to be added to numbers, and what comes of it in plain loops.
type multiplication struct {
	a, b      Rows
	out, want []float64
}

func multiplications(r *rand.Rand, rows, inner, columns int) multiplication {
	stored := func(rows, columns int) Rows {
		m := Rows{Data: make([]float64, rows*columns), Count: rows, Transposed: r.IntN(2) == 1}
		if m.Transposed {
			m.Count = columns
		}
		for i := range m.Data {
			m.Data[i] = number(r, false)
		}
		return m
	}
	at := func(m Rows, i, j int) float64 {
		if m.Transposed {
			i, j = j, i
		}
		return m.Data[i*(len(m.Data)/m.Count)+j]
	}
	p := multiplication{a: stored(rows, inner), b: stored(inner, columns)}
	for i := range rows {
		for j := range columns {
			sum := 0.0
			for k := range inner {
				term := float64(at(p.a, i, k) * at(p.b, k, j))
				sum += term
			}
			was := r.NormFloat64()
			p.out, p.want = append(p.out, was), append(p.want, was+sum)
		}
	}
	return p
}

// TestMultiply: products of all shapes are the sums in the plain order, to the last bit, with every code.
func TestMultiply(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	var m Multiplier // its buffers shrink and grow
	for range 300 {
		p := multiplications(r, 1+r.IntN(30), 1+r.IntN(30), 1+r.IntN(30))
		for name, code := range codes() {
			out := slices.Clone(p.out)
			with(code, func() { m.Add(out, p.a, p.b) })
			if !same(out, p.want) {
				t.Fatalf("%s: %v × %v: got %v, want %v", name, p.a, p.b, out, p.want)
			}
		}
	}
}

// TestMultiplyOnAllCores: work that is divided gives the same sums.
func TestMultiplyOnAllCores(t *testing.T) {
	p := multiplications(rand.New(rand.NewPCG(10, 11)), 131, 67, 85)
	if len(p.out)*67 < divided {
		t.Fatal("too small to be divided")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for procs := 1; procs < 24; procs++ {
		runtime.GOMAXPROCS(procs)
		out := slices.Clone(p.out)
		new(Multiplier).Add(out, p.a, p.b)
		if !same(out, p.want) {
			t.Errorf("%d cores: other results", procs)
		}
	}
}

// TestMultiplyShapes: matrices that do not fit are an error of the program.
func TestMultiplyShapes(t *testing.T) {
	six := make([]float64, 6)
	for _, bad := range []struct{ a, b Rows }{
		{Rows{six, 2, false}, Rows{six, 2, false}},
		{Rows{six, 2, false}, Rows{six, 3, true}},
		{Rows{six, 4, false}, Rows{six, 3, false}},
		{Rows{six, 0, false}, Rows{six, 3, false}},
		{Rows{six, 3, false}, Rows{six, 2, false}}, // nine results into six numbers
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v × %v was multiplied", bad.a, bad.b)
				}
			}()
			new(Multiplier).Add(make([]float64, 6), bad.a, bad.b)
		}()
	}
}

// BenchmarkMultiply: a batch of 64 or 128 examples through layers, wide and narrow ones.
func BenchmarkMultiply(b *testing.B) {
	r := rand.New(rand.NewPCG(12, 13))
	for name, s := range map[string][3]int{"64x784x400": {64, 784, 400}, "128x561x10": {128, 561, 10}} {
		p := multiplications(r, s[0], s[1], s[2])
		for code, on := range codes() {
			b.Run(name+"/"+code, func(b *testing.B) {
				var m Multiplier
				with(on, func() {
					for b.Loop() {
						m.Add(p.out, p.a, p.b)
					}
				})
				b.ReportMetric(2*float64(s[0]*s[1]*s[2])*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFlop/s")
			})
		}
	}
}
