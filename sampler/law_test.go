// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/tables"
)

// model is the rule of drawing restated from the table in big integers, without
// any of the law's tricks.
type model struct {
	table *tables.Table
	upTo  []*big.Int // sum of the weights of the cells up to and including i, then of all
}

func newModel(t *tables.Table) *model {
	m := &model{table: t}
	sum := new(big.Int)
	for i := range t.Cells() {
		sum.Add(sum, new(big.Int).SetUint64(t.Weight(i)))
		m.upTo = append(m.upTo, new(big.Int).Set(sum))
	}
	m.upTo = append(m.upTo, new(big.Int).Add(sum, new(big.Int).SetUint64(t.Atom())))
	return m
}

// entry returns the index of the cell that owns u, or Cells for the atom.
func (m *model) entry(u uint64) int {
	b := new(big.Int).SetUint64(u)
	for i, sum := range m.upTo {
		if b.Cmp(sum) < 0 {
			return i
		}
	}
	panic("sums do not reach 2^64")
}

// draw makes one draw from words and returns it and the rest of the words.
func (m *model) draw(words []uint64) (int64, []uint64) {
	k := m.entry(words[0])
	words = words[1:]
	g := m.table.Grid()
	s := big.NewInt(g.PointsPerCell)
	total := new(big.Int).Lsh(big.NewInt(1), 64)
	reject := new(big.Int).Mod(total, s)
	for {
		v := new(big.Int).SetUint64(words[0])
		words = words[1:]
		high, low := v.Mul(v, s).DivMod(v, total, new(big.Int))
		if low.Cmp(reject) < 0 {
			continue
		}
		if k == m.table.Cells() {
			return 0, words
		}
		return int64(g.FirstCell+k)*g.PointsPerCell - (g.PointsPerCell-1)/2 + high.Int64(), words
	}
}

// smallTables are shapes that the law has to get right.
func smallTables(tb testing.TB) map[string]*tables.Table {
	const top = math.MaxUint64
	return map[string]*tables.Table{
		"two halves":        weightsTable(tb, 3, 0, 0, 1<<63, 1<<63),
		"three":             weightsTable(tb, 1, -1, 0, 1<<62, 1<<63, 1<<62),
		"one word":          weightsTable(tb, 5, -1, 0, 1, top),
		"one word last":     weightsTable(tb, 5, -1, 0, top, 1),
		"atom of one word":  weightsTable(tb, 7, 0, 1, top),
		"mostly atom":       weightsTable(tb, 7, 0, top, 1),
		"atom and cells":    weightsTable(tb, 9, -2, 1<<60, 1<<61, 1<<62, 1<<62, 1<<61, 1<<60, 1<<60, 1<<59, 1<<59),
		"zeros at the ends": weightsTable(tb, 3, -3, 0, 0, 0, 1<<63, 1<<63, 0),
		"zeros inside":      weightsTable(tb, 3, -3, 0, 1<<62, 0, 0, 1<<63, 0, 1<<62),
		"zeros and atom":    weightsTable(tb, 3, 5, 1<<62, 0, 1<<62, 0, 1<<63, 0, 0),
		"all left of 0":     weightsTable(tb, 3, -9, 1<<62, 1<<62, 1<<63),
		"equal sevenths":    weightsTable(tb, 11, -3, 0, top/7, top/7, top/7, top/7+2, top/7, top/7, top/7),
		"large cells":       weightsTable(tb, 1<<40-1, -2, 1<<33, 1<<62, 1<<62-1<<33, 1<<62, 1<<62),
		"crowded bucket":    weightsTable(tb, 3, -20, 0, append(ones(40), top-39)...),
	}
}

func ones(n int) []uint64 {
	w := make([]uint64, n)
	for i := range w {
		w[i] = 1
	}
	return w
}

// TestEntryOwnsItsWeight proves the distribution of the cell: an entry is a run
// of words, because neighboring words at every edge fall where they should and
// the law's table is ascending, and the run is as long as the weight.
func TestEntryOwnsItsWeight(t *testing.T) {
	all := smallTables(t)
	all["laplace"] = laplaceTable(t, 2001, 50, 0)
	all["laplace and atom"] = laplaceTable(t, 301, 50, 0.01)
	for name, tab := range all {
		t.Run(name, func(t *testing.T) {
			l := newLaw(tab, false)
			check := func(u uint64, want uint64) {
				t.Helper()
				if got := l.entry(u); got != want {
					t.Fatalf("entry(%#x) = %d, want %d", u, got, want)
				}
				if got := l.scan(u); got != want {
					t.Fatalf("scan(%#x) = %d, want %d", u, got, want)
				}
			}
			begin := new(big.Int) // first word of the next entry
			total := new(big.Int).Lsh(big.NewInt(1), 64)
			skipped := 0 // zero cells at the lower end have no entry
			for skipped < tab.Cells() && tab.Weight(skipped) == 0 {
				skipped++
			}
			for i := skipped; i <= tab.Cells(); i++ {
				w, entry := tab.Atom(), l.cells
				if i < tab.Cells() {
					w, entry = tab.Weight(i), uint64(i-skipped)
				}
				if w == 0 {
					continue
				}
				first := begin.Uint64()
				begin.Add(begin, new(big.Int).SetUint64(w))
				check(first, entry)
				check(first+w/2, entry)
				check(first+w-1, entry)
				if first > 0 && l.entry(first-1) >= entry {
					t.Fatalf("entry(%#x) is not below %d", first-1, entry)
				}
			}
			if begin.Cmp(total) != 0 {
				t.Fatalf("entries own %s words, want 2^64", begin)
			}
			for i := 1; i < len(l.last); i++ {
				if l.last[i] < l.last[i-1] {
					t.Fatalf("last[%d] = %#x is below last[%d] = %#x", i, l.last[i], i-1, l.last[i-1])
				}
			}
		})
	}
}

// TestEntryExhaustive enumerates every value of the top byte, which alone
// decides in a table whose weights are multiples of 2^56, and counts.
func TestEntryExhaustive(t *testing.T) {
	weights := []uint64{3, 0, 17, 99, 1, 128, 0, 5}
	scaled := make([]uint64, len(weights))
	for i, w := range weights {
		scaled[i] = w << 56
	}
	l := newLaw(weightsTable(t, 3, -4, 3<<56, scaled...), false)
	for _, below := range []uint64{0, 1, 0x5555555555555555, 1<<56 - 1} {
		counts := make([]uint64, len(l.last))
		for top := range uint64(256) {
			u := top<<56 | below&(1<<56-1)
			counts[l.entry(u)]++
			if l.entry(u) != l.scan(u) {
				t.Fatalf("entry(%#x) = %d, scan = %d", u, l.entry(u), l.scan(u))
			}
		}
		for i, c := range counts {
			want := uint64(3) // the atom
			if i < len(weights) {
				want = weights[i]
			}
			if c != want {
				t.Errorf("entry %d is drawn by %d of 256 words, want %d", i, c, want)
			}
		}
	}
}

func TestScanAgreesWithGuide(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, cells := range []int{3, 101, 2001} {
		l := newLaw(laplaceTable(t, cells, 1, 0.001), false)
		for range 20000 {
			// Uniform words, and words near an edge.
			for _, u := range []uint64{rng.Uint64(), l.last[rng.IntN(len(l.last))] + rng.Uint64N(3) - 1} {
				if got, want := l.scan(u), l.entry(u); got != want {
					t.Fatalf("scan(%#x) = %d, entry = %d", u, got, want)
				}
			}
		}
	}
}

// TestPositionCounts proves the position uniform: the words that yield offset h
// are a run, of which at most the first is discarded, and as many are kept for
// every h.
func TestPositionCounts(t *testing.T) {
	total := new(big.Int).Lsh(big.NewInt(1), 64)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, s := range []int64{1, 3, 5, 7, 9, 11, 21, 255, 257, 1025, 65537, 1<<31 - 1, 1<<40 - 1} {
		l := newLaw(weightsTable(t, s, 0, 0, 1<<63, 1<<63), false)
		kept := new(big.Int).Div(total, big.NewInt(s))
		offsets := []int64{0, 1 % s, s / 2, s - 1}
		for h := int64(0); h < min(s, 2000); h++ {
			offsets = append(offsets, h)
		}
		for range 1000 {
			offsets = append(offsets, rng.Int64N(s))
		}
		for _, h := range offsets {
			// The run is ⌈h·2^64/S⌉ … ⌈(h+1)·2^64/S⌉-1.
			first, next := ceilShare(h, s), ceilShare(h+1, s)
			last := new(big.Int).Sub(next, big.NewInt(1))
			count := new(big.Int).Sub(next, first)
			for i, v := range []*big.Int{first, new(big.Int).Add(first, big.NewInt(1)), last} {
				got, ok := l.position(v.Uint64())
				if got != uint64(h) {
					t.Fatalf("S=%d: position(%s) = %d, want %d", s, v, got, h)
				}
				if !ok && i > 0 {
					t.Fatalf("S=%d: position(%s) is discarded, want only the first of a run", s, v)
				}
				if !ok {
					count.Sub(count, big.NewInt(1))
				}
			}
			if h > 0 {
				if got, _ := l.position(first.Uint64() - 1); got != uint64(h-1) {
					t.Fatalf("S=%d: position(%s-1) = %d, want %d", s, first, got, h-1)
				}
			}
			if count.Cmp(kept) != 0 {
				t.Fatalf("S=%d: offset %d is kept for %s words, want %s", s, h, count, kept)
			}
		}
	}
}

// ceilShare returns ⌈h·2^64/s⌉.
func ceilShare(h, s int64) *big.Int {
	x := new(big.Int).Lsh(big.NewInt(h), 64)
	x.Add(x, big.NewInt(s-1))
	return x.Div(x, big.NewInt(s))
}

// TestPoint checks the map from entries and offsets to grid points at the ends
// of every cell.
func TestPoint(t *testing.T) {
	for name, tab := range smallTables(t) {
		l := newLaw(tab, false)
		g := tab.Grid()
		s := g.PointsPerCell
		skipped := 0
		for tab.Weight(skipped) == 0 {
			skipped++
		}
		for k := range l.cells {
			center := int64(g.FirstCell+skipped+int(k)) * s
			for _, offset := range []int64{0, s / 2, s - 1} {
				if got, want := l.point(k, uint64(offset)), center-s/2+offset; got != want {
					t.Errorf("%s: point(%d, %d) = %d, want %d", name, k, offset, got, want)
				}
			}
		}
		if l.hasAtom() != (tab.Atom() > 0) {
			t.Errorf("%s: hasAtom = %v with an atom of %d", name, l.hasAtom(), tab.Atom())
		}
		for _, offset := range []int64{0, s - 1} {
			if got := l.point(l.cells, uint64(offset)); got != 0 {
				t.Errorf("%s: the atom is drawn as %d, want 0", name, got)
			}
		}
	}
}
