// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"fmt"

	"github.com/noisewright/noisewright/local"
)

// LocalBaseline is one published mechanism that designed local randomizers are compared
// with. It is a plain value; New is safe for concurrent use.
type LocalBaseline struct {
	// Name is that of its mechanisms.
	Name string

	source   string
	unbiased bool
	applies  func(name string, p LocalProblem) error
	// complete gives a mechanism its note and its law.
	complete func(m LocalMechanism) (LocalMechanism, error)
}

// New builds the mechanism. The error wraps [dp.ErrInvalid] for bad parameters and is a
// [NotApplicableError] if the mechanism cannot be used at these parameters.
func (b LocalBaseline) New(p LocalProblem) (LocalMechanism, error) {
	if err := b.applies(b.Name, p); err != nil {
		return LocalMechanism{}, err
	}
	return b.complete(LocalMechanism{name: b.Name, source: b.source, unbiased: b.unbiased, problem: p})
}

// LocalBaselines returns every baseline in display order: mechanisms for bounded numbers,
// for integers and categories, and noise that is added with the range of the values for
// its sensitivity. The slice is the caller's to keep.
func LocalBaselines() []LocalBaseline {
	const (
		zhao   = "Zhao et al. 2021"
		warner = "Warner 1965; Kairouz, Bonawitz & Ramage 2016"
	)
	list := []LocalBaseline{
		{"duchi", "Duchi, Jordan & Wainwright 2018", true, appliesToNumbers, duchi},
		{"piecewise", "Wang et al. 2019, Algorithm 2", true, appliesToNumbers, twoDensities},
		{"hybrid", "Wang et al. 2019, Section III-C", true, appliesToNumbers, hybrid},
		{"piecewise-optimal", zhao + ", PM-OPT", true, appliesToNumbers, piecewiseOptimal},
		{"three-outputs", zhao + ", Three-Outputs", true, appliesToNumbers, threeOutputsOptimal},
		{"hybrid-three-outputs", zhao + ", HM-TP", true, appliesToNumbers, hybridThreeOutputs},
		{"generalized-piecewise-unbiased", "Zheng, Mishra & Hu 2025, Theorem 5 as programmed by the authors", true, appliesToNumbers, generalizedPiecewiseUnbiased},
		{"generalized-piecewise", "Zheng, Mishra & Hu 2025, OGPM", false, appliesToNumbers, generalizedPiecewise},
		{"square-wave", "Li et al. 2020, Equation 5", false, appliesToNumbers, squareWave},
		{"randomized-response", warner, false, appliesToPoints, randomizedResponse},
		{"randomized-response-unbiased", warner, true, appliesToIntegers, randomizedResponseUnbiased},
		{"bitwise-response", "Warner 1965, per bit", true, appliesToIntegers, bitwiseResponse},
		{"exponential", "McSherry & Talwar 2007", false, appliesToPoints, exponential},
		{"truncated-geometric", "Ghosh, Roughgarden & Sundararajan 2012", false, appliesToIntegers, truncatedGeometric},
		{discreteStaircase, "Geng & Viswanath 2016", true, appliesToIntegers, addedDiscreteStaircase},
	}
	for _, b := range Baselines() {
		list = append(list, LocalBaseline{b.Name, b.Source, true, appliesAdded, b.added})
	}
	return list
}

// appliesAdded refuses what noise cannot be added to.
func appliesAdded(name string, p LocalProblem) error {
	if p.Values.Kind == local.Category {
		return notApplicable(name, "it answers numbers, want no categories")
	}
	if onIntegers(name) && p.Values.Kind != local.Integer {
		return notApplicable(name, "it is for integers")
	}
	return p.validate()
}

// added is noise that is added to the value.
func (b Baseline) added(m LocalMechanism) (LocalMechanism, error) {
	law, err := b.New(m.problem.privacy(), m.problem.Loss)
	if err != nil {
		return m, err
	}
	value, errorBound, err := law.ExpectedLoss(m.problem.Loss)
	m.note, m.additive = "added; "+law.Note(), [2]float64{value, errorBound}
	return m, err
}

// addedDiscreteStaircase is the best integer noise for δ = 0 that is added.
func addedDiscreteStaircase(m LocalMechanism) (LocalMechanism, error) {
	p := &m.problem
	step, value, err := DiscreteStaircase(p.Epsilon, int64(p.Values.Upper-p.Values.Lower), p.Loss)
	m.note, m.additive = fmt.Sprintf("added; step %d; %s", step, pureNote), [2]float64{value, 1e-13 * value}
	return m, err
}
