// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"slices"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
)

// Names of mechanisms, as in flags, tables and files.
const (
	Laplace           = "laplace"
	Staircase         = "staircase"
	DiscreteLaplace   = "discrete-laplace"
	Gaussian          = "gaussian" // as a baseline by the classical calibration
	AnalyticGaussian  = "analytic-gaussian"
	TruncatedLaplace  = "truncated-laplace"
	discreteStaircase = "discrete-staircase"
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

	create func(c conditions, p dp.Privacy, loss loss.Loss) (Mechanism, error)
}

// New builds the mechanism. Baselines that can be tuned to a loss are tuned to the one
// given; the others ignore it. The error wraps [dp.ErrInvalid] for bad parameters and is
// a [NotApplicableError] if the mechanism cannot be used at these parameters.
func (b Baseline) New(p dp.Privacy, loss loss.Loss) (Mechanism, error) {
	m, err := b.create(newConditions(b.Name, p), p, loss)
	if err != nil {
		return Mechanism{}, err
	}
	m.name = b.Name
	return m, nil
}

// baselines has every baseline in display order.
var baselines = []Baseline{
	{Laplace, "Laplace noise of scale sensitivity/epsilon; epsilon > 0", "Dwork, McSherry, Nissim & Smith 2006", newLaplace},
	{Staircase, "optimal noise for delta = 0, step tuned to the loss; epsilon > 0", "Geng & Viswanath 2016", newStaircase},
	{"staircase-atom", "staircase mixed with an atom of weight delta at 0; epsilon > 0", "Geng & Viswanath 2016, mixed with an atom", newStaircaseAtom},
	{DiscreteLaplace, "two-sided geometric noise on the integers; integer query and sensitivity, epsilon > 0", "Ghosh, Roughgarden & Sundararajan 2012", newDiscreteLaplace},
	{"canonical", "noise whose divergence at the full shift is delta exactly, the Tulap law", "Awan & Vadhan 2023", newCanonical},
	{"discrete-canonical", "the same rounded to integers, optimal for sensitivity 1; integer query and sensitivity", "Awan & Ramasethu 2024", newDiscreteCanonical},
	{Gaussian, "Gaussian noise, classical calibration; 0 < epsilon < 1, delta > 0", "Dwork & Roth 2014, Theorem A.1", newGaussian},
	{AnalyticGaussian, "Gaussian noise, exact calibration; delta > 0", "Balle & Wang 2018, Theorem 8", newAnalyticGaussian},
	{TruncatedLaplace, "Laplace noise cut to a finite support; delta > 0", "Geng, Ding, Guo & Kumar 2020", newTruncatedLaplace},
	{"uniform", "uniform noise, (0, delta)-private whatever epsilon; delta > 0", "Geng, Ding, Guo & Kumar 2019", newUniform},
}

// Baselines returns every baseline in display order: pure mechanisms, then
// approximate ones. The slice is the caller's to keep.
func Baselines() []Baseline { return slices.Clone(baselines) }

// New builds the mechanism of the baseline with this name; see [Baseline.New].
func New(name string, p dp.Privacy, loss loss.Loss) (Mechanism, error) {
	for i := range baselines {
		if b := &baselines[i]; b.Name == name {
			return b.New(p, loss)
		}
	}
	return Mechanism{}, check.Field("noise", "name", check.Quoted(name), "that of one of Baselines")
}

// onIntegers reports whether the noise of the named baseline is on the integers.
func onIntegers(name string) bool { return strings.HasPrefix(name, "discrete-") }
