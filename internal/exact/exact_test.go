// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestExpAgainstBigFloat compares the bounds with an independent evaluation:
// the plain series Σ x^n/n! in 600-bit floating point, for moderate x.
func TestExpAgainstBigFloat(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	xs := []float64{0, 1, 0.5, 1e-7, 1e-300, 5e-324, 20, -20, -1, -1e-12, 3.25, math.Ln2, 44.3, 50, -50}
	for range 200 {
		xs = append(xs, (rng.Float64()-0.5)*60)
	}
	for _, x := range xs {
		for _, frac := range []uint{1, 64, 96, 200} {
			want := seriesExp(x)
			want.SetMantExp(want, int(frac))
			lo := new(big.Float).SetPrec(700).SetInt(ExpDown(x, frac))
			hi := new(big.Float).SetPrec(700).SetInt(ExpUp(x, frac))
			if lo.Cmp(want) > 0 || hi.Cmp(want) < 0 {
				t.Errorf("frac %d: e^%g·2^frac outside [%s, %s]", frac, x, lo.Text('g', 40), hi.Text('g', 40))
			}
			if d := new(big.Float).Sub(hi, lo); d.Cmp(big.NewFloat(2)) > 0 {
				t.Errorf("frac %d: e^%g: bracket of width %s, want at most 2", frac, x, d.Text('g', 10))
			}
		}
	}
}

// seriesExp evaluates e^x to far more than the precision tested.
func seriesExp(x float64) *big.Float {
	const prec = 900
	sum := new(big.Float).SetPrec(prec).SetInt64(1)
	term := new(big.Float).SetPrec(prec).SetInt64(1)
	bx := new(big.Float).SetPrec(prec).SetFloat64(math.Abs(x))
	for n := int64(1); n < 900; n++ {
		term.Mul(term, bx)
		term.Quo(term, new(big.Float).SetPrec(prec).SetInt64(n))
		sum.Add(sum, term)
	}
	if x < 0 {
		sum.Quo(new(big.Float).SetPrec(prec).SetInt64(1), sum)
	}
	return sum
}

func TestExpLargeArguments(t *testing.T) {
	for _, x := range []float64{MaxExponent, -MaxExponent, 300.5} {
		lo, hi := ExpDown(x, 96), ExpUp(x, 96)
		f, _ := new(big.Float).SetInt(lo).Float64()
		want := math.Exp(x) * 0x1p96
		if want < math.MaxFloat64 && want > 1e10 && math.Abs(f/want-1) > 1e-12 {
			t.Errorf("ExpDown(%g) = %g, want about %g", x, f, want)
		}
		if new(big.Int).Sub(hi, lo).Cmp(big.NewInt(2)) > 0 {
			t.Errorf("e^%g: bracket wider than two units", x)
		}
	}
}

func TestExpPanicsOutsideRange(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), 701, -701} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("ExpDown(%g) did not panic", x)
				}
			}()
			ExpDown(x, 96)
		}()
	}
}

func TestDecimalRoundsOutwards(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		num := new(big.Int).Lsh(big.NewInt(rng.Int64N(1<<40)+1), uint(rng.IntN(90)))
		den := new(big.Int).Lsh(big.NewInt(rng.Int64N(1<<40)+1), uint(rng.IntN(90)))
		r := new(big.Rat).SetFrac(num, den)
		n := 1 + rng.IntN(25)
		down, err := ParseDecimal(DecimalDown(r, n))
		if err != nil {
			t.Fatalf("DecimalDown(%s, %d) = %q: %v", r, n, DecimalDown(r, n), err)
		}
		up, err := ParseDecimal(DecimalUp(r, n))
		if err != nil {
			t.Fatalf("DecimalUp(%s, %d) = %q: %v", r, n, DecimalUp(r, n), err)
		}
		if down.Cmp(r) > 0 || up.Cmp(r) < 0 {
			t.Fatalf("%s with %d digits: [%s, %s] does not hold it", r, n, down, up)
		}
		// The two differ by at most one unit in the n-th significant digit.
		width := new(big.Rat).Sub(up, down)
		width.Quo(width, r)
		if width.Cmp(pow10(1-n)) > 0 {
			t.Fatalf("%s with %d digits: [%s, %s] is too wide", r, n, down, up)
		}
	}
}

func TestDecimalExamples(t *testing.T) {
	cases := []struct {
		r        *big.Rat
		n        int
		down, up string
	}{
		{big.NewRat(0, 1), 3, "0", "0"},
		{big.NewRat(1, 3), 3, "0.333", "0.334"},
		{big.NewRat(1, 4), 5, "0.25", "0.25"},
		{big.NewRat(9999, 10), 3, "999", "1000"},
		{big.NewRat(123456, 1), 2, "120000", "130000"},
		{big.NewRat(1, 1000000), 4, "0.000001", "0.000001"},
		{big.NewRat(10, 1), 1, "10", "10"},
	}
	for _, c := range cases {
		if got := DecimalDown(c.r, c.n); got != c.down {
			t.Errorf("DecimalDown(%s, %d) = %q, want %q", c.r, c.n, got, c.down)
		}
		if got := DecimalUp(c.r, c.n); got != c.up {
			t.Errorf("DecimalUp(%s, %d) = %q, want %q", c.r, c.n, got, c.up)
		}
	}
}

func FuzzParseDecimal(f *testing.F) {
	for _, s := range []string{"0", "-1", "0.5", "00", "1.", ".1", "1e5", "+1", "", "-", "1_0", "0x1", "1/2", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseDecimal(s)
		if err != nil {
			return
		}
		for _, c := range s {
			if (c < '0' || c > '9') && c != '.' && c != '-' {
				t.Fatalf("ParseDecimal(%q) accepted the character %q", s, c)
			}
		}
		if r.Sign() >= 0 {
			back, err := ParseDecimal(DecimalDown(r, maxDecimalLen))
			if err != nil && len(s) < maxDecimalLen {
				t.Fatalf("ParseDecimal(%q) does not survive printing: %v", s, err)
			}
			if err == nil && back.Cmp(r) != 0 {
				t.Fatalf("ParseDecimal(%q) = %s, printed and read back %s", s, r, back)
			}
		}
	})
}

// Shares are equal, and never more than a part of the whole.
func TestShare(t *testing.T) {
	for _, total := range []float64{0, 1, 0.1, 5, 1e-6, 100} {
		for z := 1; z <= 50; z++ {
			share := Share(total, z)
			all := new(big.Rat).Mul(Rational(share), big.NewRat(int64(z), 1))
			if all.Cmp(Rational(total)) > 0 || share < total/float64(z)*(1-1e-15) {
				t.Errorf("share %g of %g for %d", share, total, z)
			}
		}
	}
}
