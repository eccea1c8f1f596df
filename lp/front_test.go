// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/loss"
)

func pointsAt(at ...[2]int64) (points []*FrontPoint) {
	for _, v := range at {
		points = append(points, &FrontPoint{Expected: [2]*big.Rat{big.NewRat(v[0], 1), big.NewRat(v[1], 1)}})
	}
	return points
}

// TestHull has ties, duplicates, dominated designs, and ones that mixtures of others are
// as good as or better.
func TestHull(t *testing.T) {
	for _, c := range []struct{ points, want [][2]int64 }{
		{[][2]int64{{5, 1}, {1, 5}, {2, 3}, {2, 3}, {3, 4}, {4, 4}, {2, 5}, {6, 1}}, [][2]int64{{1, 5}, {2, 3}, {5, 1}}},
		{[][2]int64{{5, 1}, {1, 5}, {3, 3}, {2, 5}, {4, 4}}, [][2]int64{{1, 5}, {5, 1}}},
		{[][2]int64{{0, 9}, {1, 6}, {3, 4}, {5, 2}, {9, 0}}, [][2]int64{{0, 9}, {1, 6}, {5, 2}, {9, 0}}},
		{[][2]int64{{2, 2}, {1, 1}, {1, 3}}, [][2]int64{{1, 1}}},
	} {
		want := pointsAt(c.want...)
		got := hull(pointsAt(c.points...))
		if !slices.EqualFunc(got, want, func(p, q *FrontPoint) bool {
			return p.Expected[0].Cmp(q.Expected[0]) == 0 && p.Expected[1].Cmp(q.Expected[1]) == 0
		}) {
			t.Errorf("the hull of %v has %d corners, want %v", c.points, len(got), c.want)
		}
	}
}

// TestFrontGap compares with the gap of many weighted sums, the bound of which is the least
// of all points on a fine grid that keep the lines.
func TestFrontGap(t *testing.T) {
	corners := hull(pointsAt([2]int64{2, 9}, [2]int64{3, 5}, [2]int64{8, 3}))
	lines := []halfPlane{
		{[2]*big.Rat{big.NewRat(0, 1), big.NewRat(3, 1)}, big.NewRat(6, 1)},
		{[2]*big.Rat{big.NewRat(1, 1), big.NewRat(1, 1)}, big.NewRat(6, 1)},
		{[2]*big.Rat{big.NewRat(4, 1), big.NewRat(1, 1)}, big.NewRat(12, 1)},
		{[2]*big.Rat{big.NewRat(2, 1), big.NewRat(2, 1)}, big.NewRat(9, 1)}, // weaker than the parallel one
		{[2]*big.Rat{big.NewRat(3, 1), big.NewRat(1, 1)}, big.NewRat(9, 1)}, // implied
		{[2]*big.Rat{big.NewRat(1, 1), big.NewRat(0, 1)}, big.NewRat(1, 1)},
	}
	o := newOutline(lines)
	want := [][2]int64{{1, 8}, {2, 4}, {4, 2}}
	if len(o) != len(want) {
		t.Fatalf("outline %v", o)
	}
	for i, v := range want {
		if o[i][0].Cmp(big.NewRat(v[0], 1)) != 0 || o[i][1].Cmp(big.NewRat(v[1], 1)) != 0 {
			t.Errorf("corner %d of the outline is %s, want %v", i, o[i], v)
		}
	}
	worst := 0.0
	const steps = 1000
	for i := range steps + 1 {
		w := [2]float64{float64(i) / steps, 1 - float64(i)/steps}
		least, bound := math.Inf(1), math.Inf(1)
		for _, p := range corners {
			x, _ := p.Expected[0].Float64()
			y, _ := p.Expected[1].Float64()
			least = min(least, w[0]*x+w[1]*y)
		}
		for _, v := range want {
			bound = min(bound, w[0]*float64(v[0])+w[1]*float64(v[1]))
		}
		worst = max(worst, (least-bound)/bound)
	}
	if gap := frontGap(corners, lines); gap < worst-1e-12 || gap > worst*1.001 {
		t.Errorf("gap %g, want %g", gap, worst)
	}
	if gap := frontGap(corners, lines[1:]); !math.IsInf(gap, 1) {
		t.Errorf("gap %g without a bound on the second loss alone", gap)
	}
	if gap := frontGap(hull(pointsAt([2]int64{0, 0})), nil); gap != 0 {
		t.Errorf("gap %g of no loss", gap)
	}
}

// TestOuterBound checks the envelope of the supporting lines, and that it is rounded
// down.
func TestOuterBound(t *testing.T) {
	bounds := []halfPlane{
		{[2]*big.Rat{big.NewRat(1, 1), big.NewRat(0, 1)}, big.NewRat(1, 1)},  // a >= 1
		{[2]*big.Rat{big.NewRat(0, 1), big.NewRat(1, 1)}, big.NewRat(2, 1)},  // b >= 2
		{[2]*big.Rat{big.NewRat(1, 1), big.NewRat(1, 1)}, big.NewRat(6, 1)},  // a + b >= 6
		{[2]*big.Rat{big.NewRat(0, 1), big.NewRat(3, 1)}, big.NewRat(20, 3)}, // b >= 20/9
	}
	down := math.Nextafter(20.0/9, 0)
	if new(big.Rat).SetFloat64(20.0/9).Cmp(big.NewRat(20, 9)) < 0 {
		down = 20.0 / 9
	}
	for x, want := range map[float64]float64{
		0.5: math.Inf(1), 1: 5, 3: 3, 10: down, math.Inf(1): down, math.Inf(-1): math.Inf(1), math.MaxFloat64: down,
	} {
		if got := outerBound(bounds, x); got != want {
			t.Errorf("OuterBound(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestBadFronts(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}}
	never := func() (solver.Solver, error) {
		t.Error("a design")
		return nil, errors.New("none")
	}
	weighted, err := loss.Sum(loss.Term{Loss: loss.L1, Weight: 2})
	if err != nil {
		t.Fatal(err)
	}
	good := [2]loss.Loss{loss.L1, loss.L2}
	for name, c := range map[string]struct {
		losses [2]loss.Loss
		o      FrontOptions
	}{
		"one loss":      {[2]loss.Loss{loss.L1, nil}, FrontOptions{Options: Options{NewSolver: never}}},
		"weighted loss": {[2]loss.Loss{weighted, loss.L1}, FrontOptions{Options: Options{NewSolver: never}}},
		"one point":     {good, FrontOptions{Options: Options{NewSolver: never}, Points: 1}},
		"bad gap":       {good, FrontOptions{Options: Options{NewSolver: never, Gap: 2}}},
	} {
		if r, err := Front(t.Context(), p, c.losses, c.o); r != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v, %v; want ErrInvalid", name, r, err)
		}
	}
}
