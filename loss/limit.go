package loss

import "math/big"

// LimitDown returns a lower bound on the limit of c at x from the right (side >
// 0) or from the left. It is exact for a [Piecewise], and for others AtDown, as
// a loss takes the lower value at a jump.
func LimitDown(l Loss, x *big.Rat, side int) *big.Rat {
	switch l := l.(type) {
	case *Piecewise:
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
