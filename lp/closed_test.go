// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package lp_test

import (
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
)

// TestFarBehindTheClosedForm: where coarse programs prove less than the closed form, finer
// ones of the bound follow, not ones of noise, of which the staircase is the best.
func TestFarBehindTheClosedForm(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 14, Delta: 1e-6, Sensitivity: 1}, Loss: loss.L2}
	r, err := lp.DesignAtWork(t.Context(), p, lp.Options{Gap: 7e-3, TimeLimit: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := fromFile(r.Verified); err != nil {
		t.Error(err)
	}
}

// TestFreeNoise: a loss that is 0 as far as noise has to reach is 0.
func TestFreeNoise(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta, sensitivity float64
		loss                        string
	}{
		{0.5, 0.1, 1, "exceed:3"}, {0.5, 0.1, 1, "deadzone:2.9"}, {0, 0.1, 0.5, "exceed:2.51"}, {1, 0.1, 1, "exceed:3"},
	} {
		p := dp.Problem{Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: c.sensitivity}, Loss: named(t, c.loss)}
		r, err := lp.Design(t.Context(), p, lp.Options{})
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if loss := r.Verified.Certificate().ExpectedLoss; loss.Sign() != 0 || !r.Optimal {
			t.Errorf("%+v: loss %v, optimal %v", c, loss, r.Optimal)
		}
		if err := fromFile(r.Verified); err != nil {
			t.Error(err)
		}
	}
}
