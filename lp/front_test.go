package lp

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/solver"
)

// TestUndominated has ties, duplicates and a dominated design.
func TestUndominated(t *testing.T) {
	var all []*FrontPoint
	for _, v := range [][2]int64{{5, 1}, {1, 5}, {3, 3}, {3, 3}, {3, 4}, {4, 4}, {2, 5}} {
		all = append(all, &FrontPoint{Expected: [2]*big.Rat{big.NewRat(v[0], 1), big.NewRat(v[1], 1)}})
	}
	want := [][2]int64{{1, 5}, {3, 3}, {5, 1}}
	kept := undominated(all)
	if len(kept) != len(want) {
		t.Fatalf("%d points", len(kept))
	}
	for i, w := range want {
		for k := range w {
			if kept[i].Expected[k].Cmp(big.NewRat(w[k], 1)) != 0 {
				t.Errorf("point %d is %s, %s; want %v", i, kept[i].Expected[0], kept[i].Expected[1], w)
			}
		}
	}
}

// TestOuterBound checks the envelope of the supporting lines, and that it is rounded
// down.
func TestOuterBound(t *testing.T) {
	r := FrontResult{Bounds: []SupportingLine{
		{[2]float64{1, 0}, big.NewRat(1, 1)},  // a >= 1
		{[2]float64{0, 1}, big.NewRat(2, 1)},  // b >= 2
		{[2]float64{1, 1}, big.NewRat(6, 1)},  // a + b >= 6
		{[2]float64{0, 3}, big.NewRat(20, 3)}, // b >= 20/9
	}}
	down := math.Nextafter(20.0/9, 0)
	if new(big.Rat).SetFloat64(20.0/9).Cmp(big.NewRat(20, 9)) < 0 {
		down = 20.0 / 9
	}
	for x, want := range map[float64]float64{
		0.5: math.Inf(1), 1: 5, 3: 3, 10: down, math.Inf(1): down, math.Inf(-1): math.Inf(1), math.MaxFloat64: down,
	} {
		if got := r.OuterBound(x); got != want {
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
		"no solver":     {good, FrontOptions{}},
		"bad gap":       {good, FrontOptions{Options: Options{NewSolver: never, Gap: 2}}},
	} {
		if r, err := Front(t.Context(), p, c.losses, c.o); r != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v, %v; want ErrInvalid", name, r, err)
		}
	}
}
