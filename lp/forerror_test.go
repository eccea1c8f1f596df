// SPDX-License-Identifier: Apache-2.0

package lp_test

import (
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
)

// TestForError: the epsilon at which a loss is reached, that found by a bisection of another program to 0.2 %,
// and by the noise that is written; with less epsilon no noise has it.
func TestForError(t *testing.T) {
	exceed, err := loss.Parse("exceed:3")
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		loss        loss.Loss
		most, delta float64
		query       dp.Query
		want        float64 // 0: not known
	}{
		{loss.L1, 0.5, 1e-6, "", 1.766},
		{loss.L1, 0.1, 1e-6, "", 4.626},
		{loss.L2, 1, 0.01, "", 1.271},
		{loss.L2, 0.25, 0, dp.IntegerQuery, 2.2924}, // 2q/(1−q)² = 1/4: q = 5 − √24
		{exceed, 0.05, 1e-6, dp.IntegerQuery, 0},
		{loss.L1, 700, 1e-6, "", 0},
	} {
		if testing.Short() && i != 3 {
			continue
		}
		p := dp.Problem{Privacy: dp.Privacy{Delta: c.delta, Sensitivity: 1}, Loss: c.loss, Query: c.query}
		r, err := lp.ForError(t.Context(), p, c.most, lp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		v := r.Verified
		got := v.Mechanism().Privacy().Epsilon
		if value, _ := v.Certificate().ExpectedLoss.Float64(); value > c.most || c.want > 0 && math.Abs(got/c.want-1) > 0.002 {
			t.Errorf("%s at most %g: %g at epsilon %g, want it at %g", c.loss.Name(), c.most, value, got, c.want)
		}
		p.Epsilon = got / 1.005
		if less, err := lp.Design(t.Context(), p, lp.Options{}); err != nil {
			t.Error(err)
		} else if bound, _ := less.Verified.Certificate().LowerBound.Float64(); bound <= c.most*(1-1e-4) && c.loss != exceed {
			t.Errorf("%s at most %g: noise of epsilon %g may have it, as its bound is %g", c.loss.Name(), c.most, p.Epsilon, bound)
		}
	}
	for _, most := range []float64{0, -1, math.NaN(), 1e-40} {
		p := dp.Problem{Privacy: dp.Privacy{Delta: 1e-6, Sensitivity: 1}, Loss: loss.L1}
		if r, err := lp.ForError(t.Context(), p, most, lp.Options{}); r != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("at most %g: %v, want ErrInvalid", most, err)
		}
	}
}
