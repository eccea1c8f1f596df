package loss

import "math/big"

// TangentDown returns a line value + slope·(t - x) that is nowhere above a convex c and
// touches it at x, or within the rounding of lp:P; ok is false for a loss that is not
// known to be convex.
//
// Where c has a kink at x the slope is the mean of the two. A sum of losses is known to be
// convex if the sum of its piecewise quadratic terms and all others are.
func TangentDown(l Loss, x *big.Rat) (value, slope *big.Rat, ok bool) {
	switch l := l.(type) {
	case l2:
		return new(big.Rat).Mul(x, x), new(big.Rat).Add(x, x), true
	case l1:
		return new(big.Rat).Abs(x), new(big.Rat).SetInt64(int64(x.Sign())), true
	case piecewiser:
		p := l.asPiecewise()
		if !p.convex {
			return nil, nil, false
		}
		left, right := p.before(x), p.upTo(x)
		slope = p.pieces[left].slope(x)
		if left != right {
			slope.Add(slope, p.pieces[right].slope(x)).Mul(slope, half)
		}
		return p.pieces[left].value(x), slope, true
	case *powerLoss:
		value, slope = l.tangentAt(x)
		return value, slope, true
	case *combination:
		slope = new(big.Rat)
		value, ok = l.known(func(p part) (*big.Rat, bool) {
			v, s, known := TangentDown(p.loss, p.turned(x))
			if known {
				slope.Add(slope, s.Mul(s, p.turned(new(big.Rat).SetFloat64(p.factor))))
			}
			return v, known
		})
		return value, slope, ok
	default:
		return nil, nil, false
	}
}

// tangentAt is TangentDown. Of the tangent at x, |x|^p·(1 + p·(t-x)/x), it takes the
// multiple with a lower bound in place of |x|^p: where the tangent is positive that is
// below it, and elsewhere below 0.
func (l *powerLoss) tangentAt(x *big.Rat) (value, slope *big.Rat) {
	if x.Sign() == 0 {
		return new(big.Rat), new(big.Rat)
	}
	value = new(big.Rat).Set(l.bounds(new(big.Rat).Abs(x)).down)
	slope = new(big.Rat).Mul(value, l.exactP)
	return value, slope.Quo(slope, x)
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
