package local

import (
	"fmt"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
)

// Dual proves a lower bound on the loss of every mechanism for these values that keeps
// the demands, of any shape and with any answers.
//
// Any multipliers give a true bound; good ones give a good bound. Numbers are float64s
// meant exactly.
type Dual struct {
	// Nodes ascend, within the range of the values: for integers all of them, for
	// categories none. The multipliers stand for these nodes; but for the mean of real
	// values the nodes run from Values.Lower to Values.Upper, and with delta = 0 the
	// multipliers are densities that are linear between them, with delta > 0 they stand
	// for the cells between them, one less.
	Nodes []float64 `json:"nodes"`
	// Weights (Worst only) are the weights of the nodes in the worst case, at least 0.
	Weights []float64 `json:"weights,omitempty"`
	// Totals are the prices of the total probability of the law of each node.
	Totals []float64 `json:"totals"`
	// Means (unbiased only) are the prices of the mean of the law of each node.
	Means []float64 `json:"means,omitempty"`
	// PointTotals and PointMeans (mean of real values with delta = 0 only, empty: zeros) are
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
	Pairs   []DualPair `json:"pairs,omitempty"`
}

// DualPair holds the multipliers, at least 0, of one ordered pair of nodes for the answers
// from First on; all others are 0.
type DualPair struct {
	Gain        int       `json:"gain"`
	Lose        int       `json:"lose"`
	First       int       `json:"first"`
	Multipliers []float64 `json:"multipliers"`
}

// averaged reports whether the bound is about the mean of real values.
func (s *Spec) averaged() bool { return s.Values.Kind == Real && s.Objective == Mean }

// places returns for how many nodes or cells the dual has multipliers.
func (s *Spec) places() int {
	switch {
	case s.Values.Kind == Category:
		return len(s.Values.Labels)
	case s.averaged() && s.Delta > 0:
		return len(s.Dual.Nodes) - 1
	default:
		return len(s.Dual.Nodes)
	}
}

func badDual(field string, value any, rule string, args ...any) error {
	return check.Errorf("local", dp.ErrInvalid, "dual.%s = %v, want %s", field, value, fmt.Sprintf(rule, args...))
}

// validateDual returns the first error of the dual.
func (s *Spec) validateDual() error {
	d := s.Dual
	if d == nil {
		return nil
	}
	if err := s.validateDualNodes(); err != nil {
		return err
	}
	n := s.places()
	for _, list := range []struct {
		name          string
		x             []float64
		wanted, given bool // must be there, may be there
		negative      bool
	}{
		{"weights", d.Weights, s.Objective == Worst, s.Objective == Worst, false},
		{"totals", d.Totals, true, true, true},
		{"means", d.Means, false, s.Demands.Unbiased, true},
		{"point_totals", d.PointTotals, false, s.averaged() && s.Delta == 0, true},
		{"point_means", d.PointMeans, false, s.averaged() && s.Delta == 0 && s.Demands.Unbiased, true},
		{"caps", d.Caps, false, s.Demands.Cap > 0 && s.Objective == Mean, false},
	} {
		switch m := len(list.x); {
		case m > 0 && !list.given:
			return badDual(list.name, fmt.Sprintf("%d numbers", m), "none, for this objective and these demands")
		case m != n && (m > 0 || list.wanted):
			return badDual(list.name, fmt.Sprintf("%d numbers", m), "%d", n)
		}
		some := false
		for i, x := range list.x {
			if !check.Finite(x) || x < 0 && !list.negative {
				return badDual(fmt.Sprintf("%s[%d]", list.name, i), x, "a finite number%s", map[bool]string{false: " >= 0"}[list.negative])
			}
			some = some || x > 0
		}
		if list.name == "weights" && list.wanted && !some {
			return badDual("weights", "0 everywhere", "one above 0")
		}
	}
	return s.validatePairs(n)
}

func (s *Spec) validateDualNodes() error {
	d, v := s.Dual, s.Values
	n := len(d.Nodes)
	if v.Kind == Category {
		if n > 0 {
			return badDual("nodes", fmt.Sprintf("%d nodes", n), "none for categories")
		}
		return nil
	}
	if n < 1 || n > MaxNodes+1 {
		return badDual("nodes", fmt.Sprintf("%d nodes", n), "1 to %d", MaxNodes+1)
	}
	for i, x := range d.Nodes {
		if !(x >= v.Lower && x <= v.Upper) || i > 0 && !(x > d.Nodes[i-1]) {
			return badDual(fmt.Sprintf("nodes[%d]", i), x, "ascending numbers from %g to %g", v.Lower, v.Upper)
		}
	}
	if v.Kind == Integer && !slices.Equal(d.Nodes, s.Nodes) {
		return badDual("nodes", fmt.Sprintf("%d nodes", n), "all integers from %g to %g", v.Lower, v.Upper)
	}
	if s.averaged() && (d.Nodes[0] != v.Lower || d.Nodes[n-1] != v.Upper) {
		return badDual("nodes", fmt.Sprintf("%g to %g", d.Nodes[0], d.Nodes[n-1]), "the first and last to be the ends of the range, %g and %g", v.Lower, v.Upper)
	}
	return nil
}

func (s *Spec) validatePairs(n int) error {
	d := s.Dual
	if s.Delta == 0 && (len(d.Pairs) > 0 || len(d.Answers) > 0) {
		return badDual("pairs", fmt.Sprintf("%d pairs", len(d.Pairs)), "none for delta = 0")
	}
	outputs := len(d.Answers)
	if s.Values.Kind == Category {
		outputs = len(s.AnswerLabels)
		if len(d.Answers) > 0 {
			return badDual("answers", fmt.Sprintf("%d answers", len(d.Answers)), "none for categories")
		}
	}
	if m := len(d.Answers); m > MaxAnswers || m*n > maxWeights {
		return badDual("answers", fmt.Sprintf("%d answers", m), "at most %d, and %d in all for %d nodes", MaxAnswers, maxWeights, n)
	}
	for j, y := range d.Answers {
		if !check.Finite(y) || j > 0 && !(y > d.Answers[j-1]) {
			return badDual(fmt.Sprintf("answers[%d]", j), y, "finite numbers in ascending order")
		}
	}
	seen := make(map[[2]int]bool)
	left := formfile.MaxMultipliers
	for i, p := range d.Pairs {
		pair := [2]int{p.Gain, p.Lose}
		name := fmt.Sprintf("pairs[%d]", i)
		if p.Gain < 0 || p.Gain >= n || p.Lose < 0 || p.Lose >= n || p.Gain == p.Lose || seen[pair] {
			return badDual(name, fmt.Sprintf("nodes %d and %d", p.Gain, p.Lose), "two of %d nodes, each pair once", n)
		}
		seen[pair] = true
		if left -= len(p.Multipliers); left < 0 {
			return badDual("multipliers", "too many", "at most %d in all", formfile.MaxMultipliers)
		}
		if p.First < 0 || p.First+len(p.Multipliers) > outputs {
			return badDual(name+".first", p.First, "answers within 0 to %d", outputs-1)
		}
		for _, y := range p.Multipliers {
			if !check.Finite(y) || y < 0 {
				return badDual(name+".multipliers", y, "finite numbers >= 0")
			}
		}
	}
	return nil
}
