// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/local"
)

const pureNote = "delta is not used"

// scaled completes a mechanism with a law for values from -1 to 1, as one for those of the
// problem. The bends are values in its scale.
func (m LocalMechanism) scaled(note string, law func(t float64) []share, bends ...float64) LocalMechanism {
	v := m.problem.Values
	center, half := v.Lower+(v.Upper-v.Lower)/2, (v.Upper-v.Lower)/2
	m.note = note
	for _, t := range bends {
		m.bends = append(m.bends, center+half*t)
	}
	m.law = func(x float64) []share {
		shares := law(max(-1, min(1, (x-center)/half)))
		out := make([]share, len(shares))
		for i, s := range shares {
			out[i] = share{center + half*s.center, half * s.width, s.mass}
		}
		return out
	}
	return m
}

// appliesToNumbers refuses categories, ε = 0 and parameters whose scale is no float64.
func appliesToNumbers(name string, p LocalProblem) error {
	switch {
	case p.Values.Kind == local.Category:
		return notApplicable(name, "it answers numbers, want no categories")
	case !(p.Epsilon > 0):
		return notApplicable(name, "its answers are unbounded at epsilon = 0, want epsilon > 0")
	case p.Epsilon > 300 || p.Epsilon < 1e-100:
		return notApplicable(name, "epsilon = %g, want a number from 1e-100 to 300 for its closed form", p.Epsilon)
	}
	return p.validate()
}

// duchi is the mechanism of Duchi, Jordan & Wainwright ("Minimax optimal procedures for locally
// private estimation", JASA 113, 2018; for one number as Wang et al. 2019, Algorithm 1): a value t
// in [-1, 1] is answered by ±A, A = (e^ε+1)/(e^ε-1), with the probabilities (1 ± t/A)/2. It is
// unbiased, with variance A² - t². It is (ε, 0)-private and needs ε > 0.
func duchi(m LocalMechanism) (LocalMechanism, error) {
	a, law := threeOutputs(m.problem.Epsilon, 0)
	return m.scaled(fmt.Sprintf("2 answers, +-%.6g half ranges about the middle; %s", a, pureNote), law, -a, a), nil
}

// piecewise is the law of unbiased answers in [-A, A] with two densities, one e^ε times the other,
// the larger one on an interval of fixed width about a multiple of the value (Zhao et al. 2021, who
// let s be any number > 0; s = e^(ε/2) is that of Wang et al. 2019, Algorithm 2). With E = e^ε
//
//	A = (E+s)(s+1)/(s(E-1)),  width 2(E+s)/(s(E-1)),  center t(E+s)/(E-1),
//
// the probability of that interval is E/(E+s), and the variance
//
//	t²(s+1)/(E-1) + (E+s)((s+1)³+E-1)/(3s²(E-1)²).
func piecewise(epsilon, s float64) func(t float64) []share {
	growth := math.Expm1(epsilon)
	wide := (growth + 1 + s) / growth // (E+s)/(E-1)
	a, half := wide*(s+1)/s, wide/s
	inside := (growth + 1) / (growth + 1 + s)
	return func(t float64) []share {
		// Left and right of the interval there is room of wide·(1 ± t).
		center := t * wide
		return []share{
			{(center - half - a) / 2, wide * (1 + t), (1 - inside) * (1 + t) / 2},
			{center, 2 * half, inside},
			{(center + half + a) / 2, wide * (1 - t), (1 - inside) * (1 - t) / 2},
		}
	}
}

// twoDensities is the Piecewise mechanism (Wang, Xiao, Yang, Zhao, Hui, Shin, Shin & Yu,
// "Collecting and analyzing multidimensional data with local differential privacy", ICDE 2019,
// Algorithm 2): with s = e^(ε/2) a value t in [-1, 1] is answered from [-A, A], A = (s+1)/(s-1),
// with the larger of two densities on an interval about the value. It is unbiased, with variance
// t²/(s-1) + (s+3)/(3(s-1)²), (ε, 0)-private, and needs ε > 0.
func twoDensities(m LocalMechanism) (LocalMechanism, error) {
	return m.scaled(pureNote, piecewise(m.problem.Epsilon, math.Exp(m.problem.Epsilon/2))), nil
}

// hybridFrom is the ε up to which the Hybrid mechanism is Duchi's (Wang et al. 2019,
// Equation 8): ln((-5+2∛(6353-405√241)+2∛(6353+405√241))/27).
var hybridFrom = math.Log((-5 + 2*math.Cbrt(6353-405*math.Sqrt(241)) + 2*math.Cbrt(6353+405*math.Sqrt(241))) / 27)

// hybrid is the Hybrid mechanism (Wang et al. 2019, Section III-C): for ε above 0.61 the Piecewise
// mechanism with probability 1-e^(-ε/2) and Duchi's otherwise, for smaller ε Duchi's. It is
// unbiased; above 0.61 its variance is the same for every value, (s+3)/(3s(s-1)) +
// (e^ε+1)²/(s(e^ε-1)²) with s = e^(ε/2). It is (ε, 0)-private and needs ε > 0.
func hybrid(m LocalMechanism) (LocalMechanism, error) {
	a, duchi := threeOutputs(m.problem.Epsilon, 0)
	weight := 0.0
	if m.problem.Epsilon > hybridFrom {
		weight = -math.Expm1(-m.problem.Epsilon / 2)
	}
	law := mixed(weight, piecewise(m.problem.Epsilon, math.Exp(m.problem.Epsilon/2)), duchi)
	return m.scaled(fmt.Sprintf("piecewise with probability %.6g, else duchi; %s", weight, pureNote), law, -a, a), nil
}

// mixed is the first law with the given probability, and the second otherwise.
func mixed(weight float64, first, second func(t float64) []share) func(t float64) []share {
	return func(t float64) []share {
		out := first(t)
		for i := range out {
			out[i].mass *= weight
		}
		for _, s := range second(t) {
			s.mass *= 1 - weight
			out = append(out, s)
		}
		return out
	}
}

// piecewiseOptimal is the best of the unbiased mechanisms with two densities (PM-OPT of Zhao, Zhao,
// Yang, Wang, Wang, Lyu, Niyato & Lam, "Local differential privacy-based federated learning for
// Internet of Things", IEEE Internet of Things Journal 8, 2021): as Piecewise with the s that is
// best for the loss and the objective. It is (ε, 0)-private and needs ε > 0.
func piecewiseOptimal(m LocalMechanism) (LocalMechanism, error) {
	create := func(logarithm float64) LocalMechanism {
		s := math.Exp(logarithm)
		return m.scaled(fmt.Sprintf("tuned, s = %.6g; %s", s, pureNote), piecewise(m.problem.Epsilon, s))
	}
	return create(tuned(-1, 1+m.problem.Epsilon, create)), nil
}

// threeOutputs is the law of unbiased answers -A, 0 and A to a value t in [-1, 1], 0 with
// probability q - q(1-e^-ε)|t|, and its A:
//
//	A = (e^ε+1)/((e^ε-1)(1-q e^-ε)),  0 <= q <= e^ε/(e^ε+2).
//
// The variance is A²(1 - q + q(1-e^-ε)|t|) - t². It is (ε, 0)-private: the probabilities
// are linear between -1, 0 and 1, where the least of A's is (1-q e^-ε)/(e^ε+1), at -1, and
// the largest e^ε times that, at 1. For q = 0 it is Duchi's mechanism.
func threeOutputs(epsilon, q float64) (a float64, law func(t float64) []share) {
	rest := 1 - q*math.Exp(-epsilon)
	a = 1 / (math.Tanh(epsilon/2) * rest)
	least := rest / (math.Exp(epsilon) + 1)
	return a, func(t float64) []share {
		// Between the laws of 0 and ±1, as sums of what is positive.
		size := math.Abs(t)
		zero := (1-size)*q + size*q*math.Exp(-epsilon)
		far := (1-size)*(1-q)/2 + size*least
		near := far + size/a
		if t < 0 {
			far, near = near, far
		}
		return []share{{-a, 0, far}, {0, 0, zero}, {a, 0, near}}
	}
}

// mostZeros is the largest q of [threeOutputs].
func mostZeros(epsilon float64) float64 { return 1 / (1 + 2*math.Exp(-epsilon)) }

// threeOutputsOptimal is the Three-Outputs mechanism (Zhao et al. 2021; the N-output
// mechanism of Baek & Chung 2025 for N = 3): answers -A, 0 and A half ranges from the
// middle, with the probability q of 0 at the middle that is best for the loss and the
// objective. It is unbiased, (ε, 0)-private, and needs ε > 0.
func threeOutputsOptimal(m LocalMechanism) (LocalMechanism, error) {
	create := func(q float64) LocalMechanism {
		a, law := threeOutputs(m.problem.Epsilon, q)
		return m.scaled(fmt.Sprintf("tuned, 3 answers, +-%.6g half ranges about the middle; %s", a, pureNote), law, -a, 0, a)
	}
	return create(tuned(0, mostZeros(m.problem.Epsilon), create)), nil
}

// hybridThreeOutputs is HM-TP of Zhao et al. 2021: a mixture of their PM-SUB, the mechanism with
// two densities and s = e^(ε/3), and Three-Outputs, with the parameter of the latter and the weight
// that are best for the loss and the objective. It is unbiased, (ε, 0)-private, and needs ε > 0.
func hybridThreeOutputs(m LocalMechanism) (LocalMechanism, error) {
	two := piecewise(m.problem.Epsilon, math.Exp(m.problem.Epsilon/3))
	create := func(q, weight float64) LocalMechanism {
		a, three := threeOutputs(m.problem.Epsilon, q)
		return m.scaled(fmt.Sprintf("tuned, two densities with probability %.6g, else 3 answers, +-%.6g half ranges about the middle; %s", weight, a, pureNote), mixed(weight, two, three), -a, 0, a)
	}
	best := func(q float64) LocalMechanism {
		return create(q, tuned(0, 1, func(weight float64) LocalMechanism { return create(q, weight) }))
	}
	return best(tuned(0, mostZeros(m.problem.Epsilon), best)), nil
}

// generalizedPiecewise is the optimal mechanism among those whose answers are in the range of the
// values with a piecewise constant density of any number of pieces (Zheng, Mishra & Hu, "Optimal
// piecewise-based mechanism for collecting bounded numerical data under local differential
// privacy", PoPETs 2025): with s = e^(ε/2), and in units of the range, density s on an interval of
// width 1/(s+1) and 1/s elsewhere. The interval is centered at the value where it fits, and ends at
// the end of the range otherwise. It is biased, (ε, 0)-private, and at ε = 0 uniform.
//
// It is optimal for each value alone. Answers that depend on the law of the values can be better.
func generalizedPiecewise(m LocalMechanism) (LocalMechanism, error) {
	s := math.Exp(m.problem.Epsilon / 2)
	half := 1 / (s + 1)
	return m.scaled(pureNote, func(t float64) []share {
		center := max(half-1, min(1-half, t))
		left, right := max(0, center-half+1), max(0, 1-center-half)
		return []share{
			{(center - half - 1) / 2, left, left / (2 * s)},
			{center, 2 * half, half * s},
			{(center + half + 1) / 2, right, right / (2 * s)},
		}
	}, half-1, 1-half), nil
}

// generalizedPiecewiseUnbiased is the unbiased mechanism of Zheng, Mishra & Hu 2025 (their Theorem
// 5, as in the authors' program): the answers to a value in [0, 1] are in [-C, C+1], C =
// (s+1)/(s-1), s = e^(ε/2), with density s/(2C+1) on an interval of width (2C+1)/(s+1) about
// (2(C+1)t-C+1)/4 and e^-ε times that elsewhere. It is (ε, 0)-private and needs ε > 0. Piecewise,
// whose answers are in a narrower interval, has a smaller variance.
func generalizedPiecewiseUnbiased(m LocalMechanism) (LocalMechanism, error) {
	s := math.Exp(m.problem.Epsilon / 2)
	c := 1 / math.Tanh(m.problem.Epsilon/4)
	end := 2*c + 1 // in half ranges, as all that follows
	half := end / (s + 1)
	density := s / (2 * end) / s / s // the lower one
	return m.scaled(pureNote, func(t float64) []share {
		center := (c + 1) / 2 * t
		left, right := center-half+end, end-center-half
		return []share{
			{(center - half - end) / 2, left, left * density},
			{center, 2 * half, s / (s + 1)},
			{(center + half + end) / 2, right, right * density},
		}
	}), nil
}

// squareWave is the square wave mechanism (Li, Wang, Lopuhaä-Zwakenberg, Škorić &
// Li, "Estimating numerical distributions under local differential privacy", SIGMOD 2020),
// which is made for the estimation of distributions: a value in [0, 1] is answered from
// [-b, 1+b] with density e^ε/(2be^ε+1) within b of it and e^-ε times that elsewhere,
//
//	b = (εe^ε-e^ε+1)/(2e^ε(e^ε-1-ε)).
//
// It is biased, (ε, 0)-private, and needs ε > 0.
func squareWave(m LocalMechanism) (LocalMechanism, error) {
	growth := math.Exp(m.problem.Epsilon)
	b := squareWaveWidth(m.problem.Epsilon)
	low := 1 / (2*b*growth + 1)
	return m.scaled(pureNote, func(t float64) []share {
		return []share{
			{(t-1)/2 - 2*b, 1 + t, low * (1 + t) / 2},
			{t, 4 * b, 2 * b * low * growth},
			{(t+1)/2 + 2*b, 1 - t, low * (1 - t) / 2},
		}
	}), nil
}

// squareWaveWidth is b. Its numerator and denominator are sums of the terms (k-1)ε^k/k!
// and ε^k/k! from k = 2 on, which lose nothing where ε is small.
func squareWaveWidth(epsilon float64) float64 {
	if epsilon > 1 {
		fall := math.Exp(-epsilon)
		return (epsilon - 1 + fall) / (2 * (math.Exp(epsilon) - 1 - epsilon))
	}
	var above, below float64
	term := 0.5 // ε^(k-2)/k!
	for k := 2.0; term > 1e-20; k++ {
		above += (k - 1) * term
		below += term
		term *= epsilon / (k + 1)
	}
	return above / (2 * math.Exp(epsilon) * below)
}
