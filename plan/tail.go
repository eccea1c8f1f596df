// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"math"
	"slices"
)

// The tail of an error, a sum of independent noises times numbers, by its characteristic function:
// docs/proofs/plan.md, Intervals, "Inverted".

// term is a number that so many noises of a law are multiplied with.
type term struct {
	h     float64
	count int64
}

// grouped puts terms together of which the numbers are the same but for rounding, without those of 0.
func grouped(list []term) (out []term) {
	slices.SortFunc(list, func(a, b term) int { return cmp.Compare(b.h, a.h) })
	for _, t := range list {
		switch n := len(out); {
		case t.h <= 1e-13*list[0].h:
			return out
		case n > 0 && t.h > out[n-1].h*(1-1e-10):
			out[n-1].count += t.count
		default:
			out = append(out, t)
		}
	}
	return out
}

// spectrum evaluates the characteristic function of a law, E cos(θη).
type spectrum struct {
	mean      float64 // E|η|, or a little more
	off       float64 // bounds the error of a value, but for that of θ
	geometric bool    // then it falls from 0 to π, to a number above 0, and is known in closed form
	law       *Law
	values    []float64 // at k·step, and slopes; nil: direct
	slopes    []float64
	step      float64
}

// maxNodes bounds the nodes of a spectrum, and maxSpectrum the work of all of them.
const (
	maxNodes    = 1 << 16
	maxSpectrum = 1 << 26
)

// newSpectrum returns nil if evaluating it is too much work.
func newSpectrum(l *Law) *spectrum {
	last := len(l.Weights) - 1
	s := &spectrum{law: l, geometric: last == 1 && l.TailRatio > 0}
	fourth := 0.0
	moments := func(i int, w float64) {
		x := float64(i)
		s.mean += 2 * w * x
		fourth += 2 * w * x * x * x * x
	}
	for i, w := range l.Weights {
		if i < last || l.TailRatio == 0 {
			moments(i, float64(w)*0x1p-64)
		}
	}
	if l.TailRatio > 0 { // last + J, J geometric: E J^k at most k!·(ρ/(1−ρ) + 1)^k
		w, mean := float64(l.Weights[last])*0x1p-64, 1/(1-float64(l.TailRatio)*0x1p-64)
		s.mean += 2 * w * (float64(last) + mean)
		fourth += 2 * w * 24 * math.Pow(float64(last)+mean, 4)
	}
	s.mean *= 1 + 1e-9
	s.off = 0x1p-50 * (float64(last) + 8 + s.mean)
	if least, _ := s.direct(math.Pi); s.geometric && least > s.off {
		s.off = 0x1p-48 // a dozen roundings
		return s
	}
	s.geometric = false
	// Between nodes d apart Hermite's cubic is off by at most d⁴·max|φ⁗|/384, and |φ⁗| <= E η⁴.
	const near = 1e-14
	s.step = math.Sqrt(math.Sqrt(384 * near / fourth))
	n := int(math.Ceil(math.Pi/s.step)) + 1
	if n > maxNodes || n*(last+1) > maxSpectrum {
		return nil
	}
	s.step = math.Pi / float64(n-1)
	for k := range n {
		value, slope := s.direct(float64(k) * s.step)
		s.values, s.slopes = append(s.values, value), append(s.slopes, slope)
	}
	s.off = 2*s.off*(1+s.mean*s.step) + near*(1+1e-6)
	return s
}

// direct sums up E cos(θη) and E −η·sin(θη).
func (s *spectrum) direct(theta float64) (value, slope float64) {
	last := len(s.law.Weights) - 1
	for i, w := range s.law.Weights {
		p := float64(w) * 0x1p-63
		if i == 0 {
			p /= 2
		}
		if i == last && s.law.TailRatio > 0 {
			break
		}
		sin, cos := math.Sincos(theta * float64(i))
		value += p * cos
		slope -= p * float64(i) * sin
	}
	if s.law.TailRatio > 0 { // (1−ρ)e^(i·last·θ)/(1−ρe^(iθ)), and its derivative
		rho, rest := s.ratio()
		p, half := float64(s.law.Weights[last])*0x1p-63, math.Sin(theta/2)
		sin, cos := math.Sincos(theta)
		sinM, cosM := math.Sincos(theta * float64(last))
		bottom := complex(rest+2*rho*half*half, -rho*sin)
		part := complex(rest, 0) * complex(cosM, sinM) / bottom
		value += p * real(part)
		slope -= p * imag(complex(float64(last), 0)*part+part*complex(rho*cos, rho*sin)/bottom)
	}
	return value, slope
}

// ratio returns that of the tail, ρ, and 1 − ρ.
func (s *spectrum) ratio() (rho, rest float64) {
	return float64(s.law.TailRatio) * 0x1p-64, float64(-s.law.TailRatio) * 0x1p-64
}

// at returns the value at θ >= 0 and a bound of its error; θ may be off by 2^-50 of itself.
func (s *spectrum) at(theta float64) (value, off float64) {
	off = s.off + 0x1p-50*theta*s.mean
	if s.geometric {
		rho, rest := s.ratio()
		half := math.Sin(theta / 2)
		x := 2 * half * half // 1 − cos θ: nothing is lost where ρ is near 1
		return float64(s.law.Weights[0])*0x1p-64 + float64(s.law.Weights[1])*0x1p-63*rest*(rest-x)/(rest*rest+2*rho*x), off
	}
	theta = math.Abs(math.Remainder(theta, 2*math.Pi))
	k := min(int(theta/s.step), len(s.values)-2)
	x := theta/s.step - float64(k)
	y := 1 - x
	value = s.values[k]*y*y*(1+2*x) + s.values[k+1]*x*x*(1+2*y) + s.step*x*y*(s.slopes[k]*y-s.slopes[k+1]*x)
	return value, off
}

// mixture is the law of an error: noises of laws times numbers, and normal noise.
type mixture struct {
	parts  []part
	laws   []*envelope
	normal float64 // its variance
	work   int     // evaluations of characteristic functions so far
}

// smooth is the number of uniform numbers that are added to an error for its characteristic function to end.
const smooth = 16

// inverted returns a radius of the error at most start, which is one, by its characteristic function:
// with Y, |Y| <= a, P(|X| > t) <= P(|X+Y| > t−a), of which the Fourier series on [−L, L] is summed, and
// P(|X| >= far) <= rest bounds what is beyond.
func (m *mixture) inverted(miss, start, far, rest float64) float64 {
	a := start / 64
	if m.fall() {
		a /= 4
	}
	length := (far + start) / 2
	series, slack := m.series(a, length, miss*1e-4)
	if slack += rest; series == nil || slack > miss/16 {
		return start
	}
	beyond := func(t float64) float64 {
		s, sum := t-a, 0.0
		for j, c := range series {
			sum += c * math.Sin(float64(j+1)*(math.Pi*s/length))
		}
		return 1 - s/length - sum + slack
	}
	low, high := a, start
	for high-low > 1e-4*high {
		if middle := (low + high) / 2; beyond(middle) <= miss {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// maxSeries bounds a series and the evaluations for it.
const (
	maxSeries      = 1 << 14
	maxSeriesTotal = 1 << 21
)

// series returns 2/(πj) times the characteristic function of X + Y at πj/length, j = 1, 2, …, up to where
// what is left is at most about cut, and a bound on that and all rounding of the sum.
func (m *mixture) series(a, length, cut float64) (out []float64, slack float64) {
	largest := 0.0
	for _, p := range m.parts {
		if len(p.terms) > 0 {
			largest = max(largest, p.terms[0].h)
		}
	}
	// What is left of Y alone from u on: Σ 2/(πi)·(smooth/(a·u_i))^smooth is at most the integral and the first term.
	after := func(u float64) float64 {
		first := u * length / math.Pi
		return 2 / math.Pi * (1.0/smooth + 1/first) * math.Pow(smooth/(a*u), smooth)
	}
	total := 0.0
	for j := 1; j <= maxSeries && m.work <= maxSeriesTotal; j++ {
		u := float64(j) * math.Pi / length
		value, off := math.Exp(-u*u*m.normal/2), 0x1p-46
		for i, p := range m.parts {
			m.work += len(p.terms)
			for _, t := range p.terms {
				f, wrong := m.laws[i].spectrum.at(u * t.h)
				off += float64(t.count) * (wrong + 0x1p-51)
				if t.count == 1 {
					value *= f
				} else {
					value *= math.Pow(f, float64(t.count))
				}
			}
		}
		x := a * u / smooth
		y := math.Pow(math.Sin(x)/x, smooth)
		scale := 2 / (math.Pi * float64(j))
		out = append(out, scale*value*y)
		total += math.Abs(scale * value * y)
		slack += scale * (min(1, math.Abs(y)+0x1p-40)*off + 0x1p-46*float64(j)*math.Abs(value*y))
		left := after(u)
		if m.fall() && u*largest < math.Pi { // up to 2π/largest − u no value is larger
			end := 2*math.Pi/largest - u
			left = min(left, 2/math.Pi*(math.Log(end/u)+1/float64(j))*(math.Abs(value)+off)+after(end))
		}
		if left <= cut {
			return out, slack + left + 0x1p-52*float64(j)*total
		}
	}
	return nil, 0
}

// fall reports whether all characteristic functions do up to π.
func (m *mixture) fall() bool {
	for i, p := range m.parts {
		if len(p.terms) > 0 && !m.laws[i].spectrum.geometric {
			return false
		}
	}
	return true
}

// ofSum returns the least whole number that a sum of n noises of a law exceeds in magnitude with a probability of at
// most miss, by its characteristic function at multiples of 2π/N: the sum modulo N is beyond r, or the sum itself
// is N − r or more, which has a probability of at most rest. start is such a number, and N − start at least far.
func (s *spectrum) ofSum(n int64, miss, start, far, rest float64) float64 {
	size := 2*math.Ceil((far+start)/2) + 1
	if size > maxSeries {
		return start
	}
	var values []float64
	wrong := 0x1p-46
	for j := 1.0; j <= (size-1)/2; j++ {
		value, off := s.at(2 * math.Pi * j / size)
		values = append(values, math.Pow(value, float64(n)))
		wrong = max(wrong, float64(n)*(off+0x1p-51))
	}
	beyond := func(r float64) float64 {
		sum, slack := 2*r+1, 0.0
		for j, value := range values {
			half := math.Pi * float64(j+1) / size
			kernel := 2 * math.Sin((2*r+1)*half) / math.Sin(half)
			sum += value * kernel
			slack += (math.Abs(kernel) + 1) * (wrong + 0x1p-46*math.Abs(value)*float64(j+1))
		}
		return 1 - sum/size + slack/size + rest
	}
	low, high := -1.0, start
	for high-low > 1 {
		if middle := math.Floor((low + high) / 2); beyond(middle) <= miss {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}
