// SPDX-License-Identifier: Apache-2.0

package dense_test

import (
	"math"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
)

var gradients = [][]float64{{0.3, -4}, {-0.1, 0.5}, {0.02, -0.25}}

// The steps were computed apart from this code, by the formulas of the papers with
// moments that are divided by 1 - β^t.
func TestAdam(t *testing.T) {
	for name, c := range map[string]struct {
		adam dense.Adam
		want [][]float64
	}{
		"defaults": {
			dense.Adam{},
			[][]float64{{0.9990000000333333, -1.9990000000025}, {0.9985997814792809, -1.9984274654287806}, {0.9982506696968846, -1.9979461641821368}},
		},
		"all set": {
			dense.Adam{Rate: 0.1, Beta1: 0.5, Beta2: 0.75, Epsilon: 1e-3, WeightDecay: 0.25, AMSGrad: true},
			[][]float64{{0.9001814882032668, -1.9000222172850478}, {0.8361887044024079, -1.8564290223873947}, {0.7685852290206329, -1.8211684457692212}},
		},
	} {
		params := []float64{1, -2}
		for k, g := range gradients {
			c.adam.Step(params, g)
			for i, want := range c.want[k] {
				if math.Abs(params[i]-want) > 1e-14 {
					t.Errorf("%s: parameter %d = %.17g after step %d, want %.17g", name, i, params[i], k+1, want)
				}
			}
		}
	}
}

// After one large gradient AMSGrad remembers its size, and Adam forgets it.
func TestAMSGradRemembers(t *testing.T) {
	move := func(ams bool) float64 {
		a := dense.Adam{Rate: 1, Beta1: 0.5, Beta2: 0.5, AMSGrad: ams}
		params := []float64{0}
		a.Step(params, []float64{100})
		for range 50 {
			a.Step(params, []float64{0.1})
		}
		before := params[0]
		a.Step(params, []float64{0.1})
		return before - params[0]
	}
	if forgotten, remembered := move(false), move(true); math.Abs(forgotten-1) > 1e-3 || remembered > 0.01 {
		t.Errorf("steps of %g and, with AMSGrad, %g, want about 1 and below 0.01", forgotten, remembered)
	}
}

// A training that goes on from a state does the same steps.
func TestAdamState(t *testing.T) {
	for _, ams := range []bool{false, true} {
		whole, first := dense.Adam{AMSGrad: ams}, dense.Adam{AMSGrad: ams}
		a, b := []float64{1, -2}, []float64{1, -2}
		for k, g := range gradients {
			whole.Step(a, g)
			if k < 2 {
				first.Step(b, g)
			}
		}
		state := map[string][]float64{}
		first.Save(state, "a", b)
		for name, numbers := range state {
			state[name] = slices.Clone(numbers)
		}
		second := dense.Adam{AMSGrad: ams}
		if err := second.Restore(state, "a", b); err != nil {
			t.Fatal(err)
		}
		second.Step(b, gradients[2])
		if !slices.Equal(a, b) {
			t.Errorf("AMSGrad %v: parameters %v after a pause, want %v", ams, b, a)
		}
	}
}
