// SPDX-License-Identifier: Apache-2.0

package lp_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/proof"
)

// designLocal runs DesignLocal without a solver, and fails the test unless the randomizer
// verifies from its file with the same certificate.
func designLocal(t *testing.T, p lp.LocalProblem, o lp.Options) (r *lp.Result[local.Verified], loss, bound float64) {
	t.Helper()
	r, err := lp.DesignLocal(t.Context(), p, o)
	if err != nil && !errors.Is(err, lp.ErrLimit) {
		t.Fatal(err)
	}
	if r.Optimal != (err == nil) || r.Optimal != (r.Gap <= o.Gap) {
		t.Errorf("optimal = %v with gap %g and error %v", r.Optimal, r.Gap, err)
	}
	var file bytes.Buffer
	if err := r.Verified.Mechanism().Encode(&file); err != nil {
		t.Fatal(err)
	}
	back, err := local.Decode(&file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := back.Verify()
	if err != nil {
		t.Fatal(err)
	}
	c := v.Certificate()
	if c.WorstLoss.Cmp(r.Verified.Certificate().WorstLoss) != 0 || c.LowerBound.Cmp(r.Verified.Certificate().LowerBound) != 0 {
		t.Error("the file's certificate differs from the result's")
	}
	if p.Demands.Unbiased && c.Bias.Sign() != 0 || p.Delta == 0 && c.DeltaUpper.Sign() != 0 {
		t.Errorf("bias %v, delta %v", c.Bias, c.DeltaUpper)
	}
	loss, _ = c.MeanLoss.Float64()
	if p.Objective == local.Worst {
		loss, _ = c.WorstLoss.Float64()
	}
	bound, _ = c.LowerBound.Float64()
	if bound > loss {
		t.Errorf("bound %g above the loss %g", bound, loss)
	}
	return r, loss, bound
}

func unbiased(epsilon float64, o local.Objective) lp.LocalProblem {
	return lp.LocalProblem{
		Epsilon: epsilon, Values: local.Values{Kind: local.Real, Lower: -1, Upper: 1},
		Loss: loss.L2, Objective: o, Demands: local.Demands{Unbiased: true},
	}
}

// TestLocalTable: an independent program in another language, in floats and without lower
// bounds, has these losses; with epsilon = 5 and 8 its grid was coarse.
func TestLocalTable(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, c := range []struct{ epsilon, worst, mean, gap float64 }{
		{0.5, 16.01, 16.0, 0.005},
		{1, 3.991, 3.887, 0.005},
		{2, 0.866, 0.777, 0.005},
		{3, 0.305, 0.261, 0.005},
		{5, 0.0582, 0.0476, 0.03},
	} {
		for objective, want := range map[local.Objective]float64{local.Worst: c.worst, local.Mean: c.mean} {
			r, loss, _ := designLocal(t, unbiased(c.epsilon, objective), lp.Options{Gap: c.gap})
			if !r.Optimal || math.Abs(loss/want-1) > c.gap {
				t.Errorf("ε=%g %s: loss %g, gap %g, want %g", c.epsilon, objective, loss, r.Gap, want)
			}
		}
	}
}

// TestLocalScales: the problem on another range is the same in other units, also where the
// ends of the range are no short binary numbers.
func TestLocalScales(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const gap = 0.005
	_, want, _ := designLocal(t, unbiased(2, local.Worst), lp.Options{Gap: gap})
	for _, ends := range [][2]float64{{0, 5}, {0.1, 0.7}, {-1e6, -999999}, {0, 1e-5}} {
		p := unbiased(2, local.Worst)
		p.Values.Lower, p.Values.Upper = ends[0], ends[1]
		_, got, _ := designLocal(t, p, lp.Options{Gap: gap})
		half := (ends[1] - ends[0]) / 2
		if got /= half * half; math.Abs(got/want-1) > 2*gap {
			t.Errorf("%v: loss %g of the squared half range, want %g", ends, got, want)
		}
	}
}

// TestLocalTwoAnswers: where the answers have no more room than they need, the mechanism of
// Duchi, Jordan & Wainwright (2018) is optimal.
func TestLocalTwoAnswers(t *testing.T) {
	p := unbiased(1, local.Worst)
	far := (math.E + 1) / (math.E - 1)
	p.Demands.Lower, p.Demands.Upper = -far*1.0001, far*1.0001
	r, loss, bound := designLocal(t, p, lp.Options{Gap: 0.01})
	if want := far * far; !r.Optimal || bound > want || loss < 0.999*want || loss > 1.01*want {
		t.Errorf("[%g, %g], want %g", bound, loss, want)
	}
}

// TestLocalCategories: k-ary randomized response is optimal for the probability of a wrong
// answer, whatever the objective (Kairouz, Oh & Viswanath 2016, Theorem 5).
func TestLocalCategories(t *testing.T) {
	costs := [][]float64{{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}}
	for _, objective := range []local.Objective{local.Mean, local.Worst} {
		p := lp.LocalProblem{
			Epsilon: 2, Objective: objective, Costs: costs,
			Values: local.Values{Kind: local.Category, Labels: []string{"a", "b", "c", "d"}},
		}
		_, loss, bound := designLocal(t, p, lp.Options{Gap: 0.001})
		if want := 3 / (math.Exp(2) + 3); bound > want || loss < want || loss/bound > 1.001 {
			t.Errorf("%s: [%g, %g], want %g in it", objective, bound, loss, want)
		}
	}
}

// TestLocalIntegers: without privacy to speak of, a rating is answered as it is; and a
// rating is a mechanism for a real value that happens to be one.
func TestLocalIntegers(t *testing.T) {
	p := unbiased(1, local.Worst)
	_, continuous, _ := designLocal(t, p, lp.Options{Gap: 0.005})
	p.Values = local.Values{Kind: local.Integer, Lower: -1, Upper: 1}
	r, loss, bound := designLocal(t, p, lp.Options{Gap: 0.005})
	if !r.Optimal || bound > continuous || loss > continuous*1.005 {
		t.Errorf("[%g, %g], want at most %g, that of real values", bound, loss, continuous)
	}
	p.Epsilon, p.Objective = 15, local.Mean
	p.Values.Shares = []float64{1, 2, 1}
	p.Demands = local.Demands{Lower: -1, Upper: 1, Step: 1}
	// Each wrong answer has e^-15 of the probability of the right one in k-ary randomized
	// response, which need not be the best: from the ends 1 and 4, twice, from the middle 1.
	randomized := (2*(1+4.0)/4 + 2.0/2) * math.Exp(-15)
	if _, loss, bound := designLocal(t, p, lp.Options{Gap: 0.01}); loss > 1.01*randomized || bound < randomized/4 {
		t.Errorf("[%g, %g], want at most %g", bound, loss, randomized)
	}
}

// TestLocalLosses: losses but the squared one, biased answers, weights and caps.
func TestLocalLosses(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	pinball, err := loss.Parse("pinball:0.9")
	if err != nil {
		t.Fatal(err)
	}
	weight := []proof.Piece{{From: -1, Weight: 0.1}, {From: -0.5, Weight: 3}, {From: 0.5, Weight: 1}}
	for name, edit := range map[string]func(*lp.LocalProblem){
		"l1":              func(p *lp.LocalProblem) { p.Loss = loss.L1 },
		"worst l1":        func(p *lp.LocalProblem) { p.Loss, p.Objective = loss.L1, local.Worst },
		"biased":          func(p *lp.LocalProblem) { p.Demands.Unbiased = false },
		"biased worst l1": func(p *lp.LocalProblem) { p.Loss, p.Objective, p.Demands.Unbiased = loss.L1, local.Worst, false },
		"pinball":         func(p *lp.LocalProblem) { p.Loss, p.Demands.Unbiased = pinball, false },
		"weight":          func(p *lp.LocalProblem) { p.Values.Weight = weight },
		"cap":             func(p *lp.LocalProblem) { p.Demands.Cap = 4.1 },
		"no epsilon":      func(p *lp.LocalProblem) { p.Epsilon, p.Demands.Unbiased = 0, false },
	} {
		p := unbiased(1, local.Mean)
		edit(&p)
		if r, loss, bound := designLocal(t, p, lp.Options{Gap: 0.03}); !r.Optimal {
			t.Errorf("%s: [%g, %g]", name, bound, loss)
		}
	}
}

// TestLocalAnswers: demands on answers are kept, and cost something.
func TestLocalAnswers(t *testing.T) {
	_, free, _ := designLocal(t, unbiased(1, local.Worst), lp.Options{Gap: 0.005})
	p := unbiased(1, local.Worst)
	p.Demands.Step, p.Demands.Lower, p.Demands.Upper = 0.5, -3, 3
	r, loss, _ := designLocal(t, p, lp.Options{Gap: 0.02})
	for _, y := range r.Verified.Mechanism().Spec().Answers {
		if math.Mod(y, 0.5) != 0 || math.Abs(y) > 3 {
			t.Errorf("answer %g", y)
		}
	}
	if loss < free*0.995 {
		t.Errorf("loss %g, below that of any answers, %g", loss, free)
	}
	p = unbiased(1, local.Worst)
	p.MaxAnswers = 5
	r, loss, _ = designLocal(t, p, lp.Options{Gap: 0.1})
	if n := len(r.Verified.Mechanism().Spec().Answers); n > 5 || loss < free*0.995 || loss > 1.1*free {
		t.Errorf("%d answers with the loss %g, that of any number is %g", n, loss, free)
	}
}

// TestLocalCells: the number of intervals is kept, and the design anytime.
func TestLocalCells(t *testing.T) {
	p := unbiased(1, local.Worst)
	p.Cells = 7
	seen := 0
	o := lp.Options{Gap: 1, Progress: func(lp.Progress) { seen++ }}
	if r, _, _ := designLocal(t, p, o); len(r.Verified.Mechanism().Spec().Nodes) != 8 || seen != 1 {
		t.Errorf("%d nodes, %d rounds", len(r.Verified.Mechanism().Spec().Nodes), seen)
	}
	o = lp.Options{TimeLimit: time.Nanosecond}
	if r, err := lp.DesignLocal(t.Context(), p, o); !errors.Is(err, lp.ErrLimit) || len(r.Verified.Mechanism().Spec().Nodes) != 8 {
		t.Errorf("no time: %v, %v", r, err)
	}
}

// TestLocalRefusals: what is impossible is said in one sentence that names the field.
func TestLocalRefusals(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for want, edit := range map[string]func(*lp.LocalProblem){
		"epsilon = 0":    func(p *lp.LocalProblem) { p.Epsilon = 0 },
		"answers = -1.5": func(p *lp.LocalProblem) { p.Demands.Lower, p.Demands.Upper = -1.5, 1.5 },
		"range = 1 to 1": func(p *lp.LocalProblem) { p.Values.Lower = 1 },
		"costs = 0 rows": func(p *lp.LocalProblem) { p.Values, p.Loss, p.Demands = categories(), nil, local.Demands{} },
		"costs[1] = 1": func(p *lp.LocalProblem) {
			p.Values, p.Loss, p.Demands, p.Costs = categories(), nil, local.Demands{}, ragged
		},
		"loss = exceed:1":   func(p *lp.LocalProblem) { p.Loss, _ = loss.Parse("exceed:1") },
		"objective = ":      func(p *lp.LocalProblem) { p.Objective = "best" },
		"instance-cap = 3:": func(p *lp.LocalProblem) { p.Objective, p.Demands.Cap = local.Mean, 3 },
		"answer-step = 5e-": func(p *lp.LocalProblem) { p.Demands.Step = 5e-324 },
	} {
		p := unbiased(1, local.Worst)
		edit(&p)
		r, err := lp.DesignLocal(t.Context(), p, lp.Options{})
		if r != nil || err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `"`, ""), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q, want one with %q", err, want)
			continue
		}
		if !errors.Is(err, dp.ErrInvalid) && !errors.Is(err, lp.ErrInfeasible) {
			t.Errorf("%q is of no kind", err)
		}
	}
}

var ragged = [][]float64{{0, 1}, {1}}

func categories() local.Values {
	return local.Values{Kind: local.Category, Labels: []string{"yes", "no"}}
}

// TestLocalMaxAnswersBound: the lower bound is that of any number of answers, of integers
// and of categories too, and what is left out of these has probability 0.
func TestLocalMaxAnswersBound(t *testing.T) {
	costs := [][]float64{{0, 1, 2}, {1, 0, 1}, {2, 1, 0}}
	for name, p := range map[string]lp.LocalProblem{
		"integers": {
			Epsilon: 1, Objective: local.Worst, Loss: loss.L2, Demands: local.Demands{Unbiased: true}, MaxAnswers: 3,
			Values: local.Values{Kind: local.Integer, Lower: 1, Upper: 5},
		},
		"categories": {
			Epsilon: 1, Objective: local.Mean, Costs: costs, MaxAnswers: 2,
			Values: local.Values{Kind: local.Category, Labels: []string{"a", "b", "c"}},
		},
	} {
		_, few, bound := designLocal(t, p, lp.Options{Gap: 0.01})
		p.MaxAnswers = 0
		_, most, all := designLocal(t, p, lp.Options{Gap: 0.01})
		if few < most || bound < 0.99*all {
			t.Errorf("%s: [%g, %g], and [%g, %g] of any number of answers", name, bound, few, all, most)
		}
	}
}

// TestLocalRefusedProgram: with more than 2^53 steps, the last of which is rounded to what is beyond
// the end, a solution has no weights. The design says so beside a randomizer in closed form.
func TestLocalRefusedProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := unbiased(1, local.Mean)
	p.Values.Lower, p.Values.Upper = 100, 102
	p.Demands = local.Demands{Lower: 54.46312042894883, Upper: 5.880005919220116e+17, Step: 10}
	if r, err := lp.DesignLocal(t.Context(), p, lp.Options{}); r == nil || !errors.Is(err, lp.ErrLimit) || !strings.HasPrefix(err.Error(), "lp: the answer ") {
		t.Errorf("%v, error %v, want a result and one about an answer", r, err)
	}
	designLocal(t, p, lp.Options{Gap: 0.01})
}

// TestLocalCapReached: a cap well above the least that can be kept is, where it is reached.
func TestLocalCapReached(t *testing.T) {
	p := lp.LocalProblem{Epsilon: 1, Values: local.Values{Kind: local.Real, Lower: -1, Upper: 1}, Loss: loss.L1, Objective: local.Mean}
	p.Demands.Cap = 0.66
	r, _, _ := designLocal(t, p, lp.Options{Gap: 0.02})
	if worst, _ := r.Verified.Certificate().WorstLoss.Float64(); worst > 0.66 || r.Gap > 0.5 {
		t.Errorf("the worst loss is %g, the gap %g", worst, r.Gap)
	}
}

// TestLocalDeltaBuysNothing: an averaged loss falls by the share delta, which is proved, and which the truth with that
// probability has; so does the worst one, nearly.
func TestLocalDeltaBuysNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, c := range []struct {
		epsilon, delta float64
		loss           loss.Loss
		objective      local.Objective
		unbiased       bool
		gap            float64
	}{
		{5, 1e-9, loss.L2, local.Mean, false, 0.01},
		{5, 1e-2, loss.L2, local.Mean, false, 0.02},
		{1, 1e-2, loss.L1, local.Mean, false, 0.02},
		{5, 1e-6, loss.L2, local.Worst, true, 0.01},
	} {
		p := lp.LocalProblem{
			Epsilon: c.epsilon, Values: local.Values{Kind: local.Real, Upper: 1}, Loss: c.loss, Objective: c.objective,
			Demands: local.Demands{Unbiased: c.unbiased},
		}
		_, pure, pureBound := designLocal(t, p, lp.Options{Gap: c.gap})
		p.Delta = c.delta
		_, best, bound := designLocal(t, p, lp.Options{Gap: c.gap})
		if best > bound*(1+c.gap) {
			t.Errorf("%+v: [%g, %g]", c, bound, best)
		}
		if best < (1-1.2*c.delta)*pureBound || bound > (1-c.delta)*pure {
			t.Errorf("%+v: [%g, %g] with delta, [%g, %g] without", c, bound, best, pureBound, pure)
		}
	}
}
