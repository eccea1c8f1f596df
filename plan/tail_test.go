// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"math"
	"math/cmplx"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// errorsOf returns the probabilities of all errors of each query, for noise of few masses on few numbers: every
// combination of all noises, one by one.
func errorsOf(t *testing.T, p *Plan, masses map[int64]float64) (out []map[float64]float64) {
	t.Helper()
	n := p.Measurements()
	y := make([]int64, n)
	out = make([]map[float64]float64, p.spec.Workload.Queries())
	for q := range out {
		out[q] = map[float64]float64{}
	}
	var all func(i int, probability float64)
	all = func(i int, probability float64) {
		if i < n {
			for x, mass := range masses {
				y[i] = x
				all(i+1, probability*mass)
			}
			return
		}
		q := 0
		if err := p.Decode(y, func(x float64) error {
			out[q][math.Round(math.Abs(x)*1e9)*1e-9] += probability
			q++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	all(0, 1)
	return out
}

// quantile is the least error that is exceeded with a probability of at most miss, and beyond that of a larger one.
func quantile(law map[float64]float64, miss float64) (least float64, beyond func(r float64) float64) {
	beyond = func(r float64) (sum float64) {
		for x, p := range law {
			if x > r {
				sum += p
			}
		}
		return sum
	}
	least = math.Inf(1)
	for x := range law {
		if x < least && beyond(x) <= miss {
			least = x
		}
	}
	return least, beyond
}

// TestRadiiExactly: of small plans with noise of which every outcome can be listed, no error is beyond its radius with
// more than the probability that is asked for, and the radius is a part in 25 above the least one at most.
func TestRadiiExactly(t *testing.T) {
	wide := &Law{Epsilon: math.Log(2) * 1.001, Delta: 0.1875, Weights: triangle().Weights}
	budget := dp.Budget{Epsilon: 4, Delta: 0.9}
	plans := map[string]Spec{
		"levels": {Budget: budget, Workload: Workload{Kind: Ranges, Cells: 4}, Measurements: []Measurement{
			{Kind: Partition, Block: 1, Weight: 3, Noise: wide}, {Kind: Partition, Block: 3, Weight: 2, Noise: wide},
		}},
		"cells": {Budget: budget, Workload: Workload{Kind: Prefix, Cells: 7}, Measurements: []Measurement{
			{Kind: Partition, Block: 1, Weight: 3, Noise: wide},
		}},
		"tables": {
			Budget: budget, Workload: Workload{Kind: Marginals, Attributes: attributes(2, 2), Sets: [][]int{{0}, {0, 1}}},
			Measurements: []Measurement{
				{Kind: Partition, Attributes: &[]int{0, 1}, Weight: 2, Noise: wide}, {Kind: Partition, Attributes: &[]int{0}, Weight: 3, Noise: wide},
			},
		},
	}
	masses := map[int64]float64{}
	for i, w := range wide.Weights {
		masses[int64(i)] = float64(w) * 0x1p-64
		masses[int64(-i)] = float64(w) * 0x1p-64
	}
	for name, s := range plans {
		s.Neighbors, s.MaxPerPerson = dp.AddRemove, 1
		p := made(t, s)
		laws := errorsOf(t, p, masses)
		for _, miss := range []float64{0.3, 0.05, 0.013, 1e-3, 1e-4} {
			radii, err := p.Radii(miss)
			if err != nil {
				t.Fatal(err)
			}
			if s.Workload.Kind == Marginals { // a radius for each cell
				radii = []float64{radii[0], radii[0], radii[1], radii[1], radii[1], radii[1]}
			}
			for q, r := range radii {
				least, beyond := quantile(laws[q], miss)
				if found := beyond(r); found > miss {
					t.Errorf("%s, query %d: more than %g with the probability %g, want at most %g", name, q, r, found, miss)
				}
				if name == "cells" && r != least || r > least*1.04 {
					t.Errorf("%s, query %d: %g at %g, want little more than %g", name, q, r, miss, least)
				}
			}
		}
	}
}

// TestRadiusOfManySums: of more noises than are convolved the radius is the least by the definition, for
// probabilities that are clearly apart.
func TestRadiusOfManySums(t *testing.T) {
	for _, l := range []*Law{triangle(), geometric(t, 0.5)} {
		half := l.masses(1e-18)
		sum := []float64{1}
		for n := int64(1); n <= 40; n++ {
			next := make([]float64, len(sum)+2*len(half)-2)
			for i, p := range sum {
				for k, q := range half {
					next[i+len(half)-1+k] += p * q
					if k > 0 {
						next[i+len(half)-1-k] += p * q
					}
				}
			}
			if sum = next; n != 13 && n != 40 {
				continue
			}
			for _, miss := range []float64{0.6, 0.05, 1e-3, 1e-6} {
				middle, beyond := len(sum)/2, 0.0
				want := middle
				for ; want > 0; want-- {
					if beyond += sum[middle+want] + sum[middle-want]; beyond > miss {
						break
					}
				}
				r := radii{plan: &Plan{&content{spec: Spec{Measurements: []Measurement{{Kind: Partition, Block: 1, Noise: l}}}}}, miss: miss, sums: map[int64]float64{}}
				e := newEnvelope(l)
				e.spectrum = newSpectrum(l)
				r.laws = []*envelope{e}
				if got, ok := r.ofSum(n); !ok || got != float64(want) {
					t.Errorf("%d noises, %g: %g, %v, want %d", n, miss, got, ok, want)
				}
			}
		}
	}
}

// TestSpectrum: characteristic functions are off by no more than they say, of laws with and without a tail.
func TestSpectrum(t *testing.T) {
	tail := &Law{Weights: []uint64{1 << 62, 1 << 62, 1 << 61}, TailRatio: 0xE000000000000000}
	even := &Law{Weights: []uint64{1 << 60, 15 << 59}, TailRatio: 1 << 61} // mostly ±1: not above 0 at π
	for name, l := range map[string]*Law{"triangle": triangle(), "geometric": geometric(t, 0.5), "wide": geometric(t, 1e-3), "tail": tail, "even": even} {
		s := newSpectrum(l)
		if s == nil {
			t.Fatal(name)
		}
		if want := name == "geometric" || name == "wide"; s.geometric != want {
			t.Errorf("%s: geometric is %v", name, s.geometric)
		}
		last := len(l.Weights) - 1
		for _, theta := range []float64{0, 1e-9, 1e-4, 0.01, 0.3, 1, 2, 3.1, math.Pi, 4, 6.2, 7, 100} {
			want := float64(l.Weights[0]) * 0x1p-64
			for i, w := range l.Weights {
				f := cmplx.Exp(complex(0, theta*float64(i)))
				if i == last && l.TailRatio > 0 {
					rho := float64(l.TailRatio) * 0x1p-64
					f *= complex(1-rho, 0) / (1 - complex(rho, 0)*cmplx.Exp(complex(0, theta)))
				}
				if i > 0 {
					want += float64(w) * 0x1p-63 * real(f)
				}
			}
			if got, off := s.at(theta); math.Abs(got-want) > off+1e-12 || off > 1e-9 {
				t.Errorf("%s at %g: %.15g ± %g, want %.15g", name, theta, got, off, want)
			}
		}
	}
}

// TestGrouped: numbers that are the same but for rounding are one, and those of rounding alone none.
func TestGrouped(t *testing.T) {
	got := grouped([]term{{1e-16, 5}, {0.5, 1}, {2, 3}, {0.5 * (1 + 1e-13), 2}, {0, 9}})
	if len(got) != 2 || got[0] != (term{2, 3}) || got[1].count != 3 {
		t.Errorf("%v", got)
	}
	if got := grouped(nil); got != nil {
		t.Errorf("%v of none", got)
	}
}

// TestTableTerms: what cells are multiplied with, by the definition for every one of them.
func TestTableTerms(t *testing.T) {
	w := &Workload{Kind: Marginals, Attributes: attributes(3, 2, 4, 2)}
	measured, set := []int{0, 1, 2}, []int{0, 2, 3}
	weights := map[string]float64{key(nil): 0.3, key([]int{0}): 0.7, key([]int{2}): -0.2, key([]int{0, 2}): 1.1}
	want := map[float64]int64{}
	for i := range 3 {
		for range 2 {
			for k := range 4 {
				part := func(same bool, n float64) float64 {
					if same {
						return 1 - 1/n
					}
					return -1 / n
				}
				a, c := part(i == 0, 3), part(k == 0, 4)
				h := 0.3 + 0.7*a - 0.2*c + 1.1*a*c
				want[math.Round(math.Abs(h)*1e9)]++
			}
		}
	}
	got := w.tableTerms(measured, set, weights)
	if len(got) != len(want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, x := range got {
		if want[math.Round(x.h*1e9)] != x.count {
			t.Errorf("%v, want %v", x, want)
		}
	}
}

func mixed(parts []part, laws []*Law, normal float64) *mixture {
	m := &mixture{parts: parts, normal: normal}
	for _, l := range laws {
		m.laws = append(m.laws, &envelope{spectrum: newSpectrum(l)})
	}
	return m
}

// TestInverted: of noises of two laws and normal noise the radius is near the least, of which the probability is known
// in closed form, from any start, and none is shown where too much is beyond.
func TestInverted(t *testing.T) {
	const sigma = 0.45
	law := map[float64]float64{0: 1}
	for _, h := range []float64{1, 1, 0.37} {
		next := map[float64]float64{}
		for x, p := range law {
			for i, w := range triangle().Weights {
				for _, sign := range []float64{-1, 1} {
					if i > 0 || sign > 0 {
						next[x+sign*h*float64(i)] += p * float64(w) * 0x1p-64
					}
				}
			}
		}
		law = next
	}
	beyond := func(r float64) (sum float64) {
		for x, p := range law {
			sum += p * (math.Erfc((r-x)/(sigma*math.Sqrt2)) + math.Erfc((r+x)/(sigma*math.Sqrt2))) / 2
		}
		return sum
	}
	least := func(miss float64) float64 {
		low, high := 0.0, 20.0
		for range 60 {
			if middle := (low + high) / 2; beyond(middle) <= miss {
				high = middle
			} else {
				low = middle
			}
		}
		return high
	}
	parts := []part{{terms: []term{{1, 2}}}, {terms: []term{{0.37, 1}}}}
	for _, miss := range []float64{0.3, 0.05, 1e-3, 1e-6} {
		want, far, rest := least(miss), least(miss*1e-4), miss*1e-4
		for _, share := range []float64{1.03, 1.2, 1.6} {
			m := mixed(parts, []*Law{triangle(), triangle()}, sigma*sigma)
			got := m.inverted(miss, share*want, far, rest)
			if most := want + 1.2*share*want/64; got < want || got > most && most < share*want {
				t.Errorf("%g from %g: %g, want %g to %g", miss, share*want, got, want, most)
			}
		}
		m := mixed(parts, []*Law{triangle(), triangle()}, sigma*sigma)
		if got := m.inverted(miss, 1.2*want, least(miss/8), miss/8); got != 1.2*want {
			t.Errorf("%g: %g from %g, with too much beyond", miss, got, 1.2*want)
		}
		m = mixed(parts, []*Law{triangle(), triangle()}, sigma*sigma)
		if more, less := m.inverted(miss, 1.2*want, least(miss/20), miss/20), m.inverted(miss, 1.2*want, far, rest); more <= less {
			t.Errorf("%g: %g with more beyond, %g with less", miss, more, less)
		}
	}
}

// TestSeries: what is left out of a series is at most what is said, wherever it is cut.
func TestSeries(t *testing.T) {
	for name, c := range map[string]struct {
		m         *mixture
		a, length float64
	}{
		"triangle":  {mixed([]part{{terms: []term{{1, 2}, {0.37, 1}}}}, []*Law{triangle()}, 0), 0.3, 8},
		"geometric": {mixed([]part{{terms: []term{{1, 12}}}}, []*Law{geometric(t, 0.5)}, 0), 3.5, 60},
		"fine":      {mixed([]part{{terms: []term{{1, 3}}}}, []*Law{geometric(t, 0.01)}, 0), 90, 4000},
		"normal":    {mixed([]part{{terms: []term{{1, 2}}}}, []*Law{geometric(t, 0.5)}, 1.5), 0.5, 30},
	} {
		whole, _ := c.m.series(c.a, c.length, 1e-13)
		if whole == nil {
			t.Fatal(name)
		}
		before := len(whole) + 1
		for _, cut := range []float64{1e-2, 1e-4, 1e-5, 1e-8} {
			part, slack := c.m.series(c.a, c.length, cut)
			if part == nil || slack > 1.01*cut+1e-9 {
				t.Fatalf("%s at %g: %d terms, %g left", name, cut, len(part), slack)
			}
			most := 0.0
			for k := range 400 {
				left := 0.0
				for j := len(part); j < len(whole); j++ {
					left += whole[j] * math.Sin(float64(j+1)*math.Pi*float64(k)/400)
				}
				most = max(most, math.Abs(left))
			}
			if most > slack {
				t.Errorf("%s at %g: %g is left out, and %g is said", name, cut, most, slack)
			}
			before = min(before, len(part))
		}
		if before > len(whole)*3/4 {
			t.Errorf("%s: %d terms of %d at the coarsest", name, before, len(whole))
		}
	}
}

// TestPieces: more cells than a matrix may have are inverted by the pieces that blocks leave, and are no cells of rows.
func TestPieces(t *testing.T) {
	const n = 1030
	s := Spec{
		Budget: dp.Budget{Epsilon: 2}, Neighbors: dp.AddRemove, MaxPerPerson: 1, Workload: Workload{Kind: Identity, Cells: n},
		Measurements: []Measurement{
			{Kind: Partition, Block: 1, Weight: 1, Noise: geometric(t, 0.5)}, {Kind: Partition, Block: 4, Weight: 2, Noise: geometric(t, 0.5)},
		},
	}
	v := verified(t, s)
	variance, _ := v.Mechanism().laws[0].variance.Float64()
	for q, got := range v.Certificate().Variances {
		cells := 4.0
		if q >= n-2 {
			cells = 2
		}
		// The inverse of I + 2J on so many cells is I − 2J/(1 + 2·cells).
		want := 2 * variance * (1 - 2/(1+2*cells))
		if x, _ := got.Float64(); x < want*(1-1e-12) || x > want*(1+1e-12) {
			t.Fatalf("query %d: %g, want %g", q, x, want)
		}
	}
	y := make([]int64, v.Mechanism().Measurements())
	y[0], y[n] = 9, 4 // the first cell, and its block
	q := 0
	if err := v.Mechanism().Decode(y, func(x float64) error {
		// Aᵀ·Ω·y is 9 + 2·4 in the first cell and 2·4 in the other three.
		want := map[int]float64{0: 17 - 2*41/9.0, 1: 8 - 2*41/9.0, 2: 8 - 2*41/9.0, 3: 8 - 2*41/9.0}[q]
		if math.Abs(x-want) > 1e-9 {
			t.Errorf("cell %d: %g, want %g", q, x, want)
		}
		q++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	row := make([]int64, n)
	row[0] = 1
	s.Measurements = append(s.Measurements, Measurement{Kind: L2, Rows: [][]int64{row}, Weight: 1, Deviation: 4})
	if _, err := New(s); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("rows of %d cells: %v", n, err)
	}
	for text, good := range map[string]bool{"prefix:2048": true, "ranges:2049": false, "identity:2049": false} {
		if _, err := ParseWorkload(text); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
