package vlm

import (
	"math"
	"math/rand/v2"

	"github.com/noisewright/noisewright/internal/check"
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

// PrivateAccuracy estimates the share of people that a classifier is right about from
// answers that each of them randomizes: yes or no, turned round with probability p =
// 1/(e^ε + 1) (equation 9, after Warner 1965). With the share A~ of those who answer yes it
// is (A~ - p)/(1 - 2p), which is unbiased and may lie outside of 0 to 1; the standard error
// counts people and answers both.
//
// Each person spends epsilon for each classifier asked about.
func PrivateAccuracy(right []bool, epsilon float64, r *rand.Rand) (accuracy, standardError float64, err error) {
	bad := check.In("vlm")
	if !(epsilon > 0) {
		bad.Bad("epsilon", epsilon, "a number above 0")
	}
	if len(right) == 0 {
		bad.Bad("people", 0, "at least 1")
	}
	if err := bad.Err(); err != nil {
		return 0, 0, err
	}
	p := FlipProbability(2, epsilon)
	yes := 0.0
	for _, answer := range right {
		if (r.Float64() < p) != answer {
			yes++
		}
	}
	n := float64(len(right))
	share := yes / n
	return (share - p) / (1 - 2*p), math.Sqrt(share*(1-share)/n) / (1 - 2*p), nil
}
