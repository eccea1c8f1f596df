// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/big"
	"testing"
)

// script is entropy of given words, and of zeros after them.
func script(list ...uint64) io.Reader {
	var b bytes.Buffer
	for _, w := range list {
		_ = binary.Write(&b, binary.LittleEndian, w)
	}
	return io.MultiReader(&b, bytes.NewReader(make([]byte, 1<<16)))
}

// TestBelowRejects: of the products w·n, those whose low word is below 2^64 mod n are drawn anew, and no other.
func TestBelowRejects(t *testing.T) {
	for _, n := range []uint64{3, 5, 11, 1<<24 - 1, 1 << 24, 1<<63 + 1} {
		reject := -n % n // 2^64 mod n
		// A word w with w·n ≡ low modulo 2^64, for odd n.
		word := func(low uint64) uint64 {
			inverse := n
			for range 6 {
				inverse *= 2 - n*inverse
			}
			return low * inverse
		}
		if n&(n-1) == 0 { // no product is drawn anew
			if got := newWords(script(0, 1<<63)).below(n); got != 0 {
				t.Errorf("below(%d) of the word 0 is %d", n, got)
			}
			continue
		}
		for _, c := range []struct {
			low   uint64
			taken bool
		}{{0, false}, {reject - 1, false}, {reject, true}, {n - 1, true}, {n, true}} {
			first, second := word(c.low), word(n+1)
			want := new(big.Int).SetUint64(first)
			if !c.taken {
				want.SetUint64(second)
			}
			want.Mul(want, new(big.Int).SetUint64(n)).Rsh(want, 64)
			if got := newWords(script(first, second)).below(n); got != want.Uint64() {
				t.Errorf("below(%d) of a product whose low word is %d: %d, want %s", n, c.low, got, want)
			}
		}
	}
}

// TestUnit: it is the least distance of rate·distance >= 1, from which on the first coin is that of a whole unit.
func TestUnit(t *testing.T) {
	one := big.NewRat(1, 1)
	for _, epsilon := range []float64{100, 3, 2, 1, 0.7, 0.3, 0.001, 0x1p-20} {
		s := selector(t, Query{Quantile: big.NewRat(1, 3), Candidates: 5, Epsilon: epsilon, Records: 3})
		times := func(d uint64) *big.Rat {
			r := new(big.Rat).SetInt(new(big.Int).SetUint64(d))
			return r.Mul(r, s.rate)
		}
		if s.unit == 0 || times(s.unit).Cmp(one) < 0 || times(s.unit-1).Cmp(one) >= 0 {
			t.Errorf("epsilon %g: the unit is %d at a rate of %s", epsilon, s.unit, s.rate)
		}
		// 3,000 draws of each: 6.1 standard deviations are a false alarm of 1e-9.
		for _, d := range []uint64{s.unit, s.unit - 1} {
			rate, _ := times(d).Float64()
			p, heads := math.Exp(-rate), 0
			w := newWords(fixed(byte(d)))
			for range 3000 {
				if s.heads(d, w) {
					heads++
				}
			}
			if off := math.Abs(float64(heads) - 3000*p); off > 6.1*math.Sqrt(3000*p*(1-p))+1 {
				t.Errorf("epsilon %g: %d of 3000 heads at a distance of %d, want %g", epsilon, heads, d, 3000*p)
			}
		}
	}
	s := selector(t, Query{Quantile: new(big.Rat), Candidates: 5, Epsilon: 1e-300, Records: 1})
	w := newWords(fixed(1))
	for range 100 {
		if !s.heads(1, w) { // with a probability of 1e-300
			t.Fatal("epsilon 1e-300: tails at a distance of 1")
		}
	}
}

// TestLimits are those of the queries, of the counts and of the grids: the last that is taken, and the first that is not.
func TestLimits(t *testing.T) {
	query := Query{Quantile: new(big.Rat), Candidates: maxCandidates, Epsilon: maxEpsilon, Records: maxRecords}
	if _, err := New(query); err != nil {
		t.Error(err)
	}
	query.Candidates = maxCandidates + 1
	if _, err := New(query); err == nil {
		t.Error("one candidate too many is taken")
	}
	s := selector(t, Query{Quantile: new(big.Rat), Candidates: 2, Epsilon: 1, Records: 1})
	for _, c := range []struct {
		counts []uint64
		taken  bool
	}{
		{[]uint64{maxTotal, 0}, true},
		{[]uint64{0, maxTotal}, true},
		{[]uint64{1, maxTotal - 1}, true},
		{[]uint64{maxTotal + 1, 0}, false},
		{[]uint64{1, maxTotal}, false},
		{[]uint64{1, math.MaxUint64}, false}, // which wraps around
	} {
		if _, err := s.Select(c.counts, fixed(1)); (err == nil) != c.taken {
			t.Errorf("counts %v: %v", c.counts, err)
		}
	}
	for _, c := range []struct {
		lower, upper float64
		candidates   int
		taken        bool
	}{
		{0, 1, 2, true},
		{1, 1.2, 3, true},
		{-1.2, -1, 3, true},
		{0, 1e-323, 2, true},
		{0, math.SmallestNonzeroFloat64, 2, false}, // half of it is 0
		{1, 1, 2, false},
		{1, 0, 2, false},
		{0, 1, 1, false},
		{0, 1, maxCandidates, true},
		{0, 1, maxCandidates + 1, false},
	} {
		g, err := NewGrid(c.lower, c.upper, c.candidates)
		if (err == nil) != c.taken {
			t.Errorf("grid %+v: %v", c, err)
		} else if err == nil && (g.Index(c.lower) != 0 || g.Index(c.upper) != c.candidates-1) {
			t.Errorf("grid %+v: its ends are %d and %d", c, g.Index(c.lower), g.Index(c.upper))
		}
	}
}

// TestOneCandidate has no error of its rank.
func TestOneCandidate(t *testing.T) {
	s := selector(t, Query{Quantile: new(big.Rat), Candidates: 1, Epsilon: 1, Records: 1})
	if e, err := s.RankErrorUpper(0.9); err != nil || e.Sign() != 0 {
		t.Errorf("%s, %v", e, err)
	}
}
