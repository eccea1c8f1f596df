// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package noise_test

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/lp/internal/noise"
	shapes "github.com/noisewright/noisewright/noise"
)

var bothLosses = []loss.Loss{loss.L1, loss.L2}

// TestAligned: from ε = 2 on, the step of the optimal density lies near a cell
// edge of the upper grid and near a node of the lower one.
func TestAligned(t *testing.T) {
	for _, loss := range bothLosses {
		for _, epsilon := range []float64{2, 3, 5, 10} {
			gamma, _ := shapes.StaircaseStep(dp.Privacy{Epsilon: epsilon, Sensitivity: 1}, loss)
			p := dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: 0.1, Sensitivity: 1}, Loss: loss}
			for want := 1; want < 200; want += 7 {
				for _, isUpper := range []bool{true, false} {
					k := noise.Aligned(isUpper, p, want)
					pos := float64(k) * gamma
					if isUpper {
						pos += 0.5
					}
					if miss := math.Abs(pos - math.Round(pos)); k < want || miss > 0.25 {
						t.Errorf("%s ε=%g want %d: K=%d misses by %g cells", loss.Name(), epsilon, want, k, miss)
					}
				}
			}
		}
	}
	if k := noise.Aligned(true, dp.Problem{Privacy: dp.Privacy{Epsilon: 1}, Loss: loss.L1}, 17); k != 17 {
		t.Errorf("ε=1: K=%d, want 17 as asked", k)
	}
}

// TestChainsMatchThePrograms: with one cell per sensitivity the chain of multipliers is what linear programming
// finds, and the staircase nearly is where epsilon and delta are small.
func TestChainsMatchThePrograms(t *testing.T) {
	for _, loss := range bothLosses {
		for _, epsilon := range []float64{0.01, 0.1, 1, 3} {
			for _, delta := range []float64{1e-5, 0.01, 0.3} {
				p := dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 0.7}, Loss: loss}
				tableLoss, chainBound, upper, lower, err := noise.OneCell(t.Context(), highs.New, p)
				if err != nil {
					t.Errorf("%+v: %v", p, err)
					continue
				}
				if epsilon <= 1 && delta <= 0.01 && math.Abs(upper-tableLoss) > 1e-5*upper {
					t.Errorf("%+v: loss %.9g, by the program %.9g", p, tableLoss, upper)
				}
				if math.Abs(chainBound-lower) > 1e-5*lower {
					t.Errorf("%+v: bound %.9g, by the program %.9g", p, chainBound, lower)
				}
			}
		}
	}
}

// TestIntegersOfSensitivityOne compares the program on the integers with the
// closed form of its optimum, digit by digit.
func TestIntegersOfSensitivityOne(t *testing.T) {
	for _, loss := range bothLosses {
		for _, epsilon := range []float64{0.1, 0.5, 1, 2, 5} {
			for _, delta := range []float64{1e-6, 1e-3, 0.01, 0.05, 0.2} {
				m, err := shapes.New("discrete-canonical", dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, loss)
				if err != nil {
					t.Fatal(err)
				}
				want, _, err := m.ExpectedLoss(loss)
				if err != nil {
					t.Fatal(err)
				}
				support := 0
				for m.Mass(float64(support+1)) > 0 {
					support++
				}
				got, err := noise.SolveIntegers(t.Context(), highs.New, epsilon, delta, 1, support+2, loss)
				if err != nil {
					t.Fatal(err)
				}
				if math.Abs(got-want) > 1e-9*max(1, want) {
					t.Errorf("%s ε=%g δ=%g: %.12g, want %.12g", loss.Name(), epsilon, delta, got, want)
				}
			}
		}
	}
}

// TestDiscreteStaircase compares the integers at larger sensitivity and tiny δ
// with the optimal discrete staircase.
func TestDiscreteStaircase(t *testing.T) {
	for _, c := range []struct {
		loss loss.Loss
		want float64
	}{{loss.L1, 2.860832490}, {loss.L2, 17.238791362}} {
		got, err := noise.SolveIntegers(t.Context(), highs.New, 1, 1e-10, 3, 75, c.loss)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("%s: %.9f, want %.9f", c.loss.Name(), got, c.want)
		}
	}
}

// TestIntegersAgreeWithTheLP: for random losses and privacy the bracket holds the value of the complete program, whose masses
// reach three times as far as truncated noise, or nine times. AGREEMENTS says for how many problems.
func TestIntegersAgreeWithTheLP(t *testing.T) {
	count := 30
	if text := os.Getenv("AGREEMENTS"); text != "" {
		count = must(strconv.Atoi(text))
	} else if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(41, 42))
	losses := []string{"l1", "l2", "lp:1.5", "lp:3", "huber:2", "deadzone:1.5", "exceed:2", "l1 + exceed:1:0.5"}
	for i := range count {
		epsilon, delta := math.Exp(rng.Float64()*3-1.5), math.Exp(-1-rng.Float64()*8)
		sensitivity, c := 1+rng.IntN(7), must(loss.Parse(losses[i%len(losses)]))
		reach := float64(sensitivity) * (1 + math.Log1p(math.Expm1(epsilon)/(2*delta))/epsilon)
		p := dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: float64(sensitivity)}, Loss: c, Query: dp.IntegerQuery}
		if reach *= 3; c.Name() == "exceed:2" {
			reach *= 3 // far out it costs nothing more to go further
		}
		want, err := noise.SolveIntegers(t.Context(), highs.New, epsilon, delta, sensitivity, int(reach), c)
		if err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		s, ctx, cancel := meet.Options{Gap: 1e-4, MaxCells: 1 << 17}.Begin(t.Context())
		v, _, err := noise.Design(ctx, p, s)
		cancel()
		if err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		upper, _ := v.Certificate().ExpectedLoss.Float64()
		lower, _ := v.Certificate().LowerBound.Float64()
		if lower > want*(1+1e-7) || upper < want*(1-1e-7) || upper > lower*(1+1e-3) {
			t.Errorf("%+v, %s: [%.9g, %.9g], want %.9g inside", p.Privacy, c.Name(), lower, upper, want)
		}
		if g := v.Mechanism().Grid(); g.PointsPerCell == 1 && g.CellsPerSensitivity != sensitivity {
			t.Errorf("%+v, %s: grid %+v", p.Privacy, c.Name(), g)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestMonotoneAtEpsilonZero: the optimum among monotone densities is known.
func TestMonotoneAtEpsilonZero(t *testing.T) {
	for _, delta := range []float64{0.5, 0.25} {
		monotone := 1 / (12 * delta * delta)
		got, err := noise.SolveEdgeCells(t.Context(), highs.New, 0, delta, 10, int(60/delta/2), "l2", true)
		if err != nil || math.Abs(got-monotone) > 1e-7 {
			t.Errorf("additive l2 δ=%g: monotone optimum %g, error %v, want %g", delta, got, err, monotone)
		}
	}
}
