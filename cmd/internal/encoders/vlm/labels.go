package vlm

import (
	"math"
	"math/rand/v2"
)

// FlipProbability returns the probability with which randomized response replaces a class
// by another, each of the others being as likely, for a promise of epsilon:
// (K - 1)/(e^ε + K - 1) of K classes (Warner 1965; Kairouz, Oh & Viswanath 2014). At ε = +Inf
// it is 0.
func FlipProbability(classes int, epsilon float64) float64 {
	return float64(classes-1) / (math.Exp(epsilon) + float64(classes-1))
}

// Flip replaces each label by another one of 0 … classes-1 with the probability flip. It is
// FOR STUDIES ONLY; what is released comes from a local.Randomizer.
func Flip(labels []int, classes int, flip float64, r *rand.Rand) []int {
	out := make([]int, len(labels))
	for i, y := range labels {
		out[i] = y
		if r.Float64() < flip {
			out[i] = (y + 1 + r.IntN(classes-1)) % classes
		}
	}
	return out
}
