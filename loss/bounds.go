package loss

import "math/big"

// LimitDown returns a lower bound on the limit of c at x from the right (side >
// 0) or from the left. It is exact for piecewise quadratic losses, and for others AtDown, as
// a loss takes the lower value at a jump.
func LimitDown(l Loss, x *big.Rat, side int) *big.Rat {
	switch l := l.(type) {
	case *piecewise:
		if side > 0 {
			return l.pieces[l.upTo(x)].value(x)
		}
		return l.pieces[l.before(x)].value(x)
	case *combination:
		return l.sum(func(p part) *big.Rat { return LimitDown(p.loss, p.turned(x), int(p.side)*side) })
	default:
		return l.AtDown(x)
	}
}

// CeilingUp returns an upper bound on c over the closed interval from low to high,
// tight as the interval shrinks where c is continuous; ok is false if none is
// known: for a loss of a type that is not of this package and not [Unimodal].
func CeilingUp(l Loss, low, high *big.Rat) (most *big.Rat, ok bool) {
	if Unimodal(l) {
		// Away from 0 it does not decrease, so it is largest at an end.
		return higher(l.RampMeanUp(low, low), l.RampMeanUp(high, high)), true
	}
	switch l := l.(type) {
	case *piecewise:
		return l.ceiling(low, high), true
	case *combination:
		return l.known(func(p part) (*big.Rat, bool) {
			a, b := p.turned(low), p.turned(high)
			if p.side < 0 {
				a, b = b, a
			}
			return CeilingUp(p.loss, a, b)
		})
	default:
		return nil, false
	}
}

// TailParts returns losses that sum to l, each of which is a polynomial far from 0
// or bounded by a power ([PolynomialBeyond], [PowerBound]), or nil if none are known. Tables with
// a tail take no other loss.
func TailParts(l Loss) []Loss {
	if c, ok := l.(*combination); ok && len(c.parts) > 1 {
		var parts []Loss
		for _, p := range c.parts {
			known := TailParts(p.loss)
			if known == nil {
				return nil
			}
			for _, k := range known {
				parts = append(parts, part{k, p.factor, p.side}.alone())
			}
		}
		return parts
	}
	if _, _, ok := PolynomialBeyond(l); ok {
		return []Loss{l}
	}
	if _, ok := PowerBound(l); ok {
		return []Loss{l}
	}
	return nil
}
