package exact

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

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

// StateUp prints r >= 0 as upper bounds are stated: a plain decimal of at most 15
// significant digits that is not below it.
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
	// m = r·10^(n-1-e), rounded to an integer of n (or n+1, if rounded up
	// to a power of ten) digits.
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
