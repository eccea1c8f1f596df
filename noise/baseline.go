package noise

import (
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// Baseline is one classical mechanism that a designed noise is compared with. It
// is a plain value; New is safe for concurrent use.
type Baseline struct {
	// Name is the mechanism's name, the same as its Mechanism.Name.
	Name string
	// Summary says in a few words what it is and when it applies.
	Summary string
	// New builds the mechanism. Baselines that can be tuned to a loss are
	// tuned to the one given; the others ignore it. The error wraps ErrInvalid
	// for bad parameters and ErrNotApplicable if the mechanism cannot be used
	// at these parameters.
	New func(p dp.Privacy, loss loss.Loss) (Mechanism, error)
}

// Baselines returns every baseline in display order: pure mechanisms, then
// approximate ones. The slice is the caller's to keep.
func Baselines() []Baseline {
	return []Baseline{
		{
			Name:    "laplace",
			Summary: "Laplace noise of scale sensitivity/epsilon; epsilon > 0",
			New:     func(p dp.Privacy, _ loss.Loss) (Mechanism, error) { return mechanism(NewLaplace(p)) },
		},
		{
			Name:    "staircase",
			Summary: "optimal noise for delta = 0, step tuned to the loss; epsilon > 0",
			New:     func(p dp.Privacy, loss loss.Loss) (Mechanism, error) { return mechanism(NewStaircase(p, loss)) },
		},
		{
			Name:    "staircase-atom",
			Summary: "staircase mixed with an atom of weight delta at 0; epsilon > 0",
			New:     func(p dp.Privacy, loss loss.Loss) (Mechanism, error) { return mechanism(NewStaircaseAtom(p, loss)) },
		},
		{
			Name:    "discrete-laplace",
			Summary: "two-sided geometric noise on the integers; integer query and sensitivity, epsilon > 0",
			New:     func(p dp.Privacy, _ loss.Loss) (Mechanism, error) { return mechanism(NewDiscreteLaplace(p)) },
		},
		{
			Name:    "gaussian",
			Summary: "Gaussian noise, classical calibration; 0 < epsilon < 1, delta > 0",
			New:     func(p dp.Privacy, _ loss.Loss) (Mechanism, error) { return mechanism(NewGaussian(p)) },
		},
		{
			Name:    "analytic-gaussian",
			Summary: "Gaussian noise, exact calibration; delta > 0",
			New:     func(p dp.Privacy, _ loss.Loss) (Mechanism, error) { return mechanism(NewAnalyticGaussian(p)) },
		},
		{
			Name:    "truncated-laplace",
			Summary: "Laplace noise cut to a finite support; delta > 0",
			New:     func(p dp.Privacy, _ loss.Loss) (Mechanism, error) { return mechanism(NewTruncatedLaplace(p)) },
		},
		{
			Name:    "uniform",
			Summary: "uniform noise, (0, delta)-private whatever epsilon; delta > 0",
			New:     func(p dp.Privacy, _ loss.Loss) (Mechanism, error) { return mechanism(NewUniform(p)) },
		},
	}
}

// mechanism turns a constructor's result into the interface, keeping a failed
// one's nil a nil interface.
func mechanism[M Mechanism](m M, err error) (Mechanism, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}
