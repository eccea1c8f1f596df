// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// holds reports whether low <= want <= high, for a want known to a relative error of 2^-48.
func holds(low, high *big.Int, want float64) bool {
	lo, _ := new(big.Float).SetInt(low).Float64()
	hi, _ := new(big.Float).SetInt(high).Float64()
	return lo <= want*(1+0x1p-48) && hi >= want*(1-0x1p-48)
}

// TestExpBracketWithFewGuardBits: each step rounds outwards, which 64 guard bits hide in all but one of 2^64 results.
func TestExpBracketWithFewGuardBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 4000 {
		x := math.Ldexp(rng.Float64(), rng.IntN(8)-5)
		for _, frac := range []uint{0, 1, 6, 14} {
			for _, x := range []float64{x, -x} {
				low, high := expBounds(x, frac, uint(i%12)) //nolint:gosec // positive
				if !holds(low, high, math.Exp(x)*math.Ldexp(1, int(frac))) {
					t.Fatalf("e^%g with %d places and %d guard bits: [%s, %s]", x, frac, i%12, low, high)
				}
			}
		}
	}
	// One unit of the last place away from 1, which the float64 of e^x is not.
	if ExpUp(0x1p-200, 100).Cmp(new(big.Int).Lsh(one, 100)) <= 0 || ExpDown(-0x1p-200, 100).Cmp(new(big.Int).Lsh(one, 100)) >= 0 {
		t.Error("e^x is above 1 for x > 0, and below for x < 0")
	}
	for _, x := range []float64{1, -1, 2} {
		if low, high := expBounds(x, 40, guardBits); !holds(low, high, math.Exp(x)*0x1p40) {
			t.Errorf("e^%g: [%s, %s]", x, low, high)
		}
	}
	for _, frac := range []uint{0, 5} {
		low, high := expBounds(0, frac, 0)
		if want := new(big.Int).Lsh(one, frac); low.Cmp(want) != 0 || high.Cmp(want) != 0 {
			t.Errorf("e^0 with %d places: [%s, %s]", frac, low, high)
		}
	}
}

// TestNormalBracketWithFewGuardBits is the same of the normal tail.
func TestNormalBracketWithFewGuardBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 4000 {
		x := math.Ldexp(rng.Float64(), rng.IntN(8)-5)
		a := Rational(x)
		for _, places := range []uint{1, 3, 12} {
			low, high := normalTail(a.Num(), a.Denom(), places, uint(i%12)) //nolint:gosec // positive
			if !holds(low, high, math.Erfc(x/math.Sqrt2)/2*math.Ldexp(1, int(places))) || low.Sign() < 0 {
				t.Fatalf("tail of %g with %d places and %d guard bits: [%s, %s]", x, places, i%12, low, high)
			}
		}
	}
	for _, a := range []int64{NormalEnd - 1, NormalEnd, NormalEnd + 1, 40} {
		low, high := NormalTail(big.NewInt(a), one)
		if low.Sign() < 0 || high.Sign() <= 0 || a >= NormalEnd && (low.Sign() != 0 || high.Cmp(one) != 0) {
			t.Errorf("tail of %d: [%s, %s]", a, low, high)
		}
	}
}

// TestNormalPeak: 2π times the square of 1/√(2π) is 1, with 108 digits of π.
func TestNormalPeak(t *testing.T) {
	const digits = "314159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651"
	pi, _ := new(big.Int).SetString(digits, 10)
	low, high := NormalPeak()
	if d := new(big.Int).Sub(high, low); d.Cmp(big.NewInt(2)) != 0 {
		t.Errorf("the bounds of the peak are %s units apart", d)
	}
	one := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(digits))-1), nil)
	one.Lsh(one, 2*NormalPeakBits-1)
	square := func(x, pi *big.Int) *big.Int { return new(big.Int).Mul(new(big.Int).Mul(x, x), pi) }
	if square(low, new(big.Int).Add(pi, big.NewInt(1))).Cmp(one) > 0 || square(high, pi).Cmp(one) < 0 {
		t.Error("the bounds do not hold 1/√(2π)")
	}
}

// TestRatioExceedsAtTheCarries: E·v next to multiples of 2^192, whose upper limb alone is above every w.
func TestRatioExceedsAtTheCarries(t *testing.T) {
	for _, epsilon := range []float64{40, 43, 44, 44.3} {
		r := RatioDown(epsilon)
		for k := range int64(6) {
			v := new(big.Int).Lsh(big.NewInt(k+1), 192)
			DivUp(v, v, r.fixed)
			for _, w := range []uint64{0, 1, 1 << 32, 1<<63 + 1, math.MaxUint64} {
				if v.IsUint64() && r.Exceeds(w, v.Uint64()) {
					t.Errorf("ε = %g: %d exceeds E·%s", epsilon, w, v)
				}
			}
		}
	}
	one := &Ratio{limb: [3]uint64{0, 1 << 32}, fixed: new(big.Int).Lsh(one, RatioBits)} // E = 1
	for _, v := range []uint64{1, 2, 1 << 32, math.MaxUint64} {
		if one.Exceeds(v, v) || one.Exceeds128(Uint128{v, v}, Uint128{v, v}) || one.Exceeds128(Uint128{0, v}, Uint128{0, v}) {
			t.Errorf("%d exceeds itself", v)
		}
		if !one.Exceeds(v, v-1) || one.Exceeds(v-1, v) || !one.Exceeds128(Uint128{v, v}, Uint128{v, v - 1}) || one.Exceeds128(Uint128{v, v - 1}, Uint128{v, v}) {
			t.Errorf("%d is not one more than %d", v, v-1)
		}
	}
	below := &Ratio{limb: [3]uint64{0, 1<<32 - 1}, fixed: new(big.Int).Lsh(big.NewInt(1<<32-1), 64)} // E = 1 - 2^-32
	if !below.Exceeds(1, 1) || !below.Exceeds128(Uint128{Lo: 1}, Uint128{Lo: 1}) {
		t.Error("1 is above 1 - 2^-32")
	}
	for _, epsilon := range []float64{0.1, 1, 30, 50} { // no bound on e^ε from above
		if r := RatioDown(epsilon); r.fixed.Cmp(ExpUp(epsilon, RatioBits)) >= 0 {
			t.Errorf("the ratio of %g is not below e^%g", epsilon, epsilon)
		}
	}
	if r := RatioDown(0x1.63p5); !r.large || r.Exceeds(math.MaxUint64, 1) { // e^44.375 is above 2^64
		t.Error("e^44.375 is not large")
	}
}

func TestPowAtTheLargestPower(t *testing.T) {
	if p := PowDown(big.NewRat(2, 1), MaxPower, 10); p.Cmp(PowerOfTwo(MaxPower)) != 0 {
		t.Errorf("2^%d is %s", MaxPower, p)
	}
}

// TestShiftedDivergence sums the positive parts one by one, with 0 outside.
func TestShiftedDivergence(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		n := 1 + rng.IntN(8)
		p, q := make([]uint64, n), make([]uint64, n)
		for i := range p {
			p[i], q[i] = word(rng), word(rng)
		}
		r := RatioDown(3 * rng.Float64())
		for k := -n - 2; k <= n+2; k++ {
			want := new(big.Int)
			for j, w := range p {
				var v uint64
				if j-k >= 0 && j-k < n {
					v = q[j-k]
				}
				if d := r.Excess(new(big.Int).SetUint64(w), new(big.Int).SetUint64(v)); d.Sign() > 0 {
					want.Add(want, d)
				}
			}
			if got := r.ShiftedDivergence(p, q, k); got.Cmp(want) != 0 {
				t.Fatalf("%d weights by %d: %s, want %s", n, k, got, want)
			}
		}
	}
}

// TestRoundToGrid holds it against rationals: halves go up, and what is beyond the limit is refused.
func TestRoundToGrid(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	half := big.NewRat(1, 2)
	at := func(x, back float64, limit int64) {
		t.Helper()
		r := new(big.Rat).Mul(Rational(x), Rational(back))
		want := Floor(r.Add(r, half))
		fits := new(big.Int).Abs(want).Cmp(big.NewInt(limit)) <= 0
		if n, ok := RoundToGrid(x, back, limit); ok != fits || ok && n != want.Int64() {
			t.Errorf("RoundToGrid(%g, %g, %d) = %d, %v, want %s, %v", x, back, limit, n, ok, want, fits)
		}
	}
	for range 3000 {
		at(math.Ldexp(rng.Float64()-0.5, rng.IntN(60)), math.Ldexp(1, rng.IntN(8)-4), 1<<rng.IntN(54))
		at(float64(rng.IntN(40))/2-10, 1, int64(rng.IntN(10)))
	}
	for _, x := range []float64{0, 0.5, -0.5, 1.5, 2.5, 0x1.fffffffffffffp-2, -0x1.0000000000001p-1, MaxInteger, -MaxInteger, MaxInteger - 1, 1e300, -1e300} {
		for _, limit := range []int64{0, 1, 2, 3, MaxInteger - 1, MaxInteger} {
			at(x, 1, limit)
			at(x, 2, limit)
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if n, ok := RoundToGrid(x, 1, MaxInteger); ok || n != 0 {
			t.Errorf("%g is rounded to %d", x, n)
		}
	}
}

func TestSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	tries := 300
	if testing.Short() {
		tries = 60
	}
	for range tries {
		var s Sum
		want, size := new(big.Rat), 0.0
		for range 1000 {
			x := math.Ldexp(rng.Float64()-0.5, rng.IntN(100))
			s.Add(x)
			want.Add(want, Rational(x))
			size += math.Abs(x)
		}
		if f, _ := want.Float64(); math.Abs(s.Value()-f) > math.Abs(f)*0x1p-52+size*1e6*0x1p-106 {
			t.Fatalf("sum %g, want %g", s.Value(), f)
		}
	}
	for _, terms := range [][]float64{{1, 0x1p-60, -1}, {0x1p-60, 1, -1}, {-1, 0x1p-60, 1}} {
		var s Sum
		for _, x := range terms {
			s.Add(x)
		}
		if s.Value() != 0x1p-60 {
			t.Errorf("sum of %v = %g", terms, s.Value())
		}
	}
}

func TestRationalsAndShares(t *testing.T) {
	list := []float64{0.5, 3, 0, 0.25}
	for i, r := range Rationals(list) {
		if f, isExact := r.Float64(); f != list[i] || !isExact {
			t.Errorf("%g as a rational is %s", list[i], r)
		}
	}
	for i, s := range Shares(list) {
		if want := new(big.Rat).Quo(Rational(list[i]), big.NewRat(15, 4)); s.Cmp(want) != 0 {
			t.Errorf("the share of %g is %s, want %s", list[i], s, want)
		}
	}
	if n := MostBits([]float64{1, 0.25}, []float64{7, 2}); n != 4 { // 1/4 has 1 and 3, 7 has 3 and 1
		t.Errorf("most bits %d, want 4", n)
	}
	if n := MostBits([]float64{0.125, 1}); n != 5 {
		t.Errorf("most bits %d, want 5", n)
	}
	for e := -3; e <= 3; e++ {
		if f, _ := PowerOfTwo(e).Float64(); f != math.Ldexp(1, e) {
			t.Errorf("2^%d = %g", e, f)
		}
	}
	if RationalWork(0) != 104 || RationalWork(64) != 116 || RationalWork(640) != 100+4*121 {
		t.Error("the work of rationals has changed")
	}
	for a := int64(-20); a <= 20; a++ {
		for b := int64(1); b <= 7; b++ {
			if want := Floor(big.NewRat(a, b)); FloorDiv(a, b) != want.Int64() {
				t.Errorf("⌊%d/%d⌋ = %d", a, b, FloorDiv(a, b))
			}
		}
	}
	least := Rational(math.SmallestNonzeroFloat64)
	least.Quo(least, big.NewRat(2, 1))
	if FloatUp(least) != math.SmallestNonzeroFloat64 || FloatDown(least) != 0 || FloatUp(new(big.Rat).Neg(least)) != 0 {
		t.Error("half of the least float64 is not rounded outwards")
	}
}

// TestDecimalsOfPowersOfTen: the number of digits is estimated, and one too many at a power of ten.
func TestDecimalsOfPowersOfTen(t *testing.T) {
	for _, c := range []struct {
		r        *big.Rat
		n        int
		down, up string
	}{
		{big.NewRat(1000, 1), 4, "1000", "1000"},
		{big.NewRat(1000, 1), 3, "1000", "1000"},
		{big.NewRat(1001, 1), 3, "1000", "1010"},
		{big.NewRat(999, 1), 3, "999", "999"},
		{big.NewRat(1, 1), 1, "1", "1"},
		{big.NewRat(10, 11), 2, "0.9", "0.91"},
		{big.NewRat(100, 99), 2, "1", "1.1"},
		{big.NewRat(101, 100), 1, "1", "2"},
	} {
		if down, up := DecimalDown(c.r, c.n), DecimalUp(c.r, c.n); down != c.down || up != c.up {
			t.Errorf("%s with %d digits: %s and %s, want %s and %s", c.r, c.n, down, up, c.down, c.up)
		}
	}
	for _, c := range []struct {
		r *big.Rat
		n int
	}{{big.NewRat(-1, 2), 3}, {big.NewRat(1, 2), 0}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is printed with %d digits", c.r, c.n)
				}
			}()
			DecimalUp(c.r, c.n)
		}()
	}
	long := func(n int) string { return "0." + strings.Repeat("0", n-2) }
	if _, err := ParseDecimal(long(maxDecimalLen)); err != nil {
		t.Error(err)
	}
	if _, err := ParseDecimal(long(maxDecimalLen + 1)); err == nil {
		t.Error("a decimal that is too long is read")
	}
}
