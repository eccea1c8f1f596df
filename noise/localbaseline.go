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
	// New builds the mechanism. The error wraps [dp.ErrInvalid] for bad parameters and
	// [ErrNotApplicable] if the mechanism cannot be used at these parameters.
	New func(p LocalProblem) (LocalMechanism, error)
}

// LocalBaselines returns every baseline in display order: mechanisms for bounded numbers,
// for integers and categories, and noise that is added with the range of the values for
// its sensitivity. The slice is the caller's to keep.
func LocalBaselines() []LocalBaseline {
	list := []LocalBaseline{
		{"duchi", NewDuchi},
		{"piecewise", NewPiecewise},
		{"hybrid", NewHybrid},
		{"piecewise-optimal", NewPiecewiseOptimal},
		{"three-outputs", NewThreeOutputs},
		{"hybrid-three-outputs", NewHybridThreeOutputs},
		{"generalized-piecewise-unbiased", NewGeneralizedPiecewiseUnbiased},
		{"generalized-piecewise", NewGeneralizedPiecewise},
		{"square-wave", NewSquareWave},
		{"randomized-response", NewRandomizedResponse},
		{"randomized-response-unbiased", NewRandomizedResponseUnbiased},
		{"bitwise-response", NewBitwiseResponse},
		{"exponential", NewExponential},
		{"truncated-geometric", NewTruncatedGeometric},
		{"discrete-staircase", newAddedDiscreteStaircase},
	}
	for _, b := range Baselines() {
		list = append(list, LocalBaseline{b.Name, func(p LocalProblem) (LocalMechanism, error) { return added(b, p) }})
	}
	return list
}

// added is noise that is added to the value.
func added(b Baseline, p LocalProblem) (LocalMechanism, error) {
	if p.Values.Kind == local.Category {
		return LocalMechanism{}, notApplicable(b.Name, "it answers numbers, want no categories")
	}
	if onIntegers(b.Name) && p.Values.Kind != local.Integer {
		return LocalMechanism{}, notApplicable(b.Name, "it is for integers")
	}
	if err := p.validate(); err != nil {
		return LocalMechanism{}, err
	}
	m, err := b.New(p.privacy(), p.Loss)
	if err != nil {
		return LocalMechanism{}, err
	}
	value, errorBound, err := m.ExpectedLoss(p.Loss)
	if err != nil {
		return LocalMechanism{}, err
	}
	return LocalMechanism{
		name: b.Name, note: "added; " + m.Note(), source: b.Source, unbiased: true,
		problem: p, additive: [2]float64{value, errorBound},
	}, nil
}

// newAddedDiscreteStaircase is the best integer noise for δ = 0 that is added.
func newAddedDiscreteStaircase(p LocalProblem) (LocalMechanism, error) {
	const name = "discrete-staircase"
	if err := appliesToIntegers(name, p); err != nil {
		return LocalMechanism{}, err
	}
	step, value, err := DiscreteStaircase(p.Epsilon, int64(p.Values.Upper-p.Values.Lower), p.Loss)
	if err != nil {
		return LocalMechanism{}, err
	}
	return LocalMechanism{
		name: name, note: fmt.Sprintf("added; step %d; %s", step, pureNote), source: "Geng & Viswanath 2016", unbiased: true,
		problem: p, additive: [2]float64{value, 1e-13 * value},
	}, nil
}
