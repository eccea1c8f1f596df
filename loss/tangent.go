package loss

import "math/big"

// TangentDown returns a line value + slope·(t - x) that is nowhere above a convex c and touches it
// at x, or within the rounding of lp:P; ok is false for a loss that is not known to be convex.
//
// Where c has a kink at x the slope is the mean of the two. A sum of losses is known to be
// convex if the sum of its piecewise quadratic terms and all others are.
func TangentDown(l Loss, x *big.Rat) (value, slope *big.Rat, ok bool) {
	if o, is := l.(ours); is {
		return o.tangentDown(x)
	}
	return nil, nil, false
}

// ours is what a loss of this package has beside the methods of Loss.
type ours interface {
	tangentDown(x *big.Rat) (value, slope *big.Rat, ok bool) // see TangentDown
	work(argument int) Work                                  // see WorkOf
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
		v, s, known := TangentDown(p.loss, p.turned(x))
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
