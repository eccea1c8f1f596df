package vlm

import (
	"math"

	"github.com/noisewright/noisewright/internal/check"
)

// AccuracyBound returns the largest accuracy with which anybody can tell apart classes that
// are equally frequent from encodings in an l1 ball with Laplace noise of scale 2l/ε on each
// coordinate, as a number between 1/classes and 1. The classes are even in number, and the
// coordinates at least half as many.
//
// The best that an encoder can do is to send the classes to ±l·e_j, the corners of the ball.
// Which corner is nearest is then told by the coordinate of the largest size, and is right if
// that of the true class ends up positive and above the sizes of the K/2 - 1 others, which are
// exponential of scale b = 2l/ε; beyond the K/2 corners, coordinates add nothing. With
// s = ε/2 = l/b the coordinate is s + X, X Laplace of scale 1, and
//
//	A = E[(1 - e^-(s+X))^(K/2-1); s + X > 0].
//
// The binomial expansion and three integrals of exponentials give the closed form here, the
// paper's equation (10) without its misprints.
func AccuracyBound(epsilon float64, classes int) (float64, error) {
	bad := check.In("vlm")
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		bad.Bad("epsilon", epsilon, "0 or above, and finite")
	}
	if classes < 2 || classes%2 != 0 || classes > maxBoundClasses {
		bad.Badf("classes", classes, "an even number from 2 to %d", maxBoundClasses)
	}
	if err := bad.Err(); err != nil {
		return 0, err
	}
	n := classes/2 - 1
	s := epsilon / 2
	// E[e^{-j(s+X)}; s+X > 0] has e^{-js}/(1-j²) - e^{-s}/(2(1-j)) but for j = 1, where the
	// integral up to 0 and that above are s·e^{-s}/2 + e^{-s}/4.
	sum, binomial := 0.0, 1.0
	for j := range n + 1 {
		term := math.Exp(-s) * (s/2 + 0.25)
		if j != 1 {
			k := float64(j)
			term = math.Exp(-k*s)/(1-k*k) - math.Exp(-s)/(2*(1-k))
		}
		if j%2 != 0 {
			term = -term
		}
		sum += binomial * term
		binomial *= float64(n-j) / float64(j+1)
	}
	return sum, nil
}

// maxBoundClasses keeps the alternating sum accurate: the binomials of 31 are below 4e8, and so
// rounding errors below 1e-6.
const maxBoundClasses = 64
