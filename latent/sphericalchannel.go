package latent

import (
	"math"
)

// sphericalChannel is a coordinate of spherical noise: normal noise of the variance
// tau²·V, V of the χ² law with z+1 degrees of freedom (docs/proofs/spherical.md).
// Rounding to its grid, of 2^32 steps in tau, adds less than can be told.
type sphericalChannel struct {
	variance           float64
	deviations, shares []float64 // tau·√V and probabilities of a quadrature for V
}

func newSphericalChannel(tau float64, z int) *sphericalChannel {
	c := &sphericalChannel{variance: float64(z+1) * tau * tau}
	// The trapezoidal rule for ln V, of the density exp(s·(z+1)/2 - e^s/2) up to a factor:
	// smooth with tails that fall exponentially, so that the rule is as good as exact.
	half := float64(z+1) / 2
	peak := math.Log(2 * half)
	total := 0.0
	step := 0.1 / math.Sqrt(half)
	for _, direction := range []float64{-1, 1} {
		for k := (1 - direction) / 2; ; k++ { // the peak once
			s := peak + direction*k*step
			share := math.Exp(half*(s-peak) - (math.Exp(s)-math.Exp(peak))/2)
			if share < 1e-18 {
				break
			}
			total += share
			c.deviations, c.shares = append(c.deviations, tau*math.Exp(s/2)), append(c.shares, share)
		}
	}
	for k := range c.shares {
		c.shares[k] /= total
	}
	return c
}

func (c *sphericalChannel) moments(u float64) (mean, variance float64) { return u, c.variance }

func (c *sphericalChannel) atoms() []float64 { return nil }

func (c *sphericalChannel) below(u, edge float64) float64 {
	p := 0.0
	for k, d := range c.deviations {
		p += c.shares[k] * math.Erfc((u-edge)/d/math.Sqrt2) / 2
	}
	return p
}
