package loss

import (
	"math/big"
)

// Tailed is a [Loss] that may be a polynomial far from 0, so that its expectation
// under noise with a geometric tail, whose cells repeat for ever with ever less
// weight, is known.
type Tailed interface {
	// PolynomialBeyond returns from >= 0 and a degree such that c is one
	// polynomial of at most this degree for x > from and one for x < -from,
	// and GridMeanUp is exact on either; ok is false if there are none.
	PolynomialBeyond() (from *big.Rat, degree int, ok bool)
}

// PolynomialBeyond returns what the method of the loss says, if it has it; see
// [Tailed].
func PolynomialBeyond(l Loss) (from *big.Rat, degree int, ok bool) {
	if t, is := l.(Tailed); is {
		return t.PolynomialBeyond()
	}
	return nil, 0, false
}

// Powered is a [Loss] that may be bounded by a power, so that its expectation under
// noise with a geometric tail can be bounded.
type Powered interface {
	// PowerBound returns a power from 0 to 64 such that, on either side of 0, c
	// is convex and does not decrease away from 0, and c(x)/|x|^power does not
	// increase; ok is false if there is none.
	PowerBound() (power float64, ok bool)
}

// PowerBound returns what the method of the loss says, if it has it; see
// [Powered].
func PowerBound(l Loss) (power float64, ok bool) {
	if p, is := l.(Powered); is {
		return p.PowerBound()
	}
	return 0, false
}

// TailParts returns losses that sum to l, each of which is a polynomial far from 0
// or bounded by a power ([Tailed], [Powered]), or nil if none are known. Tables with
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

// PowerBound implements Powered: |x|^p is its own bound.
func (l *powerLoss) PowerBound() (power float64, ok bool) { return l.p, true }

// PowerBound implements Powered.
func (l *combination) PowerBound() (power float64, ok bool) {
	if len(l.parts) > 1 {
		return 0, false // not known; see TailParts
	}
	return PowerBound(l.parts[0].loss)
}

// PolynomialBeyond implements Tailed.
func (L1) PolynomialBeyond() (from *big.Rat, degree int, ok bool) { return new(big.Rat), 1, true }

// PolynomialBeyond implements Tailed.
func (L2) PolynomialBeyond() (from *big.Rat, degree int, ok bool) { return new(big.Rat), 2, true }

// PolynomialBeyond implements Tailed: from the outermost knot on.
func (l *Piecewise) PolynomialBeyond() (from *big.Rat, degree int, ok bool) {
	from = new(big.Rat)
	for _, x := range l.knots {
		if a := new(big.Rat).Abs(x); a.Cmp(from) > 0 {
			from = a
		}
	}
	return from, 2, true
}

// PolynomialBeyond implements Tailed.
func (l *combination) PolynomialBeyond() (from *big.Rat, degree int, ok bool) {
	if len(l.parts) > 1 {
		return nil, 0, false // not known; see TailParts
	}
	return PolynomialBeyond(l.parts[0].loss)
}
