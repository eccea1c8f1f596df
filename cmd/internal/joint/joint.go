// SPDX-License-Identifier: Apache-2.0

// Package joint has the classical joint noise of vectors, whose law depends on the Euclidean norm alone, to
// compare noise on balls with. Its numbers are floating-point values, on which no guarantee rests.
package joint

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/quadrature"
	"github.com/noisewright/noisewright/noise"
)

// Baseline is classical noise with the privacy of a problem.
type Baseline struct {
	Name, Source string
	Loss         float64 // the mean of a power of the norm
}

// Baselines returns those of d coordinates and their mean norm to the power p, for a delta above 0.
func Baselines(d int, privacy dp.Privacy, p float64) (list []Baseline) {
	if sigma, err := noise.GaussianSigma(privacy); err == nil {
		list = append(list, Baseline{"gaussian", "Balle & Wang 2018", math.Pow(sigma*math.Sqrt2, p) * gammas((float64(d)+p)/2, float64(d)/2)})
	}
	if privacy.Epsilon == 0 {
		return list
	}
	plain := family{d: float64(d), q: 1}
	list = append(list, Baseline{"spherical", "Hardt & Talwar 2010, with delta 0", math.Pow(privacy.Sensitivity/privacy.Epsilon, p) * plain.moment(p)})
	scale := func(f family) float64 { return math.Pow(privacy.Sensitivity*f.scale(privacy), p) * f.moment(p) }
	list = append(list, Baseline{"spherical-delta", "as spherical, calibrated to delta", scale(plain)})
	best := math.Inf(1)
	for _, share := range []float64{0, 0.25, 0.5, 0.75} {
		for _, q := range []float64{0.5, 0.7, 0.85, 1, 1.15, 1.3, 1.5, 1.75, 2, 2.5} {
			best = min(best, scale(family{float64(d), -share * float64(d), q}))
		}
	}
	return append(list, Baseline{"spherical-gamma", "generalized gamma, the best of 40 shapes, calibrated to delta", best})
}

// gammas returns Γ(a)/Γ(b).
func gammas(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	return math.Exp(x - y)
}

// family is the density r^k·exp(−r^q) of vectors with the norm r, up to a factor: r^q is Gamma((d+k)/q).
type family struct{ d, k, q float64 }

// moment returns the mean of r^p.
func (f family) moment(p float64) float64 { return gammas((f.d+f.k+p)/f.q, (f.d+f.k)/f.q) }

func (f family) log(r float64) float64 { return f.k*math.Log(r) - math.Pow(r, f.q) }

// at returns the r with that logarithm of the density, which falls with r.
func (f family) at(log float64) float64 {
	if f.k == 0 {
		return math.Pow(max(0, -log), 1/f.q)
	}
	// Newton's method for t = log r, of a function that is concave and falls: from where it is too low.
	t := math.Log(max(1, -2*log)) / f.q
	if t > 0 && log > -1 {
		t = 1
	}
	for f.log(math.Exp(t)) > log {
		t++
	}
	for range 60 {
		power := math.Exp(f.q * t)
		step := (f.k*t - power - log) / (f.k - f.q*power)
		if t -= step; math.Abs(step) < 1e-12*(1+math.Abs(t)) {
			break
		}
	}
	return math.Exp(t)
}

// scale returns the least factor of the noise that keeps delta at epsilon and a sensitivity of 1.
func (f family) scale(p dp.Privacy) float64 {
	radii, weights := f.radii(p.Delta)
	low, high := math.Log(1e-6), math.Log(1e6)
	for range 32 {
		middle := (low + high) / 2
		if f.divergence(radii, weights, p.Epsilon, math.Exp(-middle)) > p.Delta {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Exp(high)
}

// radii returns quantiles of r and the weights that they stand for, close together where little is left.
func (f family) radii(delta float64) (radii, weights []float64) {
	ends := []float64{0} // of 1 − the distribution function, or of it
	const parts = 200
	for i := range parts {
		ends = append(ends, math.Pow(10, -9+6*float64(i)/parts))
	}
	for i := range parts {
		ends = append(ends, 1e-3+0.998*float64(i)/parts)
	}
	tail := math.Log10(1e-3 * delta)
	for i := range parts + 1 {
		ends = append(ends, 1-math.Pow(10, -3+(tail+3)*float64(i)/parts))
	}
	a := (f.d + f.k) / f.q
	for i := range ends[1:] {
		w := ends[i+1] - ends[i]
		if w <= 0 {
			continue
		}
		var y float64
		if middle := (ends[i] + ends[i+1]) / 2; middle < 0.5 {
			y = mathext.GammaIncRegInv(a, middle)
		} else {
			y = mathext.GammaIncRegCompInv(a, 1-middle)
		}
		if !(y > 0) || math.IsInf(y, 1) {
			continue
		}
		radii, weights = append(radii, math.Pow(y, 1/f.q)), append(weights, w)
	}
	return radii, weights
}

// divergence returns the hockey-stick divergence of the noise and itself moved by s: the mean of 1 − e^(ε−loss)
// where that is above 0, of which no parts cancel.
func (f family) divergence(radii, weights []float64, epsilon, s float64) (sum float64) {
	for i, r := range radii {
		l := f.log(r)
		v := f.at(l - epsilon) // beyond it the loss is above epsilon
		if v >= r+s {
			continue
		}
		from := math.Acos(max(-1, min(1, (r*r+s*s-v*v)/(2*r*s)))) // the angle to the direction of the move
		twice, _ := quadrature.Means(func(angle float64) float64 {
			y := math.Sqrt(max(0, r*r+s*s-2*r*s*math.Cos(angle)))
			return math.Pow(math.Sin(angle), f.d-2) * -math.Expm1(min(0, epsilon-l+f.log(y)))
		}, (from+math.Pi)/2, (math.Pi-from)/2)
		sum += weights[i] * twice / 2 * (math.Pi - from)
	}
	return sum * gammas(f.d/2, (f.d-1)/2) / math.Sqrt(math.Pi)
}
