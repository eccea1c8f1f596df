package exact

import (
	"fmt"
	"math"
	"math/big"
)

// MaxPower bounds the powers of PowDown and PowUp.
const MaxPower = 1 << 12

// powGuardBits is the extra precision inside a power. The integer part takes at
// most 2·log2(p) products, whose errors, and that of x, grow to at most 3p units
// of the last place, 3·2^12 of two units each; the fraction adds three units for
// each of its at most 1074 digits, see below. 16 bits hold that.
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
