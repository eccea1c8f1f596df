package noise

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

// newDiscreteLaplace returns two-sided geometric noise on the integers of the query's unit,
//
//	P(X = k) = (1-q)/(1+q) · q^|k|,  q = e^(-ε/Δ),
//
// for a query with integer values and integer sensitivity Δ. It is
// (ε, 0)-private (Ghosh, Roughgarden & Sundararajan 2012), and for Δ = 1 the
// optimum at δ = 0. It needs ε > 0 and makes no use of δ.
//
// It has no density, so it is no competitor on a real-valued query. There it would have to follow a
// rounding to some grid, which moves neighboring values further apart and adds an error of its own;
// as the grid gets finer it turns into Laplace noise.
func newDiscreteLaplace(c conditions, p dp.Privacy, _ loss.Loss) (Mechanism, error) {
	c.applies(p.Epsilon > 0, "its masses fall by exp(-epsilon/sensitivity) and epsilon = 0, want epsilon > 0")
	c.applies(math.Trunc(p.Sensitivity) == p.Sensitivity,
		integersOnly, p.Sensitivity)
	rate := p.Epsilon / p.Sensitivity // q = e^-rate
	c.finite("scale", 1/rate)
	q, rest := math.Exp(-rate), -math.Expm1(-rate) // 1-q
	return Mechanism{
		note: func() string {
			return fmt.Sprintf("integers only: assumes integer query values; ratio %.6g; delta is not used", q)
		},
		mass: func(x float64) float64 {
			if x != math.Trunc(x) {
				return 0
			}
			return math.Tanh(rate/2) * math.Exp(-rate*math.Abs(x))
		},
		// E|X| = 2q/(1-q²), E X² = 2q/(1-q)².
		expected: func(l loss.Loss) (value, errorBound float64) {
			return evaluate(l, 2*q/-math.Expm1(-2*rate), 2*q/rest/rest, func(l loss.Loss) (value, errorBound float64) {
				return discreteLaplaceLoss(rate, l)
			})
		},
	}, c.err
}

// discreteLaplaceLoss sums c over the integers. The error bound is a rounding bound down to a rate
// of smallSumEpsilon. Below, the sum is replaced by the integral of g(x) = (c(x)+c(-x))e^(-ax) over
// x > 0 (trapezoid rule), at an error of half the total variation of g. For a loss that does not
// decrease away from 0 the falling part of g varies by a∫g, and so, at most, does the rising part:
// a relative error of a.
func discreteLaplaceLoss(rate float64, l loss.Loss) (value, errorBound float64) {
	p0 := math.Tanh(rate / 2)
	if rate < smallSumEpsilon {
		value, errorBound = exponentialLoss(1/rate, tailCut, l)
		unit := 2 * p0 / rate
		return unit * value, unit * (errorBound + rate*value)
	}
	var sum exact.Sum
	sum.Add(l.At(0))
	for k := 1.0; k*rate <= tailCut; k++ {
		sum.Add((l.At(k) + l.At(-k)) * math.Exp(-rate*k))
	}
	return closed(p0 * sum.Value())
}
