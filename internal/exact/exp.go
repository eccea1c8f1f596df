// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"fmt"
	"math"
	"math/big"
)

// MaxExponent bounds the arguments of ExpDown and ExpUp.
const MaxExponent = 700

// guardBits is the extra precision of the series and the squarings. The squarings, at most ~20 of
// them, double the relative error each, and every step adds one unit; 64 guard bits leave the
// result within one unit of the last place returned.
const guardBits = 64

// ExpDown returns an integer M with M·2^-frac <= e^x < (M+2)·2^-frac, x the float64. It panics
// unless |x| <= MaxExponent. Cost: about log2|x|+frac/8 multiplications of frac bits.
func ExpDown(x float64, frac uint) *big.Int {
	lo, _ := expBounds(x, frac, guardBits)
	return lo
}

// ExpUp returns an integer M with (M-2)·2^-frac < e^x <= M·2^-frac. It panics as ExpDown does.
func ExpUp(x float64, frac uint) *big.Int {
	_, hi := expBounds(x, frac, guardBits)
	return hi
}

// expBounds brackets e^x·2^frac between two integers, whatever the guard bits: these only make them close.
//
// For x >= 0: halve x until it is below 2^-8, sum the Taylor series in fixed point with every term
// rounded down (a lower bound, since all terms are positive) and with every term rounded up plus
// the geometric remainder (an upper bound), and square both bounds back, rounding outwards. For x <
// 0 take reciprocals, which swaps the bounds.
func expBounds(x float64, frac, guard uint) (lo, hi *big.Int) {
	if math.IsNaN(x) || math.Abs(x) > MaxExponent {
		panic(fmt.Sprintf("exact: exponent = %g, want |x| <= %d", x, MaxExponent))
	}
	if x == 0 {
		m := new(big.Int).Lsh(one, frac)
		return m, new(big.Int).Set(m)
	}
	a := math.Abs(x)
	// e^a < 2^(1.4427a+1), so this many integer bits suffice.
	intBits := uint(math.Ceil(1.45*a)) + 2
	prec := frac + 2*intBits + guard

	halvings := 0
	for y := a; y >= 1.0/256; y /= 2 {
		halvings++
	}
	// y = a / 2^halvings in fixed point; a is dyadic, but its last bits may
	// lie below the precision, so bracket it too.
	r := new(big.Rat).SetFloat64(a)
	yNum := new(big.Int).Lsh(r.Num(), prec)
	yDen := new(big.Int).Lsh(r.Denom(), uint(halvings)) //nolint:gosec // halvings is between 0 and 18
	yLo := new(big.Int).Div(yNum, yDen)
	yHi := DivUp(new(big.Int), yNum, yDen)

	scaled := new(big.Int).Lsh(one, prec)
	lo = new(big.Int).Set(scaled)
	hi = new(big.Int).Set(scaled)
	termLo, termHi := new(big.Int).Set(scaled), new(big.Int).Set(scaled)
	for n := int64(1); ; n++ {
		d := new(big.Int).Lsh(big.NewInt(n), prec)
		termLo = new(big.Int).Div(termLo.Mul(termLo, yLo), d)
		DivUp(termHi, termHi.Mul(termHi, yHi), d)
		lo.Add(lo, termLo)
		hi.Add(hi, termHi)
		if termLo.Sign() == 0 {
			// What is left is at most the last term times y/(1-y) < 1/128.
			hi.Add(hi, termHi)
			break
		}
	}
	for range halvings {
		lo.Rsh(lo.Mul(lo, lo), prec)
		ShiftUp(hi.Mul(hi, hi), prec)
	}
	if x < 0 {
		num := new(big.Int).Lsh(one, 2*prec)
		lo, hi = new(big.Int).Div(num, hi), DivUp(new(big.Int), num, lo)
	}
	drop := prec - frac
	lo = new(big.Int).Rsh(lo, drop)
	return lo, ShiftUp(hi, drop)
}

// MaxPower bounds the powers of PowDown and PowUp.
const MaxPower = 1 << 12

// powGuardBits is the extra precision inside a power. The integer part takes up to 2·log2(p)
// products, whose errors, and that of x, grow to at most 3p units of the last place, 3·2^12 of two
// units each; the fraction adds three units for each of its at most 1074 digits. 16 bits hold that.
const powGuardBits = 16

// PowDown returns a number y <= x^p with x^p - y <= x^p·2^-bits, whose numerator
// has at most bits+16 binary digits but for a power of two. It does not decrease
// in x. It panics unless x >= 0 and 0 <= p <= MaxPower.
//
// p is the exact value of the float64. Cost: log2(p) products for the integer part, and for the
// fraction a square root for every binary digit it has: one for p = 1.5, about 52 for p = 1.1.
func PowDown(x *big.Rat, p float64, bits uint) *big.Rat { return pow(x, p, bits, big.ToZero) }

// PowUp returns a number y >= x^p with y - x^p <= x^p·2^-bits; otherwise it is as PowDown.
func PowUp(x *big.Rat, p float64, bits uint) *big.Rat { return pow(x, p, bits, big.AwayFromZero) }

// pow rounds every step in one direction, big.Float doing so exactly. All steps are
// increasing functions of positive numbers, so the roundings agree in direction and
// keep the order of arguments.
func pow(x *big.Rat, p float64, bits uint, mode big.RoundingMode) *big.Rat {
	if x.Sign() < 0 || !(p >= 0 && p <= MaxPower) {
		panic(fmt.Sprintf("exact: power %g of %s, want a number >= 0 and a power from 0 to %d", p, x, MaxPower))
	}
	if p == 0 {
		return big.NewRat(1, 1)
	}
	if x.Sign() == 0 {
		return new(big.Rat)
	}
	prec := bits + powGuardBits
	number := func(prec uint) *big.Float { return new(big.Float).SetPrec(prec).SetMode(mode) }
	base := number(prec).SetRat(x)
	whole, fraction := math.Modf(p)
	// x^0.b₁b₂…b_k by Horner's rule: from b_k to b₁, times x if the digit is 1,
	// then the square root. Each root halves the error so far, so the step for
	// b_k may be done with k-1 digits less.
	result := number(prec).SetInt64(1)
	if fraction > 0 {
		mantissa, exponent := math.Frexp(fraction)
		digits := uint64(math.Ldexp(mantissa, 53))
		for k := 53 - exponent; k > 0; k-- {
			enough := uint(max(int(prec)-k+1, 64))
			if digits&1 == 1 {
				result = number(enough).Mul(result, number(enough).Set(base))
			}
			digits >>= 1
			if result.MinPrec() > 1 || result.MantExp(nil) != 1 { // 1 is its own root
				result = squareRoot(result, number(enough))
			}
		}
	}
	power := number(prec).SetInt64(1)
	for bit := uint(MaxPower); bit > 0; bit >>= 1 {
		power.Mul(power, power)
		if uint(whole)&bit != 0 {
			power.Mul(power, base)
		}
	}
	r, _ := power.Mul(power, result).Rat(nil)
	return r
}

// squareRoot sets z to the square root of f > 0, which has at most twice its precision.
func squareRoot(f, z *big.Float) *big.Float {
	mantissa := new(big.Float)
	e := f.MantExp(mantissa)
	shift := 2*int(z.Prec()) + e&1 // e - shift is even
	m, _ := mantissa.SetMantExp(mantissa, shift).Int(nil)
	s := sqrt(m)
	if z.Mode() == big.AwayFromZero && new(big.Int).Mul(s, s).Cmp(m) != 0 {
		s.Add(s, one)
	}
	return z.SetMantExp(z.SetInt(s), (e-shift)/2)
}

// sqrt returns ⌊√m⌋ as m.Sqrt does, faster: Newton's iteration starts from the floating-point root,
// and a product checks the last digit instead of one more quotient.
func sqrt(m *big.Int) *big.Int {
	if m.BitLen() <= 128 {
		return new(big.Int).Sqrt(m)
	}
	// The start: the root of the leading 62 or 63 digits, to 53 digits and raised
	// by 2^-49 of itself, more than all roundings. It is above the root by less
	// than 2^-47 of it; each step keeps it above or at ⌊√m⌋ and squares that part.
	drop := uint(m.BitLen()-62) &^ 1
	top := new(big.Int).Rsh(m, drop).Uint64()
	s := new(big.Int).SetUint64(uint64(math.Sqrt(float64(top)) * (0x1p21 + 0x1p-28)))
	s.Lsh(s, drop/2-21)
	t := new(big.Int)
	for good := 47; good <= m.BitLen()/2; good *= 2 {
		t.Quo(m, s)
		s.Add(s, t).Rsh(s, 1)
	}
	for t.Mul(s, s).Cmp(m) > 0 {
		s.Sub(s, one)
	}
	return s
}
