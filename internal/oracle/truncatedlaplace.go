package oracle

import "math"

// TruncatedLaplaceDelta returns the δ at which Laplace noise of scale Δ/ε, cut
// to |x| <= bound, is (ε, δ)-private: the inverse of [noise.TruncatedLaplaceBound],
//
//	δ = (e^ε-1)/(2(e^(εA/Δ)-1)),
//
// exact for A >= Δ, an upper bound below, and at most 1. It needs ε >= 0 and,
// in query units, sensitivity > 0 and bound > 0.
func TruncatedLaplaceDelta(epsilon, sensitivity, bound float64) float64 {
	ratio := bound / sensitivity
	if epsilon == 0 {
		return math.Min(1, 0.5/ratio)
	}
	// Both exponentials scaled by e^-ε: nothing overflows that need not.
	delta := 0.5 * math.Expm1(-epsilon) / math.Expm1(-epsilon*ratio) * math.Exp(epsilon*(1-ratio))
	return math.Min(1, delta)
}
