// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// tailTable has blocks of two cells on either side of three, an atom if asked
// for, and the given ratio of a tail.
func tailTable(tb testing.TB, points int64, ratio, atom uint64) *tables.Table {
	tb.Helper()
	t, err := tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Loss: loss.L1},
		Grid:    tables.Grid{PointsPerCell: points, CellsPerSensitivity: 2, FirstCell: -3},
		// The block on the left begins with a cell of weight 0.
		Weights:   []uint64{0, 1 << 61, 1 << 61, 1<<61 - atom, 1 << 61, 1 << 62, 1 << 62},
		Atom:      atom,
		TailRatio: ratio,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// drawWithTail is model.draw followed by the rule of the tail; a batch above 0 is
// that of the constant-time mode.
func drawWithTail(m *model, words []uint64, batch int) (int64, []uint64) {
	k := m.entry(words[0])
	n, words := m.draw(words)
	g := m.table.Grid()
	side := int64(0)
	switch {
	case k < g.CellsPerSensitivity:
		side = -1
	case k >= m.table.Cells()-g.CellsPerSensitivity && k < m.table.Cells():
		side = 1
	case batch == 0:
		return n, words
	}
	batch = max(batch, 1)
	count := int64(0)
	for taken := 0; ; {
		below := words[taken] < m.table.TailRatio()
		taken++
		if !below {
			return n + side*count*int64(g.CellsPerSensitivity)*g.PointsPerCell, words[(taken+batch-1)/batch*batch:]
		}
		count++
	}
}

func TestTailFollowsModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for _, ratio := range []uint64{1, 1 << 50, 1 << 63, 3 << 62, 1<<64 - 1<<58} {
		for _, atom := range []uint64{0, 1 << 60} {
			for _, fixed := range []bool{false, true} {
				tab := tailTable(t, 5, ratio, atom)
				words := make([]uint64, 40*blockWords)
				for i := range words {
					if words[i] = rng.Uint64(); i%9 == 0 {
						words[i] = ratio + rng.Uint64N(3) - 1
					}
				}
				s := sampling(t, tab, Options{Entropy: newScript(words), ConstantTime: fixed})
				batch := 0
				if fixed {
					batch = s.tail.batch
				}
				m := newModel(tab)
				for i := 0; len(words) > blockWords+300*(batch+4); i++ {
					var want int64
					want, words = drawWithTail(m, words, batch)
					if n, err := s.SampleInt(); err != nil || n != want {
						t.Fatalf("ratio %d, atom %d, constant time %v: draw %d = %d, %v, want %d", ratio, atom, fixed, i, n, err, want)
					}
				}
			}
		}
	}
}

// TestTailOnOneSide: all cells that have weight may be blocks of the same side,
// and the first or the last of these may have none.
func TestTailOnOneSide(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	const h = 1 << 63
	for _, c := range []struct {
		weights []uint64
		atom    uint64
	}{
		{[]uint64{0, 0, 0, 0, 0, h, h}, 0},
		{[]uint64{0, 0, 0, 0, 0, 0, h}, h},
		{[]uint64{h, h, 0, 0, 0, 0, 0}, 0},
		{[]uint64{h, 0, 0, 0, 0, 0, 0}, h},
		{[]uint64{0, h, 0, 0, 0, 0, 0}, h},
		{[]uint64{0, 0, h / 2, 0, h / 2, 0, 0}, h},
	} {
		tab, err := tables.New(tables.Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Loss: loss.L1},
			Grid:    tables.Grid{PointsPerCell: 5, CellsPerSensitivity: 3, FirstCell: -3},
			Weights: c.weights, Atom: c.atom, TailRatio: h,
		})
		if err != nil {
			t.Fatal(err)
		}
		words := make([]uint64, 8*blockWords)
		for i := range words {
			words[i] = rng.Uint64()
		}
		s := sampling(t, tab, Options{Entropy: newScript(words)})
		m := newModel(tab)
		for i := 0; len(words) > blockWords+500; i++ {
			var want int64
			want, words = drawWithTail(m, words, 0)
			if n, err := s.SampleInt(); err != nil || n != want {
				t.Fatalf("%v, atom %d: draw %d = %d, %v, want %d", c.weights, c.atom, i, n, err, want)
			}
		}
	}
}

// TestTailChiSquare compares the counts of all points, up to where fewer than 50
// are expected, with their probabilities. With so many draws it sees probabilities
// that are off by 1 % (root mean square, relative).
func TestTailChiSquare(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics take many draws")
	}
	const draws = 1 << 20
	ratio := uint64(11068046444225730560) // 0.6
	rho := float64(ratio) * 0x1p-64
	tab := tailTable(t, 1, ratio, 1<<59)
	pmf, atom := tab.PMF()
	for _, fixed := range []bool{false, true} {
		p := map[int64]float64{0: pmf[3] + atom, -1: pmf[2], 1: pmf[4]}
		rest := 1 - p[0] - p[-1] - p[1]
		for i := int64(0); i < 16; i++ {
			share := (1 - rho) * math.Pow(rho, float64(i))
			p[-2-2*i] = pmf[1] * share
			p[2+2*i] = pmf[5] * share
			p[3+2*i] = pmf[6] * share
			rest -= (pmf[1] + pmf[5] + pmf[6]) * share
		}
		s := deterministic(t, tab, 9, Options{ConstantTime: fixed})
		var c chiSquare
		class := make(map[int64]int)
		for n, q := range p {
			class[n] = len(c.p)
			c.p = append(c.p, q)
		}
		c.p = append(c.p, rest)
		c.counts, c.total = make([]int, len(c.p)), draws
		dst := make([]int64, 4096)
		for range draws / len(dst) {
			if err := s.FillInt(dst); err != nil {
				t.Fatal(err)
			}
			for _, n := range dst {
				i, ok := class[n]
				if !ok {
					i = len(c.p) - 1
				}
				c.counts[i]++
			}
		}
		if stat, threshold, alarm := c.alarm(); alarm {
			t.Errorf("constant time %v: χ² = %.0f over %d classes, want at most %.0f", fixed, stat, len(c.p), threshold)
		}
	}
}

// TestTailBatch checks what the claim about time rests on: that a batch is used up
// with a probability of at most 2^-64.
func TestTailBatch(t *testing.T) {
	for _, ratio := range []uint64{1, 1 << 40, 1 << 63, 1<<64 - 1<<50, 1<<64 - 1<<44} {
		batch := newTail(tailTable(t, 1, ratio, 0), 1, 6).batch
		if p := float64(batch) * math.Log2(1-float64(-ratio)*0x1p-64); p > -64 {
			t.Errorf("ratio %d: a batch of %d words lies below with probability 2^%.3f", ratio, batch, p)
		}
	}
}

// TestTailOverflow: what is too large is an error that releases nothing, and for
// AddNoise it is the sum that decides, not the noise.
func TestTailOverflow(t *testing.T) {
	const points = 1<<40 - 1
	tab := tailTable(t, points, 1<<63, 0)
	period := int64(2 * points)
	lead := math.MaxUint64 - uint64(1)<<62 // a word of the last block but one cell
	words := func(periods int) []uint64 {
		w := []uint64{lead, 1 << 63}
		for range periods {
			w = append(w, 0)
		}
		return append(w, math.MaxUint64)
	}
	l := newLaw(tab, false)
	sampler := func(periods int) *Noise {
		w := words(periods)
		for len(w) < 20*blockWords { // draws of the middle cell
			w = append(w, 3<<61, 1<<63)
		}
		return newNoise(tab, l, &readerGenerator{r: newScript(w)})
	}
	first, err := sampler(0).SampleInt()
	if err != nil || first <= 0 {
		t.Fatalf("first draw = %d, %v, want one of the last block", first, err)
	}
	if n, err := sampler(10).SampleInt(); err != nil || n != first+10*period {
		t.Errorf("ten periods: %d, %v, want %d", n, err, first+10*period)
	}
	for _, periods := range []int{4200, 9000} { // beyond 2^53, and 2^54
		if n, err := sampler(periods).SampleInt(); !errors.Is(err, ErrOverflow) || n != 0 {
			t.Errorf("SampleInt = %d, %v, want ErrOverflow", n, err)
		}
		dst := []float64{1, 2, 3}
		if err := sampler(periods).Fill(dst); !errors.Is(err, ErrOverflow) || dst[0] != 0 || dst[2] != 0 {
			t.Errorf("Fill = %v, %v, want zeros and ErrOverflow", dst, err)
		}
		if y, err := sampler(periods).AddNoise(0); !errors.Is(err, ErrOverflow) || y != 0 {
			t.Errorf("AddNoise = %g, %v, want ErrOverflow", y, err)
		}
	}
	back := -int64(1) << 52
	if y, err := sampler(4200).AddNoise(float64(back)); err != nil || y != float64(back+first+4200*period) {
		t.Errorf("AddNoise = %g, %v, want %d", y, err, back+first+4200*period)
	}
	// The draw after a failed one is the next.
	s := sampler(9000)
	if _, err := s.SampleInt(); !errors.Is(err, ErrOverflow) {
		t.Fatal(err)
	}
	if n, err := s.SampleInt(); err != nil || n > points || n < -points {
		t.Errorf("the next draw = %d, %v, want one of the middle cell", n, err)
	}
}

func TestTailGolden(t *testing.T) {
	tab := tailTable(t, 3, 3<<62, 0)
	e, err := exported(tab, [32]byte{4}, 300)
	if err != nil || e.TailRatio != "13835058055282163712" {
		t.Fatalf("export: tail_ratio = %q, %v", e.TailRatio, err)
	}
	words := fixedWords(t, [32]byte{4}, 4)
	m := newModel(tab)
	for i, n := range e.Golden.Draws {
		var want int64
		if want, words = drawWithTail(m, words, 0); n != want {
			t.Fatalf("golden draw %d = %d, want %d", i, n, want)
		}
	}
}
