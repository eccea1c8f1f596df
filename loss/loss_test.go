// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"
	"math/big"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
)

// TestLossAt: values, symmetry and the order that the certificates rely on.
func TestLossAt(t *testing.T) {
	for _, c := range []struct {
		loss Loss
		x    float64
		want float64
	}{{L1, -2.5, 2.5}, {L1, 0, 0}, {L1, 3, 3}, {L2, -2.5, 6.25}, {L2, 0, 0}, {L2, 3, 9}} {
		if got := c.loss.At(c.x); got != c.want {
			t.Errorf("%s.At(%g) = %g, want %g", c.loss.Name(), c.x, got, c.want)
		}
		if !c.loss.Symmetric() {
			t.Errorf("%s is not symmetric", c.loss.Name())
		}
	}
}

// TestCellMean holds the averages against Gauss-Legendre quadrature, exact for
// these losses on either side of 0.
func TestCellMean(t *testing.T) {
	for _, loss := range []Loss{L1, L2} {
		for _, center := range []float64{-7, -1, -0.25, -1e-9, 0, 0.1, 0.5, 3, 1e6} {
			for _, width := range []float64{1e-6, 0.2, 1, 2.5, 40} {
				low, high := center-width/2, center+width/2
				sum := 0.0
				for _, part := range [][2]float64{{math.Min(low, 0), math.Min(high, 0)}, {math.Max(low, 0), math.Max(high, 0)}} {
					sum += quad.Fixed(loss.At, part[0], part[1], 4, quad.Legendre{}, 0)
				}
				// high - low has lost digits of the width when |center| is large.
				near(t, loss.Name()+" cell mean", loss.CellMean(center, width), sum/(high-low), 1e-9)
				if got, want := loss.CellMean(-center, width), loss.CellMean(center, width); got != want {
					t.Errorf("%s.CellMean(%g, %g) = %g, its mirror %g", loss.Name(), -center, width, got, want)
				}
			}
		}
	}
}

// exactAt is c(x) in rational arithmetic.
func exactAt(loss Loss, x *big.Rat) *big.Rat {
	if loss == L2 {
		return new(big.Rat).Mul(x, x)
	}
	return new(big.Rat).Abs(x)
}

var exactSteps = []*big.Rat{big.NewRat(1, 1), big.NewRat(1, 3), big.NewRat(7, 2), big.NewRat(1, 1<<40)}

// TestGridMeanUp compares with the sum that it abbreviates, exactly.
func TestGridMeanUp(t *testing.T) {
	for _, loss := range []Loss{L1, L2} {
		for _, step := range exactSteps {
			for center := int64(-9); center <= 9; center++ {
				for half := int64(0); half <= 12; half++ {
					want := new(big.Rat)
					for n := center - half; n <= center+half; n++ {
						want.Add(want, exactAt(loss, new(big.Rat).Mul(big.NewRat(n, 1), step)))
					}
					want.Quo(want, big.NewRat(2*half+1, 1))
					if got := loss.GridMeanUp(center-half, 2*half+1, step); got.Cmp(want) != 0 {
						t.Errorf("%s.GridMeanUp(%d, %d, %s) = %s, want %s", loss.Name(), center, half, step, got, want)
					}
				}
			}
		}
		// Large arguments: the products exceed int64, the result must not care.
		step := big.NewRat(1, 1)
		const far = int64(1) << 61
		if got, want := loss.GridMeanUp(far, 1, step), exactAt(loss, big.NewRat(far, 1)); got.Cmp(want) != 0 {
			t.Errorf("%s.GridMean(2^61, 0, 1) = %s, want %s", loss.Name(), got, want)
		}
	}
	// Σ|n| over |n| <= h is h(h+1), Σn² is h(h+1)(2h+1)/3.
	h := int64(1) << 60
	hh := new(big.Int).Mul(big.NewInt(h), big.NewInt(h+1))
	one := big.NewRat(1, 1)
	if got, want := L1.GridMeanUp(-h, 2*h+1, one), new(big.Rat).SetFrac(hh, big.NewInt(2*h+1)); got.Cmp(want) != 0 {
		t.Errorf("l1.GridMeanUp(0, 2^60, 1) = %s, want %s", got, want)
	}
	if got, want := L2.GridMeanUp(-h, 2*h+1, one), new(big.Rat).SetFrac(hh, big.NewInt(3)); got.Cmp(want) != 0 {
		t.Errorf("l2.GridMeanUp(0, 2^60, 1) = %s, want %s", got, want)
	}
}

// TestLowerNode: the interpolant of the nodes lies nowhere above the loss,
// checked exactly at 64 points of each interval, and touches it or comes within
// step²/4; the nodes do not decrease away from 0.
func TestLowerNode(t *testing.T) {
	for _, loss := range []Loss{L1, L2} {
		for _, step := range exactSteps {
			slack := new(big.Rat) // of l1: its own interpolant
			if loss == L2 {
				slack.Mul(step, step).Mul(slack, big.NewRat(1, 4))
			}
			for j := int64(-20); j < 20; j++ {
				left, right := loss.LowerNode(j, step), loss.LowerNode(j+1, step)
				for i := int64(0); i <= 64; i++ {
					theta := big.NewRat(i, 64)
					x := new(big.Rat).Add(big.NewRat(j, 1), theta)
					x.Mul(x, step)
					chord := new(big.Rat).Sub(right, left)
					chord.Mul(chord, theta).Add(chord, left)
					below := new(big.Rat).Sub(exactAt(loss, x), chord)
					if below.Sign() < 0 || below.Cmp(slack) > 0 {
						t.Fatalf("%s, step %s: interpolant is %s below the loss at %s, want 0 to %s", loss.Name(), step, below, x, slack)
					}
				}
				if mirror := loss.LowerNode(-j, step); mirror.Cmp(left) != 0 {
					t.Errorf("%s.LowerNode(%d) = %s, its mirror %s", loss.Name(), j, left, mirror)
				}
				if (j >= 1 && left.Cmp(right) > 0) || (j <= -2 && left.Cmp(right) < 0) {
					t.Errorf("%s, step %s: nodes %d and %d decrease away from 0", loss.Name(), step, j, j+1)
				}
			}
		}
	}
}

// TestExactResultsAreFresh: the caller may change what the exact methods return,
// and the step passed in stays as it is.
func TestExactResultsAreFresh(t *testing.T) {
	for _, loss := range []Loss{L1, L2} {
		step := big.NewRat(2, 3)
		for name, f := range map[string]func() *big.Rat{
			"GridMeanUp": func() *big.Rat { return loss.GridMeanUp(2, 5, step) },
			"LowerNode":  func() *big.Rat { return loss.LowerNode(4, step) },
		} {
			want := new(big.Rat).Set(f())
			first := f()
			first.SetInt64(-1)
			if got := f(); got.Cmp(want) != 0 {
				t.Errorf("%s %s: %s after changing an earlier result, %s before", loss.Name(), name, got, want)
			}
			if step.Cmp(big.NewRat(2, 3)) != 0 {
				t.Errorf("%s %s changed the step", loss.Name(), name)
			}
		}
	}
}
