// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math/big"
)

// Quadratic is the polynomial C0 + C1·x + C2·x²; a nil coefficient is 0.
type Quadratic struct {
	C0, C1, C2 *big.Rat
}

var (
	half    = big.NewRat(1, 2)
	quarter = big.NewRat(1, 4)
	third   = big.NewRat(1, 3)
)

// filled returns q with a copy of each coefficient, 0 for nil.
func (q Quadratic) filled() Quadratic {
	fill := func(c *big.Rat) *big.Rat {
		if c == nil {
			return new(big.Rat)
		}
		return new(big.Rat).Set(c)
	}
	return Quadratic{fill(q.C0), fill(q.C1), fill(q.C2)}
}

func (q Quadratic) equal(r Quadratic) bool {
	return q.C0.Cmp(r.C0) == 0 && q.C1.Cmp(r.C1) == 0 && q.C2.Cmp(r.C2) == 0
}

// mirrored returns q(-x).
func (q Quadratic) mirrored() Quadratic { return Quadratic{q.C0, new(big.Rat).Neg(q.C1), q.C2} }

func (q Quadratic) value(x *big.Rat) *big.Rat { return q.valueFrom(q.C0, x) }

// valueFrom is value with another constant coefficient.
func (q Quadratic) valueFrom(c0, x *big.Rat) *big.Rat {
	v := new(big.Rat)
	if q.C2.Sign() != 0 {
		v.Mul(q.C2, x)
	}
	if q.C1.Sign() != 0 {
		v.Add(v, q.C1)
	}
	if v.Sign() == 0 {
		return v.Set(c0)
	}
	return v.Mul(v, x).Add(v, c0)
}

func (q Quadratic) slope(x *big.Rat) *big.Rat {
	v := new(big.Rat).Mul(q.C2, x)
	return v.Add(v, v).Add(v, q.C1)
}

// continuous is the value of the continuous part.
func (p *branch) continuous(x *big.Rat) *big.Rat { return p.valueFrom(p.g0, x) }

// float returns the value at ref + y.
func (p *branch) float(y float64) float64 {
	v := p.f0
	// A coefficient of 0 stays out: y may be infinite.
	if p.f1 != 0 {
		v += p.f1 * y
	}
	if p.f2 != 0 {
		v += p.f2 * y * y
	}
	return v
}

// area returns the integral from origin+a to origin+b.
func (p *branch) area(origin, a, b float64) float64 {
	w := b - a
	mean := p.float((origin - p.ref) + (a + w/2))
	if p.f2 != 0 {
		mean += p.f2 * w * w / 12
	}
	return w * mean
}

// addRun adds the sum of the values at n·step over first <= n <= last:
//
//	C0·N + C1·step·Σn + C2·step²·Σn²,  Σn = N(first+last)/2,
//	Σn² = N(3(first+last)² + N² - 1)/12.
func (p *branch) addRun(sum *big.Rat, first, last int64, step *big.Rat) {
	if last < first {
		return
	}
	count := big.NewInt(last - first + 1)
	twice := big.NewInt(first)
	twice.Add(twice, big.NewInt(last))
	term := new(big.Rat)
	scale := new(big.Rat)
	if p.C2.Sign() != 0 {
		squares := new(big.Int).Mul(twice, twice)
		squares.Mul(squares, big.NewInt(3))
		squares.Add(squares, new(big.Int).Mul(count, count)).Sub(squares, big.NewInt(1))
		squares.Mul(squares, count).Quo(squares, big.NewInt(12))
		term.Mul(p.C2, step).Mul(term, scale.SetInt(squares))
	}
	if p.C1.Sign() != 0 {
		twice.Mul(twice, count).Rsh(twice, 1)
		term.Add(term, scale.Mul(p.C1, scale.SetInt(twice)))
	}
	sum.Add(sum, term.Mul(term, step))
	if p.C0.Sign() != 0 {
		sum.Add(sum, term.Mul(p.C0, term.SetInt(count)))
	}
}

// rampIntegral returns a function whose difference F(a) - F(b) is the integral of p(x)(to-x) from a
// to b. With s = to-x and p = e0 + e1·s + e2·s² it is F = e0·s²/2 + e1·s³/3 + e2·s⁴/4.
func (p *branch) rampIntegral(to *big.Rat) func(x *big.Rat) *big.Rat {
	e0 := p.value(to)
	e0.Mul(e0, half)
	e1 := p.slope(to)
	e1.Neg(e1).Mul(e1, third)
	e2 := new(big.Rat).Mul(p.C2, quarter)
	return func(x *big.Rat) *big.Rat {
		s := new(big.Rat).Sub(to, x)
		f := new(big.Rat).Mul(e2, s)
		return f.Add(f, e1).Mul(f, s).Add(f, e0).Mul(f, s).Mul(f, s)
	}
}

// floorQuo returns ⌊x/step⌋ and whether x is a multiple of the step > 0.
func floorQuo(x, step *big.Rat) (n *big.Int, multiple bool) {
	num := new(big.Int).Mul(x.Num(), step.Denom())
	n, rest := num.DivMod(num, new(big.Int).Mul(x.Denom(), step.Num()), new(big.Int))
	return n, rest.Sign() == 0
}

func lower(a, b *big.Rat) *big.Rat {
	if b.Cmp(a) < 0 {
		return b
	}
	return a
}

func higher(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}
