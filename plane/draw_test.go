// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// TestDrawsAreTheWeights: each entry has as many words as its weight times its images, and the eight words
// after it draw every image equally often.
func TestDrawsAreTheWeights(t *testing.T) {
	least := Spec{ // of weights
		Problem: Problem{Norm: LInf, Query: dp.IntegerQuery}, Grid: Grid{PointsPerCell: 1, CellsPerSensitivity: 1}, Weights: []uint64{math.MaxUint64 - 3, 1, 0},
	}
	for _, s := range append(cases(t), least) {
		d := newDrawing(&s)
		most := int64(1) << 53
		if s.turned() {
			most /= 2
		}
		if d.limit != most-int64(s.rings()+1)*s.Grid.PointsPerCell {
			t.Errorf("%+v: values up to %d", s.Grid, d.limit)
		}
		from := uint64(0)
		for n, last := range d.last {
			i, j := int(d.x[n]), int(d.y[n])
			words := new(big.Int).SetUint64(last - from + 1)
			want := new(big.Int).SetUint64(s.Weights[s.Norm.Index(i, j)])
			if want.Mul(want, big.NewInt(s.Norm.Images(i, j))); words.Cmp(want) != 0 && last-from != math.MaxUint64 {
				t.Fatalf("cell (%d, %d) has %v words, want %v", i, j, words, want)
			}
			for _, u := range []uint64{from, last} {
				seen := map[[2]int64]int{}
				for v := range uint64(8) {
					words := []uint64{u, v | rand.Uint64()<<3} //nolint:gosec // a test
					x, y, err := d.point(1, func() (uint64, error) { w := words[0]; words = words[1:]; return w, nil })
					if err != nil || s.Norm.Index(int(x), int(y)) != s.Norm.Index(i, j) {
						t.Fatalf("the word %d draws (%d, %d), %v, want (%d, %d)", u, x, y, err, i, j)
					}
					seen[[2]int64{x, y}]++
				}
				if int64(len(seen)) != s.Norm.Images(i, j) {
					t.Fatalf("cell (%d, %d) has the images %v", i, j, seen)
				}
				for _, times := range seen {
					if int64(times)*s.Norm.Images(i, j) != 8 {
						t.Fatalf("cell (%d, %d) has the images %v", i, j, seen)
					}
				}
			}
			from = last + 1
		}
		if from != 0 {
			t.Errorf("the words end at %d, want all", from)
		}
	}
}

// TestPointsInCell: with the words of a generator every point of a cell comes equally often: of 45,000 draws over nine points,
// 5,000 each within 480, which is 7.2 standard deviations, a false alarm in 1e11.
func TestPointsInCell(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8)) //nolint:gosec // a test
	d := drawing{last: []uint64{math.MaxUint64}, x: []int64{0}, y: []int64{0}, second: 2}
	far := drawing{last: []uint64{math.MaxUint64}, x: []int64{2}, y: []int64{1}, second: 2}
	words := []uint64{0, 0, 1 << 63, math.MaxUint64} // the middle of one axis and the end of the other
	if x, y, err := far.point(3, func() (uint64, error) { w := words[0]; words = words[1:]; return w, nil }); x != 6 || y != 4 || err != nil {
		t.Errorf("(%d, %d), %v, want (6, 4)", x, y, err)
	}
	seen := map[[2]int64]int{}
	for range 45000 {
		x, y, err := d.point(3, func() (uint64, error) { return rng.Uint64(), nil })
		if err != nil {
			t.Fatal(err)
		}
		seen[[2]int64{x, y}]++
	}
	for at, n := range seen {
		if max(at[0], -at[0], at[1], -at[1]) > 1 || math.Abs(float64(n-5000)) > 480 {
			t.Errorf("%v comes %d times", at, n)
		}
	}
	if len(seen) != 9 {
		t.Errorf("%d points, want 9", len(seen))
	}
}

// TestAnswer: noise is added where it belongs, and turned noise is turned back.
func TestAnswer(t *testing.T) {
	for _, norm := range []Norm{LInf, L1} {
		s := Spec{
			Problem: Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 4}, Norm: norm, Query: dp.RealQuery, Loss: loss.L2},
			Grid:    Grid{GranularityExponent: 2, PointsPerCell: 1, CellsPerSensitivity: 2}, Weights: []uint64{0, 0, 0, 0, 1 << 61, 0},
		}
		n, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields("48,-8 44,-4 32,-8 36,-4 48,-16 44,-20 32,-16 36,-20")
		if norm == L1 { // (x+y)/2 and (x−y)/2 of (±2, ±1) and (±1, ±2)
			want = strings.Fields("46,-10 46,-14 38,-18 42,-18 42,-6 38,-6 34,-14 34,-10")
		}
		for v := range uint64(8) {
			words := []uint64{0, v}
			y, err := n.Draw(proof.Row{41.6, -12}, func() (uint64, error) { w := words[0]; words = words[1:]; return w, nil })
			if err != nil || y.String() != want[v] {
				t.Errorf("%s: the word %d answers %v, %v, want %s", norm, v, y, err, want[v])
			}
		}
		// Of the largest values answers are float64s still, and larger ones are refused.
		most := float64(1<<53 - 3)
		if norm == L1 {
			most = 1<<52 - 3
		}
		for _, sign := range []float64{1, -1} {
			word := func() (uint64, error) { return 0, nil }
			if _, err := n.Draw(proof.Row{0, sign * 4 * most}, word); err != nil {
				t.Errorf("%s: %v", norm, err)
			}
			if y, err := n.Draw(proof.Row{sign * 4 * (most + 1), 0}, word); !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%s: %v, %v, want ErrInvalid", norm, y, err)
			}
		}
	}
}

// TestBelow: the words that 3 does not divide among equally many are drawn again, and no other.
func TestBelow(t *testing.T) {
	words := []uint64{0, 0xaaaaaaaaaaaaaaab, 7} // with 3 times the word 0 and 1 modulo 2^64
	x, err := below(3, func() (uint64, error) { w := words[0]; words = words[1:]; return w, nil })
	if x != 2 || err != nil || len(words) != 1 {
		t.Errorf("%d, %v, with %d words left, want 2 and one left", x, err, len(words))
	}
}
