// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestInverseBound: whatever stands in the place of an inverse, it is taken if and only if ‖R‖ is below half, and
// its slack is ‖Z‖·max|R|/((2^p − ‖R‖)·2^p), from the definitions in rationals, and bounds every entry.
func TestInverseBound(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	taken, refused := 0, 0
	for range 400 {
		n := 1 + r.IntN(3)
		m := make([][]int64, n)
		for i := range m {
			m[i] = make([]int64, n)
			m[i][i] = 4 + r.Int64N(5)
			for j := range i {
				m[i][j] = r.Int64N(3) - 1
				m[j][i] = m[i][j]
			}
		}
		want := inRationals(m)
		v := &inverse{places: []int{6, 9, 63, 64, 65}[r.IntN(5)], z: make([][]int64, n)}
		unit := new(big.Int).Lsh(big.NewInt(1), uint(v.places))
		for i := range n {
			v.z[i] = make([]int64, n)
			for j := range i + 1 {
				x := new(big.Rat).Mul(want[i][j], new(big.Rat).SetInt(unit))
				x.Mul(x, big.NewRat(90+r.Int64N(21), 100)) // up to a tenth off
				v.z[i][j] = new(big.Int).Quo(x.Num(), x.Denom()).Int64()
				v.z[j][i] = v.z[i][j]
			}
		}
		norm, entry, size := new(big.Int), new(big.Int), new(big.Int)
		for i := range n {
			sum, all := new(big.Int), new(big.Int)
			for j := range n {
				x := new(big.Int)
				if i == j {
					x.Set(unit)
				}
				for k := range n {
					x.Sub(x, new(big.Int).Mul(big.NewInt(m[i][k]), big.NewInt(v.z[k][j])))
				}
				if got := v.residual(m)[i][j].big(); got.Cmp(x) != 0 {
					t.Fatalf("a residual of %s, want %s", got, x)
				}
				x.Abs(x)
				sum.Add(sum, x)
				entry = larger(entry, x)
				all.Add(all, new(big.Int).Abs(big.NewInt(v.z[i][j])))
			}
			norm, size = larger(norm, sum), larger(size, all)
		}
		err := v.bound(v.residual(m))
		if half := new(big.Int).Lsh(norm, 1); half.Cmp(unit) >= 0 {
			if refused++; !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%v of 2^-%d: %v with a residual of %s, want ErrInvalid", v.z, v.places, err, norm)
			}
			continue
		}
		if taken++; err != nil {
			t.Fatal(err)
		}
		slack := new(big.Rat).SetFrac(new(big.Int).Mul(size, entry), new(big.Int).Mul(unit, new(big.Int).Sub(unit, norm)))
		if v.slack.Cmp(slack) != 0 {
			t.Errorf("%v of 2^-%d: a slack of %s, want %s", v.z, v.places, v.slack, slack)
		}
		for i := range n {
			for j := range n {
				d := new(big.Rat).SetFrac(big.NewInt(v.z[i][j]), unit)
				if d.Sub(d, want[i][j]).Abs(d).Cmp(slack) > 0 {
					t.Errorf("an entry is off by %s, more than %s", d, slack)
				}
			}
		}
	}
	if taken < 100 || refused < 5 {
		t.Errorf("%d are taken and %d refused: the test sees one case only", taken, refused)
	}
	for z, good := range map[int64]bool{1 << 5: false, 1<<5 + 1: true, 3<<5 - 1: true, 3 << 5: false} { // of 1, half of it off
		v := &inverse{places: 6, z: [][]int64{{z}}}
		if err := v.bound(v.residual([][]int64{{1}})); (err == nil) != good {
			t.Errorf("%d/64 as the inverse of 1: %v, want it to be good: %v", z, err, good)
		}
	}
	for _, pair := range [][2]int64{{1, 3}, {3, 1}, {2, 3}, {3, 2}, {0, 1}} {
		if got := larger(big.NewInt(pair[0]), big.NewInt(pair[1])); got.Int64() != max(pair[0], pair[1]) {
			t.Errorf("of %v the larger is %s", pair, got)
		}
	}
}

// TestInverseOfPieces: an inverse that is put together of those of pieces is off by at most its slack, also where it has
// fewer places than a piece had; and by not much less, of which the rounding to those places is a part.
func TestInverseOfPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	near := 0
	for range 300 {
		cuts := []int{0}
		for range 1 + r.IntN(3) {
			cuts = append(cuts, cuts[len(cuts)-1]+1+r.IntN(2))
		}
		n := cuts[len(cuts)-1]
		m := make([][]int64, n)
		for i := range m {
			m[i] = make([]int64, n)
		}
		for k, b := range cuts[1:] {
			scale := r.IntN(30)
			for i := cuts[k]; i < b; i++ {
				m[i][i] = (3 + r.Int64N(5)) << scale
				for j := cuts[k]; j < i; j++ {
					m[i][j] = r.Int64N(3) - 1
					m[j][i] = m[i][j]
				}
			}
		}
		v, err := invertPieces(m, cuts)
		if err != nil {
			t.Fatal(err)
		}
		want := inRationals(m)
		unit := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(v.places)))
		slack := new(big.Rat)
		for k, b := range cuts[1:] {
			p, err := invert(piece(m, cuts[k], b))
			if err != nil {
				t.Fatal(err)
			}
			own := p.slack
			if p.places > v.places {
				own = new(big.Rat).Add(own, new(big.Rat).Inv(unit))
			}
			if own.Cmp(slack) > 0 {
				slack = own
			}
		}
		if len(cuts) > 2 && v.slack.Cmp(slack) != 0 {
			t.Fatalf("%v in pieces %v: a slack of %s, want %s", m, cuts, v.slack, slack)
		}
		largest := new(big.Rat)
		for i := range n {
			for j := range n {
				d := new(big.Rat).SetInt64(v.z[i][j])
				if d.Quo(d, unit).Sub(d, want[i][j]).Abs(d).Cmp(largest) > 0 {
					largest = d
				}
			}
		}
		if largest.Cmp(v.slack) > 0 {
			t.Fatalf("%v in pieces %v: off by %s, more than %s", m, cuts, largest, v.slack)
		}
		if most, _ := new(big.Rat).Mul(v.slack, unit).Float64(); most > 20 {
			t.Errorf("%v in pieces %v: a slack of %g units", m, cuts, most)
		}
		if x := new(big.Rat).Add(largest, largest); x.Cmp(v.slack) > 0 && v.slack.Sign() > 0 {
			near++
		}
	}
	if near < 30 {
		t.Errorf("%d of 300 slacks are less than twice what an inverse is off by", near)
	}
}

// TestMatrixFits: a sum of weights times the largest squares is taken up to 2^52, and no further.
func TestMatrixFits(t *testing.T) {
	for i, c := range []struct {
		weights, squares []int64
		good             bool
	}{
		{[]int64{1 << 30}, []int64{1 << 22}, true},
		{[]int64{1 << 30}, []int64{1<<22 + 1}, false},
		{[]int64{1, 1}, []int64{1 << 51, 1 << 51}, true},
		{[]int64{1, 1}, []int64{1 << 51, 1<<51 + 1}, false},
		{[]int64{1, 1 << 30}, []int64{1, 1 << 22}, false},
	} {
		s := Spec{Workload: Workload{Kind: Prefix, Cells: 2}}
		var grams [][][]int64
		sum := int64(0)
		for k, w := range c.weights {
			s.Measurements = append(s.Measurements, Measurement{Weight: w})
			grams = append(grams, [][]int64{{c.squares[k], 1}, {1, c.squares[k] / 2}})
			sum += w * c.squares[k]
		}
		m, err := s.matrix(grams)
		if (err == nil) != c.good || err != nil && !errors.Is(err, dp.ErrInvalid) || err == nil && m[0][0] != sum {
			t.Errorf("case %d: %v, %v, want it to be good: %v", i, m, err, c.good)
		}
	}
}

// TestInverseIsSharp: one step of Newton's method makes of an inverse in float64 one of some 60 digits in base 2, less
// those of the condition.
func TestInverseIsSharp(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for n := 2; n <= 8; n++ {
		m := make([][]int64, n)
		for i := range m {
			m[i] = make([]int64, n)
			m[i][i] = 9 * int64(n)
			for j := range i {
				m[i][j] = r.Int64N(9) - 4
				m[j][i] = m[i][j]
			}
		}
		v, err := invert(m)
		if err != nil {
			t.Fatal(err)
		}
		largest := int64(0)
		for i, row := range v.z {
			for j, x := range row {
				if largest = max(largest, x, -x); x != v.z[j][i] {
					t.Errorf("%d, %d is not %d, %d", i, j, j, i)
				}
			}
		}
		f, _ := new(big.Float).SetMantExp(new(big.Float).SetRat(v.slack), v.places).Float64()
		if largest < 1<<60 || largest >= 1<<61 || f > 40*float64(n*n) {
			t.Errorf("n = %d: the slack is %g of entries up to %d", n, f, largest)
		}
	}
	for _, c := range []struct {
		m    [][]int64
		good bool
	}{
		{[][]int64{{1 << 60}}, true},
		{[][]int64{{3 << 59}}, false}, // 121 places are beyond what is exact
		{[][]int64{{1, -1000, 0, 0, 0}, {-1000, 1e6 + 1, -1000, 0, 0}, {0, -1000, 1e6 + 1, -1000, 0}, {0, 0, -1000, 1e6 + 1, -1000}, {0, 0, 0, -1000, 1e6 + 1}}, false},
		{[][]int64{{1 << 46, 1 << 23}, {1 << 23, 1 + 1}}, true},
		{[][]int64{{1 << 40, 1 << 40}, {1 << 40, 1<<40 + 1}}, true}, // the second pivot is 1 of 2^40
		{[][]int64{{1 << 50, 1 << 50}, {1 << 50, 1<<50 + 1}}, false},
	} {
		if _, err := invert(c.m); (err == nil) != c.good || err != nil && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v: %v, want it to be good: %v", c.m, err, c.good)
		}
	}
}

// TestWideFloats: small numbers of both signs are themselves, and 2^64 and its neighbors are close.
func TestWideFloats(t *testing.T) {
	for _, x := range []int64{0, 1, -1, 3, -3, 1 << 52, -1 << 52, math.MaxInt64, math.MinInt64} {
		w := wide{lo: uint64(x)}
		if x < 0 {
			w.hi = -1
		}
		if got := w.float(); got != float64(x) {
			t.Errorf("%d is %g", x, got)
		}
	}
	for w, want := range map[wide]float64{{1, 0}: 0x1p64, {0, 1 << 63}: 0x1p63, {-1, 0}: -0x1p64, {-2, 0}: -0x1p65, {1, 1 << 63}: 0x1.8p64} {
		if got := w.float(); got != want {
			t.Errorf("%v is %g, want %g", w, got, want)
		}
	}
}
