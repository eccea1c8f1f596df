// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
)

// TestDraw: the answers are those that Decode makes of what Measure says, with the same words, and up to the
// limits of cells.
func TestDraw(t *testing.T) {
	for name, s := range larger12(t) {
		p := made(t, s)
		for _, at := range []int64{0, 1, p.limit, -p.limit} {
			words := func() func() (uint64, error) {
				r := rand.NewChaCha8([32]byte{9})
				return func() (uint64, error) { return r.Uint64(), nil }
			}
			cells, row := make([]int64, p.cells()), make(proof.Row, p.cells())
			for i := range cells {
				cells[i] = at
				if at == 1 {
					cells[i] = int64(5*i) - 7
				}
				row[i] = float64(cells[i])
			}
			y, err := p.Measure(cells, words())
			if err != nil {
				t.Fatal(name, err)
			}
			var want []float64
			if err := p.Decode(y, func(x float64) error { want = append(want, x); return nil }); err != nil {
				t.Fatal(err)
			}
			got, err := p.Draw(row, words())
			if answers, ok := got.(proof.Row); err != nil || !ok || !slices.Equal(answers, want) || len(want) != s.Workload.Queries() {
				t.Errorf("%s of %d: %v, %v, want %v", name, at, got, err, want)
			}
			for _, off := range []float64{0.5, math.Inf(1), math.NaN(), 1e300} {
				wrong := slices.Clone(row)
				wrong[len(wrong)-1] = off
				if y, err := p.Draw(wrong, words()); y != nil || !errors.Is(err, dp.ErrInvalid) {
					t.Errorf("%s with a cell of %g: %v, %v", name, off, y, err)
				}
			}
		}
	}
}

// TestNoiseIsOfItsNumber: what is measured is the sum and noise of its own law: numbers, one by one, have the
// words of the laws in the order of measurements.
func TestNoiseIsOfItsNumber(t *testing.T) {
	for name, s := range larger12(t) {
		p := made(t, s)
		r := rand.New(rand.NewPCG(41, 42))
		cells := make([]int64, p.cells())
		for i := range cells {
			cells[i] = r.Int64N(2000) - 1000
		}
		stream := func() func() (uint64, error) {
			r := rand.NewChaCha8([32]byte{10})
			return func() (uint64, error) { return r.Uint64(), nil }
		}
		got, err := p.Measure(cells, stream())
		if err != nil {
			t.Fatal(err)
		}
		var want []int64
		word := stream()
		normal := func(deviation float64) int64 {
			n, err := sampler.DrawGaussian(deviation, word)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for i := range s.Measurements {
			m := &s.Measurements[i]
			exact := p.exactly(nil, m, cells)
			switch m.Kind {
			case Residuals:
				for k, set := range m.Sets {
					_ = s.Workload.deviations(set, m.Deviations[k], func(d float64) error {
						exact[0] += normal(d)
						want, exact = append(want, exact[0]), exact[1:]
						return nil
					})
				}
				continue
			case L2:
				for k := range exact {
					exact[k] += normal(m.Deviation)
				}
			default:
				d := newDrawer(m.Noise)
				for k := range exact {
					n, _ := d.draw(word)
					exact[k] += n
				}
			}
			want = append(want, exact...)
		}
		if !slices.Equal(got, want) || len(got) != p.Measurements() {
			t.Errorf("%s: measured %v, want %v", name, got, want)
		}
	}
}

// TestWordsThatFail: the error of any word ends a measurement, without a number.
func TestWordsThatFail(t *testing.T) {
	broken := errors.New("broken")
	for name, s := range larger12(t) {
		p := made(t, s)
		words := 0
		count := func(fail int) func() (uint64, error) {
			r := rand.NewChaCha8([32]byte{11})
			words = 0
			return func() (uint64, error) {
				if words++; words == fail {
					return 0, broken
				}
				return r.Uint64(), nil
			}
		}
		if _, err := p.Measure(make([]int64, p.cells()), count(0)); err != nil {
			t.Fatal(err)
		}
		all := words
		for fail := 1; fail <= all; fail++ {
			if y, err := p.Measure(make([]int64, p.cells()), count(fail)); y != nil || !errors.Is(err, broken) || words != fail {
				t.Errorf("%s: without word %d: %v, %v after %d", name, fail, y, err, words)
			}
			if y, err := p.Draw(make(proof.Row, p.cells()), count(fail)); y != nil || !errors.Is(err, broken) {
				t.Errorf("%s: without word %d: %v, %v", name, fail, y, err)
			}
		}
		y, err := p.Measure(make([]int64, p.cells()), count(0))
		if err != nil {
			t.Fatal(err)
		}
		for last := range s.Workload.Queries() {
			n := 0
			if err := p.Decode(y, func(float64) error {
				if n++; n > last {
					return broken
				}
				return nil
			}); !errors.Is(err, broken) || n != last+1 {
				t.Errorf("%s: an answer that fails: %v after %d, want %d", name, err, n, last+1)
			}
		}
	}
}

// TestWholeAnswers: where cells alone are measured, answers are whole numbers, and 0 has no sign.
func TestWholeAnswers(t *testing.T) {
	pair := Workload{Kind: Marginals, Attributes: attributes(2, 3), Sets: [][]int{{0}, {1}, {}, {0, 1}}}
	for name, s := range map[string]Spec{
		"cells": {Workload: Workload{Kind: Ranges, Cells: 6}, Measurements: []Measurement{{Kind: Partition, Block: 1, Weight: 7, Noise: geometric(t, 1)}}},
		"table": {Workload: pair, Measurements: []Measurement{{Kind: Partition, Attributes: &[]int{0, 1}, Weight: 7, Noise: geometric(t, 1)}}},
	} {
		s.Budget, s.Neighbors, s.MaxPerPerson = dp.Budget{Epsilon: 1}, dp.AddRemove, 1
		p := made(t, s)
		r := rand.New(rand.NewPCG(51, 52))
		for range 300 {
			y := make([]int64, 6)
			for i := range y {
				y[i] = r.Int64N(200003) - 100001
			}
			y[5] -= y[0] + y[1] + y[2] + y[3] + y[4] + y[5] // they sum to 0
			want := direct(&s.Workload, y)
			i := 0
			if err := p.Decode(y, func(x float64) error {
				if x != want[i] || x == 0 && math.Signbit(x) {
					t.Errorf("%s: answer %d of %v is %v, want %v", name, i, y, x, want[i])
				}
				i++
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
