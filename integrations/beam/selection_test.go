// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
)

// TestSelectionIsPrivate checks the definition for each number of people, with a lower
// bound on e^epsilon that is sharper than that of the code.
func TestSelectionIsPrivate(t *testing.T) {
	for _, c := range []struct{ epsilon, delta float64 }{{1, 1e-6}, {0.1, 1e-9}, {10, 1e-5}, {0.01, 0.3}, {100, 1e-30}, {700, 0.5}, {1e-3, 0.9}} {
		s, err := selection(c.epsilon, c.delta, 1)
		if err != nil {
			t.Fatal(err)
		}
		e := new(big.Rat).SetFrac(exact.ExpDown(c.epsilon, 300), new(big.Int).Lsh(big.NewInt(1), 300))
		d, one := exact.Rational(c.delta), big.NewRat(1, 1)
		if s.Probability(0).Sign() != 0 || s.Probability(-1).Sign() != 0 {
			t.Errorf("epsilon %v, delta %v: no people are released with probability %v, want 0", c.epsilon, c.delta, s.Probability(0))
		}
		for n := int64(1); n <= int64(len(s.keep))+1; n++ {
			p, q := s.Probability(n), s.Probability(n-1)
			kept := new(big.Rat).Mul(e, q)
			dropped := new(big.Rat).Mul(e, new(big.Rat).Sub(one, p))
			if p.Cmp(q) < 0 || p.Cmp(kept.Add(kept, d)) > 0 || new(big.Rat).Sub(one, q).Cmp(dropped.Add(dropped, d)) > 0 {
				t.Fatalf("epsilon %v, delta %v: not private between %d and %d people: %s and %s", c.epsilon, c.delta, n-1, n, q.FloatString(40), p.FloatString(40))
			}
		}
	}
}

// TestSelectionIsOptimal compares with the closed form of Desfontaines, Voss, Gipson &
// Mandayam (2022), theorem 1, whose probabilities no private rule exceeds.
func TestSelectionIsOptimal(t *testing.T) {
	for _, c := range []struct{ epsilon, delta float64 }{{1, 1e-6}, {0.1, 1e-9}, {3, 1e-3}, {0.5, 0.01}} {
		s, err := selection(c.epsilon, c.delta, 1)
		if err != nil {
			t.Fatal(err)
		}
		e, d := math.Exp(c.epsilon), c.delta
		n1 := 1 + math.Floor(math.Log((e+2*d-1)/((e+1)*d))/c.epsilon)
		first := math.Expm1(n1*c.epsilon) / math.Expm1(c.epsilon) * d
		for n := range int64(len(s.keep)) + 2 {
			want := math.Expm1(float64(n)*c.epsilon) / math.Expm1(c.epsilon) * d
			if m := float64(n) - n1; m > 0 {
				// With each person 1 − π(n) loses δ and shrinks by e^ε.
				want = 1 - (math.Exp(-m*c.epsilon)*(1-first) - d*math.Exp(-c.epsilon)*math.Expm1(-m*c.epsilon)/math.Expm1(-c.epsilon))
				want = math.Min(want, 1)
			}
			got, _ := s.Probability(n).Float64()
			if math.Abs(got-want) > 1e-11 {
				t.Errorf("epsilon %v, delta %v: %d people are released with probability %v, want %v", c.epsilon, c.delta, n, got, want)
			}
		}
	}
}

// TestSelectionDraws: exactly the words below the probability release.
func TestSelectionDraws(t *testing.T) {
	s, err := NewSelection(1, 1e-3, 1)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(s.keep); n++ {
		for _, c := range []struct {
			less int64
			want bool
		}{{1, true}, {0, false}} {
			var word [keepBits / 8]byte
			new(big.Int).Sub(s.keep[n], big.NewInt(c.less)).FillBytes(word[:])
			if got := s.kept(int64(n), word); got != c.want {
				t.Errorf("%d people, %d below the probability: %v, want %v", n, c.less, got, c.want)
			}
		}
	}
	if !s.kept(int64(len(s.keep)), [keepBits / 8]byte(bytes.Repeat([]byte{255}, 16))) {
		t.Error("many people are not released for sure")
	}
}

// TestSelectionTotal: the parts compose to the total, and need no more people than equal
// parts.
func TestSelectionTotal(t *testing.T) {
	for _, m := range []int{1, 2, 30} {
		s, err := NewSelection(1, 1e-6, m)
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewBudget(1, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Charge(s.cost()); err != nil {
			t.Errorf("%d partitions: %v", m, err)
		}
		basic, err := selection(1/float64(m), 1e-6/float64(m), m)
		if err != nil {
			t.Fatal(err)
		}
		if s.median() > basic.median() {
			t.Errorf("%d partitions: %d people needed, and %d with equal parts", m, s.median(), basic.median())
		}
		if m == 30 && s.median() > basic.median()*9/10 {
			t.Errorf("30 partitions: %d people needed, want 10 %% less than the %d of equal parts, by exact composition", s.median(), basic.median())
		}
	}
}

func TestSelectionRefuses(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		partitions     int
		want           string
	}{
		{0, 1e-6, 1, "epsilon = 0"},
		{1, 0, 1, "no private rule"},
		{1, 1e-6, 0, "partitions = 0"},
		{math.NaN(), math.NaN(), -1, "delta = NaN"},
		{1, 1e-60, 1, "larger ones"},
		{1e-9, 1e-12, 1, "larger ones"},
	} {
		_, err := NewSelection(c.epsilon, c.delta, c.partitions)
		wantSentence(t, err, c.want)
		if !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v is not dp.ErrInvalid", err)
		}
	}
}
