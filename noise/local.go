// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/quadrature"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
)

// LocalProblem says what a [LocalMechanism] is for: values of which any two are to be
// (ε, δ)-indistinguishable, and how much each counts.
type LocalProblem struct {
	Epsilon, Delta float64
	Values         local.Values
	// Objective is what mechanisms with a parameter are tuned for, Mean if empty.
	Objective local.Objective
	// Loss is that of answer − value, for real and integer values.
	Loss loss.Loss
	// Costs, for categories, is the loss of each answer for each value: Costs[value][answer].
	Costs [][]float64
}

// LocalMechanism is a published way to answer one value under local differential privacy. It is
// immutable and safe for concurrent use, provided the loss it was given is.
type LocalMechanism struct {
	name, note, source string
	unbiased           bool
	problem            LocalProblem
	// law returns the law of the answer to a value; nil for noise that is added, whose
	// expected loss is the same for every value.
	law      func(x float64) []share
	additive [2]float64 // that loss and the bound on its error
	bends    []float64  // real values at which the expected loss may have a kink
}

// share is a part of a law: mass, uniform over an interval of this width about the center, or all
// at the center if the width is 0. For categories the center is the index of the answer.
type share struct{ center, width, mass float64 }

// Name is the mechanism as written in tables, e.g. "duchi".
func (m LocalMechanism) Name() string { return m.name }

// Note is one line for a reader: parameters, and what the mechanism makes no use of.
func (m LocalMechanism) Note() string { return m.note }

// Source says where the mechanism was published.
func (m LocalMechanism) Source() string { return m.source }

// Unbiased reports whether the mean of the answers to a value is the value.
func (m LocalMechanism) Unbiased() bool { return m.unbiased }

// at is the expected loss of the answer to the value x, or to the category with that index.
func (m LocalMechanism) at(x float64) float64 {
	if m.law == nil {
		return m.additive[0]
	}
	var sum exact.Sum
	for _, s := range m.law(x) {
		switch {
		case m.problem.Values.Kind == local.Category:
			sum.Add(s.mass * m.problem.Costs[int(x)][int(s.center)])
		case s.width > 0:
			// Exact up to rounding for every loss of package loss.
			sum.Add(s.mass * m.problem.Loss.CellMean(s.center-x, s.width))
		default:
			sum.Add(s.mass * m.problem.Loss.At(s.center-x))
		}
	}
	return sum.Value()
}

// localError bounds the relative error of the expected loss of one value: some dozen
// roundings of parameters that are correct to an ulp or two, amplified where a law is
// centered with weights of both signs, and the width of a search where a loss is flat.
const localError = 1e-12

// MeanLoss returns the expected loss averaged over the values, and a bound on its error
// as that of [Mechanism.ExpectedLoss].
func (m LocalMechanism) MeanLoss() (value, errorBound float64) {
	if m.law == nil {
		return m.additive[0], m.additive[1]
	}
	v := m.problem.Values
	if v.Kind != local.Real {
		shares, total := v.Shares, 0.0
		var sum exact.Sum
		for i, x := range m.problem.points() {
			weight := 1.0
			if len(shares) > 0 {
				weight = shares[i]
			}
			total += weight
			sum.Add(weight * m.at(x))
		}
		value = sum.Value() / total
		return value, localError * value
	}
	var sum, total exact.Sum
	for _, p := range m.problem.pieces() {
		part, bound := quadrature.Integrate(m.at, m.panels(p.from, p.to))
		sum.Add(p.weight * part)
		total.Add(p.weight * (p.to - p.from))
		errorBound += p.weight * bound
	}
	value = sum.Value() / total.Value()
	return value, errorBound/total.Value() + localError*value
}

// WorstLoss returns the largest expected loss of a value, a bound on its error, and the value.
func (m LocalMechanism) WorstLoss() (value, errorBound, at float64) {
	v := m.problem.Values
	if m.law == nil {
		return m.additive[0], m.additive[1], v.Lower
	}
	value = math.Inf(-1)
	try := func(x, loss float64) {
		if loss > value {
			value, at = loss, x
		}
	}
	if v.Kind != local.Real {
		for _, x := range m.problem.points() {
			try(x, m.at(x))
		}
		return value, localError * value, at
	}
	// Between two bends the loss is smooth: a few dozen points show its peaks.
	const points = 32
	for _, ends := range neighbors(m.panels(v.Lower, v.Upper)) {
		a, h := ends[0], (ends[1]-ends[0])/points
		before, here := math.Inf(-1), m.at(a)
		for i := range points + 1 { // x is point i, here its loss
			x, after := a+h*float64(i), math.Inf(-1)
			if i < points {
				after = m.at(x + h)
			}
			try(x, here)
			if i > 0 && i < points && here >= before && here >= after {
				peak, _ := quadrature.Minimum(func(x float64) float64 { return -m.at(x) }, x-h, x+h, sections)
				try(peak, m.at(peak))
			}
			before, here = here, after
		}
	}
	return value, localError * value, at
}

// objective returns what a mechanism is tuned for.
func (m LocalMechanism) objective() float64 {
	if m.problem.Objective == local.Worst {
		value, _, _ := m.WorstLoss()
		return value
	}
	value, _ := m.MeanLoss()
	return value
}

// panels cuts an interval of values where the expected loss may have a kink.
func (m LocalMechanism) panels(from, to float64) []float64 {
	cuts := []float64{from, to}
	add := func(x float64) {
		if x > from && x < to {
			cuts = append(cuts, x)
		}
	}
	for _, x := range m.bends {
		add(x)
		for _, kink := range loss.Of(m.problem.Loss).Kinks() {
			add(x - kink)
		}
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

func neighbors(cuts []float64) [][2]float64 {
	var out [][2]float64
	for i := 1; i < len(cuts); i++ {
		out = append(out, [2]float64{cuts[i-1], cuts[i]})
	}
	return out
}

// piece is a part of the density of real values, not normalized.
type piece struct{ from, to, weight float64 }

func (p LocalProblem) pieces() []piece {
	v := p.Values
	if len(v.Weight) == 0 {
		return []piece{{v.Lower, v.Upper, 1}}
	}
	var out []piece
	for i, w := range v.Weight {
		to := v.Upper
		if i+1 < len(v.Weight) {
			to = v.Weight[i+1].From
		}
		if w.Weight > 0 {
			out = append(out, piece{w.From, to, w.Weight})
		}
	}
	return out
}

// points are the values of kinds Integer and Category, the latter by index.
func (p LocalProblem) points() []float64 {
	out := make([]float64, p.Values.Count())
	for i := range out {
		out[i] = p.Values.Lower + float64(i) // 0 for categories
	}
	return out
}

// privacy is that of noise which is added: the range is the sensitivity.
func (p LocalProblem) privacy() dp.Privacy {
	d := dp.Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Sensitivity: p.Values.Upper - p.Values.Lower}
	if p.Values.Kind == local.Category {
		d.Sensitivity = 1 // has no meaning
	}
	return d
}

func (p LocalProblem) validate() error {
	if err := errors.Join(p.Values.Validate(), p.privacy().Validate()); err != nil {
		return err
	}
	if p.Values.Kind != local.Category {
		return checkLoss(p.Loss)
	}
	n := p.Values.Count()
	for i, row := range p.Costs {
		if len(row) == 0 || len(row) != len(p.Costs[0]) {
			return check.Field("noise", fmt.Sprintf("costs[%d]", i), fmt.Sprintf("%d costs", len(row)), "one for each answer, at least 1, as in the other rows")
		}
	}
	if len(p.Costs) != n {
		return check.Field("noise", "costs", fmt.Sprintf("%d rows", len(p.Costs)), fmt.Sprintf("%d, one per label", n))
	}
	return nil
}

// sections are the rounds of a golden-section search: the least value is then right to all digits.
const sections = 30

// tuned is the parameter from low to high best for the objective: the best of a dozen, refined.
func tuned(low, high float64, mechanism func(parameter float64) LocalMechanism) float64 {
	const points = 12
	value := func(x float64) float64 { return mechanism(x).objective() }
	at := func(i int) float64 { return low + (high-low)*float64(i)/points }
	best, least := 0, math.Inf(1)
	for i := 0; i <= points; i++ {
		if v := value(at(i)); v < least {
			best, least = i, v
		}
	}
	x, _ := quadrature.Minimum(value, at(max(best-1, 0)), at(min(best+1, points)), sections)
	if value(x) > least {
		return at(best) // at an end
	}
	return x
}
