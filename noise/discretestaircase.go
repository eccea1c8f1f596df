package noise

import (
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
)

// DiscreteStaircase returns the least expected loss, L1 or L2, of any (ε, 0)-private integer noise
// on an integer query of the given sensitivity K, and the step r, 1 <= r <= K, of the law that has
// it (Geng & Viswanath 2016, discrete setting): with b = e^-ε, even and for i >= 0
//
//	p(i) = a for i < r,  ab for r <= i < K,  p(i+K) = b p(i),
//	a = (1-b)/(2r + 2b(K-r) - (1-b)).
//
// For K = 1 it is two-sided geometric noise. The error wraps [dp.ErrInvalid] for
// bad parameters and is a [NotApplicableError] for ε = 0 and for other losses. The
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
	moment := 0
	switch l {
	case loss.L1:
	case loss.L2:
		moment = 1
	default:
		return 0, 0, notApplicable(name, "its loss is known for l1 and l2 only, loss = %s", l.Name())
	}
	at := func(r int64) float64 {
		return discreteStaircaseMoments(epsilon, float64(sensitivity), float64(r))[moment]
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
	if !check.Finite(value) {
		return 0, 0, check.Errorf("noise", dp.ErrInvalid, "%s: expected %s loss = %g, want a finite float64", name, l.Name(), value)
	}
	return low, value, nil
}

// discreteStaircaseMoments returns E|X| and E X² of the law with step r, for a
// sensitivity of k = K. With |X| = KG+I on i >= 0, M_j = Σ_{i<K} i^j p(i) and Σ b^g = 1/(1-b),
// Σ g b^g = b/(1-b)², Σ g² b^g = b(1+b)/(1-b)³, each sum below is over G, then I,
// then doubled for the two sides (0 contributes nothing).
func discreteStaircaseMoments(epsilon, k, r float64) [2]float64 {
	b, c := math.Exp(-epsilon), -math.Expm1(-epsilon)
	// Σ_{i<n} i and Σ_{i<n} i².
	sum1 := func(n float64) float64 { return n * (n - 1) / 2 }
	sum2 := func(n float64) float64 { return n * (n - 1) * (2*n - 1) / 6 }
	// A sum over i < K with weight 1 below r and b from r on is b·(all) + (1-b)·(below r).
	m0 := b*k + c*r
	m1 := b*sum1(k) + c*sum1(r)
	m2 := b*sum2(k) + c*sum2(r)
	// 2r+2b(K-r)-(1-b) = 2bK + (1-b)(2r-1).
	a := c / (2*b*k + c*(2*r-1))
	return [2]float64{
		2 * a * (k*b/(c*c)*m0 + m1/c),
		2 * a * (k*k*b*(1+b)/(c*c*c)*m0 + 2*k*b/(c*c)*m1 + m2/c),
	}
}
