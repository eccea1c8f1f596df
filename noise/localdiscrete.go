// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/noisewright/noisewright/local"
)

// discrete completes a mechanism for integers and categories with laws by the number of a value.
func (m LocalMechanism) discrete(note string, law func(i int) []share) (LocalMechanism, error) {
	first := m.problem.points()[0]
	m.note, m.law = note, func(x float64) []share { return law(int(x - first)) }
	return m, nil
}

func appliesToPoints(name string, p LocalProblem) error {
	if p.Values.Kind == local.Real {
		return notApplicable(name, "it is for integers and categories")
	}
	return p.validate()
}

// response returns the probabilities with which k-ary randomized response answers the
// value itself and any one other value.
//
// With δ > 0 it answers the truth with probability δ and at random otherwise: the
// divergence is then (truth - e^ε·other), exactly δ.
func response(p LocalProblem) (truth, other float64) {
	k := float64(p.Values.Count())
	other = (1 - p.Delta) / (math.Exp(p.Epsilon) + k - 1)
	return 1 - (k-1)*other, other
}

// randomizedResponse is k-ary randomized response (Warner, JASA 60, 1965, for two
// values; Kairouz, Bonawitz & Ramage, "Discrete distribution estimation under local
// privacy", ICML 2016, Section 2.1): of k values the true one is answered with probability
// e^ε/(e^ε+k-1), any other with 1/(e^ε+k-1). With δ > 0 the truth is answered with
// probability δ in addition. Among all mechanisms for k categories it has the least loss
// that counts wrong answers. It is biased on integers.
func randomizedResponse(m LocalMechanism) (LocalMechanism, error) {
	p := m.problem
	if p.Values.Kind == local.Category && len(p.Costs[0]) != len(p.Costs) {
		return m, notApplicable(m.name, "it answers one of the values, want as many answers as categories")
	}
	truth, other := response(p)
	return m.discrete(fmt.Sprintf("the true value with probability %.6g", truth), responses(p.points(), truth, other))
}

// responses is the law of an answer that is the value's own with probability truth, and any
// one of the others with probability other.
func responses(answers []float64, truth, other float64) func(i int) []share {
	return func(i int) []share {
		out := make([]share, len(answers))
		for j, y := range answers {
			out[j] = share{y, 0, other}
		}
		out[i].mass = truth
		return out
	}
}

// randomizedResponseUnbiased is k-ary randomized response on integers with the answers moved apart
// so that they are unbiased: from y to m + (y - m)/(p - q), with the middle m of the values and the
// probabilities p of the truth and q of any other value. It needs ε > 0 or δ > 0.
func randomizedResponseUnbiased(m LocalMechanism) (LocalMechanism, error) {
	p := m.problem
	truth, other := response(p)
	if !(truth > other) {
		return m, notApplicable(m.name, "its answers say nothing at epsilon = 0 and delta = 0")
	}
	points := p.points()
	// p - q = δ + (1-δ)(e^ε-1)/(e^ε+k-1), without the difference.
	apart := p.Delta + math.Expm1(p.Epsilon)*other
	middle := (p.Values.Lower + p.Values.Upper) / 2
	for j, y := range points {
		points[j] = middle + (y-middle)/apart
	}
	return m.discrete(fmt.Sprintf("%d answers, %.6g apart", len(points), 1/apart), responses(points, truth, other))
}

func appliesToIntegers(name string, p LocalProblem) error {
	if p.Values.Kind != local.Integer {
		return notApplicable(name, "it is for integers")
	}
	return p.validate()
}

// bitwiseResponse is randomized response bit by bit: each of the b binary digits
// of the value's distance from the least one is answered with privacy ε/b, and the digits
// are put together so that the answer is unbiased. The variance is the same for every
// value, (4^b-1)/3·e^(ε/b)/(e^(ε/b)-1)². It is (ε, 0)-private and needs ε > 0.
func bitwiseResponse(m LocalMechanism) (LocalMechanism, error) {
	p := m.problem
	if !(p.Epsilon > 0) {
		return m, notApplicable(m.name, "its answers are unbounded at epsilon = 0, want epsilon > 0")
	}
	b := bits.Len(uint(p.Values.Count() - 1))
	a := 1 / math.Tanh(p.Epsilon/float64(2*b)) // of Duchi's mechanism with epsilon/b
	lie := 1 / (math.Exp(p.Epsilon/float64(b)) + 1)
	answers := 1 << b
	half := float64(answers-1) / 2
	mass := make([]float64, b+1) // by the number of wrong bits
	for wrong := range mass {
		mass[wrong] = math.Pow(lie, float64(wrong)) * math.Pow(1-lie, float64(b-wrong))
	}
	return m.discrete(fmt.Sprintf("%d bits; %s", b, pureNote), func(i int) []share {
		out := make([]share, answers)
		for j := range out {
			// Each digit d becomes 1/2 + (d-1/2)a.
			out[j] = share{p.Values.Lower + half + (float64(j)-half)*a, 0, mass[bits.OnesCount(uint(i^j))]}
		}
		return out
	})
}

// truncatedGeometric is the truncated geometric mechanism (Ghosh, Roughgarden &
// Sundararajan, "Universally utility-maximizing privacy mechanisms", SIAM J. Comput. 41,
// 2012): two-sided geometric noise of ratio e^(-ε/n) for n = upper - lower, the answer
// clipped to the values. It is biased, (ε, 0)-private, and needs ε > 0.
func truncatedGeometric(m LocalMechanism) (LocalMechanism, error) {
	p := m.problem
	if !(p.Epsilon > 0) {
		return m, notApplicable(m.name, "its masses fall by exp(-epsilon/range) and epsilon = 0, want epsilon > 0")
	}
	points := p.points()
	n := len(points) - 1
	rate := p.Epsilon / float64(n)
	return m.discrete(pureNote, func(i int) []share {
		out := make([]share, n+1)
		for j, y := range points {
			distance := math.Abs(float64(i - j))
			mass := math.Tanh(rate/2) * math.Exp(-rate*distance)
			if j == 0 || j == n { // and all beyond
				mass = math.Exp(-rate*distance) / (1 + math.Exp(-rate))
			}
			out[j] = share{y, 0, mass}
		}
		return out
	})
}

// exponential is the exponential mechanism (McSherry & Talwar, "Mechanism design
// via differential privacy", FOCS 2007): the answer y to a value x with probability
// proportional to exp(-ε c(x,y)/(2D)), where D is the most by which the loss of an answer
// differs between two values. It is biased and (ε, 0)-private.
func exponential(m LocalMechanism) (LocalMechanism, error) {
	p := m.problem
	points := p.points()
	cost := func(i, j int) float64 { return p.Loss.At(points[j] - points[i]) }
	if p.Values.Kind == local.Category {
		cost = func(i, j int) float64 { return p.Costs[i][j] }
	}
	answers := len(points)
	if p.Values.Kind == local.Category {
		answers = len(p.Costs[0])
	}
	most := 0.0 // D
	for j := range answers {
		column := make([]float64, len(points))
		for i := range points {
			column[i] = cost(i, j)
		}
		most = max(most, slices.Max(column)-slices.Min(column))
	}
	if !(most > 0) {
		return m, notApplicable(m.name, "the loss does not depend on the value")
	}
	return m.discrete(pureNote, func(i int) []share {
		out := make([]share, answers)
		total := 0.0
		for j := range out {
			y := float64(j)
			if p.Values.Kind == local.Integer {
				y = points[j]
			}
			out[j] = share{y, 0, math.Exp(-p.Epsilon * cost(i, j) / (2 * most))}
			total += out[j].mass
		}
		for j := range out {
			out[j].mass /= total
		}
		return out
	})
}
