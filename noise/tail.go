package noise

import "math/big"

// Tailed is a [Loss] whose expectation under noise with a geometric tail, whose
// cells repeat for ever with ever less weight, is known exactly. Tables with such
// a tail take no other loss.
type Tailed interface {
	Loss
	// PolynomialBeyond returns from >= 0 and a degree such that c is one
	// polynomial of at most this degree on x >= from and one on x <= -from, and
	// GridMeanUp is exact on either.
	PolynomialBeyond() (from *big.Rat, degree int)
}

// PolynomialBeyond implements Tailed.
func (L1) PolynomialBeyond() (from *big.Rat, degree int) { return new(big.Rat), 1 }

// PolynomialBeyond implements Tailed.
func (L2) PolynomialBeyond() (from *big.Rat, degree int) { return new(big.Rat), 2 }
