// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"fmt"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// TestLossesUnderBaselines: every kind under every baseline against the losses of
// these tests, which are written down independently, and the relations between
// kinds; the error bound is honest and small.
func TestLossesUnderBaselines(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	oracles := map[string]testLoss{
		"lp:1.5": power(1.5), "lp:3": power(3), "lp:1": power(1), "pinball:0.75": pinball(0.75),
		"exceed:0.77": miss(0.77), "exceed:3": miss(3), "deadzone:0.77": hinge(0.77), "deadzone:12": hinge(12),
		"huber:2": fromAntiderivative("huber",
			func(x float64) float64 {
				if a := math.Abs(x); a > 2 {
					return 2*a - 2
				}
				return x * x / 2
			},
			func(x float64) float64 {
				if a := math.Abs(x); a > 2 {
					return math.Copysign(a*a-2*a+4.0/3, x)
				}
				return x * x * x / 6
			}, -2, 2),
		"asymmetric:1,3": fromAntiderivative("asymmetric",
			func(x float64) float64 { return math.Max(-x, 3*x) },
			func(x float64) float64 { return math.Max(-1, 3*math.Copysign(1, x)) * x * x / 2 }),
	}
	for name, oracle := range oracles {
		l := must2(loss.Parse(name))
		for _, p := range []dp.Privacy{{Epsilon: 0.7, Delta: 0.05, Sensitivity: 1}, {Epsilon: 0.05, Delta: 1e-6, Sensitivity: 2}, {Epsilon: 4, Delta: 0.9, Sensitivity: 1}, {Epsilon: 1e-5, Delta: 0.05, Sensitivity: 1}} {
			for _, b := range Baselines() {
				m, err := b.New(p, l)
				if inapplicable(err) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got, bound, err := m.ExpectedLoss(l)
				if err != nil {
					t.Fatal(err)
				}
				want, slack, err := m.ExpectedLoss(oracle)
				if err != nil || !(math.Abs(got-want) <= bound+slack) || bound > 1e-3*got {
					t.Errorf("%s %+v %s: %.17g ± %.3g, want %.17g ± %.3g (%v)", b.Name, p, name, got, bound, want, slack, err)
				}
				// Twice the loss costs twice as much, and its best step is the same.
				twice, err := loss.Sum(loss.Term{Loss: l, Weight: 2})
				if err != nil {
					t.Fatal(err)
				}
				double, _, err := must2(b.New(p, twice)).ExpectedLoss(twice)
				if err != nil {
					t.Fatal(err)
				}
				near(t, fmt.Sprintf("%s %+v %s twice", b.Name, p, name), double, 2*got, 1e-9)
			}
		}
	}
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
