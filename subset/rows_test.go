// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"math/big"
	"reflect"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/proof"
)

// TestRows: the laws that losses are accounted by are laws, two of a pair mirror each other, and those of more
// loss have no smaller ratio and difference than the exact probabilities, those of less no larger ones.
func TestRows(t *testing.T) {
	loose, err := New(Spec{Epsilon: 5, Count: 3, Size: 1, Inside: 5 << 61, Objective: Total}) // of which the ratio is far below e^epsilon
	if err != nil {
		t.Fatal(err)
	}
	cases := append(examples(t), loose)
	for i := range 20 { // of which the two probabilities are all there is
		p := Spec{Epsilon: 0.1 + float64(i)/7, Count: 2, Size: 1, Objective: Total}
		p.Inside = inside(ratio(p.Epsilon), 2, 1)
		cases = append(cases, made(t, p))
	}
	for _, s := range cases {
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

// TestMostRanked: sets have ranks as long as there are fewer than 2^63 of every size up to theirs.
func TestMostRanked(t *testing.T) {
	for _, k := range []int64{2, 3, 61, 65, 66, 67, 68, 69, 200, 1000, maxRanked} {
		want := int64(0)
		for size := int64(1); size < k && new(big.Int).Binomial(k, size).IsInt64(); size++ {
			want = size
		}
		if got := mostRanked(k); got != want || got < 2 && k > 2 {
			t.Errorf("of %d categories sets of %d have ranks, want %d", k, got, want)
		}
		s := Spec{Epsilon: 1, Count: k, Size: want, Inside: 1<<64 - 1, Objective: Total}
		if err := s.validate(); err != nil {
			t.Error(err)
		}
		if s.Size++; s.Size < k && s.validate() == nil {
			t.Errorf("sets of %d of %d have ranks", s.Size, k)
		}
	}
	if got := mostRanked(maxRanked + 1); got != 1 {
		t.Errorf("sets of %d have ranks", got)
	}
}

// TestSpaces: what selections are about is what their Spec says.
func TestSpaces(t *testing.T) {
	list := examples(t)
	affine, largest, ranked, labels := list[0], list[1], list[2], list[3]
	sets := new(big.Int).Binomial(50, ranked.spec.Size).Int64()
	three := proof.Space{Kind: proof.Categories, Labels: []string{"yes", "no", "0:1"}}
	for i, c := range []struct {
		s                *Selection
		first, last      string
		inputs, answered proof.Space
		largest          bool
	}{
		{affine, "0", "199", proof.Space{Kind: proof.Categories, Count: 200}, proof.Space{Kind: proof.Codes, Modulus: 211}, false},
		{largest, "0", "199", proof.Space{Kind: proof.Categories, Count: 200}, proof.Space{Kind: proof.Codes, Modulus: largest.spec.Modulus}, true},
		{ranked, "0", "49", proof.Space{Kind: proof.Categories, Count: 50}, proof.Space{Kind: proof.Codes, Count: sets}, false},
		{labels, "yes", "0:1", three, three, true},
	} {
		if first, last := c.s.Label(0), c.s.Label(c.s.Categories()-1); first != c.first || last != c.last {
			t.Errorf("case %d: from %s to %s", i, first, last)
		}
		if got := c.s.Inputs(); !reflect.DeepEqual(got, c.inputs) {
			t.Errorf("case %d: the input is %+v", i, got)
		}
		if got := c.s.Answers(); !reflect.DeepEqual(got, c.answered) {
			t.Errorf("case %d: answers are %+v", i, got)
		}
		found := c.s.Certify()
		want := found.TotalVariance
		if c.largest {
			want = found.LargestVariance
		}
		if b := found.Bounds(); b.Loss != want || b.Delta != found.DeltaUpper || b.LowerBound != found.LowerBound || b.LowerBound.Cmp(b.Loss) > 0 {
			t.Errorf("case %d: %v", i, b)
		}
		if p := c.s.Privacy(); p.Epsilon != c.s.spec.Epsilon || p.Delta != 0 {
			t.Errorf("case %d: %v is promised", i, p)
		}
	}
	for _, s := range []*Selection{nil, {}} {
		if v, err := proof.Verify(t.Context(), s, proof.Options{}); v != nil || err == nil {
			t.Errorf("%v is verified", s)
		}
	}
}

// TestAsOftenAsOthers: a set that has its own category as often as another one says nothing, and one that has it
// once in 2^64 more often something.
func TestAsOftenAsOthers(t *testing.T) {
	for _, s := range []Spec{{Count: 4, Size: 1, Inside: 1 << 62}, {Count: 8, Size: 2, Inside: 1 << 62}, {Count: 2, Size: 1, Inside: 1 << 63}} {
		if s.tells() {
			t.Errorf("%+v tells", s)
		}
		if s.Inside++; !s.tells() {
			t.Errorf("%+v does not tell", s)
		}
	}
}
