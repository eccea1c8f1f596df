// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

// TestDiscreteStaircaseDigits holds values that a linear program computed, and that
// for a sensitivity of 1 it is two-sided geometric noise.
func TestDiscreteStaircaseDigits(t *testing.T) {
	for _, c := range []struct {
		loss loss.Loss
		want string
	}{{loss.L1, "2.860832490"}, {loss.L2, "17.238791362"}} {
		step, value, err := DiscreteStaircase(1, 3, c.loss)
		if err != nil || step != 2 {
			t.Errorf("DiscreteStaircase %s: step %d, %v, want 2", c.loss.Name(), step, err)
		}
		digits(t, "DiscreteStaircase", value, c.want)
		for _, epsilon := range []float64{0.1, 1, 5} {
			step, value, err := DiscreteStaircase(epsilon, 1, c.loss)
			if err != nil || step != 1 {
				t.Fatalf("DiscreteStaircase: step %d, %v", step, err)
			}
			geometric := dp.Privacy{Epsilon: epsilon, Sensitivity: 1}
			near(t, "DiscreteStaircase, sensitivity 1", value, lossOf(t, "discrete-laplace", geometric, c.loss), 1e-14)
		}
	}
}

// TestDiscreteStaircaseRefused: bad input is one error, what does not apply another.
func TestDiscreteStaircaseRefused(t *testing.T) {
	invalid := func(err error) bool { return errors.Is(err, dp.ErrInvalid) }
	for _, c := range []struct {
		epsilon     float64
		sensitivity int64
		loss        loss.Loss
		want        func(error) bool
	}{
		{-1, 1, loss.L1, invalid},
		{1, 0, loss.L1, invalid},
		{1, -3, loss.L1, invalid},
		{math.NaN(), 1, loss.L1, invalid},
		{1, 1, nil, invalid},
		{0, 1, loss.L1, inapplicable},
		{1, 1, power(3), inapplicable},
	} {
		if _, _, err := DiscreteStaircase(c.epsilon, c.sensitivity, c.loss); err == nil || !c.want(err) {
			t.Errorf("DiscreteStaircase(%g, %d, %v): %v", c.epsilon, c.sensitivity, c.loss, err)
		}
	}
}

// TestDiscreteStaircaseBruteForce sums the law term by term for every step and
// compares the best with DiscreteStaircase.
func TestDiscreteStaircaseBruteForce(t *testing.T) {
	for _, epsilon := range []float64{0.05, 0.5, 1, 4, 12} {
		for _, sensitivity := range []int64{1, 2, 3, 7, 20} {
			for _, loss := range []loss.Loss{loss.L1, loss.L2} {
				b, k := math.Exp(-epsilon), float64(sensitivity)
				best, bestStep := math.Inf(1), int64(0)
				for r := int64(1); r <= sensitivity; r++ {
					a := (1 - b) / (2*float64(r) + 2*b*(k-float64(r)) - (1 - b))
					var mass, sum exact.Sum
					for i := int64(0); float64(i/sensitivity)*epsilon < 50; i++ {
						p := a * math.Exp(-epsilon*float64(i/sensitivity))
						if i%sensitivity >= r {
							p *= b
						}
						if i > 0 {
							p *= 2
						}
						mass.Add(p)
						sum.Add(p * loss.At(float64(i)))
					}
					near(t, "mass", mass.Value(), 1, 1e-12)
					if sum.Value() < best {
						best, bestStep = sum.Value(), r
					}
				}
				step, value, err := DiscreteStaircase(epsilon, sensitivity, loss)
				if err != nil {
					t.Fatal(err)
				}
				near(t, "value", value, best, 1e-12)
				if step != bestStep {
					t.Errorf("epsilon %g, sensitivity %d, %s: step %d, brute force %d", epsilon, sensitivity, loss.Name(), step, bestStep)
				}
			}
		}
	}
}

// TestDiscreteStaircaseLimits: with a large sensitivity it approaches the
// continuous staircase; it is never worse than discrete Laplace
func TestDiscreteStaircaseLimits(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 5} {
		for _, loss := range []loss.Loss{loss.L1, loss.L2} {
			p := dp.Privacy{Epsilon: epsilon, Delta: 0, Sensitivity: 1e9}
			step, value, err := DiscreteStaircase(epsilon, 1e9, loss)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "value", value, lossOf(t, "staircase", p, loss), 1e-8)
			gamma, _ := staircaseStep(epsilon, loss)
			near(t, "step", float64(step)/1e9, gamma, 1e-4)
			for _, sensitivity := range []int64{1, 2, 5, 100} {
				_, value, err := DiscreteStaircase(epsilon, sensitivity, loss)
				laplace := lossOf(t, "discrete-laplace", dp.Privacy{Epsilon: epsilon, Delta: 0, Sensitivity: float64(sensitivity)}, loss)
				if err != nil || value > laplace*(1+1e-13) {
					t.Errorf("epsilon %g, sensitivity %d, %s: %g, %v; discrete Laplace has %g", epsilon, sensitivity, loss.Name(), value, err, laplace)
				}
			}
		}
	}
}
