package loss

import "math/big"

// CeilingUp returns an upper bound on c over the closed interval from low to high,
// tight as the interval shrinks where c is continuous; ok is false if none is
// known: for a loss of a type that is not of this package and not [Increasing].
func CeilingUp(l Loss, low, high *big.Rat) (most *big.Rat, ok bool) {
	if Increasing(l) {
		// Away from 0 it does not decrease, so it is largest at an end.
		return higher(l.RampMeanUp(low, low), l.RampMeanUp(high, high)), true
	}
	switch l := l.(type) {
	case *Piecewise:
		return l.ceiling(low, high), true
	case *combination:
		known := true
		most = l.sum(func(p part) *big.Rat {
			a, b := p.turned(low), p.turned(high)
			if p.side < 0 {
				a, b = b, a
			}
			c, ok := CeilingUp(p.loss, a, b)
			if !ok {
				known = false
				return new(big.Rat)
			}
			return c
		})
		return most, known
	default:
		return nil, false
	}
}

// ceiling returns the largest of the values at the ends of each piece's part of the
// interval, and at the tops of those that have one inside.
func (l *Piecewise) ceiling(low, high *big.Rat) *big.Rat {
	most := new(big.Rat)
	for i := l.before(low); i <= l.upTo(high); i++ {
		a, b := low, high
		if i > 0 && l.knots[i-1].Cmp(a) > 0 {
			a = l.knots[i-1]
		}
		if i < len(l.knots) && l.knots[i].Cmp(b) < 0 {
			b = l.knots[i]
		}
		p := l.pieces[i]
		most = higher(most, higher(p.value(a), p.value(b)))
		if p.C2.Sign() < 0 {
			top := new(big.Rat).Quo(p.C1, p.C2)
			top.Mul(top, big.NewRat(-1, 2))
			if top.Cmp(a) > 0 && top.Cmp(b) < 0 {
				most = higher(most, p.value(top))
			}
		}
	}
	return most
}

func higher(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}
