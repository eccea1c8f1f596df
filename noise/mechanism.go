// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/quadrature"
	"github.com/noisewright/noisewright/loss"
)

// Mechanism is a law of additive noise X for a scalar query. It is immutable, safe
// for concurrent use, provided the loss it is given is, and symmetric about 0.
type Mechanism struct {
	name     string
	note     func() string           // made when asked for: it costs more than the law
	bound    float64                 // see Support; 0: none
	density  func(x float64) float64 // nil: none
	mass     func(x float64) float64 // nil: none
	expected expectation             // see ExpectedLoss
}

// Name is the mechanism as written in flags and tables, e.g. "laplace".
func (m Mechanism) Name() string { return m.name }

// Note is one line for a reader: the law's own parameters and what it assumes.
func (m Mechanism) Note() string {
	if m.note == nil {
		return ""
	}
	return m.note()
}

// Support returns A such that the noise is in [-A, A], in query units; +Inf for noise without end.
func (m Mechanism) Support() float64 {
	if m.bound == 0 {
		return math.Inf(1)
	}
	return m.bound
}

// Density returns the density of the continuous part at x, per query unit.
func (m Mechanism) Density(x float64) float64 {
	if m.density == nil {
		return 0
	}
	return m.density(x)
}

// Mass returns the probability of the noise being exactly x, which is not in the density.
func (m Mechanism) Mass(x float64) float64 {
	if m.mass == nil {
		return 0
	}
	return m.mass(x)
}

// ExpectedLoss returns E c(X) for the loss c, in the loss's units, and a bound on
// the absolute error of that value. L1 and L2 have closed forms, weighted or not;
// any other loss is integrated or summed numerically.
//
// The bound of a closed form or a sum is a rounding bound. The bound of an integral is an estimate
// in the usual sense (two quadrature rules compared on every piece), reliable if a loss with kinks
// or jumps declares them ([loss.View.Kinks]). Both assume that the loss grows no faster than |x|^64, for
// then what is cut off the tails is below 1e-60 of the value.
//
// It returns an error wrapping [dp.ErrInvalid] if the loss is nil or the value is not finite.
func (m Mechanism) ExpectedLoss(l loss.Loss) (value, errorBound float64, err error) {
	if err := checkLoss(l); err != nil {
		return 0, 0, err
	}
	value, errorBound = m.expected(l)
	if !check.Finite(value + errorBound) {
		return 0, 0, check.Errorf("noise", dp.ErrInvalid, "%s: expected %s loss = %g, want a finite float64", m.name, l.Name(), value)
	}
	return value, errorBound, nil
}

// NotApplicableError says why a mechanism or a formula cannot be used at some parameters.
type NotApplicableError struct {
	// Mechanism is the name of the mechanism or formula, e.g. "laplace".
	Mechanism string
	// Reason is the rule that does not hold, with the offending value.
	Reason string
}

// Error implements error.
func (e *NotApplicableError) Error() string {
	return fmt.Sprintf("%s does not apply: %s", e.Mechanism, e.Reason)
}

func notApplicable(mechanism, format string, args ...any) error {
	return check.Errorf("noise", nil, "%w", &NotApplicableError{mechanism, fmt.Sprintf(format, args...)})
}

const (
	// closedFormError is the relative rounding bound of a closed form. Each is
	// a product of at most a dozen positive factors and sums of positive
	// terms, correct to an ulp or two, so 64 ulps (2^-47, 1.4e-14) is safe.
	closedFormError = 0x1p-46

	// tailCut is after how many e-folds an exponential tail is cut. For c(x) = |x|^p the part cut
	// off is about 300^(p+1)·e^-300/Γ(p+2) of the value: below e^-138, 1e-60, for every p <= 64.
	tailCut = 300.0
)

// expectation is the expected loss of a law and a bound on its error.
type expectation = func(l loss.Loss) (value, errorBound float64)

// evaluate answers L1 and L2 from first = E|X| and second = E X², and any other loss by numeric.
func evaluate(l loss.Loss, first, second float64, numeric expectation) (value, errorBound float64) {
	switch plain, weight := loss.Of(l).Unweighted(); plain {
	case loss.L1:
		return closed(weight * first)
	case loss.L2:
		return closed(weight * second)
	}
	return numeric(l)
}

// closed is the value of a closed form, or of a sum, with its rounding bound.
func closed(x float64) (value, errorBound float64) { return x, closedFormError * x }

// integrate returns ∫ (c(x)+c(-x))·weight(y)/norm dy over 0 <= y <= end, x being y
// times the scale, for a weight that decays on the scale 1. The panels are the powers
// of two, since a loss may have a scale of its own, and the loss's kinks.
func integrate(l loss.Loss, scale, end float64, weight func(y float64) float64, norm float64) (value, errorBound float64) {
	return quadrature.Integrate(func(y float64) float64 {
		x := scale * y
		return (l.At(x) + l.At(-x)) * weight(y) / norm
	}, lossPanels(l, scale, end))
}

func lossPanels(l loss.Loss, scale, end float64) []float64 {
	// Below the first panel, 10^-6 of the scale, only a kink that was not declared can hide.
	const first = 0x1p-20
	panels := quadrature.GeometricPanels([]float64{0}, first, end)
	for _, x := range loss.Of(l).Kinks() {
		if y := math.Abs(x) / scale; y > 0 && y < end {
			panels = append(panels, y)
		}
	}
	slices.Sort(panels)
	return slices.Compact(panels)
}

// conditions are those of a mechanism on its parameters. The first that does not hold counts.
type conditions struct {
	name    string
	privacy dp.Privacy
	err     error
}

// newConditions refuses bad parameters.
func newConditions(name string, p dp.Privacy) conditions {
	return conditions{name: name, privacy: p, err: p.Validate()}
}

// applies refuses parameters that the mechanism is not for. It says if all conditions held so far.
func (c *conditions) applies(ok bool, reason string, args ...any) bool {
	if c.err == nil && !ok {
		c.err = notApplicable(c.name, reason, args...)
	}
	return c.err == nil
}

// finite refuses a law whose scale left the range of float64, which only happens when a
// parameter is within a few orders of magnitude of its ends.
func (c *conditions) finite(what string, scale float64) bool {
	if c.err == nil && !check.Positive(scale) {
		c.err = check.Field("noise", c.name+": "+what, scale, "a finite number > 0 (query units)")
	}
	return c.err == nil
}

// logarithm is ln x for x > 0, subnormal numbers included: there math.Log is
// wrong on some architectures.
func logarithm(x float64) float64 {
	if x < 0x1p-1022 {
		return math.Log(x*0x1p60) - 60*math.Ln2
	}
	return math.Log(x)
}

// checkLoss refuses a missing loss at the boundary.
func checkLoss(loss loss.Loss) error {
	if loss == nil {
		return check.Field("noise", "loss", "<nil>", "a loss such as L1 or L2")
	}
	return nil
}
