package noise

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

type discreteLaplace struct {
	rate float64 // a = ε/Δ, so q = e^-a
}

// NewDiscreteLaplace returns two-sided geometric noise on the integers of the
// query's unit,
//
//	P(X = k) = (1-q)/(1+q) · q^|k|,  q = e^(-ε/Δ),
//
// for a query with integer values and integer sensitivity Δ. It is
// (ε, 0)-private (Ghosh, Roughgarden & Sundararajan 2012), and for Δ = 1 the
// optimum at δ = 0. It needs ε > 0 and makes no use of δ.
//
// It has no density, so it is no competitor on a real-valued query. There it
// would have to follow a rounding to some grid, which moves neighbouring values
// further apart and adds an error of its own; as the grid gets finer it turns
// into Laplace noise.
func NewDiscreteLaplace(p dp.Privacy) (Mechanism, error) {
	const name = "discrete-laplace"
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Epsilon == 0 {
		return nil, notApplicable(name, "its masses fall by exp(-epsilon/sensitivity) and epsilon = 0, want epsilon > 0")
	}
	if math.Trunc(p.Sensitivity) != p.Sensitivity {
		return nil, notApplicable(name, "it is for integer queries and sensitivity = %g, want a positive integer", p.Sensitivity)
	}
	m := &discreteLaplace{p.Epsilon / p.Sensitivity}
	if err := finiteScale(name, "scale", 1/m.rate); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *discreteLaplace) Name() string { return "discrete-laplace" }

func (m *discreteLaplace) Note() string {
	return fmt.Sprintf("integers only: assumes integer query values; ratio %.6g; delta is not used", math.Exp(-m.rate))
}

func (m *discreteLaplace) Density(float64) float64 { return 0 }

func (m *discreteLaplace) Mass(x float64) float64 {
	if x != math.Trunc(x) {
		return 0
	}
	return math.Tanh(m.rate/2) * math.Exp(-m.rate*math.Abs(x))
}

// ExpectedLoss: E|X| = 2q/(1-q²), E X² = 2q/(1-q)². For any
// other loss the error bound is a rounding bound down to ε/Δ = 10^-4; below, it
// is ε/Δ of the value and assumes a loss that does not decrease away from 0.
func (m *discreteLaplace) ExpectedLoss(loss loss.Loss) (value, errorBound float64, err error) {
	q, c := math.Exp(-m.rate), -math.Expm1(-m.rate)
	return evaluate(m.Name(), loss, 2*q/-math.Expm1(-2*m.rate), 2*q/c/c, m.numericLoss)
}

// numericLoss sums c over the integers. Below a rate of smallSumEpsilon the sum
// is replaced by the integral of g(x) = (c(x)+c(-x))e^(-ax) over x > 0
// (trapezoid rule), at an error of half the total variation of g. For a loss
// that does not decrease away from 0 the falling part of g varies by a∫g, and
// so, at most, does the rising part: a relative error of a.
func (m *discreteLaplace) numericLoss(loss loss.Loss) (value, errorBound float64) {
	p0 := math.Tanh(m.rate / 2)
	if m.rate < smallSumEpsilon {
		value, errorBound = exponentialLoss(1/m.rate, tailCut, loss)
		unit := 2 * p0 / m.rate
		return unit * value, unit * (errorBound + m.rate*value)
	}
	var sum exact.Sum
	sum.Add(loss.At(0))
	for k := 1.0; k*m.rate <= tailCut; k++ {
		sum.Add((loss.At(k) + loss.At(-k)) * math.Exp(-m.rate*k))
	}
	value = p0 * sum.Value()
	return value, closedFormError * value
}
