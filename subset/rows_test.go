// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"math/big"
	"slices"
	"testing"
)

// TestRows: the laws that losses are accounted by are laws, two of a pair mirror each other, and those of more
// loss have no smaller ratio and difference than the exact probabilities, those of less no larger ones.
func TestRows(t *testing.T) {
	for _, s := range examples(t) {
		rows := s.Rows()
		all, own := s.Pairs()
		used := map[int]bool{}
		for _, pair := range slices.Concat(all, own) {
			used[pair.Gain] = true
			gain, lose := rows[pair.Gain], slices.Clone(rows[pair.Lose])
			slices.Reverse(lose)
			if !slices.Equal(gain, lose) || slices.Contains(all, pair) != (pair.Gain == 0 || pair.Gain == 3) {
				t.Errorf("%v: %v and %v", pair, gain, lose)
			}
		}
		if len(used) != 4 || len(all) != 2 || len(own) != 2 {
			t.Errorf("%v and %v, want each row once", all, own)
		}
		for i, row := range rows {
			sum := new(big.Int)
			for _, w := range row {
				sum.Add(sum, new(big.Int).SetUint64(w))
			}
			if sum.Cmp(new(big.Int).Lsh(big.NewInt(1), 64)) != 0 {
				t.Errorf("row %d sums to %v", i, sum)
			}
		}
		// In units of 1/(m - 1): w(m - d) and d(2^64 - w).
		p := s.spec
		a := new(big.Rat).SetFrac(new(big.Int).Mul(new(big.Int).SetUint64(p.Inside), big.NewInt(s.points-p.Size)), big.NewInt(s.points-1))
		b := new(big.Rat).SetFrac(new(big.Int).Mul(new(big.Int).SetUint64(-p.Inside), big.NewInt(p.Size)), big.NewInt(s.points-1))
		for i, sign := range map[int]int{0: 1, 1: -1} {
			x, y := new(big.Rat).SetUint64(rows[i][0]), new(big.Rat).SetUint64(rows[i][2])
			if new(big.Rat).Sub(x, y).Cmp(new(big.Rat).Sub(a, b))*sign < 0 || new(big.Rat).Quo(x, y).Cmp(new(big.Rat).Quo(a, b))*sign < 0 {
				t.Errorf("row %d: %v for %v and %v", i, rows[i], a, b)
			}
		}
	}
}

// TestEpsilonIsBounded: no epsilon is so large that its bounds take long.
func TestEpsilonIsBounded(t *testing.T) {
	s := Spec{Epsilon: 100, Count: 5, Size: 1, Inside: 1 << 63, Objective: Total}
	if err := s.validate(); err != nil {
		t.Fatal(err)
	}
	if s.Epsilon = 100.00000000000001; s.validate() == nil {
		t.Error("an epsilon above 100 is taken")
	}
}
