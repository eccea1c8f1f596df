// SPDX-License-Identifier: Apache-2.0

package local

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
)

// dualsOf are duals that keep all rules, each of a kind of problem with rules of its own.
func dualsOf() map[string]Spec {
	reals := Values{Kind: Real, Lower: -1, Upper: 2}
	return map[string]Spec{
		"worst": {
			Values: reals, Objective: Worst, Loss: loss.L2, Demands: Demands{Cap: 3},
			Dual: &Dual{Nodes: []float64{-1, 2}, Weights: []float64{0, 1}, Totals: []float64{0, 0}},
		},
		"mean": {
			Values: reals, Objective: Mean, Loss: loss.L2, Demands: Demands{Unbiased: true, Cap: 3},
			Dual: &Dual{
				Nodes: []float64{-1, 0, 2}, Totals: []float64{0, -1, 2}, Means: []float64{0, -1, 2}, Caps: []float64{0, 1, 2},
				PointTotals: []float64{-1, 0, 0}, PointMeans: []float64{0, 0, -1},
			},
		},
		"pairs": {
			Delta: math.SmallestNonzeroFloat64, Values: reals, Objective: Mean, Loss: loss.L2,
			Dual: &Dual{
				Nodes: []float64{-1, 0, 2}, Totals: []float64{0, 0}, Answers: []float64{-1, 0, 1},
				Pairs: []dualPair{{Gain: 0, Lose: 1, First: 0, Multipliers: []float64{0, 1, 2}}, {Gain: 1, Lose: 0, First: 2, Multipliers: []float64{1}}},
			},
		},
		"integers": {
			Values: Values{Kind: Integer, Lower: 0, Upper: 3}, Nodes: []float64{0, 1, 2, 3}, Objective: Mean, Loss: loss.L2,
			Dual: &Dual{Nodes: []float64{0, 1, 2, 3}, Totals: []float64{0, 1, 1, 0}},
		},
		"categories": {
			Delta: 0.5, Values: Values{Kind: Category, Labels: []string{"a", "b"}}, AnswerLabels: []string{"a", "b", "c"}, Objective: Worst,
			Dual: &Dual{
				Weights: []float64{1, 0}, Totals: []float64{1, 1},
				Pairs: []dualPair{{Gain: 1, Lose: 0, First: 1, Multipliers: []float64{1, 0}}},
			},
		},
	}
}

// TestRulesOfDuals breaks one rule at a time, by one, and keeps it by as little.
func TestRulesOfDuals(t *testing.T) {
	for name, s := range dualsOf() {
		if err := s.validateDual(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	evenly := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = -1 + 3*float64(i)/float64(n-1)
		}
		return x
	}
	least, inf := math.SmallestNonzeroFloat64, math.Inf(1)
	for _, c := range []struct {
		of, name string
		do       func(s *Spec, d *Dual)
		field    string // that the error names, "" for none
	}{
		{"worst", "no dual", func(s *Spec, _ *Dual) { s.Dual = nil }, ""},
		{"worst", "no nodes", func(_ *Spec, d *Dual) { d.Nodes, d.Weights, d.Totals = nil, nil, nil }, "nodes"},
		{"worst", "one node", func(_ *Spec, d *Dual) { d.Nodes, d.Weights, d.Totals = d.Nodes[:1], d.Weights[1:], d.Totals[:1] }, ""},
		{"worst", "as many nodes as may be", func(_ *Spec, d *Dual) {
			d.Nodes = evenly(limits.LocalNodes + 1)
			d.Weights, d.Totals = evenly(len(d.Nodes)), evenly(len(d.Nodes))
			for i := range d.Weights {
				d.Weights[i] = 1
			}
		}, ""},
		{"worst", "one node more", func(_ *Spec, d *Dual) { d.Nodes = evenly(limits.LocalNodes + 2) }, "nodes"},
		{"worst", "inside", func(_ *Spec, d *Dual) { d.Nodes[0], d.Nodes[1] = 0, 1 }, ""},
		{"worst", "below the range", func(_ *Spec, d *Dual) { d.Nodes[0] = math.Nextafter(-1, -2) }, "nodes[0]"},
		{"worst", "above the range", func(_ *Spec, d *Dual) { d.Nodes[1] = math.Nextafter(2, 3) }, "nodes[1]"},
		{"worst", "a node twice", func(_ *Spec, d *Dual) { d.Nodes[0] = 2 }, "nodes[1]"},
		{"worst", "no weights", func(_ *Spec, d *Dual) { d.Weights = nil }, "weights"},
		{"worst", "a weight less", func(_ *Spec, d *Dual) { d.Weights = d.Weights[1:] }, "weights"},
		{"worst", "weights of 0", func(_ *Spec, d *Dual) { d.Weights[1] = 0 }, "weights"},
		{"worst", "a weight below 0", func(_ *Spec, d *Dual) { d.Weights[0] = -least }, "weights[0]"},
		{"worst", "an infinite weight", func(_ *Spec, d *Dual) { d.Weights[0] = inf }, "weights[0]"},
		{"worst", "no totals", func(_ *Spec, d *Dual) { d.Totals = nil }, "totals"},
		{"worst", "caps", func(_ *Spec, d *Dual) { d.Caps = []float64{0, 1} }, "caps"},
		{"worst", "means without unbiased", func(_ *Spec, d *Dual) { d.Means = []float64{0, 1} }, "means"},
		{"worst", "points", func(_ *Spec, d *Dual) { d.PointTotals = []float64{0, 1} }, "point_totals"},
		{"worst", "points of means", func(s *Spec, d *Dual) { s.Demands.Unbiased, d.PointMeans = true, []float64{0, 1} }, "point_means"},
		{"worst", "answers", func(_ *Spec, d *Dual) { d.Answers = []float64{0} }, "pairs"},
		{"worst", "pairs", func(_ *Spec, d *Dual) { d.Pairs = []dualPair{{Gain: 0, Lose: 1}} }, "pairs"},
		{"mean", "weights", func(_ *Spec, d *Dual) { d.Weights = []float64{1, 1, 1} }, "weights"},
		{"mean", "no end below", func(_ *Spec, d *Dual) { d.Nodes[0] = -0.5 }, "nodes"},
		{"mean", "no end above", func(_ *Spec, d *Dual) { d.Nodes[2] = 1 }, "nodes"},
		{"mean", "none but totals", func(_ *Spec, d *Dual) { d.Means, d.Caps, d.PointTotals, d.PointMeans = nil, nil, nil, nil }, ""},
		{"mean", "caps without a cap", func(s *Spec, _ *Dual) { s.Demands.Cap = 0 }, "caps"},
		{"mean", "a cap below 1", func(s *Spec, _ *Dual) { s.Demands.Cap = least }, ""},
		{"mean", "a cap below 0", func(_ *Spec, d *Dual) { d.Caps[0] = -least }, "caps[0]"},
		{"mean", "a total that is no number", func(_ *Spec, d *Dual) { d.Totals[1] = math.NaN() }, "totals[1]"},
		{"mean", "biased", func(s *Spec, d *Dual) { s.Demands.Unbiased, d.Means = false, nil }, "point_means"},
		{"mean", "a mean more", func(_ *Spec, d *Dual) { d.Means = append(d.Means, 0) }, "means"},
		{"mean", "delta", func(s *Spec, d *Dual) {
			s.Delta, d.Totals, d.Means, d.Caps = least, d.Totals[1:], d.Means[1:], d.Caps[1:]
			d.PointMeans = nil
			d.PointTotals = d.PointTotals[1:]
		}, "point_totals"},
		{"mean", "delta, and points of means", func(s *Spec, d *Dual) {
			s.Delta, d.Totals, d.Means, d.Caps = least, d.Totals[1:], d.Means[1:], d.Caps[1:]
			d.PointTotals = nil
			d.PointMeans = d.PointMeans[1:]
		}, "point_means"},
		{"pairs", "no delta", func(s *Spec, d *Dual) { s.Delta, d.Totals = 0, []float64{0, 0, 0} }, "pairs"},
		{"pairs", "no delta and no pairs", func(s *Spec, d *Dual) { s.Delta, d.Totals, d.Pairs = 0, []float64{0, 0, 0}, nil }, "pairs"},
		{"pairs", "no delta and no answers", func(s *Spec, d *Dual) { s.Delta, d.Totals, d.Answers = 0, []float64{0, 0, 0}, nil }, "pairs"},
		{"pairs", "a total for every node", func(_ *Spec, d *Dual) { d.Totals = []float64{0, 0, 0} }, "totals"},
		{"pairs", "an answer twice", func(_ *Spec, d *Dual) { d.Answers[1] = -1 }, "answers[1]"},
		{"pairs", "an infinite answer", func(_ *Spec, d *Dual) { d.Answers[2] = inf }, "answers[2]"},
		{"pairs", "the first answer infinite", func(_ *Spec, d *Dual) { d.Answers[0] = -inf }, "answers[0]"},
		{"pairs", "answers far out", func(_ *Spec, d *Dual) { d.Answers[2] = math.MaxFloat64 }, ""},
		{"pairs", "as many answers as may be", func(_ *Spec, d *Dual) { d.Answers = evenly(limits.LocalAnswers) }, ""},
		{"pairs", "an answer more", func(_ *Spec, d *Dual) { d.Answers = evenly(limits.LocalAnswers + 1) }, "answers"},
		{"pairs", "as many for all cells as may be", func(_ *Spec, d *Dual) {
			d.Nodes, d.Totals, d.Answers = evenly(maxWeights/limits.LocalAnswers+1), make([]float64, maxWeights/limits.LocalAnswers), evenly(limits.LocalAnswers)
		}, ""},
		{"pairs", "a cell more", func(_ *Spec, d *Dual) {
			d.Nodes, d.Totals, d.Answers = evenly(maxWeights/limits.LocalAnswers+2), make([]float64, maxWeights/limits.LocalAnswers+1), evenly(limits.LocalAnswers)
		}, "answers"},
		{"pairs", "no node gains", func(_ *Spec, d *Dual) { d.Pairs[0].Gain = -1 }, "pairs[0]"},
		{"pairs", "no node loses", func(_ *Spec, d *Dual) { d.Pairs[0].Lose = -1 }, "pairs[0]"},
		{"pairs", "a cell that is not there gains", func(_ *Spec, d *Dual) { d.Pairs[0].Gain = 2 }, "pairs[0]"},
		{"pairs", "a cell that is not there loses", func(_ *Spec, d *Dual) { d.Pairs[0].Lose = 2 }, "pairs[0]"},
		{"pairs", "with itself", func(_ *Spec, d *Dual) { d.Pairs[0].Gain = 1 }, "pairs[0]"},
		{"pairs", "twice", func(_ *Spec, d *Dual) { d.Pairs[1].Gain, d.Pairs[1].Lose = 0, 1 }, "pairs[1]"},
		{"pairs", "from before the first", func(_ *Spec, d *Dual) { d.Pairs[0].First = -1 }, "pairs[0].first"},
		{"pairs", "beyond the last", func(_ *Spec, d *Dual) { d.Pairs[1].First = 3 }, "pairs[1].first"},
		{"pairs", "none beyond the last", func(_ *Spec, d *Dual) { d.Pairs[1].First, d.Pairs[1].Multipliers = 3, nil }, ""},
		{"pairs", "a price below 0", func(_ *Spec, d *Dual) { d.Pairs[0].Multipliers[0] = -least }, "pairs[0].multipliers"},
		{"pairs", "an infinite price", func(_ *Spec, d *Dual) { d.Pairs[0].Multipliers[0] = inf }, "pairs[0].multipliers"},
		{"pairs", "product too", func(_ *Spec, d *Dual) { d.Product, d.Totals = true, []float64{0, 0, 0} }, "pairs"},
		{"pairs", "product and answers", func(_ *Spec, d *Dual) { d.Product, d.Pairs, d.Totals = true, nil, []float64{0, 0, 0} }, "pairs"},
		{"pairs", "product alone", func(_ *Spec, d *Dual) {
			d.Product, d.Pairs, d.Answers, d.Totals, d.PointTotals = true, nil, nil, []float64{0, 0, 0}, []float64{0, 0, 0}
		}, ""},
		{"pairs", "product, and a total for every cell", func(_ *Spec, d *Dual) { d.Product, d.Pairs, d.Answers = true, nil, nil }, "totals"},
		{"mean", "product without delta", func(_ *Spec, d *Dual) { d.Product = true }, "product"},
		{"worst", "product with delta", func(s *Spec, d *Dual) { s.Delta, d.Product = least, true }, ""},
		{"integers", "one left out", func(_ *Spec, d *Dual) { d.Nodes, d.Totals = []float64{0, 1, 3}, d.Totals[1:] }, "nodes"},
		{"integers", "between integers", func(_ *Spec, d *Dual) { d.Nodes[1] = 1.5 }, "nodes"},
		{"categories", "nodes", func(_ *Spec, d *Dual) { d.Nodes = []float64{0, 1} }, "nodes"},
		{"categories", "answers", func(_ *Spec, d *Dual) { d.Answers = []float64{0, 1, 2} }, "answers"},
		{"categories", "beyond the last label", func(_ *Spec, d *Dual) { d.Pairs[0].First = 2 }, "pairs[0].first"},
		{"categories", "a label more", func(_ *Spec, d *Dual) { d.Totals = append(d.Totals, 0) }, "totals"},
	} {
		s := formfile.Clone(dualsOf()[c.of])
		c.do(&s, s.Dual)
		err := s.validateDual()
		switch {
		case c.field == "" && err != nil:
			t.Errorf("%s, %s: %v, want no error", c.of, c.name, err)
		case c.field != "" && (err == nil || !strings.Contains(err.Error(), fmt.Sprintf("dual.%s = ", c.field))):
			t.Errorf("%s, %s: %v, want one about %s", c.of, c.name, err, c.field)
		}
	}
}

// TestMultipliersOfAllPairs: there is a bound on how many multipliers all pairs have together.
func TestMultipliersOfAllPairs(t *testing.T) {
	s := formfile.Clone(dualsOf()["pairs"])
	n := 65
	s.Dual.Nodes, s.Dual.Totals, s.Dual.Answers, s.Dual.Pairs = make([]float64, n+1), make([]float64, n), make([]float64, limits.LocalAnswers), nil
	for i := range s.Dual.Nodes {
		s.Dual.Nodes[i] = -1 + 3*float64(i)/float64(n)
	}
	for i := range s.Dual.Answers {
		s.Dual.Answers[i] = float64(i)
	}
	multipliers := make([]float64, len(s.Dual.Answers))
	left := formfile.MaxMultipliers
	for i := range n * n {
		if i/n != i%n && left > 0 {
			m := min(left, len(multipliers))
			s.Dual.Pairs = append(s.Dual.Pairs, dualPair{Gain: i / n, Lose: i % n, Multipliers: multipliers[:m]})
			left -= m
		}
	}
	if err := s.validateDual(); left > 0 || err != nil {
		t.Fatalf("%d left: %v", left, err)
	}
	s.Dual.Pairs = append(s.Dual.Pairs, dualPair{Gain: n - 1, Lose: 0, Multipliers: multipliers[:1]})
	if err := s.validateDual(); err == nil || !strings.Contains(err.Error(), "dual.multipliers") {
		t.Errorf("one multiplier more: %v", err)
	}
}

// TestDualAdd: pairs are added one after another.
func TestDualAdd(t *testing.T) {
	var d Dual
	d.Add(1, 2, []float64{4, 5})
	d.Add(2, 1, []float64{6})
	if want := []dualPair{{Gain: 1, Lose: 2, Multipliers: []float64{4, 5}}, {Gain: 2, Lose: 1, Multipliers: []float64{6}}}; !reflect.DeepEqual(d.Pairs, want) {
		t.Errorf("%+v, want %+v", d.Pairs, want)
	}
}
