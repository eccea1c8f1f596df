package loss

import (
	"math"
	"math/bits"

	"github.com/noisewright/noisewright/internal/exact"
)

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

// WorkOf returns the work for arguments of so many bits, numerator and denominator
// together. A loss of a type that is not of this package counts as 32 knots.
func WorkOf(l Loss, argument int) Work {
	if o, is := l.(ours); is {
		return o.work(argument)
	}
	return pieceWork(32, argument)
}

func (l *piecewise) work(argument int) Work { return pieceWork(len(l.knots), argument) }

func (l *combination) work(argument int) (sum Work) {
	for _, p := range l.parts {
		w := WorkOf(p.loss, argument)
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
