// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// word returns a number of any length.
func word(rng *rand.Rand) uint64 { return rng.Uint64() >> rng.IntN(64) }

func words(rng *rand.Rand) Uint128 {
	if rng.IntN(4) == 0 {
		return Uint128{Lo: word(rng)}
	}
	return Uint128{word(rng), rng.Uint64()}
}

// fromBig returns b, or ok = false if it does not fit.
func fromBig(b *big.Int) (w Uint128, ok bool) {
	lo := new(big.Int).And(b, new(big.Int).SetUint64(math.MaxUint64))
	hi := new(big.Int).Rsh(b, 64)
	return Uint128{hi.Uint64(), lo.Uint64()}, b.Sign() >= 0 && b.BitLen() <= 128
}

func TestWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	two128 := new(big.Int).Lsh(one, 128)
	for range 20000 {
		a, b, w := words(rng), words(rng), word(rng)
		if got, want := a.Less(b), a.Big().Cmp(b.Big()) < 0; got != want {
			t.Fatalf("%v < %v is %v", a, b, got)
		}
		sum := a
		sum.Add(b)
		want := new(big.Int).Add(a.Big(), b.Big())
		if want.Mod(want, two128); sum.Big().Cmp(want) != 0 {
			t.Fatalf("%v + %v = %v", a, b, sum)
		}
		sum = a
		sum.Add64(w)
		want.Add(a.Big(), new(big.Int).SetUint64(w))
		if want.Mod(want, two128); sum.Big().Cmp(want) != 0 {
			t.Fatalf("%v + %d = %v", a, w, sum)
		}
		want.Mul(new(big.Int).SetUint64(a.Hi), new(big.Int).SetUint64(w))
		if got := Mul64(a.Hi, w); got.Big().Cmp(want) != 0 {
			t.Fatalf("%d·%d = %v", a.Hi, w, got)
		}
		f, _ := new(big.Float).SetInt(a.Big()).Float64()
		if got := a.Float64(); math.Abs(got-f) > f*0x1p-52 {
			t.Fatalf("%v as a float64 = %g, want %g", a, got, f)
		}
		var s Uint192
		want.SetInt64(0)
		for range 5 {
			s.Add(a)
			s.Add(b)
			want.Add(want, a.Big()).Add(want, b.Big())
		}
		if s.Big().Cmp(want) != 0 {
			t.Fatalf("5·(%v + %v) = %v", a, b, s.Big())
		}
	}
}

// TestRatioExceeds compares with big integers, many pairs next to equality.
func TestRatioExceeds(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, epsilon := range []float64{0, 1e-9, 0.5, 1, 10, 20, 44, 44.3, 44.4, 60, 100} {
		r, e := RatioDown(epsilon), ExpDown(epsilon, RatioBits)
		// times returns ⌊E·v⌋ + (-1 … 1).
		times := func(v *big.Int) *big.Int {
			b := new(big.Int).Mul(v, e)
			return b.Rsh(b, RatioBits).Add(b, big.NewInt(rng.Int64N(3)-1))
		}
		for i := range 3000 {
			w, v := word(rng), word(rng)
			if b := times(new(big.Int).SetUint64(v)); i%3 == 0 && b.IsUint64() {
				w = b.Uint64()
			}
			want := r.Excess(new(big.Int).SetUint64(w), new(big.Int).SetUint64(v)).Sign() > 0
			if got := r.Exceeds(w, v); got != want {
				t.Fatalf("ε = %g: Exceeds(%d, %d) = %v, want %v", epsilon, w, v, got, want)
			}
			w2, v2 := words(rng), words(rng)
			if b, ok := fromBig(times(v2.Big())); i%2 == 0 && ok {
				w2 = b
			}
			want = r.Excess(w2.Big(), v2.Big()).Sign() > 0
			if got := r.Exceeds128(w2, v2); got != want {
				t.Fatalf("ε = %g: Exceeds128(%v, %v) = %v, want %v", epsilon, w2, v2, got, want)
			}
		}
	}
}

func TestRatioInfinity(t *testing.T) {
	r := RatioInfinity()
	most := Uint128{math.MaxUint64, math.MaxUint64}
	if r.Exceeds128(most, Uint128{Lo: 1}) || r.Exceeds(math.MaxUint64, 1) {
		t.Error("a word exceeds infinity")
	}
	if !r.Exceeds128(Uint128{Lo: 1}, Uint128{}) || !r.Exceeds(1, 0) || r.Exceeds128(Uint128{}, Uint128{}) {
		t.Error("infinity times 0 is not 0")
	}
}

// TestRatioDivergence takes the positive parts one by one.
func TestRatioDivergence(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		r := RatioDown(4 * rng.Float64())
		p, q := make([]uint64, 30), make([]uint64, 30)
		want := new(big.Int)
		for i := range p {
			p[i], q[i] = word(rng), word(rng)
			if d := r.Excess(new(big.Int).SetUint64(p[i]), new(big.Int).SetUint64(q[i])); d.Sign() > 0 {
				want.Add(want, d)
			}
		}
		if got := r.Divergence(p, q); got.Cmp(want) != 0 {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}

func TestRational(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 5000 {
		r := new(big.Rat).SetFrac(
			new(big.Int).Lsh(big.NewInt(rng.Int64N(1<<62)-1<<61), uint(rng.IntN(3)*rng.IntN(600))),
			new(big.Int).Lsh(big.NewInt(rng.Int64N(1<<40)+1), uint(rng.IntN(3)*rng.IntN(600))))
		if rng.IntN(4) == 0 {
			r.SetFrac64(rng.Int64N(100)-50, rng.Int64N(8)+1)
		}
		up, down := FloatUp(r), FloatDown(r)
		if !math.IsInf(up, 1) && Rational(up).Cmp(r) < 0 || up > -math.MaxFloat64 && Rational(math.Nextafter(up, math.Inf(-1))).Cmp(r) >= 0 {
			t.Errorf("FloatUp(%s) = %g", r, up)
		}
		if !math.IsInf(down, -1) && Rational(down).Cmp(r) > 0 || down < math.MaxFloat64 && Rational(math.Nextafter(down, math.Inf(1))).Cmp(r) <= 0 {
			t.Errorf("FloatDown(%s) = %g", r, down)
		}
		for n, side := range map[*big.Int]int{Floor(r): 1, Ceil(r): -1} {
			rest := new(big.Rat).SetInt(n)
			rest.Sub(r, rest)
			if rest.Sign()*side < 0 || rest.Abs(rest).Cmp(big.NewRat(1, 1)) >= 0 {
				t.Errorf("%s and %s, side %d", r, n, side)
			}
		}
		n, d, shift := new(big.Int).Abs(r.Num()), r.Denom(), uint(rng.IntN(80))
		if got, want := DivUp(new(big.Int), n, d), Ceil(new(big.Rat).SetFrac(n, d)); got.Cmp(want) != 0 {
			t.Errorf("DivUp(%s, %s) = %s, want %s", n, d, got, want)
		}
		want := Ceil(new(big.Rat).Mul(new(big.Rat).SetInt(n), PowerOfTwo(-int(shift))))
		if got := ShiftUp(new(big.Int).Set(n), shift); got.Cmp(want) != 0 {
			t.Errorf("ShiftUp(%s, %d) = %s, want %s", n, shift, got, want)
		}
	}
	for range 1000 {
		a, b := rng.Int64N(1<<40)-1<<39, rng.Int64N(1<<20)+1
		if want := Floor(big.NewRat(a, b)); FloorDiv(a, b) != want.Int64() {
			t.Errorf("FloorDiv(%d, %d) = %d, want %s", a, b, FloorDiv(a, b), want)
		}
	}
	// At the ends of the range of float64s, and no −0.
	huge := PowerOfTwo(1 << 11)
	minus := new(big.Rat).Neg(huge)
	if up, down := FloatUp(huge), FloatDown(huge); !math.IsInf(up, 1) || down != math.MaxFloat64 {
		t.Errorf("2^2048 is between %g and %g", down, up)
	}
	if up, down := FloatUp(minus), FloatDown(minus); up != -math.MaxFloat64 || !math.IsInf(down, -1) {
		t.Errorf("-2^2048 is between %g and %g", down, up)
	}
	if down := FloatDown(new(big.Rat)); math.Signbit(down) {
		t.Error("FloatDown(0) is -0")
	}
	if Rational(MaxInteger).Cmp(PowerOfTwo(53)) != 0 || Rational(0x1p-1074).Cmp(PowerOfTwo(-1074)) != 0 {
		t.Error("powers of two are wrong")
	}
	if got := int64(float64(MaxInteger) + 1); got != MaxInteger {
		t.Errorf("2^53 + 1 = %d as a float64", got)
	}
}
