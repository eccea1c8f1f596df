package oracle

import (
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
)

// DiscreteStaircase returns the least expected loss, L1 or L2, of any
// (ε, 0)-private integer noise on an integer query of the given sensitivity K,
// and the step r, 1 <= r <= K, of the law that has it (Geng & Viswanath 2016,
// discrete setting): with b = e^-ε, even and for i >= 0
//
//	p(i) = a for i < r,  ab for r <= i < K,  p(i+K) = b p(i),
//	a = (1-b)/(2r + 2b(K-r) - (1-b)).
//
// For K = 1 it is two-sided geometric noise. The error wraps [dp.ErrInvalid] for
// bad parameters and [noise.ErrNotApplicable] for ε = 0 and for other losses. The
// relative rounding error is below 1e-13; the cost is O(log K).
func DiscreteStaircase(epsilon float64, sensitivity int64, l loss.Loss) (step int64, value float64, err error) {
	const name = "discrete staircase"
	if err := (dp.Privacy{Epsilon: epsilon, Sensitivity: float64(sensitivity)}).Validate(); err != nil {
		return 0, 0, err
	}
	if err := checkLoss(l); err != nil {
		return 0, 0, err
	}
	if epsilon == 0 {
		return 0, 0, notApplicable(name, "its steps fall by exp(-epsilon) and epsilon = 0, want epsilon > 0")
	}
	var at func(r int64) float64
	switch l.(type) {
	case loss.L1:
		at = func(r int64) float64 { first, _ := discreteStaircaseMoments(epsilon, sensitivity, r); return first }
	case loss.L2:
		at = func(r int64) float64 { _, second := discreteStaircaseMoments(epsilon, sensitivity, r); return second }
	default:
		return 0, 0, notApplicable(name, "its loss is known for l1 and l2 only, loss = %s", l.Name())
	}
	// The loss is a convex function of r over a positive linear one, hence
	// falls and then rises: bisect on the sign of its difference.
	low, high := int64(1), sensitivity
	for low < high {
		if r := low + (high-low)/2; at(r) <= at(r+1) {
			high = r
		} else {
			low = r + 1
		}
	}
	value = at(low)
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, 0, check.Errorf("oracle", dp.ErrInvalid, "%s: expected %s loss = %g, want a finite float64", name, l.Name(), value)
	}
	return low, value, nil
}

// discreteStaircaseMoments returns E|X| and E X² of the law with step r. With
// |X| = KG+I on i >= 0, M_j = Σ_{i<K} i^j p(i) and Σ b^g = 1/(1-b),
// Σ g b^g = b/(1-b)², Σ g² b^g = b(1+b)/(1-b)³, each sum below is over G, then I,
// then doubled for the two sides (0 contributes nothing).
func discreteStaircaseMoments(epsilon float64, sensitivity, r int64) (first, second float64) {
	b, c := math.Exp(-epsilon), -math.Expm1(-epsilon)
	k, s := float64(sensitivity), float64(r)
	// Σ_{i<n} i and Σ_{i<n} i².
	sum1 := func(n float64) float64 { return n * (n - 1) / 2 }
	sum2 := func(n float64) float64 { return n * (n - 1) * (2*n - 1) / 6 }
	// A sum over i < K with weight 1 below r and b from r on is b·(all) +
	// (1-b)·(below r).
	m0 := b*k + c*s
	m1 := b*sum1(k) + c*sum1(s)
	m2 := b*sum2(k) + c*sum2(s)
	// 2r+2b(K-r)-(1-b) = 2bK + (1-b)(2r-1).
	a := c / (2*b*k + c*(2*s-1))
	first = 2 * a * (k*b/(c*c)*m0 + m1/c)
	second = 2 * a * (k*k*b*(1+b)/(c*c*c)*m0 + 2*k*b/(c*c)*m1 + m2/c)
	return first, second
}
