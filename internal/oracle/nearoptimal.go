package oracle

import (
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/noise"
)

// NearOptimalLowerBound returns the lower bound on E|X| that comes with the
// truncated Laplace mechanism (Geng, Ding, Guo & Kumar 2020), in query units.
// With a = (δ+(e^ε-1)/2)/e^ε and b = e^-ε it is
//
//	2aΔ Σ_{k<n} k b^k = 2aΔ ( (b-b^n)/(1-b)² - (n-1)b^n/(1-b) ),
//
// where n is the largest number with Σ_{k<n} a b^k <= 1/2. That is
// n = ⌊A/Δ⌋ with A of [noise.TruncatedLaplaceBound], so the bound is 0 for A < 2Δ. For
// δ = 0 it is Δ b/(1-b).
//
// It is far from tight, and never above [LowerBound]; it is here to be compared
// with. The paper has it for an n that makes the sum exactly 1/2; rounding n up
// where there is none gives [NearOptimalRoundedUp], which is not a bound.
//
// The error wraps [dp.ErrInvalid] for bad parameters and [noise.ErrNotApplicable] for
// ε = δ = 0. The relative rounding error is below 1e-12, unless A/Δ is within
// rounding of an integer: then n may be one less or one more, and the value is
// still a bound to within rounding.
func NearOptimalLowerBound(p dp.Privacy) (float64, error) {
	return nearOptimal(p, math.Floor)
}

// NearOptimalRoundedUp returns the expression of [NearOptimalLowerBound] with n
// the smallest number for which the sum is at least 1/2. Published comparisons
// print it as the lower bound (Selvi, Liu & Wiesemann, "Differential privacy via
// distributionally robust optimization", 2025, Tables 1 and 5); it is here to
// reproduce them. It is not a lower bound: at ε = 0, δ = 0.49 it is 0.98 Δ, and
// uniform noise has E|X| = Δ/(4δ) = 0.51 Δ.
func NearOptimalRoundedUp(p dp.Privacy) (float64, error) {
	return nearOptimal(p, math.Ceil)
}

func nearOptimal(p dp.Privacy, round func(float64) float64) (float64, error) {
	const name = "near-optimal lower bound"
	if err := checkBoth(name, p); err != nil {
		return 0, err
	}
	unit := p
	unit.Sensitivity = 1
	n := round(noise.TruncatedLaplaceBound(unit))
	a := p.Delta*math.Exp(-p.Epsilon) - math.Expm1(-p.Epsilon)/2
	value := 2 * a * p.Sensitivity * geometricMoment(p.Epsilon, n)
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, check.Errorf("oracle", dp.ErrInvalid, "%s = %g, want a finite float64", name, value)
	}
	return value, nil
}

// geometricMoment returns Σ_{k<n} k b^k, b = e^-ε, for a whole number n >= 0 or
// n = +Inf. It builds n from its leading bit down, doubling or adding one, from
// positive terms only: the closed form cancels when εn is small.
func geometricMoment(epsilon, n float64) float64 {
	if n < 2 {
		return 0
	}
	if epsilon == 0 {
		return n * (n - 1) / 2
	}
	if n*epsilon > 600 { // beyond, nothing is left in float64
		c := -math.Expm1(-epsilon)
		return math.Exp(-epsilon) / (c * c)
	}
	var m, sum, moment float64 // of the first m terms
	for bit := math.Exp2(math.Floor(math.Log2(n))); bit >= 1; bit /= 2 {
		power := math.Exp(-epsilon * m)
		moment += power * (m*sum + moment)
		sum += power * sum
		m *= 2
		if math.Mod(math.Floor(n/bit), 2) == 1 {
			power = math.Exp(-epsilon * m)
			moment += power * m
			sum += power
			m++
		}
	}
	return moment
}
