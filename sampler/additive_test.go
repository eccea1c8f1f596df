// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/loss"
)

// testAdditive has three cells, the last without an end, bins of three points and weights
// of 0. It is not private.
func testAdditive(tb testing.TB) *cells.Kernel {
	tb.Helper()
	const q = 1 << 62
	k, err := cells.New(cells.Spec{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Loss: loss.L1,
		Edges: []float64{-1, 0.25, 2, math.Inf(1)}, Weight: []float64{1, 1, 0},
		Grid: cells.Grid{GranularityExponent: -1, PointsPerBin: 3, FirstBin: -1},
		Rows: [][]uint64{{q, 2*q + 7, q - 7}, {0, 3 * q, q}, {2 * q, 0, 2 * q}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// additiveCells are query values and the point and the cell of each: a value is rounded
// to the lattice, halves up, and so are the edges -1, 0.25 and 2, to -2, 1 and 4 steps.
var additiveCells = []struct {
	x    float64
	n    int64
	cell int
}{
	{-1.25, -2, 0},
	{-1, -2, 0},
	{0, 0, 0},
	{math.Nextafter(0.25, 0), 0, 0},
	{0.25, 1, 1},
	{1.74, 3, 1},
	{1.75, 4, 2},
	{2, 4, 2},
	{1e9, 2e9, 2},
}

// TestAdditiveExhaustive: each word that selects a bin, and each that selects a point of
// it, gives the answer that they own, at both ends of what they own.
func TestAdditiveExhaustive(t *testing.T) {
	k := testAdditive(t)
	for _, c := range additiveCells {
		var start uint64
		for bin := range k.Bins() {
			w := k.Weight(c.cell, bin)
			if w == 0 {
				continue
			}
			for _, u := range []uint64{start, start + w/2, start + (w - 1)} {
				for offset := range int64(3) {
					// A third of all words each, but for one that is rejected.
					v := uint64(offset)*(math.MaxUint64/3) + 5
					words := binary.LittleEndian.AppendUint64(nil, u)
					words = binary.LittleEndian.AppendUint64(words, 0) // rejected: 2^64 mod 3 = 1
					words = binary.LittleEndian.AppendUint64(words, v)
					s := answersOf(k, &readerGenerator{r: bytes.NewReader(append(words, make([]byte, 1<<16)...))})
					y, err := s.number(c.x)
					got := int64(y / stepOf(k))
					if want := c.n + int64(bin-1)*3 - 1 + offset; err != nil || got != want {
						t.Fatalf("x = %g, words %d and %d: %d, %v, want %d", c.x, u, v, got, err, want)
					}
				}
			}
			start += w
		}
		if start != 0 {
			t.Errorf("cell %d: %d words have no owner", c.cell, -start)
		}
	}
}

func stepOf(k *cells.Kernel) float64 {
	step, _ := k.Grid().Step().Float64()
	return step
}

// TestAdditiveChiSquare compares answers with the law of the cell, point by point: a
// false-alarm rate of 1e-9 each, and seeds that do not change.
func TestAdditiveChiSquare(t *testing.T) {
	k := testAdditive(t)
	const draws = 1 << 16
	for i, test := range additiveCells {
		s := seeded(k, byte(i))
		c := chiSquare{total: draws}
		class := make(map[int64]int)
		for bin := range k.Bins() {
			for offset := range int64(3) {
				if p := float64(k.Weight(test.cell, bin)) * 0x1p-64 / 3; p > 0 {
					class[test.n+int64(bin-1)*3-1+offset] = len(c.p)
					c.p = append(c.p, p)
				}
			}
		}
		c.counts = make([]int, len(c.p))
		for range draws {
			y, err := s.number(test.x)
			if err != nil {
				t.Fatal(err)
			}
			at, ok := class[int64(y*2)]
			if !ok || y*2 != math.Trunc(y*2) {
				t.Fatalf("x = %g: the answer %g has probability 0", test.x, y)
			}
			c.counts[at]++
		}
		if stat, threshold, alarm := c.alarm(); alarm {
			t.Errorf("x = %g: χ² = %.1f, want at most %.1f; counts %v of %v", test.x, stat, threshold, c.counts, c.p)
		}
	}
}

func TestAdditiveRefuses(t *testing.T) {
	k := testAdditive(t)
	s := seeded(k, 1)
	for _, x := range []float64{-1.26, -1e9, 1e300, math.NaN(), math.Inf(1), math.Inf(-1), float64(1<<53-3) / 2} {
		y, err := s.number(x)
		if y != 0 || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("x = %g: %g, %v, want 0 and ErrInvalid", x, y, err)
		} else if strings.Contains(err.Error(), "-1.26") || strings.Contains(err.Error(), "e+300") {
			t.Errorf("the error quotes the value: %v", err)
		}
	}
	if s.reader.pos != blockBytes {
		t.Error("a refused value used words")
	}
	if y, err := s.number(float64(1<<53-4) / 2); err != nil || y < 1<<50 {
		t.Errorf("the largest value that fits: %g, %v", y, err)
	}
	if s, err := New((*cells.Verified)(nil), Options{}); s != nil || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("without a kernel: %v, %v", s, err)
	}
	if s, err := New(&cells.Verified{}, Options{Entropy: Deterministic([32]byte{})}); s != nil || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("with an empty proof: %v, %v", s, err)
	}
}

// TestAdditiveFork: a fork draws from the same kernel and not the same words.
func TestAdditiveFork(t *testing.T) {
	s := seeded(testAdditive(t), 1)
	f, err := s.Fork()
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for range 64 {
		a, errA := numberOf(s, 0)
		b, errB := numberOf(f, 0)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if a == b {
			same++
		}
	}
	if same == 64 {
		t.Error("a fork draws the same answers")
	}
}

// TestAdditiveExport: the rule that an export states leads from its words to its draws.
func TestAdditiveExport(t *testing.T) {
	const q = 1 << 62
	k, err := cells.New(cells.Spec{ // private: one law that falls slowly enough
		Privacy: dp.Privacy{Epsilon: 2, Delta: 0.9, Sensitivity: 1}, Loss: loss.L1,
		Edges: []float64{math.Inf(-1), 0, 3}, Weight: []float64{1, 1},
		Grid: cells.Grid{PointsPerBin: 2, FirstBin: -1},
		Rows: [][]uint64{{q, 2 * q, q}, {q, 2*q - 9, q + 9}},
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := k.Verify()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteExport(&out, v, [32]byte{7}, 50); err != nil {
		t.Fatal(err)
	}
	var e struct {
		Cells []struct {
			Lower, Upper *float64
			Bins         []formfile.ExportedWeight
			Draws        []int64
		}
	}
	if err := json.Unmarshal(out.Bytes(), &e); err != nil {
		t.Fatal(err)
	}
	if e.Cells[0].Lower != nil || *e.Cells[0].Upper != 0 || *e.Cells[1].Upper != 3 {
		t.Errorf("edges %v", e.Cells)
	}
	for _, c := range e.Cells {
		var block [blockBytes]byte
		if err := newFixedGenerator([32]byte{7}).read(&block); err != nil {
			t.Fatal(err)
		}
		for i, got := range c.Draws {
			u, v := new(big.Int), new(big.Int)
			u.SetUint64(binary.LittleEndian.Uint64(block[16*i:]))
			v.SetUint64(binary.LittleEndian.Uint64(block[16*i+8:]))
			sum, bin := new(big.Int), -1
			for sum.Cmp(u) <= 0 {
				bin++
				w, _ := new(big.Int).SetString(c.Bins[bin].Weight, 10)
				sum.Add(sum, w)
			}
			h := v.Mul(v, big.NewInt(2)).Rsh(v, 64).Int64() // 2^64 mod 2 = 0: none is rejected
			if want := int64(bin-1)*2 - 1 + h; got != want {
				t.Fatalf("draw %d is %d, want %d", i, got, want)
			}
		}
	}
	if err := WriteExport(&out, v, [32]byte{}, -1); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("-1 draws: %v", err)
	}
}
