// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"

	"github.com/noisewright/noisewright/loss"
)

// opaque hides a loss's type, so that the numerical path is taken.
type opaque struct{ loss.Loss }

// testLoss is a loss with a given cost and its average over an interval; only
// what ExpectedLoss uses is real.
type testLoss struct {
	loss.Loss
	name  string
	at    func(x float64) float64
	mean  func(low, high float64) float64
	kinks []float64
}

func (l testLoss) Name() string         { return l.name }
func (l testLoss) Kinks() []float64     { return l.kinks }
func (l testLoss) At(x float64) float64 { return l.at(x) }
func (l testLoss) CellMean(center, width float64) float64 {
	return l.mean(center-width/2, center+width/2)
}

// fromAntiderivative is the loss with the given cost and antiderivative.
func fromAntiderivative(name string, at, anti func(x float64) float64, kinks ...float64) testLoss {
	return testLoss{Loss: loss.L1, name: name, at: at, kinks: kinks, mean: func(low, high float64) float64 {
		return (anti(high) - anti(low)) / (high - low)
	}}
}

// power is |x|^p.
func power(p float64) testLoss {
	return fromAntiderivative("power",
		func(x float64) float64 { return math.Pow(math.Abs(x), p) },
		func(x float64) float64 { return math.Copysign(math.Pow(math.Abs(x), p+1)/(p+1), x) })
}

// pinball is weight·x above 0 and (1-weight)·|x| below.
func pinball(weight float64) testLoss {
	return fromAntiderivative("pinball",
		func(x float64) float64 {
			if x > 0 {
				return weight * x
			}
			return -(1 - weight) * x
		},
		func(x float64) float64 {
			if x > 0 {
				return weight * x * x / 2
			}
			return -(1 - weight) * x * x / 2
		})
}

// miss is 1 where |x| > limit: the probability of a large error.
func miss(limit float64) testLoss {
	return fromAntiderivative("miss",
		func(x float64) float64 {
			if math.Abs(x) > limit {
				return 1
			}
			return 0
		},
		func(x float64) float64 { return math.Copysign(math.Max(0, math.Abs(x)-limit), x) },
		-limit, limit)
}

// hinge is max(0, |x|-limit): a kink that no panel knows of.
func hinge(limit float64) testLoss {
	return fromAntiderivative("hinge",
		func(x float64) float64 { return math.Max(0, math.Abs(x)-limit) },
		func(x float64) float64 {
			over := math.Max(0, math.Abs(x)-limit)
			return math.Copysign(over*over/2, x)
		},
		limit, -limit)
}
