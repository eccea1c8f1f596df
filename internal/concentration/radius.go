// SPDX-License-Identifier: Apache-2.0

package concentration

import (
	"math"

	"github.com/noisewright/noisewright/internal/quadrature"
)

// Radius returns how far the mean of n independent answers may be above and below the mean of the
// values: each is exceeded with a probability of at most alpha, whatever the values are, for 0 < alpha < 1.
func (f *Family) Radius(n int64, alpha float64) (above, below float64) {
	if f.unit == 0 {
		return 0, 0
	}
	people := float64(n)
	normal := math.Inf(1)
	if rest := alpha*(1-slack) - f.distance(n); rest > 0 {
		normal = math.Max(0, math.Sqrt2*math.Erfcinv(2*rest)*(1+slack)) / math.Sqrt(people)
	}
	side := func(reach float64) float64 {
		r := min(normal, bernstein(reach, people, alpha))
		if n <= maxBentkus {
			r = min(r, bentkus(reach, n, alpha))
		}
		return f.unit * (r*(1+slack) + 1e-12*f.most)
	}
	return side(f.above), side(f.below)
}

// bernstein is the bound of Bernstein's inequality for errors of variance at most 1 and at most reach.
func bernstein(reach, people, alpha float64) float64 {
	t := math.Log(1/alpha) * (1 + slack)
	return math.Sqrt(2*t/people) + 2*reach*t/(3*people)
}

// maxBentkus bounds the people for which the bound of Bentkus is computed, which takes some
// thousand operations for each √n of them.
const maxBentkus = 1 << 24

// bentkus bounds the mean of n errors of variance at most 1 and at most reach: with T the sum of n
// independent variables of that variance that are reach or −1/reach, E(S − u)₊² <= E(T − u)₊² for all u
// (Bentkus 2004), so P(S >= x) <= E(T − u)₊²/(x − u)². Every u yields a bound, u + √(E(T − u)₊²/alpha).
func bentkus(reach float64, n int64, alpha float64) float64 {
	people := float64(n)
	p := 1 / (1 + reach*reach)
	step := reach + 1/reach
	mode := math.Floor((people + 1) * p)
	// Masses relative to the largest, from the mode in both directions, to where they do not count.
	var up, down []float64
	for k, mass := mode, 1.0; k <= people && mass > negligible; k++ {
		up = append(up, mass)
		mass *= (people - k) / (k + 1) * p / (1 - p)
	}
	for k, mass := mode, 1.0; k > 0; k-- {
		if mass *= k / (people - k + 1) * (1 - p) / p; mass <= negligible {
			break
		}
		down = append(down, mass)
	}
	total := 0.0
	for _, masses := range [][]float64{up, down} {
		for _, m := range masses {
			total += m
		}
	}
	// What is left out is at most negligible each, relative to the largest, which is at most 1.
	at := func(u float64) float64 {
		sum := negligible * people * math.Pow(people*step+math.Abs(u), 2)
		add := func(mass, k float64) {
			if x := step*k - people/reach - u; x > 0 {
				sum += mass * x * x
			}
		}
		for i, m := range up {
			add(m, mode+float64(i))
		}
		for i, m := range down {
			add(m, mode-1-float64(i))
		}
		return u + math.Sqrt(sum/total*(1+slack)/alpha)
	}
	scale := math.Sqrt(people)
	_, least := quadrature.Minimum(at, -2*scale, 8*scale, 25)
	return least / people
}

// negligible is the mass, relative to the largest, below which none is listed.
const negligible = 1e-60

// shevtsova is the constant of the theorem of Berry and Esseen for laws that need not be the same
// (Shevtsova 2013).
const shevtsova = 0.5583

// distance bounds how far the distribution function of the sum of n errors is from that of a normal
// variable with its variance, which is at most n: the least of two bounds.
func (f *Family) distance(n int64) float64 {
	if !(f.least > 0) {
		return 1
	}
	berry := shevtsova * f.lyapunov / (math.Sqrt(float64(n)) * f.least)
	return min(berry, f.smoothing(float64(n)), 1) * (1 + slack)
}

const (
	// prawitz is above 2π|uK(u)|, for the kernel K of the smoothing inequality.
	prawitz = 1.0253
	// fine and coarse are steps of the integral: relative ones below 1, and absolute ones above.
	fine, coarse = 1.004, 0.02
	farthest     = 24 // in units of the largest standard deviation
)

// smoothing is the bound of Prawitz (1972) with the least of many limits W of the integral,
//
//	(1.0253/π)·∫_0^W h(w)/w dw + ∫_0^1 (1 − u + π²u²/18)·e^(−a²u²/2) du + e^(−a²/2)/(πa²),
//
// where h bounds the difference of the characteristic functions and a is W times the least standard
// deviation of the sum.
func (f *Family) smoothing(people float64) float64 {
	deviation := math.Sqrt(people) * f.least
	square := f.least * f.least
	terms := 0
	modulus := func(a, b float64) float64 {
		// |φ|² is the characteristic function of a difference, with the moments 2σ² and 2m + 6σ⁴.
		top := 1.0
		if b*b*(f.fourth+3) <= 6*square { // where that falls
			top = math.Sqrt(1 - square*a*a + (f.fourth+3)*a*a*a*a/12)
		}
		if math.Pow(top, people-1) > 1e-12 && terms < f.terms {
			terms += len(f.errors) * len(f.errors[0])
			top = min(top, f.characteristic(a, b))
		}
		return max(top, math.Exp(-square*a*a/2)) * (1 + 1e-14)
	}
	one := func(w float64) float64 { // bounds the difference of those of one error
		return f.skewness*w*w*w/6 + (f.fourth+3)*w*w*w*w/24
	}
	best := math.Inf(1)
	a := 0.01 / math.Sqrt(people)
	integral := people * (f.skewness*a*a*a/18 + (f.fourth+3)*a*a*a*a/96)
	for a < farthest {
		b := min(a*fine, a+coarse)
		m := modulus(a, b)
		h := min(people*one(b)*math.Pow(m, people-1), math.Pow(m, people)+math.Exp(-people*square*a*a/2))
		integral += h * math.Log(b/a)
		w := b * deviation
		gauss := math.Exp(-w * w / 2)
		rest := math.Sqrt(math.Pi/2)/w + math.Pi*math.Pi/18*math.Sqrt(math.Pi/2)/(w*w*w) - (1-gauss)/(w*w) + gauss/(math.Pi*w*w)
		best = min(best, prawitz/math.Pi*integral*(1+slack)+rest)
		a = b
	}
	return best + slack
}
