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

// ExpDown returns an integer M with M·2^-frac <= e^x < (M+2)·2^-frac, x the exact value of the
// float64. It panics unless |x| <= MaxExponent. Cost: about log2|x|+frac/8 multiplications of
// frac bits.
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
