package cli

import (
	"math"
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/tables"
)

func TestReadPair(t *testing.T) {
	for s, want := range map[string][2]string{
		"l1,exceed:3":                         {"l1", "exceed:3"},
		"asymmetric:1,3,asymmetric:3,1":       {"asymmetric:1,3", "asymmetric:3,1"},
		"l2,pwl:-inf,-1;0,1":                  {"l2", "pwl:-inf,-1;0,1"},
		"pwl:-inf,-1;0,1,2,pinball:0.5":       {"pwl:-inf,-1;0,1,2", "pinball:0.5"},
		"pwl:-inf,-1;0,1,pwl:-inf,-2;1,1,0.5": {"pwl:-inf,-1;0,1", "pwl:-inf,-2;1,1,0.5"},
	} {
		pair, ok := readPair(s)
		if !ok || pair[0].Name() != want[0] || pair[1].Name() != want[1] {
			t.Errorf("%s: %v, %v; want %v", s, pair, ok, want)
		}
	}
	for _, s := range []string{"", "l1", "l1,", ",l1", "l1,l2,l1", "l1:2,l2", "l1,l1 + l2", "l1;l2"} {
		if pair, ok := readPair(s); ok {
			t.Errorf("%q is read as %v", s, pair)
		}
	}
}

// TestFrontKeepsWhatIsNotDominated has ties, duplicates and a dominated design.
func TestFrontKeepsWhatIsNotDominated(t *testing.T) {
	var all []*frontPoint
	for _, v := range [][2]int64{{5, 1}, {1, 5}, {3, 3}, {3, 3}, {3, 4}, {4, 4}, {2, 5}} {
		all = append(all, &frontPoint{
			weights:     [2]float64{1, 1},
			expected:    [2]*big.Rat{big.NewRat(v[0], 1), big.NewRat(v[1], 1)},
			certificate: tables.Certificate{LowerBound: big.NewRat(v[0]+v[1]-1, 2)},
			optimal:     true,
		})
	}
	var f front
	f.collect(all)
	want := [][2]int64{{1, 5}, {3, 3}, {5, 1}}
	if len(f.points) != len(want) || f.removed != len(all)-len(want) || len(f.bounds) != len(all) {
		t.Fatalf("%d points, %d removed, %d bounds", len(f.points), f.removed, len(f.bounds))
	}
	for i, w := range want {
		for k := range w {
			if f.points[i].expected[k].Cmp(big.NewRat(w[k], 1)) != 0 {
				t.Errorf("point %d is %s, %s; want %v", i, f.points[i].expected[0], f.points[i].expected[1], w)
			}
		}
	}
}

// TestLeastIsTheOuterBound checks the envelope of the supporting lines.
func TestLeastIsTheOuterBound(t *testing.T) {
	f := front{bounds: []supportingLine{
		{[2]float64{1, 0}, big.NewRat(1, 1)}, // a >= 1
		{[2]float64{0, 1}, big.NewRat(2, 1)}, // b >= 2
		{[2]float64{1, 1}, big.NewRat(6, 1)}, // a + b >= 6
	}}
	for x, want := range map[float64]float64{0.5: math.Inf(1), 1: 5, 3: 3, 10: 2} {
		if got := f.least(x); got != want {
			t.Errorf("least(%v) = %v, want %v", x, got, want)
		}
	}
}
