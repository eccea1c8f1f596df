// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"
	"math/big"
	"sync/atomic"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/quadrature"
)

// maxPower bounds the power of lp. The tail that integrals cut off, see tailCut, is why.
const maxPower = 64

// newPower returns the loss |x|^p, 1 <= p <= 64. For p = 1 and p = 2 it is a piecewise and exact;
// otherwise all bounds but AtDown of an integer power are rounded outwards.
func newPower(name string, p float64) Loss {
	switch p {
	case 1:
		return twoSlopes(name, big.NewRat(1, 1), big.NewRat(1, 1))
	case 2:
		return square(name)
	}
	return &powerLoss{name: name, p: p, exactP: exact.Rational(p)}
}

// powerBits is the relative precision 2^-96 of the bounds on powers. The differences below lose up
// to 2^50 of it: the runs of 5 points or more that start below 2^52.
const powerBits = 96

// powerLoss is |x|^p for p > 1 other than 2, with f(x) = x^p for x >= 0.
type powerLoss struct {
	name   string
	p      float64
	exactP *big.Rat
	last   atomic.Pointer[powerBounds] // the last result of bounds
}

// powerBounds are bounds on x^p.
type powerBounds struct{ x, down, up *big.Rat }

// bounds returns bounds on x^p, x >= 0, that do not decrease in x. Neighboring
// cells share their ends, so the last result is kept.
func (l *powerLoss) bounds(x *big.Rat) *powerBounds {
	if b := l.last.Load(); b != nil && b.x.Cmp(x) == 0 {
		return b
	}
	down := exact.PowDown(x, l.p, powerBits)
	b := &powerBounds{x: new(big.Rat).Set(x), down: down, up: new(big.Rat).Mul(down, powerExcess)}
	l.last.Store(b)
	return b
}

// powerExcess is above 1/(1-2^-powerBits).
var powerExcess = new(big.Rat).Add(big.NewRat(1, 1), exact.PowerOfTwo(1-powerBits))

func (l *powerLoss) Name() string                         { return l.name }
func (l *powerLoss) Symmetric() bool                      { return true }
func (l *powerLoss) Unimodal() bool                       { return true }
func (l *powerLoss) PowerBound() (power float64, ok bool) { return l.p, true }

func (l *powerLoss) At(x float64) float64 { return math.Pow(math.Abs(x), l.p) }

func (l *powerLoss) CellMean(center, width float64) float64 {
	c, h := math.Abs(center), width/2
	if h > c*math.Min(0.5, 4/l.p) {
		// The ends differ so much that the difference of the antiderivatives loses nothing.
		anti := func(x float64) float64 { return math.Copysign(math.Pow(math.Abs(x), l.p+1), x) }
		return (anti(c+h) - anti(c-h)) / ((l.p + 1) * width)
	}
	// Far from 0 the 15-point rule is exact to the last digits.
	twice, _ := quadrature.Means(l.At, c, h)
	return twice / 2
}

func (l *powerLoss) AtDown(x *big.Rat) *big.Rat {
	if n := int64(l.p); float64(n) == l.p {
		e := big.NewInt(n)
		num := new(big.Int).Abs(x.Num())
		return new(big.Rat).SetFrac(num.Exp(num, e, nil), e.Exp(x.Denom(), e, nil))
	}
	return new(big.Rat).Set(l.bounds(new(big.Rat).Abs(x)).down)
}

const (
	// singlePoints is the count up to which a run is added point by point.
	singlePoints = 4
	// singleReach times p is the |n| up to which points always are.
	singleReach = 64
)

// GridMeanUp implements Loss. Points near 0 and short runs are added one by one. For the rest, f(n)
// is at most the mean of f over [n-1/2, n+1/2], f being convex (Hermite and Hadamard), and its
// excess is about p(p-1)/(24n²) of it: below 10^-5 for n > 64p.
func (l *powerLoss) GridMeanUp(first, count int64, step *big.Rat) *big.Rat {
	last := first + count - 1
	low, high := first, last // what is added point by point
	sum := new(big.Rat)
	if count > singlePoints {
		near := int64(singleReach * math.Ceil(l.p))
		low, high = max(first, -near), min(last, near)
		l.addIntegral(sum, max(first, near+1), last, step)
		l.addIntegral(sum, max(-last, near+1), -first, step)
	}
	for n := low; n <= high; n++ {
		x := multipleOf(n, step)
		sum.Add(sum, l.bounds(x.Abs(x)).up)
	}
	return sum.Quo(sum, new(big.Rat).SetInt64(count))
}

// addIntegral adds an upper bound on the sum of f(n·step) over first <= n <=
// last, 0 < first: ∫ f over the interval that the points stand for, by the step.
func (l *powerLoss) addIntegral(sum *big.Rat, first, last int64, step *big.Rat) {
	if first > last {
		return
	}
	end := func(n int64, side *big.Rat) *big.Rat {
		x := new(big.Rat).SetInt64(n)
		return x.Add(x, side).Mul(x, step)
	}
	low, high := end(first, minusHalf), end(last, half)
	area := new(big.Rat).Mul(l.bounds(low).down, low)
	area.Sub(new(big.Rat).Mul(l.bounds(high).up, high), area)
	sum.Add(sum, area.Quo(area, new(big.Rat).Mul(l.plus(1), step)))
}

var minusHalf = big.NewRat(-1, 2)

func (l *powerLoss) plus(n int64) *big.Rat {
	r := new(big.Rat).SetInt64(n)
	return r.Add(r, l.exactP)
}

// RampMeanUp implements Loss. With a = |from|, b = |to| and d = to-from it is
//
//	2/d² · ( b^(p+2)/((p+1)(p+2)) + a^(p+1)·(a/(p+2) ∓ b/(p+1)) ),
//
// minus for ends on the same side of 0, plus for different sides. Where d is so
// small that the difference would lose its digits, the chord is close enough: c
// being convex, its mean is at most (2c(from)+c(to))/3.
func (l *powerLoss) RampMeanUp(from, to *big.Rat) *big.Rat {
	a, b := new(big.Rat).Abs(from), new(big.Rat).Abs(to)
	d := new(big.Rat).Sub(to, from)
	width := new(big.Rat).Abs(d)
	if width.Mul(width, big.NewRat(1<<16, 1)).Cmp(a) <= 0 {
		mean := new(big.Rat).Add(l.bounds(a).up, l.bounds(a).up)
		return mean.Add(mean, l.bounds(b).up).Mul(mean, third)
	}
	p1, p2 := l.plus(1), l.plus(2)
	factor := new(big.Rat).Quo(b, p1)
	if from.Sign()*to.Sign() > 0 {
		factor.Neg(factor)
	}
	factor.Add(factor, new(big.Rat).Quo(a, p2)).Mul(factor, a)
	sum := factor.Mul(factor, l.towards(factor, a))
	outer := new(big.Rat).Mul(b, b)
	outer.Mul(outer, l.bounds(b).up).Quo(outer, p1.Mul(p1, p2))
	sum.Add(sum, outer)
	return sum.Quo(sum.Add(sum, sum), d.Mul(d, d))
}

// towards returns the bound on x^p whose product with the factor is an upper bound.
func (l *powerLoss) towards(factor, x *big.Rat) *big.Rat {
	if factor.Sign() < 0 {
		return l.bounds(x).down
	}
	return l.bounds(x).up
}

// LowerNode implements Loss. On each interval between nodes take a tangent of f; at a node take the
// lower of the two tangents that meet there. Then the interpolant is below the tangent on each
// interval, and the tangent below f. The point of contact is the middle of the interval, which
// loses about f″·step²/8 at the nodes, as little as any; but next to 0 a high power's tangents in
// the middle would be far below 0, and there it is the inner end.
//
// Of two middle tangents the lower is the one that f″ is larger on: the outer one
// for p > 2, the inner one for p < 2.
func (l *powerLoss) LowerNode(j int64, step *big.Rat) *big.Rat {
	if j < 0 {
		j = -j
	}
	switch {
	case j == 0:
		return l.tangent(0, 0, step)
	case l.inner(j) || !l.inner(j-1) && l.p < 2:
		return l.tangent(j-1, 1, step)
	case l.inner(j - 1):
		return lower(l.tangent(j-1, 1, step), l.tangent(j, 0, step))
	default:
		return l.tangent(j, 0, step)
	}
}

// inner reports whether the tangent of [n, n+1] touches f in n.
func (l *powerLoss) inner(n int64) bool { return l.p > 3 && float64(n) < l.p-1 }

// tangent returns a lower bound on the value at node n+end, end = 0 or 1, of the
// tangent for [n, n+1]: f(x)·(1 + p·(n+end-x)/x) if it touches in x steps.
func (l *powerLoss) tangent(n, end int64, step *big.Rat) *big.Rat {
	touch := new(big.Rat).SetInt64(n)
	if !l.inner(n) {
		touch.Add(touch, half)
	} else if n == 0 {
		return touch
	}
	factor := new(big.Rat).SetInt64(n + end)
	factor.Sub(factor, touch).Mul(factor, l.exactP).Quo(factor, touch)
	factor.Add(factor, big.NewRat(1, 1))
	b := l.bounds(touch.Mul(touch, step))
	if factor.Sign() < 0 {
		return factor.Mul(factor, b.up)
	}
	return factor.Mul(factor, b.down)
}

// Growth implements Loss: from cell p+1 on it is f′(j·step)·step, less 2^-32 of
// it, closer in it is the least of the increments up to there and that.
//
// Why f′(i) per cell (with step 1) bounds both increments of all cells i >= p+1.
// f(i+1)-f(i) >= f′(i), for f is convex. The nodes are middle tangents there. For
// p > 2, l_i = G(i+1/2), G = f-f′/2, and
//
//	G′(x) = f′(x)-f″(x)/2 >= f′(x-1),
//
// because the mean of f″ ~ y^(p-2) over [x-1, x] is at least f″(x)/2: for p <= 3 it is at least
// that of the ends, f″ being concave, and for p > 3 at least the value in the middle,
// f″(x)(1-1/(2x))^(p-2) >= f″(x)(1-(p-2)/(2x)), with x >= p-2. So l grows by f(i+1/2)-f(i-1/2) at
// least, and that is f′(i) or more, f′ being convex. For p < 2, l_i = (f+f′/2)(i-1/2), f′+f″/2 is
// at least f′(x+1/2), f′ being concave, and l grows by f(i+1)-f(i) at least.
//
// The part of 2^-32 covers the roundings of the values, 2^-94 of values that are
// at most e^3·i/p times f′(i), for i up to 2^52.
func (l *powerLoss) Growth(j int64, step *big.Rat) *big.Rat {
	if j < 0 {
		j = -j
	}
	regular := int64(math.Ceil(l.p)) + 1
	x := multipleOf(max(j, regular), step)
	least := exact.PowDown(x, l.p-1, powerBits)
	least.Mul(least, l.exactP).Mul(least, step).Mul(least, growthShare)
	for i := j; i < regular; i++ {
		node := l.LowerNode(i+1, step)
		node.Sub(node, l.LowerNode(i, step))
		value := l.AtDown(multipleOf(i+1, step))
		value.Sub(value, l.AtDown(multipleOf(i, step)))
		least = new(big.Rat).Set(lower(least, lower(node, value)))
	}
	return least
}

// growthShare is 1 - 2^-32.
var growthShare = big.NewRat(1<<32-1, 1<<32)

// multipleOf returns j·step.
func multipleOf(j int64, step *big.Rat) *big.Rat {
	x := new(big.Rat).SetInt64(j)
	return x.Mul(x, step)
}
