package noise

import (
	"errors"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
)

// Mechanism is a law of additive noise X for a scalar query.
//
// Those of this package are immutable, safe for concurrent use, provided the loss
// they are given is, and symmetric about 0.
type Mechanism interface {
	// Name is the mechanism as written in flags and tables, e.g. "laplace".
	Name() string
	// Note is one line for a reader: the law's own parameters and what it
	// assumes.
	Note() string
	// Density returns the density of the continuous part at x, per query unit.
	Density(x float64) float64
	// Mass returns the probability of the noise being exactly x, which is not
	// in the density.
	Mass(x float64) float64
	// ExpectedLoss returns E c(X) for the loss c, in the loss's units, and a
	// bound on the absolute error of that value. L1 and L2 have closed
	// forms, weighted or not; any other loss is integrated or summed numerically.
	//
	// The bound of a closed form or a sum is a rounding bound. The bound of an
	// integral is an estimate in the usual sense (two quadrature rules compared
	// on every piece), reliable if a loss with kinks or jumps is a [loss.Kinked].
	// Both assume that the loss grows no faster than |x|^64, for then what is cut
	// off the tails is below 1e-60 of the value.
	//
	// It returns an error wrapping [dp.ErrInvalid] if loss is nil or if the value
	// is not a finite float64.
	ExpectedLoss(loss loss.Loss) (value, errorBound float64, err error)
}

// continuous is what the laws without masses on points have in common.
type continuous struct{ name string }

func (c continuous) Name() string         { return c.name }
func (continuous) Mass(_ float64) float64 { return 0 }

// ErrNotApplicable marks a mechanism that exists but cannot be used at the given
// parameters; a [NotApplicableError] says why.
var ErrNotApplicable = errors.New("mechanism does not apply")

// NotApplicableError says why a mechanism or a formula cannot be used at the
// given parameters. Errors that hold one wrap [ErrNotApplicable].
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
	return check.Errorf("noise", ErrNotApplicable, "%w", &NotApplicableError{mechanism, fmt.Sprintf(format, args...)})
}

const (
	// closedFormError is the relative rounding bound of a closed form. Each is
	// a product of at most a dozen positive factors and sums of positive
	// terms, correct to an ulp or two, so 64 ulps (2^-47, 1.4e-14) is safe.
	closedFormError = 0x1p-46

	// tailCut is the number of e-folds after which an exponential tail is cut.
	// For c(x) = |x|^p the part cut off is about 300^(p+1)·e^-300/Γ(p+2) of
	// the value: below e^-138, 1e-60, for every p <= 64.
	tailCut = 300.0
)

// evaluate is the body of every ExpectedLoss: first and second are E|X| and
// E X², which answer L1 and L2; numeric answers any other loss.
func evaluate(name string, l loss.Loss, first, second float64, numeric func(loss.Loss) (value, errorBound float64)) (value, errorBound float64, err error) {
	if err := checkLoss(l); err != nil {
		return 0, 0, err
	}
	switch plain, weight := loss.Unweighted(l); plain.(type) {
	case loss.L1:
		value = weight * first
		errorBound = closedFormError * value
	case loss.L2:
		value = weight * second
		errorBound = closedFormError * value
	default:
		value, errorBound = numeric(l)
	}
	if !check.Finite(value + errorBound) {
		return 0, 0, check.Errorf("noise", dp.ErrInvalid, "%s: expected %s loss = %g, want a finite float64", name, l.Name(), value)
	}
	return value, errorBound, nil
}

// finiteScale refuses a law whose scale left the range of float64, which only
// happens when a parameter is within a few orders of magnitude of its ends.
func finiteScale(name, what string, scale float64) error {
	if !(scale > 0) || math.IsInf(scale, 1) {
		return check.Field("noise", name+": "+what, scale, "a finite number > 0 (query units)")
	}
	return nil
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
