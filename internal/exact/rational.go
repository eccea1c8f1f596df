// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"
)

// MaxInteger is 2^53: every integer of at most this magnitude is a float64.
const MaxInteger = 1 << 53

var one = big.NewInt(1)

// Rational returns the value of a finite float64, and nil for others.
func Rational(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// Rationals is Rational of each.
func Rationals(list []float64) []*big.Rat {
	r := make([]*big.Rat, len(list))
	for i, x := range list {
		r[i] = Rational(x)
	}
	return r
}

// Shares returns the shares of finite numbers >= 0, not all 0, in their sum.
func Shares(list []float64) []*big.Rat {
	shares, total := Rationals(list), new(big.Rat)
	for _, s := range shares {
		total.Add(total, s)
	}
	for _, s := range shares {
		s.Quo(s, total)
	}
	return shares
}

// MostBits returns the largest Bits of the numbers, all finite.
func MostBits(lists ...[]float64) (most int) {
	for _, list := range lists {
		for _, r := range Rationals(list) {
			most = max(most, Bits(r))
		}
	}
	return most
}

// PowerOfTwo returns 2^e.
func PowerOfTwo(e int) *big.Rat {
	if e >= 0 {
		return new(big.Rat).SetInt(new(big.Int).Lsh(one, uint(e)))
	}
	return new(big.Rat).SetFrac(one, new(big.Int).Lsh(one, uint(-e)))
}

// Floor returns ⌊r⌋.
func Floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

// Ceil returns ⌈r⌉.
func Ceil(r *big.Rat) *big.Int {
	n := Floor(r)
	if !r.IsInt() {
		n.Add(n, one)
	}
	return n
}

// Bits is the size of a rational, of its numerator and denominator together.
func Bits(r *big.Rat) int { return r.Num().BitLen() + r.Denom().BitLen() }

// RationalWork is what an operation on rationals of so many bits costs, which are brought
// to lowest terms, in elementary operations of some 3 ns.
func RationalWork(bits int) int64 {
	words := int64(bits)/64 + 1
	return 100 + 4*words*words
}

// FloorDiv returns ⌊a/b⌋ for b > 0.
func FloorDiv(a, b int64) int64 {
	if a%b < 0 {
		return a/b - 1
	}
	return a / b
}

// FloatUp returns the least float64 that is not below r.
func FloatUp(r *big.Rat) float64 {
	f, isExact := r.Float64()
	if isExact || math.IsInf(f, 1) {
		return f
	}
	if math.IsInf(f, -1) || Rational(f).Cmp(r) < 0 {
		return math.Nextafter(f, math.Inf(1))
	}
	return f
}

// FloatDown returns the largest float64 that is not above r.
func FloatDown(r *big.Rat) float64 {
	return 0 - FloatUp(new(big.Rat).Neg(r)) // and not −0
}

// Share returns an n-th of the total, n > 0, rounded down.
func Share(total float64, n int) float64 {
	return FloatDown(new(big.Rat).Quo(Rational(total), big.NewRat(int64(n), 1)))
}

// DivUp sets z to ⌈x/d⌉ for x >= 0 and d > 0.
func DivUp(z, x, d *big.Int) *big.Int {
	var rest big.Int
	z.QuoRem(x, d, &rest)
	if rest.Sign() != 0 {
		z.Add(z, one)
	}
	return z
}

// ShiftUp sets x to ⌈x/2^n⌉ for x >= 0.
func ShiftUp(x *big.Int, n uint) *big.Int {
	whole := x.Sign() == 0 || x.TrailingZeroBits() >= n
	x.Rsh(x, n)
	if !whole {
		x.Add(x, one)
	}
	return x
}

// maxDecimalLen bounds the decimals ParseDecimal reads: enough for any value of this module.
const maxDecimalLen = 800

// ParseDecimal reads a plain decimal number such as "0.25" or "-12" exactly:
// an optional minus sign, digits without needless leading zeros, optionally a
// point and more digits. No exponent, no plus sign, no spaces.
func ParseDecimal(s string) (*big.Rat, error) {
	if len(s) > maxDecimalLen {
		return nil, fmt.Errorf("decimal of %d characters, want at most %d", len(s), maxDecimalLen)
	}
	if !plain.MatchString(s) { // with exponents, a number might take all memory
		return nil, fmt.Errorf("%q is not a plain decimal number", s)
	}
	r, _ := new(big.Rat).SetString(s)
	return r, nil
}

var plain = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// DecimalUp prints r as a plain decimal of at most n significant digits that
// is not below r. It panics unless r >= 0 and n >= 1.
func DecimalUp(r *big.Rat, n int) string { return decimal(r, n, true) }

// DecimalDown prints r as a plain decimal of at most n significant digits that
// is not above r. It panics unless r >= 0 and n >= 1.
func DecimalDown(r *big.Rat, n int) string { return decimal(r, n, false) }

// stated is the number of significant digits of a claim.
const stated = 15

// StateUp prints r >= 0 as upper bounds are stated: a decimal of at most 15 digits, not below it.
func StateUp(r *big.Rat) string { return DecimalUp(r, stated) }

// StateDown is StateUp for lower bounds.
func StateDown(r *big.Rat) string { return DecimalDown(r, stated) }

func decimal(r *big.Rat, n int, up bool) string {
	if r.Sign() < 0 || n < 1 {
		panic("exact: decimal of a negative number or without digits")
	}
	if r.Sign() == 0 {
		return "0"
	}
	// Find e with 10^e <= r < 10^(e+1), from an estimate of the digit counts.
	e := len(r.Num().String()) - len(r.Denom().String())
	if r.Cmp(pow10(e)) < 0 {
		e--
	}
	// m = r·10^(n-1-e), rounded to an integer of n (n+1, if rounded up to a power of ten) digits.
	shift := n - 1 - e
	scaled := new(big.Rat).Mul(r, pow10(shift))
	round := Floor
	if up {
		round = Ceil
	}
	s := round(scaled).String()
	if shift <= 0 {
		return s + strings.Repeat("0", -shift)
	}
	if len(s) <= shift {
		s = strings.Repeat("0", shift-len(s)+1) + s
	}
	whole, frac := s[:len(s)-shift], strings.TrimRight(s[len(s)-shift:], "0")
	if frac == "" {
		return whole
	}
	return whole + "." + frac
}

// pow10 returns 10^e for any e.
func pow10(e int) *big.Rat {
	if e < 0 {
		return new(big.Rat).Inv(pow10(-e))
	}
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(e)), nil))
}
