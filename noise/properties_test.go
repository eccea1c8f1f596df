// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"fmt"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// TestScaling: the loss scales with the sensitivity, linearly for l1 and
// quadratically for l2. Discrete Laplace lives on the integers and does not.
func TestScaling(t *testing.T) {
	for loss, degree := range map[loss.Loss]float64{loss.L1: 1, loss.L2: 2} {
		forEach(t, 1, loss, func(p dp.Privacy, m Mechanism) {
			if onIntegers(m.Name()) {
				return
			}
			unit := lossOf(t, m.Name(), p, loss)
			for _, d := range []float64{1e-6, 0.5, 3, 1e9} {
				q := p
				q.Sensitivity = d
				scale := math.Pow(d, degree)
				near(t, fmt.Sprintf("%s %+v %s", m.Name(), q, loss.Name()), lossOf(t, m.Name(), q, loss), scale*unit, 1e-12)
			}
		})
	}
}

// TestMonotone: more ε or more δ never costs loss. Where a mechanism starts to
// apply only later (the classical Gaussian stops) that end is not compared.
func TestMonotone(t *testing.T) {
	const slack = 1 + 1e-12 // σ is rounded up by less
	for _, loss := range []loss.Loss{loss.L1, loss.L2} {
		for _, b := range Baselines() {
			value := func(epsilon, delta float64) float64 {
				m, err := b.New(dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 2}, loss)
				if err != nil {
					return math.NaN()
				}
				v, _, err := m.ExpectedLoss(loss)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			for _, delta := range gridDeltas {
				if b.Name == "truncated-laplace" && delta > 0.5 {
					continue // wasteful there, the more so the larger ε
				}
				last := math.NaN()
				for _, epsilon := range append([]float64{0, 1e-9}, gridEpsilons...) {
					if v := value(epsilon, delta); v > last*slack {
						t.Errorf("%s %s: %g at (%g, %g), less before", b.Name, loss.Name(), v, epsilon, delta)
					} else {
						last = v
					}
				}
			}
			for _, epsilon := range append([]float64{0}, gridEpsilons...) {
				last := math.NaN()
				for _, delta := range append([]float64{0}, gridDeltas...) {
					if v := value(epsilon, delta); v > last*slack {
						t.Errorf("%s %s: %g at (%g, %g), less before", b.Name, loss.Name(), v, epsilon, delta)
					} else {
						last = v
					}
				}
			}
		}
	}
}

// TestOrder: relations between mechanisms that are theorems.
func TestOrder(t *testing.T) {
	const slack = 1 + 1e-12
	for _, l := range []loss.Loss{loss.L1, loss.L2} {
		for _, epsilon := range append([]float64{1e-4, 0.999}, gridEpsilons...) {
			for _, delta := range append([]float64{1e-200, 0.99}, gridDeltas...) {
				p := dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}
				pure := lossOf(t, "staircase", p, l)
				if v := lossOf(t, "laplace", p, l); pure > v*slack {
					t.Errorf("%+v %s: staircase %g above laplace %g", p, l.Name(), pure, v)
				}
				if v := lossOf(t, "staircase-atom", p, l); math.Abs(v-(1-delta)*pure) > 1e-14*v {
					t.Errorf("%+v %s: staircase-atom %g, want (1-δ) times %g", p, l.Name(), v, pure)
				}
				if v := lossOf(t, "laplace", p, l); lossOf(t, "truncated-laplace", p, l) > v*slack {
					t.Errorf("%+v %s: truncating made Laplace worse", p, l.Name())
				}
				if epsilon < 1 {
					exact, classical := lossOf(t, "analytic-gaussian", p, l), lossOf(t, "gaussian", p, l)
					if exact > classical*slack {
						t.Errorf("%+v %s: analytic-gaussian %g above gaussian %g", p, l.Name(), exact, classical)
					}
				}
			}
		}
	}
}

// TestLimits: ε → 0 joins the mechanisms of ε = 0, δ → 0 those of δ = 0.
func TestLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, loss := range []loss.Loss{loss.L1, loss.L2} {
		for _, delta := range []float64{1e-6, 0.1, 0.5, 0.8} {
			at := func(name string, epsilon float64) float64 {
				return lossOf(t, name, dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 3}, loss)
			}
			for _, epsilon := range []float64{1e-12, 1e-15, 1e-100, 1e-300} {
				// Both change by a factor 1 + O(ε/δ).
				tolerance := 1e-12 + 10*epsilon/delta
				near(t, "truncated-laplace", at("truncated-laplace", epsilon), at("uniform", 0), tolerance)
				near(t, "analytic-gaussian", at("analytic-gaussian", epsilon), at("analytic-gaussian", 0), tolerance)
				near(t, "canonical", at("canonical", epsilon), at("uniform", 0), tolerance)
			}
		}
		for _, epsilon := range []float64{0.1, 1, 5} {
			p := dp.Privacy{Epsilon: epsilon, Delta: 1e-200, Sensitivity: 3}
			near(t, "truncated-laplace", lossOf(t, "truncated-laplace", p, loss), lossOf(t, "laplace", p, loss), 1e-13)
			near(t, "canonical", lossOf(t, "canonical", p, loss), lossOf(t, "canonical", dp.Privacy{Epsilon: epsilon, Sensitivity: 3}, loss), 1e-13)
			near(t, "staircase-atom", lossOf(t, "staircase-atom", p, loss), lossOf(t, "staircase", p, loss), 1e-14)
		}
	}
	if b := truncatedBound(dp.Privacy{Epsilon: 1, Delta: 0, Sensitivity: 1}); !math.IsInf(b, 1) {
		t.Errorf("truncatedBound at δ = 0: %g, want +Inf", b)
	}
}
