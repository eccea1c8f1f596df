// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"
)

// part is a measure of losses and how often it is drawn.
type part struct {
	measure *pmf
	times   int
}

// parts is a composition: the sum of independent losses of all parts.
type parts []part

// logMoment returns K(θ) = log E e^(θ·loss) of the sum over the finite losses, and its derivative.
func (ps parts) logMoment(theta float64) (value, mean float64) {
	for _, p := range ps {
		v, m := p.measure.logMoment(theta)
		value += float64(p.times) * v
		mean += float64(p.times) * m
	}
	return value, mean
}

// count returns the number of releases.
func (ps parts) count() (n float64) {
	for _, p := range ps {
		n += float64(p.times)
	}
	return n
}

// infinityMass returns the total mass of the sum at infinity, Πt − Π(t−i) for totals t of which i
// is infinite, and Σ |log t|, in whose terms the caller's relative slack covers the error.
func (ps parts) infinityMass() (mass, logs float64) {
	logTotal, logFinite := 0.0, 0.0
	for _, p := range ps {
		t, n := p.measure.total(), float64(p.times)
		logTotal += n * math.Log(t)
		logFinite += n * math.Log1p(-math.Min(1, p.measure.infinityMass/t))
		logs += n * math.Abs(math.Log(t))
	}
	return -math.Exp(logTotal) * math.Expm1(logFinite), logs
}

// minimize finds θ > 0 where (K(θ)+bits)/θ is least, for a convex K: the best Chernoff bound on
// what is exceeded with probability e^(−bits), and the tilt that makes the sum likely to be there.
func minimize(moment func(theta float64) (value, mean float64), bits, least, most float64) float64 {
	// The derivative of the quotient has the sign of θ·K' − K − bits, which grows, as K is convex.
	return rising(least, most, func(theta float64) float64 {
		value, mean := moment(theta)
		return theta*mean - value - bits
	})
}

// rising returns about where f, which rises, becomes positive, least <= θ <= most.
func rising(least, most float64, f func(theta float64) float64) float64 {
	lo, hi := math.Log(least), math.Log(most)
	for range 36 {
		if middle := (lo + hi) / 2; f(math.Exp(middle)) > 0 {
			hi = middle
		} else {
			lo = middle
		}
	}
	return math.Exp((lo + hi) / 2)
}

// hockeyMoment returns K(θ) + log max_x e^(−θx)(1−e^(−x)), whose Chernoff bound is that of δ,
//
//	E (1 − e^(ε−loss))₊ <= e^(hockeyMoment(θ) − θε),
//
// and its derivative (Canonne, Kamath & Steinke 2020, Proposition 12). It is convex.
func (ps parts) hockeyMoment(theta float64) (value, mean float64) {
	value, mean = ps.logMoment(theta)
	return value + logPeak(theta), mean - math.Log1p(1/theta)
}

// logPeak returns the logarithm of the largest e^(−θx)(1−e^(−x)).
func logPeak(theta float64) float64 { return -theta*math.Log1p(1/theta) - math.Log1p(theta) }

// tiltTo returns the tilt that bounds δ(ε) best.
func (ps parts) tiltTo(epsilon float64) float64 {
	least, most := ps.thetaRange()
	return rising(least, most, func(theta float64) float64 {
		_, mean := ps.hockeyMoment(theta)
		return mean - epsilon
	})
}

// thetaRange returns sensible bounds for tilts.
func (ps parts) thetaRange() (least, most float64) {
	spread := 0.0
	step := ps[0].measure.step
	for _, p := range ps {
		spread += float64(p.times) * step * float64(len(p.measure.mass))
	}
	return 1e-3 / spread, 20 / step
}

// tail bits: what may wrap around is below e^(−wrapBits) of the tilted sum.
const wrapBits = 46

// composed is the law of the sum of losses, tilted: the loss step·(first+i) has
// the probability e^(logScale − θ·loss)·mass[i], up to errors whose Euclidean
// norm is at most noise, what wrapped around, and a relative slack.
type composed struct {
	step, theta  float64
	first        int
	mass         []float64
	logScale     float64
	noise        float64
	slack        float64
	infinityMass float64 // mass at infinity
	releases     float64
	exponents    float64 // bounds every sum of logarithms that an exponential is taken of
	kinds        float64 // number of terms in these sums
	most         float64 // no finite loss is larger
}

// errUnfit: the window does not fit, or there is nothing to compose.
var errUnfit = errors.New("account: window too long, or empty")

// window returns an interval of losses, in steps of the grid, that the tilted sum leaves with a
// probability below e^(−wrapBits) on either side: the best Chernoff bounds, or where the sum ends.
func (ps parts) window(theta float64) (from, to float64) {
	step := ps[0].measure.step
	scale, _ := ps.logMoment(theta)
	least, most := ps.thetaRange()
	side := func(sign float64) float64 {
		moment := func(t float64) (value, mean float64) {
			value, mean = ps.logMoment(theta + sign*t)
			return value - scale, sign * mean
		}
		t := minimize(moment, wrapBits, least, most)
		value, _ := moment(t)
		return sign * (value + wrapBits) / t / step
	}
	floor, ceiling := 0.0, 0.0
	for _, p := range ps {
		floor += float64(p.times) * float64(p.measure.first)
		ceiling += float64(p.times) * float64(p.measure.first+len(p.measure.mass)-1)
	}
	return math.Max(floor, math.Floor(side(-1))-1), math.Min(ceiling, math.Ceil(side(1))+1)
}

// compose convolves the parts, tilted by theta. limit bounds the length.
//
// Masses a_i = mass_i·e^(θ·loss_i)/M, with M about their sum, are convolved by a Fourier transform
// of a length that holds the window; the rest wraps around. Everything is relative to the tilted
// law, whose bulk lies at the loss that is asked for: rounding errors are relative to e^(K(θ)−θε),
// close to the answer, however small that is.
func (ps parts) compose(theta float64, limit int) (*composed, error) {
	step := ps[0].measure.step
	from, to := ps.window(theta)
	// Not <=: refuses NaN, of an empty measure. Below 2^42 rounding is far below a step.
	if !(to-from+1 <= float64(limit) && math.Abs(from) <= 1<<42 && math.Abs(to) <= 1<<42) {
		return nil, errUnfit
	}
	n := 16
	for float64(n) < to-from+1 {
		n *= 2
	}
	c := &composed{step: step, theta: theta, first: int(from), releases: ps.count(), kinds: float64(len(ps))}
	c.infinityMass, c.exponents = ps.infinityMass()
	for _, p := range ps {
		c.most += float64(p.times) * float64(p.measure.first+len(p.measure.mass)-1) * step
	}
	c.most += math.Abs(c.most) * 0x1p-30

	fft := fourier.NewCmplxFFT(n)
	rho := transformError(n)
	product := make([]complex128, n)
	half := n/2 + 1                // the masses are real: the rest of a spectrum mirrors this part
	bound := make([]float64, half) // of the modulus of the exact product
	for i := range bound {
		product[i], bound[i] = 1, 1
	}
	sequence := make([]complex128, n)
	spectrum := make([]complex128, n)
	for _, p := range ps {
		logM, _ := p.measure.logMoment(theta)
		c.logScale += float64(p.times) * logM
		extreme, norm := p.measure.wrap(sequence, theta, logM)
		folds := float64(len(p.measure.mass)/n + 1) // terms of one entry
		c.slack += float64(p.times) * (16 + 4*extreme + folds) * roundoff
		c.exponents += float64(p.times) * math.Abs(logM)
		// The norm of the error of the whole spectrum bounds that of each value.
		e := rho * math.Sqrt(norm*float64(n)) * (1 + 0x1p-20)
		fft.Coefficients(spectrum, sequence)
		for i, s := range spectrum[:half] {
			product[i] *= power(s, p.times)
			bound[i] *= power(cmplx.Abs(s)+e, p.times)
		}
	}
	// (|s|+e)^k − |s|^k bounds the error of a power; both add 4 roundoffs for each factor.
	multiply := 8 * roundoff * (c.releases + 4)
	errorNorm, productNorm := 0.0, 0.0
	for i, b := range bound {
		a := cmplx.Abs(product[i])
		d := math.Max(0, b-a) + 2*multiply*b
		times := 1.0
		if mirror := n - i; i > 0 && mirror > i {
			product[mirror], times = cmplx.Conj(product[i]), 2
		}
		errorNorm += times * d * d
		productNorm += times * a * a
	}
	fft.Sequence(sequence, product)
	c.noise = (math.Sqrt(errorNorm) + rho*math.Sqrt(productNorm)) / math.Sqrt(float64(n)) * (1 + 0x1p-20)
	c.mass = make([]float64, n)
	for i := range c.mass {
		at := (c.first + i) % n
		if at < 0 {
			at += n
		}
		c.mass[i] = real(sequence[at]) / float64(n)
	}
	return c, nil
}

// wrap fills a sequence, a period of the transform, with the masses tilted by theta and divided by
// e^logM. It returns a bound on the exponents that it took, and the sum of the squares.
func (d *pmf) wrap(sequence []complex128, theta, logM float64) (extreme, norm float64) {
	clear(sequence)
	n := len(sequence)
	for i, m := range d.mass {
		if m == 0 {
			continue
		}
		x := theta * d.step * float64(d.first+i)
		extreme = math.Max(extreme, math.Abs(x)+math.Abs(logM))
		at := (d.first + i) % n
		if at < 0 {
			at += n
		}
		// In two factors: the exponential alone may overflow.
		half := math.Exp((x - logM) / 2)
		sequence[at] += complex(m*half*half, 0)
	}
	for _, a := range sequence {
		norm += real(a) * real(a)
	}
	return extreme, norm
}

// transformError bounds the relative error, in ℓ2, of a Fourier transform of n = 2^k points.
//
// gonum's transform (FFTPACK) makes passes of radix 4, and one of radix 2 if k is odd. A pass adds
// complex numbers in two layers, a roundoff u each, and multiplies by a root of unity: √5·u, and
// the root's own error. That is the cosine of i·(l·(2π/n)), an argument below 2π with four
// roundings, hence wrong by at most 8π·u, and a rounding of its own. In all less than 34·u for a
// pass, which else multiplies norms by the root of its radix (Higham 2002, section 24.1).
func transformError(n int) float64 {
	passes := math.Ceil(math.Log2(float64(n)) / 2)
	return 64 * roundoff * (passes + 1)
}

// power returns s^k, k >= 1, of a real number to less than k roundoffs.
func power[T float64 | complex128](s T, k int) T {
	result := T(1)
	for {
		if k&1 == 1 {
			result *= s
		}
		if k >>= 1; k == 0 {
			return result
		}
		s *= s
	}
}

// hockey returns E (1 − e^(ε−loss))₊ over the finite losses of the sum, and a bound on the error.
func (c *composed) hockey(epsilon float64) (value, margin float64) {
	// Σ over loss = ε+x, x > 0, of mass·f(x), f(x) = e^(−θx)·(1−e^(−x)), times e^(logScale−θε).
	if epsilon >= c.most {
		return 0, 0
	}
	var sum, size, touched, reach, rest float64
	t, n := c.theta, len(c.mass)
	if below := epsilon/c.step - float64(c.first); below < float64(n)+1 {
		i := int(math.Max(0, math.Floor(below)-1))
		for ; i < n && c.at(i) <= epsilon; i++ {
			touched = math.Abs(c.mass[i]) // of a loss that may in truth be above ε
		}
		reach = math.Abs(epsilon) + math.Abs(c.at(i))
		if i < n {
			x := c.at(i) - epsilon
			weight, ratio := math.Exp(-t*x), math.Exp(-t*c.step)
			// 1 − e^(−x), from which the next follows without cancellation.
			lift, fade, rise := -math.Expm1(-x), math.Exp(-c.step), -math.Expm1(-c.step)
			for ; i < n && weight > 1e-40; i++ {
				m := c.mass[i] * weight
				sum += m * lift
				size += math.Abs(m) * lift
				touched += math.Abs(m)
				weight *= ratio
				lift = rise + fade*lift
			}
			if i < n {
				rest = 2 * weight // masses sum to about 1
			}
		}
	}
	// The largest value of f, and Σ f(x)² over the grid: f rises to it and
	// falls, so at most its square and the integral.
	peak := math.Exp(logPeak(t)) * (1 + 0x1p-40)
	squares := peak*peak + 2/(2*t*(2*t+1)*(2*t+2))/c.step
	margin = c.noise*math.Sqrt(squares)*(1+0x1p-20) + // transform
		size*(16*float64(n)+256)*roundoff + // the recurrences above
		touched*4*reach*roundoff + // x, a difference of numbers of that size
		rest + 2*peak*math.Exp(-wrapBits+1) // wrapped around, on either side
	factor := math.Exp(c.logScale - t*epsilon)
	return factor * sum, factor * margin
}

// at returns the loss of mass[i].
func (c *composed) at(i int) float64 { return float64(c.first+i) * c.step }

// growth returns the factor that the relative errors of masses, normalizers and
// exponentials may amount to; those of e^(−θx), θx < 93, included.
func (c *composed) growth(epsilon float64) float64 {
	relative := c.slack + roundoff*(512+(8+2*c.kinds)*c.exponents+16*c.theta*epsilon+16*c.releases+8*c.kinds)
	return math.Exp(relative * (1 + 0x1p-10))
}

// deltaUpper returns a bound above the δ of the composition at ε >= 0.
func (c *composed) deltaUpper(epsilon float64) float64 {
	value, margin := c.hockey(epsilon)
	// Losses above the window may have wrapped to where they do not count;
	// they are in the margin, for their weight is at most the peak.
	d := (math.Max(0, value) + margin + c.infinityMass) * c.growth(math.Min(epsilon, c.most))
	if !(d < 1) { // NaN if a factor overflows, far below the window
		return 1
	}
	return d
}

// deltaLower returns a bound below it, if the measures were bounds from below.
func (c *composed) deltaLower(epsilon float64) float64 {
	epsilon += c.releases * c.step * slackShare
	value, margin := c.hockey(epsilon)
	d := (math.Max(0, value-margin) + c.infinityMass) / c.growth(math.Min(epsilon, c.most))
	if !(d > 0) { // as above
		return 0
	}
	return d
}
