// SPDX-License-Identifier: Apache-2.0

package noise_test

import (
	"errors"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
)

func ExampleBaselines() {
	p := dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}
	for _, b := range noise.Baselines() {
		m, err := b.New(p, loss.L1)
		var inapplicable *noise.NotApplicableError
		if errors.As(err, &inapplicable) {
			fmt.Println(err)
			continue
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		value, _, err := m.ExpectedLoss(loss.L1)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-17s %.6f  %s\n", m.Name(), value, m.Note())
	}
	// Output:
	// laplace           1.000000  scale 1; delta is not used
	// staircase         0.959517  step 0.377541 of the sensitivity, tuned to l1; delta is not used
	// staircase-atom    0.863566  step 0.377541 of the sensitivity, tuned to l1; exactly 0 with probability 0.1
	// discrete-laplace  0.850918  integers only: assumes integer query values; ratio 0.367879; delta is not used
	// canonical         0.704438  steps of one sensitivity, support +-2.24844
	// discrete-canonical 0.588607  integers only: assumes integer query values; optimal for even losses that grow away from 0
	// noise: gaussian does not apply: the classical calibration is proved for 0 < epsilon < 1 only and epsilon = 1; analytic-gaussian has no such limit
	// analytic-gaussian 0.866405  sigma 1.08588
	// truncated-laplace 0.736846  support +-2.26087
	// uniform           2.500000  support +-5; private with epsilon = 0, epsilon is not used
}

func ExampleNew_laplace() {
	m, err := noise.New(noise.Laplace, dp.Privacy{Epsilon: 0.5, Sensitivity: 3}, loss.L1)
	if err != nil {
		fmt.Println(err)
		return
	}
	variance, _, err := m.ExpectedLoss(loss.L2)
	fmt.Println(m.Note(), variance, err)
	// Output: scale 6; delta is not used 72 <nil>
}

func ExampleNew_staircase() {
	m, err := noise.New(noise.Staircase, dp.Privacy{Epsilon: 5, Sensitivity: 1}, loss.L1)
	if err != nil {
		fmt.Println(err)
		return
	}
	value, _, err := m.ExpectedLoss(loss.L1)
	fmt.Printf("E|X| = %.6f, against 0.2 for Laplace noise, %v\n", value, err)
	// Output: E|X| = 0.082642, against 0.2 for Laplace noise, <nil>
}

func ExampleNew_staircaseAtom() {
	m, err := noise.New("staircase-atom", dp.Privacy{Epsilon: 5, Delta: 0.25, Sensitivity: 1}, loss.L1)
	if err != nil {
		fmt.Println(err)
		return
	}
	value, _, err := m.ExpectedLoss(loss.L1)
	fmt.Printf("E|X| = %.6f, exactly 0 with probability %g, %v\n", value, m.Mass(0), err)
	// Output: E|X| = 0.061981, exactly 0 with probability 0.25, <nil>
}

func ExampleNew_discreteLaplace() {
	p := dp.Privacy{Epsilon: 1, Sensitivity: 1}
	m, err := noise.New(noise.DiscreteLaplace, p, loss.L1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("P(X = 0) = %.4f, P(X = 1) = %.4f\n", m.Mass(0), m.Mass(1))
	p.Sensitivity = 0.5
	_, err = noise.New(noise.DiscreteLaplace, p, loss.L1)
	fmt.Println(err)
	// Output:
	// P(X = 0) = 0.4621, P(X = 1) = 0.1700
	// noise: discrete-laplace does not apply: it is for integer queries and sensitivity = 0.5, want a positive integer
}

func ExampleNew_gaussian() {
	p := dp.Privacy{Epsilon: 0.5, Delta: 1e-6, Sensitivity: 1}
	classical, err := noise.New(noise.Gaussian, p, loss.L1)
	if err != nil {
		fmt.Println(err)
		return
	}
	exact, err := noise.GaussianSigma(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s, where %.4f is enough\n", classical.Note(), exact)
	// Output: sigma 10.5976, where 8.0576 is enough
}

func ExampleGaussianSigma() {
	sigma, err := noise.GaussianSigma(dp.Privacy{Epsilon: 1, Delta: 1e-5, Sensitivity: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.6f\n", sigma)
	// Output: 3.730632
}

func ExampleNew_truncatedLaplace() {
	m, err := noise.New(noise.TruncatedLaplace, dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 2}, loss.L1)
	if err != nil {
		fmt.Println(err)
		return
	}
	value, _, err := m.ExpectedLoss(loss.L1)
	fmt.Printf("%s, E|X| = %.4f, %v\n", m.Note(), value, err)
	// Output: support +-4.52174, E|X| = 1.4737, <nil>
}

func ExampleNew_uniform() {
	m, err := noise.New("uniform", dp.Privacy{Epsilon: 0, Delta: 0.1, Sensitivity: 1}, loss.L1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Density(4.9), m.Density(5.1))
	// Output: 0.1 0
}

func ExampleStaircaseStep() {
	for _, l := range []loss.Loss{loss.L1, loss.L2} {
		gamma, err := noise.StaircaseStep(dp.Privacy{Epsilon: 1, Sensitivity: 1}, l)
		fmt.Printf("%.6f %v\n", gamma, err)
	}
	// Output:
	// 0.377541 <nil>
	// 0.416737 <nil>
}

func ExampleDiscreteStaircase() {
	step, value, err := noise.DiscreteStaircase(1, 3, loss.L1)
	fmt.Printf("step %d of 3, E|X| = %.6f, %v\n", step, value, err)
	// Output: step 2 of 3, E|X| = 2.860832, <nil>
}

// huber is a loss from elsewhere: quadratic up to its threshold, then linear. The
// embedded loss stands in for the methods that a density does not ask for.
type huber struct {
	loss.Loss
	threshold float64
}

func (h huber) Name() string     { return "huber" }
func (h huber) Kinks() []float64 { return []float64{-h.threshold, h.threshold} }

func (h huber) At(x float64) float64 {
	x = math.Abs(x)
	if x <= h.threshold {
		return x * x / 2
	}
	return h.threshold * (x - h.threshold/2)
}

// A loss without a closed form is integrated; the second value bounds the error.
func ExampleMechanism_expectedLoss() {
	m, err := noise.New(noise.Laplace, dp.Privacy{Epsilon: 1, Sensitivity: 1}, loss.L1)
	if err != nil {
		fmt.Println(err)
		return
	}
	value, bound, err := m.ExpectedLoss(huber{loss.L2, 2})
	fmt.Printf("%.12f, exactly %.12f, bound below 1e-12: %v, %v\n", value, 1-math.Exp(-2), bound < 1e-12, err)
	// Output: 0.864664716763, exactly 0.864664716763, bound below 1e-12: true, <nil>
}

// Published answers to one value from 0 to 5 that any two people's values cannot be told
// apart by: the variance at the value where it is largest, for unbiased ones.
func ExampleLocalBaselines() {
	p := noise.LocalProblem{
		Epsilon: 2, Loss: loss.L2, Objective: local.Worst,
		Values: local.Values{Kind: local.Real, Lower: 0, Upper: 5},
	}
	for _, b := range noise.LocalBaselines() {
		m, err := b.New(p)
		if err != nil || !m.Unbiased() {
			continue
		}
		worst, _, _ := m.WorstLoss()
		fmt.Printf("%-30s %6.3f\n", m.Name(), worst)
	}
	// Output:
	// duchi                          10.775
	// piecewise                       7.672
	// hybrid                          6.515
	// piecewise-optimal               6.826
	// three-outputs                   6.249
	// hybrid-three-outputs            6.152
	// generalized-piecewise-unbiased 28.097
	// laplace                        12.500
	// staircase                      10.568
	// staircase-atom                 10.568
	// canonical                      11.134
}
