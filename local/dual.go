// SPDX-License-Identifier: Apache-2.0

package local

import (
	"fmt"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
)

// Dual proves a lower bound on the loss of every mechanism for these values that keeps
// the demands, of any shape and with any answers.
//
// Any multipliers give a true bound, good ones a good bound. Numbers are float64s meant exactly.
type Dual struct {
	// Nodes ascend, within the range of the values: for integers all of them, for categories none.
	// The multipliers stand for these nodes; but for the mean of real values the nodes run from
	// Values.Lower to Values.Upper, and with delta = 0 the multipliers are densities that are
	// linear between them, with delta > 0 and not Product they stand for the cells between them, one less.
	Nodes []float64 `json:"nodes"`
	// Weights (Worst only) are the weights of the nodes in the worst case, at least 0.
	Weights []float64 `json:"weights,omitempty"`
	// Totals are the prices of the total probability of the law of each node.
	Totals []float64 `json:"totals"`
	// Means (unbiased only) are the prices of the mean of the law of each node.
	Means []float64 `json:"means,omitempty"`
	// PointTotals and PointMeans (mean of real values with delta = 0 or Product only, empty: zeros) are
	// multipliers of the nodes themselves, beside the densities: the best ones weigh the
	// ends of the range, which no density near them does as well.
	PointTotals []float64 `json:"point_totals,omitempty"`
	PointMeans  []float64 `json:"point_means,omitempty"`
	// Caps (with a cap, and Mean only) are the prices of the cap at each node, at least 0.
	Caps []float64 `json:"caps,omitempty"`
	// Pairs (delta > 0 only) are the prices of each pair's hockey-stick terms at Answers,
	// which ascend, linear in between and constant beyond. For categories there are no
	// Answers, and the prices are those of the answer labels.
	Answers []float64  `json:"answers,omitempty"`
	Pairs   []dualPair `json:"pairs,omitempty"`
	// Product (delta > 0 only, without Answers and Pairs) says that the multipliers are those of delta = 0,
	// and the prices of pairs products that follow from them.
	Product bool `json:"product,omitempty"`
}

// dualPair holds the multipliers, at least 0, of one ordered pair of nodes for the answers
// from First on; all others are 0.
type dualPair struct {
	Gain        int       `json:"gain"`
	Lose        int       `json:"lose"`
	First       int       `json:"first"`
	Multipliers []float64 `json:"multipliers"`
}

// Add adds the multipliers of an ordered pair of nodes, at least 0, for the answers from 0 on.
func (d *Dual) Add(gain, lose int, multipliers []float64) {
	d.Pairs = append(d.Pairs, dualPair{Gain: gain, Lose: lose, Multipliers: multipliers})
}

func (d *Dual) equal(e *Dual) bool {
	if d == nil || e == nil {
		return d == e
	}
	return d.Product == e.Product && slices.Equal(d.Nodes, e.Nodes) && slices.Equal(d.Weights, e.Weights) && slices.Equal(d.Totals, e.Totals) && slices.Equal(d.Means, e.Means) &&
		slices.Equal(d.PointTotals, e.PointTotals) && slices.Equal(d.PointMeans, e.PointMeans) && slices.Equal(d.Caps, e.Caps) && slices.Equal(d.Answers, e.Answers) &&
		slices.EqualFunc(d.Pairs, e.Pairs, func(p, q dualPair) bool {
			return p.Gain == q.Gain && p.Lose == q.Lose && p.First == q.First && slices.Equal(p.Multipliers, q.Multipliers)
		})
}

// averaged reports whether the bound is about the mean of real values.
func (s *Spec) averaged() bool { return s.Values.Kind == Real && s.Objective == Mean }

// inCells reports whether the multipliers are those of cells between the nodes.
func (s *Spec) inCells() bool { return s.averaged() && s.Delta > 0 && !s.Dual.Product }

// inDensities reports whether they are densities, with points beside them.
func (s *Spec) inDensities() bool { return s.averaged() && !s.inCells() }

// places returns for how many nodes or cells the dual has multipliers.
func (s *Spec) places() int {
	switch {
	case s.Values.Kind == Category:
		return len(s.Values.Labels)
	case s.inCells():
		return len(s.Dual.Nodes) - 1
	default:
		return len(s.Dual.Nodes)
	}
}

// validateDual returns an error about the first rule that the dual breaks.
func (s *Spec) validateDual() error {
	d := s.Dual
	if d == nil {
		return nil
	}
	r := formfile.InDual("local")
	if !s.validateDualNodes(r) {
		return r.Err()
	}
	n := s.places()
	for _, list := range []struct {
		name          string
		x             []float64
		wanted, given bool // must be there, may be there
		rule          string
	}{
		{"weights", d.Weights, s.Objective == Worst, s.Objective == Worst, atLeast0},
		{"totals", d.Totals, true, true, anyNumber},
		{"means", d.Means, false, s.Demands.Unbiased, anyNumber},
		{"point_totals", d.PointTotals, false, s.inDensities(), anyNumber},
		{"point_means", d.PointMeans, false, s.inDensities() && s.Demands.Unbiased, anyNumber},
		{"caps", d.Caps, false, s.Demands.Cap > 0 && s.Objective == Mean, atLeast0},
	} {
		m := len(list.x)
		r.Want(m == 0 || list.given, list.name, fmt.Sprintf("%d numbers", m), "none, for this objective and these demands")
		r.Want(m == n || m == 0 && !list.wanted, list.name, fmt.Sprintf("%d numbers", m), "%d", n)
		for i, x := range list.x {
			if !check.Finite(x) || x < 0 && list.rule == atLeast0 {
				r.Want(false, fmt.Sprintf("%s[%d]", list.name, i), x, "%s", list.rule)
			}
		}
		some := slices.ContainsFunc(list.x, func(x float64) bool { return x > 0 })
		r.Want(some || !list.wanted || list.name != "weights", "weights", "0 everywhere", "one above 0")
	}
	s.validatePairs(n, r)
	return r.Err()
}

// Rules for multipliers.
const (
	anyNumber = "a finite number"
	atLeast0  = "a finite number >= 0"
)

// validateDualNodes reports whether the nodes are those that the multipliers stand for.
func (s *Spec) validateDualNodes(r *formfile.Dual) bool {
	d, v := s.Dual, s.Values
	n := len(d.Nodes)
	count := fmt.Sprintf("%d nodes", n)
	if v.Kind == Category {
		return r.Want(n == 0, "nodes", count, "none for categories")
	}
	if !r.Want(n >= 1 && n <= limits.LocalNodes+1, "nodes", count, "1 to %d", limits.LocalNodes+1) {
		return false
	}
	for i, x := range d.Nodes {
		r.Want(x >= v.Lower && x <= v.Upper && (i == 0 || x > d.Nodes[i-1]), fmt.Sprintf("nodes[%d]", i), x, "ascending numbers from %g to %g", v.Lower, v.Upper)
	}
	r.Want(v.Kind != Integer || slices.Equal(d.Nodes, s.Nodes), "nodes", count, "all integers from %g to %g", v.Lower, v.Upper)
	return r.Want(!s.averaged() || d.Nodes[0] == v.Lower && d.Nodes[n-1] == v.Upper,
		"nodes", fmt.Sprintf("%g to %g", d.Nodes[0], d.Nodes[n-1]), "the first and last to be the ends of the range, %g and %g", v.Lower, v.Upper)
}

func (s *Spec) validatePairs(n int, r *formfile.Dual) {
	d := s.Dual
	r.Want(s.Delta != 0 || len(d.Pairs) == 0 && len(d.Answers) == 0, "pairs", fmt.Sprintf("%d pairs", len(d.Pairs)), "none for delta = 0")
	r.Want(!d.Product || s.Delta != 0, "product", d.Product, "false for delta = 0")
	r.Want(!d.Product || len(d.Pairs) == 0 && len(d.Answers) == 0, "pairs", fmt.Sprintf("%d pairs", len(d.Pairs)), "none with product")
	m := len(d.Answers)
	outputs, count := m, fmt.Sprintf("%d answers", m)
	if s.Values.Kind == Category {
		outputs = len(s.AnswerLabels)
		r.Want(m == 0, "answers", count, "none for categories")
	}
	r.Want(m <= limits.LocalAnswers && m*n <= maxWeights, "answers", count, "at most %d, and %d in all for %d nodes", limits.LocalAnswers, maxWeights, n)
	for j, y := range d.Answers {
		r.Want(check.Finite(y) && (j == 0 || y > d.Answers[j-1]), fmt.Sprintf("answers[%d]", j), y, "finite numbers in ascending order")
	}
	seen := make(map[[2]int]bool)
	for i, p := range d.Pairs {
		pair := [2]int{p.Gain, p.Lose}
		name := fmt.Sprintf("pairs[%d]", i)
		r.Want(min(p.Gain, p.Lose) >= 0 && max(p.Gain, p.Lose) < n && p.Gain != p.Lose && !seen[pair],
			name, formfile.Pair{Noun: "nodes", Gain: p.Gain, Lose: p.Lose}, "two of %d nodes, each pair once", n)
		seen[pair] = true
		r.Count(len(p.Multipliers))
		if !r.Want(p.First >= 0 && p.First+len(p.Multipliers) <= outputs, name+".first", p.First, "answers within 0 to %d", outputs-1) {
			return
		}
		for _, y := range p.Multipliers {
			if !check.Finite(y) || y < 0 {
				r.Want(false, name+".multipliers", y, "finite numbers >= 0")
			}
		}
	}
}
