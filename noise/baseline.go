package noise

import (
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// Baseline is one classical mechanism that designed noise is compared with. It
// is a plain value; New is safe for concurrent use.
type Baseline struct {
	// Name is that of its mechanisms.
	Name string
	// Summary says in a few words what it is and when it applies.
	Summary string
	// Source says where it was published.
	Source string
	// New builds the mechanism. Baselines that can be tuned to a loss are
	// tuned to the one given; the others ignore it. The error wraps
	// [dp.ErrInvalid] for bad parameters and [ErrNotApplicable] if the mechanism
	// cannot be used at these parameters.
	New func(p dp.Privacy, loss loss.Loss) (Mechanism, error)
}

// Baselines returns every baseline in display order: pure mechanisms, then
// approximate ones. The slice is the caller's to keep.
func Baselines() []Baseline {
	return []Baseline{
		{"laplace", "Laplace noise of scale sensitivity/epsilon; epsilon > 0", "Dwork, McSherry, Nissim & Smith 2006", untuned(NewLaplace)},
		{"staircase", "optimal noise for delta = 0, step tuned to the loss; epsilon > 0", "Geng & Viswanath 2016", NewStaircase},
		{"staircase-atom", "staircase mixed with an atom of weight delta at 0; epsilon > 0", "Geng & Viswanath 2016, mixed with an atom", NewStaircaseAtom},
		{"discrete-laplace", "two-sided geometric noise on the integers; integer query and sensitivity, epsilon > 0", "Ghosh, Roughgarden & Sundararajan 2012", untuned(NewDiscreteLaplace)},
		{"canonical", "noise whose divergence at the full shift is delta exactly, the Tulap law", "Awan & Vadhan 2023", untuned(NewCanonical)},
		{"discrete-canonical", "the same rounded to integers, optimal for sensitivity 1; integer query and sensitivity", "Awan & Ramasethu 2024", untuned(NewDiscreteCanonical)},
		{"gaussian", "Gaussian noise, classical calibration; 0 < epsilon < 1, delta > 0", "Dwork & Roth 2014, Theorem A.1", untuned(NewGaussian)},
		{"analytic-gaussian", "Gaussian noise, exact calibration; delta > 0", "Balle & Wang 2018, Theorem 8", untuned(NewAnalyticGaussian)},
		{"truncated-laplace", "Laplace noise cut to a finite support; delta > 0", "Geng, Ding, Guo & Kumar 2020", untuned(NewTruncatedLaplace)},
		{"uniform", "uniform noise, (0, delta)-private whatever epsilon; delta > 0", "Geng, Ding, Guo & Kumar 2019", untuned(NewUniform)},
	}
}

// onIntegers reports whether the noise of the named baseline is on the integers.
func onIntegers(name string) bool { return strings.HasPrefix(name, "discrete-") }

// untuned is a constructor that ignores the loss.
func untuned(create func(dp.Privacy) (Mechanism, error)) func(dp.Privacy, loss.Loss) (Mechanism, error) {
	return func(p dp.Privacy, _ loss.Loss) (Mechanism, error) { return create(p) }
}
