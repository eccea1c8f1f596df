// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
)

// inL1Ball decides in rationals whether Σ|u_i|/s_i <= 1.
func inL1Ball(u, axes []float64) bool {
	sum := new(big.Rat)
	for i, x := range u {
		sum.Add(sum, new(big.Rat).Quo(exact.Rational(math.Abs(x)), exact.Rational(axes[i])))
	}
	return sum.Cmp(big.NewRat(1, 1)) <= 0
}

// gridOfL1Ball lists the points of the grid in an l1 ball, by trying all of its box.
func gridOfL1Ball(axes []float64, step float64) (points [][]float64) {
	points = [][]float64{nil}
	for _, a := range axes {
		var longer [][]float64
		for _, p := range points {
			for n := -math.Ceil(a / step); n <= math.Ceil(a/step); n++ {
				longer = append(longer, append(slices.Clone(p), n*step))
			}
		}
		points = longer
	}
	return slices.DeleteFunc(points, func(p []float64) bool { return !inL1Ball(p, axes) })
}

var smallL1Balls = []struct {
	step float64
	axes []float64
}{
	{0.25, []float64{1}},
	{0.25, []float64{1, 1}},
	{0.25, []float64{0.9, 0.9}},
	{0.25, []float64{1, 0.75}},
	{0.25, []float64{1.3, 0.2}}, // an axis below a step
	{0.25, []float64{0.2, 0.1}}, // and all of them: 0 alone
	{0.5, []float64{1.5, 1.5, 1.5}},
	{0.5, []float64{2, 1.7, 0.6}},
	{0.5, []float64{1.1, 1.1, 1.1, 1.1}},
}

// TestL1BallDiameter compares the distances with those of all pairs of points.
func TestL1BallDiameter(t *testing.T) {
	for _, c := range smallL1Balls {
		points := gridOfL1Ball(c.axes, c.step)
		one, two := new(big.Rat), new(big.Rat) // ℓ1, and the square of ℓ2
		for _, p := range points {
			for _, q := range points {
				sum, squares := new(big.Rat), new(big.Rat)
				for i := range p {
					d := exact.Rational(math.Abs(p[i] - q[i])) // exact
					sum.Add(sum, d)
					squares.Add(squares, d.Mul(d, d))
				}
				if sum.Cmp(one) > 0 {
					one = sum
				}
				if squares.Cmp(two) > 0 {
					two = squares
				}
			}
		}
		if got := distanceL1(L1Ball, c.axes, c.step); got.Cmp(one) != 0 {
			t.Errorf("%v on a grid of %g: ℓ1 distance %s, of all pairs at most %s", c.axes, c.step, got, one)
		}
		if got := distanceL2(L1Ball, c.axes, c.step); got.Cmp(two) != 0 {
			t.Errorf("%v on a grid of %g: squared ℓ2 distance %s, of all pairs at most %s", c.axes, c.step, got, two)
		}
	}
}

// TestL1BallGrid: points of the grid inside stay, but for those at the very border of
// unequal axes, and points outside go in.
func TestL1BallGrid(t *testing.T) {
	for _, c := range smallL1Balls {
		b := newJointBody(L1Ball, c.axes, c.step)
		equal := slices.Min(c.axes) == slices.Max(c.axes)
		for _, p := range gridOfL1Ball(c.axes, c.step) {
			inside := slices.Clone(c.axes) // a little smaller
			for i := range inside {
				inside[i] *= 1 - 1e-12
			}
			if got := b.rounded(p); !slices.Equal(got, p) && (equal || inL1Ball(p, inside)) {
				t.Errorf("%v in %v is rounded to %v, want itself", p, c.axes, got)
			}
		}
	}
}

// far are numbers at which floating point goes wrong, if anywhere.
var far = []float64{
	0, math.Copysign(0, -1), 5e-324, -5e-324, 2.2e-308, 1e-300, -1e-60, 1e-17, 0.3, -1, 1, 1e17, -1e60, 1e90, 1e186, -1e300, math.MaxFloat64,
	-math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
}

// checkL1Ball clips u to an l1 ball, as it is and on a grid, and judges what comes out in
// rationals.
func checkL1Ball(axes, u []float64, step float64) error {
	clipped := slices.Clone(u)
	L1Ball.Clip(clipped, axes)
	sum := new(big.Rat)
	for i, x := range clipped {
		if !(math.Abs(x) <= axes[i]) || x*u[i] < 0 {
			return fmt.Errorf("%v in %v is clipped to %v, beyond an axis or to the other side", u, axes, clipped)
		}
		sum.Add(sum, new(big.Rat).Quo(exact.Rational(math.Abs(x)), exact.Rational(axes[i])))
	}
	if share, _ := sum.Float64(); share > 1+1e-12 {
		return fmt.Errorf("%v in %v is clipped to %v, outside by %g", u, axes, clipped, share-1)
	}
	inside := !slices.ContainsFunc(u, func(x float64) bool { return x != x || math.Abs(x) > 1e60 })
	if inside && inL1Ball(u, axes) && !slices.EqualFunc(u, clipped, func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*math.Abs(x) }) {
		return fmt.Errorf("%v in %v is clipped to %v, and is inside", u, axes, clipped)
	}
	b := newJointBody(L1Ball, axes, step)
	rounded := slices.Clone(u)
	b.clip(rounded)
	for i, x := range rounded {
		if x/step != math.Trunc(x/step) || !(math.Abs(x-clipped[i]) <= 2*step+1e-5*math.Abs(clipped[i])) {
			return fmt.Errorf("%v in %v is clipped to %v and rounded to %v on a grid of %g", u, axes, clipped, rounded, step)
		}
	}
	if !inL1Ball(rounded, axes) {
		return fmt.Errorf("%v in %v is rounded to %v on a grid of %g, which is outside", u, axes, rounded, step)
	}
	return nil
}

func TestL1BallClip(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for trial := range 4000 {
		z := 1 + rng.IntN(6)
		axes, u := make([]float64, z), make([]float64, z)
		for i := range u {
			axes[i] = math.Exp(rng.NormFloat64())
			if i > 0 && trial%2 == 0 {
				axes[i] = axes[0]
			}
			u[i] = rng.NormFloat64() * math.Exp(4*rng.NormFloat64())
			if rng.IntN(4) == 0 {
				u[i] = far[rng.IntN(len(far))]
			}
		}
		if trial%10 == 0 { // on the border
			L1Ball.Clip(u, axes)
		}
		if err := checkL1Ball(axes, u, math.Ldexp(1, -rng.IntN(30))); err != nil {
			t.Fatal(err)
		}
	}
	// As many coordinates as there may be, of 2^40 steps each.
	axes, u := slices.Repeat([]float64{1 + 0x1p-20}, limits.Coordinates), make([]float64, limits.Coordinates)
	for i := range u {
		u[i] = rng.NormFloat64()
	}
	for _, last := range []float64{axes[0], 2} {
		axes[0] = last
		if err := checkL1Ball(axes, u, 0x1p-39); err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzL1BallClip(f *testing.F) {
	for i, x := range far {
		f.Add(x, far[len(far)-1-i], 0.5, 1.0, 1.0, 1.0, -3)
		f.Add(0.4, x, x, 0.7, 1e60, 1e-60, -40)
	}
	f.Fuzz(func(t *testing.T, x, y, z, a, b, c float64, exponent int) {
		axes := []float64{a, b, c}
		if exponent < -200 || exponent > 199 {
			return
		}
		step := math.Ldexp(1, exponent)
		for _, s := range axes {
			if !(s >= minAxis && s <= maxAxis && s/step <= maxSteps) {
				return
			}
		}
		if err := checkL1Ball(axes, []float64{x, y, z}, step); err != nil {
			t.Fatal(err)
		}
	})
}

// TestGridExponent: the grid is as fine as the noise and the axes ask for, but no finer than 2^most steps
// of the scale of the noise: the promise of a step is that of the whole over its number of steps.
func TestGridExponent(t *testing.T) {
	for _, c := range []struct {
		axes        []float64
		fine, scale float64
		want        int
	}{
		{[]float64{1}, 32, 1, -6},
		{[]float64{0.5, 1}, 256, 1, -9},
		{[]float64{1, 1e-9}, 32, 1, -16},
		{[]float64{1}, 32, 1 << 10, -5},
	} {
		if got, err := gridExponent(c.axes, c.fine, c.scale, 17); err != nil || got != c.want {
			t.Errorf("axes %g, scale %g: %d, %v, want %d", c.axes, c.scale, got, err, c.want)
		}
	}
	if _, err := gridExponent([]float64{1}, 32, 0x1p17, 17); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("noise of 2^17 axes: %v, want ErrInvalid", err)
	}
}
