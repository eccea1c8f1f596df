// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package lp_test

import (
	"testing"

	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
)

// TestLocalDelta: delta buys a smaller loss, up to what is promised, and the lower bound is
// about mechanisms that use it too.
func TestLocalDelta(t *testing.T) {
	p := unbiased(1, local.Worst)
	p.Cells = 6
	_, pure, _ := designLocal(t, p, lp.Options{Gap: 0.1})
	p.Delta = 0.05
	r, loss, bound := designLocal(t, p, lp.Options{Gap: 0.2, NewSolver: highs.New})
	delta, _ := r.Verified.Certificate().DeltaUpper.Float64()
	// A randomizer that releases the value with probability delta has the loss (1 − δ)·pure.
	if delta > 0.05 || delta < 0.049 || loss > 0.95*pure || bound < 0.7*loss {
		t.Errorf("delta %g, [%g, %g], and %g with delta = 0", delta, bound, loss, pure)
	}
}

// TestLocalDeltaCategories: of two answers to two values, the right one has a probability
// of (e^ε + δ)/(e^ε + 1) (Kairouz, Oh & Viswanath 2016).
func TestLocalDeltaCategories(t *testing.T) {
	p := lp.LocalProblem{
		Epsilon: 1, Delta: 0.1, Objective: local.Mean, Values: categories(), Costs: [][]float64{{0, 1}, {1, 0}},
	}
	_, loss, bound := designLocal(t, p, lp.Options{Gap: 0.001, NewSolver: highs.New})
	if want := 0.9 / 3.718281828; bound > want || loss < want*(1-1e-9) || loss/bound > 1.001 {
		t.Errorf("[%g, %g], want %g in it", bound, loss, want)
	}
}

// TestLocalDeltaIntegers: what is proved about integers is near what is designed, too.
func TestLocalDeltaIntegers(t *testing.T) {
	p := lp.LocalProblem{
		Epsilon: 1, Delta: 0.01, Objective: local.Mean, Loss: loss.L2,
		Values: local.Values{Kind: local.Integer, Lower: 1, Upper: 5},
	}
	for _, unbiased := range []bool{false, true} {
		p.Demands.Unbiased = unbiased
		if _, loss, bound := designLocal(t, p, lp.Options{Gap: 0.1, NewSolver: highs.New}); loss > 1.1*bound {
			t.Errorf("unbiased %t: [%g, %g]", unbiased, bound, loss)
		}
	}
}
