// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"bytes"
	"errors"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/proof"
)

func encoded(tb testing.TB, s *Strategy) string {
	tb.Helper()
	var b bytes.Buffer
	if err := s.Encode(&b); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// example is randomized response to three categories at epsilon log 2, for which 2/4, 1/4, 1/4 is 1 unit off.
func example(tb testing.TB) *Strategy {
	tb.Helper()
	const a, b = 1 << 63, 1 << 62
	s, err := New(Spec{
		Problem: Problem{Epsilon: 0.7, Labels: []string{"low", "middle", "high"}, Workload: Workload{Kind: Prefix}},
		Rows:    [][]uint64{{a, b, b}, {b, a, b}, {b, b, a}},
		// The inverse of the information, and the prices of the bound, at this epsilon.
		Dual: &Dual{Slopes: [][]float64{{3.59375, -1.625, -1.625}, {-1.625, 3.59375, -1.625}, {-1.625, -1.625, 3.59375}}, Prices: []float64{9.453125, -0.921875, -1}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestTampered: a change to a file is refused as what it is.
func TestTampered(t *testing.T) {
	s := example(t)
	if _, err := s.Verify(); err != nil {
		t.Fatal(err)
	}
	text := encoded(t, s)
	stated := s.Spec().Claims
	back, err := Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if again := encoded(t, back); again != text {
		t.Errorf("decoded and encoded:\n%s\nwant\n%s", again, text)
	}
	if stated.LowerBound == "0" {
		t.Error("the example has no bound")
	}
	if e := s.Certify(); e.LowerBound.Cmp(e.TotalVariance) >= 0 {
		t.Error("a bound above the variance")
	}
	less := func(claim string) string { // by one unit of the last digit
		r, err := exact.ParseDecimal(claim)
		if err != nil {
			t.Fatal(err)
		}
		return exact.DecimalDown(r.Mul(r, big.NewRat(1e15-11, 1e15)), 15)
	}
	more := func(claim string) string {
		r, err := exact.ParseDecimal(claim)
		if err != nil {
			t.Fatal(err)
		}
		return exact.DecimalUp(r.Mul(r, big.NewRat(1e15+11, 1e15)), 15)
	}
	for _, c := range []struct {
		from, to string
		want     error
	}{
		{`"epsilon":0.7`, `"epsilon":0.69314718`, proof.ErrNotPrivate},
		{`"epsilon":0.7`, `"epsilon":0.69314719`, nil}, // bounds are larger for less
		{`"epsilon":0.7`, `"epsilon":0.75`, proof.ErrFalseClaim},
		{`"epsilon":0.7`, `"epsilon":0`, check.ErrInvalid},
		{`"9223372036854775808","4611686018427387904","4611686018427387904"]`, `"9223372036854775809","4611686018427387903","4611686018427387904"]`, nil}, // private at 0.7
		{`"9223372036854775808","4611686018427387904","4611686018427387904"]`, `"9323372036854775808","4511686018427387904","4611686018427387904"]`, proof.ErrNotPrivate},
		{`"9223372036854775808","4611686018427387904","4611686018427387904"]`, `"9223372036854775809","4611686018427387904","4611686018427387904"]`, check.ErrInvalid},
		{`"9223372036854775808","4611686018427387904","4611686018427387904"]`, `"9223372036854775808","9223372036854775808"]`, check.ErrInvalid},
		{`"9223372036854775808","4611686018427387904","4611686018427387904"]`, `"4611686018427387904","9223372036854775808","4611686018427387904"]`, proof.ErrFalseClaim},
		{`"labels":["low","middle","high"]`, `"labels":["low","middle"]`, check.ErrInvalid},
		{`"labels":["low","middle","high"]`, `"labels":["low","middle","low"]`, check.ErrInvalid},
		{`"labels":["low","middle","high"]`, `"count":129`, check.ErrInvalid},
		{`"labels":["low","middle","high"]`, `"count":3`, nil},
		{`"labels":["low","middle","high"]`, `"count":3,"labels":["low","middle","high"]`, check.ErrInvalid},
		{`"kind":"prefix"`, `"kind":"ranges"`, proof.ErrFalseClaim},
		{`"kind":"prefix"`, `"kind":"suffix"`, check.ErrInvalid},
		{`"kind":"prefix"`, `"kind":"marginals","sizes":[3]`, check.ErrInvalid},
		{`"kind":"prefix"`, `"kind":"prefix","sizes":[3]`, check.ErrInvalid},
		{`"kind":"prefix"`, `"kind":"queries","names":["a"],"queries":[[1,0]]`, check.ErrInvalid},
		{`"kind":"prefix"`, `"kind":"queries","names":["a"],"queries":[[0,0,0]]`, check.ErrInvalid},
		{`"kind":"prefix"`, `"kind":"queries","names":["a"],"queries":[[1e-7,0,0]]`, check.ErrInvalid},
		{`"kind":"prefix"`, `"kind":"queries","names":["a","b"],"queries":[[1,0,0],[1,1,0]]`, nil}, // which are the prefixes
		{`"total_variance":"` + stated.TotalVariance, `"total_variance":"` + less(stated.TotalVariance), proof.ErrFalseClaim},
		{`"total_variance":"` + stated.TotalVariance, `"total_variance":"` + more(stated.TotalVariance), nil},
		{`"worst_variance":"` + stated.WorstVariance, `"worst_variance":"` + less(stated.WorstVariance), proof.ErrFalseClaim},
		{`"lower_bound":"` + stated.LowerBound, `"lower_bound":"` + more(stated.LowerBound), proof.ErrFalseClaim},
		{`"lower_bound":"` + stated.LowerBound, `"lower_bound":"` + less(stated.LowerBound), nil},
		{`"slopes":[[3.59375`, `"slopes":[[3.5`, proof.ErrFalseClaim},
		{`"slopes":[[3.59375,`, `"slopes":[[`, check.ErrInvalid},
		{`"prices":[9.453125`, `"prices":[9.25`, proof.ErrFalseClaim},
		{`"prices":[9.453125,`, `"prices":[`, check.ErrInvalid},
		{`"kind":"prefix"`, `"kind":"queries","names":["a","a"],"queries":[[1,0,0],[1,1,0]]`, check.ErrInvalid},
		{`"worst_variance":"` + stated.WorstVariance, `"worst_variance":"x` + stated.WorstVariance, check.ErrInvalid},
		{`"version":1`, `"version":2`, proof.ErrFormat},
		{`"version":1,`, `"version":1,"more":1,`, proof.ErrFormat},
		{`"delta":"0"`, `"delta":""`, check.ErrInvalid},
	} {
		changed := strings.Replace(text, c.from, c.to, 1)
		if changed == text {
			t.Fatalf("%s: nothing to replace in %s", c.from, text)
		}
		s, err := Decode(strings.NewReader(changed))
		if err == nil {
			_, err = s.Verify()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.to, err, c.want)
		}
	}
	const half = 1 << 63
	one := Problem{Epsilon: 1, Labels: []string{"only"}, Workload: Workload{Kind: Prefix}}
	many := random(t, rand.New(rand.NewPCG(31, 32)), limits.CountProved+1, limits.CountProved+2, 1, Workload{Kind: Prefix}).Spec()
	claimed := s.Spec()
	claimed.Claims.WorstVariance = "none"
	many.Dual = &Dual{Prices: make([]float64, limits.CountProved+1), Slopes: slices.Repeat([][]float64{make([]float64, limits.CountProved+1)}, limits.CountProved+1)}
	for _, bad := range []Spec{
		{Problem: one, Rows: [][]uint64{{half, half}}},
		{Problem: Problem{Epsilon: 1, Count: 2, Workload: Workload{Kind: Prefix}}},
		{Problem: Problem{Epsilon: 1, Count: 2, Workload: Workload{Kind: Prefix}}, Rows: [][]uint64{{half, 0, half}, {half - 1, 0, half + 1}}}, // an answer that nobody gives
		many,
		claimed,
	} {
		if _, err := New(bad); !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%d rows, dual %v: %v, want an invalid one", len(bad.Rows), bad.Dual != nil, err)
		}
	}
	most := random(t, rand.New(rand.NewPCG(35, 36)), limits.CountProved, limits.CountProved+1, 1, Workload{Kind: Prefix}).Spec()
	most.Dual = &Dual{Prices: make([]float64, limits.CountProved), Slopes: slices.Repeat([][]float64{make([]float64, limits.CountProved)}, limits.CountProved)}
	rare := Spec{Problem: Problem{Epsilon: 1, Labels: []string{"a", "b"}, Workload: Workload{Kind: Prefix}}, Rows: [][]uint64{{half, 1, half - 1}, {half - 1, 0, half + 1}}}
	for _, good := range []Spec{most, rare} {
		if err := good.validate(); err != nil {
			t.Error(err)
		}
	}
	// Answers that do not tell categories apart have no estimate, whatever variances are claimed of one.
	equal := Spec{Problem: Problem{Epsilon: 1, Count: 2, Workload: Workload{Kind: Prefix}}, Rows: [][]uint64{{half, half}, {half, half}}, Claims: claims{"0", "1", "1", "0"}}
	if s, err := New(equal); err != nil {
		t.Error(err)
	} else if _, err = s.Verify(); !errors.Is(err, proof.ErrFalseClaim) || !strings.Contains(err.Error(), noEstimate) {
		t.Errorf("equal laws with claims: %v", err)
	} else if list, err := s.Estimate([]int64{1, 1}, 0.9, false); list != nil || !errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), noEstimate) {
		t.Errorf("equal laws have estimates: %v, %v", list, err)
	}
	if _, err := New(Spec{Problem: Problem{Epsilon: 1, Count: 2, Workload: Workload{Kind: Prefix}}, Rows: [][]uint64{{1 << 63, 1 << 63}, {1 << 63, 1 << 63}}}); !errors.Is(err, check.ErrInvalid) {
		t.Errorf("equal laws: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	text := encoded(f, example(f))
	f.Add([]byte(text))
	f.Add([]byte(strings.Replace(text, `"kind":"prefix"`, `"kind":"queries","names":["a"],"queries":[[1,0.5,-2]]`, 1)))
	f.Add([]byte(strings.Replace(text, `"epsilon":`, `"epsilon":1e-9`, 1)))
	f.Add([]byte(`{"format":"noisewright-counts"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(bytes.NewReader(data))
		if err != nil {
			if s != nil {
				t.Fatal("a strategy beside an error")
			}
			return
		}
		v, err := proof.Verify(t.Context(), s, proof.Options{Work: 1 << 24})
		if (v == nil) != (err != nil) {
			t.Fatalf("verified: %v, %v", v, err)
		}
		if v != nil {
			if c := v.Certificate(); c.DeltaUpper.Sign() != 0 || c.LowerBound.Sign() < 0 || c.WorstVariance.Cmp(c.TotalVariance) < 0 {
				t.Fatal("a certificate that cannot be")
			}
		}
		once := encoded(t, s)
		again, err := Decode(strings.NewReader(once))
		if err != nil {
			t.Fatal(err)
		}
		if twice := encoded(t, again); twice != once {
			t.Fatalf("%s, then %s", once, twice)
		}
	})
}
