// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// TestBelowAtItsDigits: a random number that begins with the digits of θ is below it if and only if
// θ has more digits than it; one with a last digit more or less, at once.
func TestBelowAtItsDigits(t *testing.T) {
	r := testRandomizer(t, local.Real)
	const h = 1 << 63
	ofWords := func(words ...uint64) *big.Rat {
		n := new(big.Int)
		for _, w := range words {
			n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(w))
		}
		return new(big.Rat).SetFrac(n, new(big.Int).Lsh(big.NewInt(1), uint(64*len(words))))
	}
	for _, test := range []struct {
		theta *big.Rat
		words []uint64
		want  bool
	}{
		{ofWords(h), []uint64{h}, false},
		{ofWords(h), []uint64{h - 1}, true},
		{ofWords(h), []uint64{h + 1}, false},
		{ofWords(h, 1), []uint64{h, 0}, true},
		{ofWords(h, 1), []uint64{h, 1}, false},
		{ofWords(h, 1), []uint64{h, 2}, false},
		{ofWords(h, 7, 9), []uint64{h, 7, 8}, true},
		{ofWords(h, 7, 9), []uint64{h, 7, 9}, false},
		{ofWords(h, 7, 9), []uint64{h, 7, 10}, false},
		{ofWords(h, 7, 9), []uint64{h, 6}, true},
		{ofWords(h, 7, 9), []uint64{h, 8}, false},
		{new(big.Rat), []uint64{0}, false},
		{big.NewRat(1, 3), []uint64{0x5555555555555555, 0x5555555555555554}, true},
		{big.NewRat(1, 3), []uint64{0x5555555555555555, 0x5555555555555555, 0x5555555555555556}, false},
	} {
		s := answersOf(r, &readerGenerator{r: wordsOf(test.words[1:]...)})
		if got, err := s.below(test.words[0], test.theta); err != nil || got != test.want {
			t.Errorf("0.%#x below %v: %v, %v, want %v", test.words, test.theta, got, err, test.want)
		}
	}
}

// TestTailMovesFar: a draw from a tail is moved by so many periods exactly, and where that is beyond
// 2^54 it is an overflow: it does not wrap around, whatever the product of the two is modulo 2^64.
func TestTailMovesFar(t *testing.T) {
	const cells = 1 << 12
	weights := make([]uint64, 2*cells+1)
	weights[0], weights[cells], weights[2*cells] = 1<<62, 1<<63, 1<<62
	for _, points := range []int64{1<<38 + 1, 1<<36 + 3, 5} {
		tab, err := tables.New(tables.Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L1},
			Grid:    tables.Grid{PointsPerCell: points, CellsPerSensitivity: cells, FirstCell: -cells},
			Weights: weights, TailRatio: 1 << 63,
		})
		if err != nil {
			t.Fatal(err)
		}
		period := uint64(cells) * uint64(points)
		for _, fixed := range []bool{false, true} {
			l := newLaw(tab, fixed)
			for _, periods := range []uint64{0, 1, 3, 4, 15, 16, 17, 31, 32, 1<<13 + 1, 3 << 12, 1 << 14, 1<<14 + 1, 1 << 16} {
				if fixed && periods > 200 {
					continue // takes words for ever
				}
				words := make([]uint64, periods+1, periods+blockWords)
				words[periods] = 1 << 63 // the first that is not below the ratio
				for len(words)%blockWords != 0 || fixed && len(words) < 4*l.tail.batch {
					words = append(words, 1<<64-1)
				}
				s := newNoise(tab, l, &readerGenerator{r: newScript(words)})
				for side, entry := range map[int64]uint64{-1: 0, 1: 2 * cells} {
					s := s
					if side > 0 {
						s = newNoise(tab, l, &readerGenerator{r: newScript(words)})
					}
					got, err := s.extend(0, entry)
					if err != nil {
						t.Fatal(err)
					}
					want := new(big.Int).Mul(new(big.Int).SetUint64(periods), new(big.Int).SetUint64(period))
					want.Mul(want, big.NewInt(side))
					if want.CmpAbs(big.NewInt(1<<54)) <= 0 {
						if big.NewInt(got).Cmp(want) != 0 {
							t.Errorf("%d periods of %d points, constant time %v: moved by %d", periods, period, fixed, got)
						}
					} else if got*side < 1<<54 {
						t.Errorf("%d periods of %d points, constant time %v: moved by %d, want 2^54 or more", periods, period, fixed, got)
					}
				}
			}
		}
	}
}
