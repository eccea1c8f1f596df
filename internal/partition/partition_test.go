// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
)

// TestIsPrivate checks the definition for each number of people, with a lower
// bound on e^epsilon that is sharper than that of the code.
func TestIsPrivate(t *testing.T) {
	for _, c := range []struct{ epsilon, delta float64 }{{1, 1e-6}, {0.1, 1e-9}, {10, 1e-5}, {0.01, 0.3}, {100, 1e-30}, {700, 0.5}, {1e-3, 0.9}} {
		s, err := New(c.epsilon, c.delta)
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

// TestIsOptimal compares with the closed form of Desfontaines, Voss, Gipson &
// Mandayam (2022), theorem 1, whose probabilities no private rule exceeds.
func TestIsOptimal(t *testing.T) {
	for _, c := range []struct{ epsilon, delta float64 }{{1, 1e-6}, {0.1, 1e-9}, {3, 1e-3}, {0.5, 0.01}} {
		s, err := New(c.epsilon, c.delta)
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

// TestDraws: exactly the words below the probability release.
func TestDraws(t *testing.T) {
	s, err := New(1, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(s.keep); n++ {
		for _, c := range []struct {
			less int64
			want bool
		}{{1, true}, {0, false}} {
			var word Word
			new(big.Int).Sub(s.keep[n], big.NewInt(c.less)).FillBytes(word[:])
			if got := s.Kept(int64(n), word); got != c.want {
				t.Errorf("%d people, %d below the probability: %v, want %v", n, c.less, got, c.want)
			}
		}
	}
	if !s.Kept(int64(len(s.keep)), Word(bytes.Repeat([]byte{255}, 16))) {
		t.Error("many people are not released for sure")
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range [][2]float64{{0, 1e-6}, {1, 0}, {math.NaN(), 0.1}, {1, math.NaN()}, {exact.MaxExponent + 1, 0.1}, {1, 1e-60}, {1e-9, 1e-12}} {
		if r, err := New(c[0], c[1]); r != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("epsilon %v, delta %v: %v, %v", c[0], c[1], r, err)
		}
	}
}
