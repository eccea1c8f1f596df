package noise

import (
	"math/big"
)

// Tailed is a [Loss] that may be a polynomial far from 0, so that its expectation
// under noise with a geometric tail, whose cells repeat for ever with ever less
// weight, is known. Tables with such a tail take no other loss.
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
func (l *Scaled) PolynomialBeyond() (from *big.Rat, degree int, ok bool) {
	return PolynomialBeyond(l.loss)
}
