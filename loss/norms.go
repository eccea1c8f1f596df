// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"
	"math/big"
)

// L1 is the absolute error |x|, in the query's units.
var L1 Loss = l1{twoSlopes("l1", big.NewRat(1, 1), big.NewRat(1, 1))}

// l1 has faster methods than a piecewise, with the same exact values.
type l1 struct{ *piecewise }

func (l1) At(x float64) float64 { return math.Abs(x) }

func (l1) CellMean(center, width float64) float64 {
	c, h := math.Abs(center), width/2
	if c >= h {
		return c
	}
	// Two triangles: ((h+c)^2 + (h-c)^2) / 2 over the width 2h.
	return (h*h + c*c) / (2 * h)
}

func (l1) GridMeanUp(first, count int64, step *big.Rat) *big.Rat {
	last := first + count - 1
	sum := new(big.Int)
	switch {
	case first >= 0:
		sum.Sub(triangle(last), triangle(first-1))
	case last <= 0:
		sum.Sub(triangle(-first), triangle(-last-1))
	default:
		sum.Add(triangle(-first), triangle(last))
	}
	mean := new(big.Rat).SetFrac(sum, big.NewInt(count))
	return mean.Mul(mean, step)
}

// RampMeanUp implements Loss: with d = to-from and s the sign of from it is
// s·(from + d/3), less 2sd(1-t)³/3 if the sign changes at t = -from/d.
func (l1) RampMeanUp(from, to *big.Rat) *big.Rat {
	d := new(big.Rat).Sub(to, from)
	mean := new(big.Rat).Mul(d, big.NewRat(1, 3))
	mean.Add(mean, from)
	if from.Sign()*to.Sign() < 0 {
		left := new(big.Rat).Quo(to, d) // 1-t
		left.Mul(left, new(big.Rat).Mul(left, left))
		left.Mul(left, d).Mul(left, big.NewRat(2, 3))
		mean.Sub(mean, left)
	}
	return mean.Abs(mean)
}

// LowerNode implements Loss: |x| is linear between nodes, so it is its own interpolant.
func (l1) LowerNode(j int64, step *big.Rat) *big.Rat {
	l := new(big.Rat).SetInt64(j)
	return l.Abs(l).Mul(l, step)
}

func (l1) Growth(_ int64, step *big.Rat) *big.Rat { return new(big.Rat).Set(step) }

// triangle returns 0+1+…+n, which is 0 for n = -1.
func triangle(n int64) *big.Int {
	t := big.NewInt(n)
	t.Mul(t, new(big.Int).Add(t, big.NewInt(1)))
	return t.Rsh(t, 1)
}

func (l1) PolynomialBeyond() (from *big.Rat, degree int, ok bool) { return new(big.Rat), 1, true }

// L2 is the squared error x², in the query's units squared.
var L2 Loss = l2{square("l2")}

// l2 has faster methods than a piecewise, with the same exact values.
type l2 struct{ *piecewise }

func (l2) At(x float64) float64 { return x * x }

func (l2) CellMean(center, width float64) float64 { return center*center + width*width/12 }

func (l2) GridMeanUp(first, count int64, step *big.Rat) *big.Rat {
	// The mean of n² is m² + (count²-1)/12, m = first + (count-1)/2.
	c := big.NewInt(count)
	twice := big.NewInt(first)
	twice.Lsh(twice, 1).Add(twice, c).Sub(twice, big.NewInt(1)) // 2m
	num := new(big.Int).Mul(twice, twice)
	num.Mul(num, big.NewInt(3))
	num.Add(num, c.Mul(c, c)).Sub(num, big.NewInt(1))
	mean := new(big.Rat).SetFrac(num, big.NewInt(12))
	return mean.Mul(mean, step).Mul(mean, step)
}

// RampMeanUp implements Loss: with d = to-from it is from² + 2·from·d/3 + d²/6.
func (l2) RampMeanUp(from, to *big.Rat) *big.Rat {
	d := new(big.Rat).Sub(to, from)
	mean := new(big.Rat).Mul(d, big.NewRat(1, 6))
	mean.Add(mean, new(big.Rat).Mul(from, big.NewRat(2, 3))).Mul(mean, d)
	return mean.Add(mean, d.Mul(from, from))
}

// LowerNode implements Loss: the chord of x² over one step exceeds it by
// step²/4 at most, so x² - step²/4 at the nodes stays below.
func (l2) LowerNode(j int64, step *big.Rat) *big.Rat {
	l := new(big.Rat).SetInt64(j)
	l.Mul(l, l).Sub(l, big.NewRat(1, 4))
	return l.Mul(l, step).Mul(l, step)
}

// Growth implements Loss: (|j|+1)² - j² steps squared.
func (l2) Growth(j int64, step *big.Rat) *big.Rat {
	if j < 0 {
		j = -j
	}
	g := new(big.Rat).SetInt(new(big.Int).Add(big.NewInt(j), big.NewInt(j+1)))
	return g.Mul(g, step).Mul(g, step)
}

func (l2) PolynomialBeyond() (from *big.Rat, degree int, ok bool) { return new(big.Rat), 2, true }

// square is x².
func square(name string) *piecewise {
	return newPiecewise(name, nil, []Quadratic{{C2: big.NewRat(1, 1)}}, nil)
}
