// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/noisewright/noisewright/internal/exact"
)

// LimitDown returns a lower bound on the limit of c at x from the right (side >
// 0) or from the left. It is exact for piecewise quadratic losses, and for others AtDown, as
// a loss takes the lower value at a jump.
func (v View) LimitDown(x *big.Rat, side int) *big.Rat {
	switch l := v.loss.(type) {
	case *piecewise:
		if side > 0 {
			return l.pieces[l.upTo(x)].value(x)
		}
		return l.pieces[l.before(x)].value(x)
	case *combination:
		return l.sum(func(p part) *big.Rat { return Of(p.loss).LimitDown(p.turned(x), int(p.side)*side) })
	default:
		return l.AtDown(x)
	}
}

// CeilingUp returns an upper bound on c over the closed interval from low to high,
// tight as the interval shrinks where c is continuous; ok is false if none is
// known: for a loss of a type that is not of this package and not [View.Unimodal].
func (v View) CeilingUp(low, high *big.Rat) (most *big.Rat, ok bool) {
	if v.Unimodal() {
		// Away from 0 it does not decrease, so it is largest at an end.
		return higher(v.loss.RampMeanUp(low, low), v.loss.RampMeanUp(high, high)), true
	}
	switch l := v.loss.(type) {
	case *piecewise:
		return l.ceiling(low, high), true
	case *combination:
		return l.known(func(p part) (*big.Rat, bool) {
			a, b := p.turned(low), p.turned(high)
			if p.side < 0 {
				a, b = b, a
			}
			return Of(p.loss).CeilingUp(a, b)
		})
	default:
		return nil, false
	}
}

// TailParts returns losses that sum to it, each a polynomial far from 0 or bounded by a power
// ([View.PolynomialBeyond], [View.PowerBound]), or nil if none are known. Tables with a tail take no other.
func (v View) TailParts() []Loss {
	if c, ok := v.loss.(*combination); ok && len(c.parts) > 1 {
		var parts []Loss
		for _, p := range c.parts {
			known := Of(p.loss).TailParts()
			if known == nil {
				return nil
			}
			for _, k := range known {
				parts = append(parts, part{k, p.factor, p.side}.alone())
			}
		}
		return parts
	}
	if _, _, ok := v.PolynomialBeyond(); ok {
		return []Loss{v.loss}
	}
	if _, ok := v.PowerBound(); ok {
		return []Loss{v.loss}
	}
	return nil
}

// TangentDown returns a line value + slope·(t - x) that is nowhere above a convex c and touches it
// at x, or within the rounding of lp:P; ok is false for a loss that is not known to be convex.
//
// Where c has a kink at x the slope is the mean of the two. A sum of losses is known to be
// convex if the sum of its piecewise quadratic terms and all others are.
func (v View) TangentDown(x *big.Rat) (value, slope *big.Rat, ok bool) {
	if o, is := v.loss.(ours); is {
		return o.tangentDown(x)
	}
	return nil, nil, false
}

// ours is what a loss of this package has beside the methods of Loss.
type ours interface {
	tangentDown(x *big.Rat) (value, slope *big.Rat, ok bool) // see View.TangentDown
	work(argument int) Work                                  // see View.Work
}

func (l *piecewise) tangentDown(x *big.Rat) (value, slope *big.Rat, ok bool) {
	if !l.convex {
		return nil, nil, false
	}
	left, right := l.before(x), l.upTo(x)
	slope = l.pieces[left].slope(x)
	if left != right {
		slope.Add(slope, l.pieces[right].slope(x)).Mul(slope, half)
	}
	return l.pieces[left].value(x), slope, true
}

func (l *combination) tangentDown(x *big.Rat) (value, slope *big.Rat, ok bool) {
	slope = new(big.Rat)
	value, ok = l.known(func(p part) (*big.Rat, bool) {
		v, s, known := Of(p.loss).TangentDown(p.turned(x))
		if known {
			slope.Add(slope, s.Mul(s, p.turned(new(big.Rat).SetFloat64(p.factor))))
		}
		return v, known
	})
	return value, slope, ok
}

// tangentDown: of the tangent at x, |x|^p·(1 + p·(t-x)/x), it takes the multiple with a lower
// bound in place of |x|^p: where the tangent is positive that is below it, and elsewhere below 0.
func (l *powerLoss) tangentDown(x *big.Rat) (value, slope *big.Rat, ok bool) {
	if x.Sign() == 0 {
		return new(big.Rat), new(big.Rat), true
	}
	value = new(big.Rat).Set(l.bounds(new(big.Rat).Abs(x)).down)
	slope = new(big.Rat).Mul(value, l.exactP)
	return value, slope.Quo(slope, x), true
}

// isConvex reports whether there are no jumps and the slope never falls.
func (l *piecewise) isConvex() bool {
	for i, p := range l.pieces {
		if p.C2.Sign() < 0 {
			return false
		}
		if i == len(l.knots) {
			break
		}
		x, next := l.knots[i], l.pieces[i+1]
		if v := p.value(x); v.Cmp(next.value(x)) != 0 || v.Cmp(l.at[i]) != 0 || p.slope(x).Cmp(next.slope(x)) > 0 {
			return false
		}
	}
	return true
}

// Work is what the exact bounds of a loss cost at most, or nearly so, in elementary
// operations of some 3 ns each. It bounds checks of files beforehand.
type Work struct {
	// Bound is the work of any one of the methods of Loss on big.Rat but Growth, on few pieces.
	Bound int64
	// Pass is the work that comes to it once in a pass over all x, for the pieces and
	// for the points next to 0.
	Pass int64
	// Growth is the work of Growth.
	Growth int64
}

// Work returns the work for arguments of so many bits, numerator and denominator
// together. A loss of a type that is not of this package counts as 32 knots.
func (v View) Work(argument int) Work {
	if o, is := v.loss.(ours); is {
		return o.work(argument)
	}
	return pieceWork(32, argument)
}

func (l *piecewise) work(argument int) Work { return pieceWork(len(l.knots), argument) }

func (l *combination) work(argument int) (sum Work) {
	for _, p := range l.parts {
		w := Of(p.loss).Work(argument)
		sum.Bound += w.Bound
		sum.Pass += w.Pass
		sum.Growth += w.Growth
	}
	return sum
}

// pieceWork is the work of a loss with so many knots, found by measuring.
func pieceWork(knots, argument int) Work {
	operations := int64(25 + bits.Len(uint(knots))) //nolint:gosec // a length
	if knots <= 1 {
		operations = 10
	}
	bound := operations * exact.RationalWork(2*argument)
	n := int64(knots)
	// Growth looks at seven cells for each knot, and at two bounds for each.
	return Work{Bound: bound, Pass: n * bound, Growth: (14*n + 4) * bound}
}

// work: a power takes a square root for each binary digit of the fraction of p.
func (l *powerLoss) work(argument int) Work {
	root, digits := int64(350), int64(0)
	if _, fraction := math.Modf(l.p); fraction > 0 {
		mantissa, exponent := math.Frexp(fraction)
		digits = 53 - int64(bits.TrailingZeros64(uint64(math.Ldexp(mantissa, 53)))) - int64(exponent)
	}
	power := 1500 + root*digits
	// An integer power is exact as a value.
	words := int64(float64(argument)*l.p/64) + 1
	bound := 2*power + 12*exact.RationalWork(3*argument) + words*words/4
	near := 2 * singleReach * int64(math.Ceil(l.p))
	return Work{Bound: bound, Pass: near * (power + 4*exact.RationalWork(argument)), Growth: 6 * int64(math.Ceil(l.p)+2) * bound}
}
