// SPDX-License-Identifier: Apache-2.0

package dp

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
)

// Query says what values the query takes and what noise is compared with in a design.
type Query string

// The kinds of query.
const (
	// RealQuery takes any values; noise is any law on the real line.
	RealQuery Query = "real"
	// IntegerQuery takes integers; noise is any law on the integers.
	IntegerQuery Query = "integer"
	// LatticeQuery takes any values and is rounded at random, without bias, to a multiple of a
	// given step before noise is added; noise is any law on the multiples of the step.
	LatticeQuery Query = "lattice"
)

// Constraints restrict the noise of a design beyond its privacy. The zero value
// restricts nothing. Magnitudes are in query units.
type Constraints struct {
	// Symmetric: X and -X have the same law.
	Symmetric bool `json:"symmetric,omitempty"`
	// Monotone: the density does not increase away from 0.
	Monotone bool `json:"monotone,omitempty"`
	// Unbiased: E X = 0.
	Unbiased bool `json:"unbiased,omitempty"`
	// Support, if not nil, holds the noise.
	Support *Interval `json:"-"`
	// MaxVariance, if not 0, bounds E X², the mean square about 0, which is
	// the variance of unbiased noise and never below the variance.
	MaxVariance float64 `json:"max_variance,omitempty"`
	// Quantiles bound the probabilities of large noise.
	Quantiles []Quantile `json:"quantiles,omitempty"`
	// MaxDistinguishing, if not 0, bounds the probability of outputs that are impossible under some
	// neighbor (and so give it away with certainty), the exact value at 0 (the atom) included.
	MaxDistinguishing float64 `json:"max_distinguishing,omitempty"`
}

// Interval is a closed interval; its ends may be infinite.
type Interval struct{ Lower, Upper float64 }

// Quantile demands P(|X| <= Magnitude) >= Probability.
type Quantile struct {
	Probability float64 `json:"probability"`
	Magnitude   float64 `json:"magnitude"`
}

// Loss returns the loss whose expectation the quantile bounds by 1-Probability.
func (q Quantile) Loss() (loss.Loss, error) { return loss.New("exceed", q.Magnitude) }

// Validate reports all bad fields together, each error wrapping [ErrInvalid].
func (c Constraints) Validate() error {
	errs := check.In("dp")
	if s := c.Support; s != nil && !(s.Lower < s.Upper && s.Lower <= 0 && s.Upper >= 0) {
		errs.Bad("support", fmt.Sprintf("%g,%g", s.Lower, s.Upper), "two numbers, the first at most 0 and the second at least 0, and not both 0 (query units)")
	}
	errs.If(c.MaxVariance != 0 && !(c.MaxVariance > 0 && c.MaxVariance <= math.MaxFloat64), "max-variance", c.MaxVariance, "a finite number > 0 (query units squared)")
	errs.If(len(c.Quantiles) > limits.Quantiles, "quantile", fmt.Sprintf("%d of them", len(c.Quantiles)), "at most %d", limits.Quantiles)
	for _, q := range c.Quantiles {
		errs.If(!(q.Probability > 0 && q.Probability < 1), "quantile", fmt.Sprintf("%g,%g", q.Probability, q.Magnitude), "a probability above 0 and below 1 first")
		if _, err := q.Loss(); err != nil {
			errs.Bad("quantile", fmt.Sprintf("%g,%g", q.Probability, q.Magnitude), "a magnitude from 1e-60 to 1e60 second (query units)")
		}
	}
	errs.If(c.MaxDistinguishing != 0 && !(c.MaxDistinguishing > 0 && c.MaxDistinguishing < 1), "max-distinguishing", c.MaxDistinguishing, "a probability above 0 and below 1")
	return errs.Err()
}

// MarshalJSON writes the constraints there are, as in table files (docs/table-format.md).
func (c Constraints) MarshalJSON() ([]byte, error) {
	out := struct {
		Symmetric         bool       `json:"symmetric,omitempty"`
		Monotone          bool       `json:"monotone,omitempty"`
		Unbiased          bool       `json:"unbiased,omitempty"`
		Lower             *float64   `json:"lower,omitempty"` // of the support
		Upper             *float64   `json:"upper,omitempty"`
		MaxVariance       float64    `json:"max_variance,omitempty"`
		Quantiles         []Quantile `json:"quantiles,omitempty"`
		MaxDistinguishing float64    `json:"max_distinguishing,omitempty"`
	}{
		Symmetric: c.Symmetric, Monotone: c.Monotone, Unbiased: c.Unbiased,
		MaxVariance: c.MaxVariance, Quantiles: c.Quantiles, MaxDistinguishing: c.MaxDistinguishing,
	}
	if s := c.Support; s != nil {
		if !math.IsInf(s.Lower, 0) {
			out.Lower = &s.Lower
		}
		if !math.IsInf(s.Upper, 0) {
			out.Upper = &s.Upper
		}
	}
	return json.Marshal(out)
}

// None reports whether nothing is restricted.
func (c Constraints) None() bool {
	return !c.Symmetric && !c.Monotone && !c.Unbiased && c.Support == nil &&
		c.MaxVariance == 0 && len(c.Quantiles) == 0 && c.MaxDistinguishing == 0
}

// Holds reports whether noise of x keeps the support.
func (c Constraints) Holds(x float64) bool {
	return c.Support == nil || c.Support.Lower <= x && x <= c.Support.Upper
}

// Mirrored reports whether the constraints are the same for X and -X.
func (c Constraints) Mirrored() bool { return c.Support == nil || c.Support.Lower == -c.Support.Upper }
