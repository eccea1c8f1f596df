// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

// TestExpectedAgainstCells compares expectations, which take moments of the weights
// where the loss is a polynomial, with the sum over the cells one by one.
func TestExpectedAgainstCells(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	names := []string{
		"l1", "l2", "lp:1", "lp:1.5", "lp:2", "lp:3", "pinball:0.3", "asymmetric:1,3", "huber:2", "deadzone:1.5", "exceed:3", "l2:0.25", "exceed:2.5:0.3",
		"pwl:-inf,-2;-1.5,0,0.25;0,0;1.25,3,1",
	}
	var losses []loss.Loss
	for _, name := range names {
		loss, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		losses = append(losses, loss)
	}
	sum, err := loss.Parse("l1:0.5 + l2:0.25 + exceed:3")
	if err != nil {
		t.Fatal(err)
	}
	losses = append(losses, sum)
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 300 {
		n := 1 + r.IntN(40)
		s := &Spec{
			Grid: Grid{
				GranularityExponent: r.IntN(5) - 4, PointsPerCell: int64(2*r.IntN(6) + 1), CellsPerSensitivity: 1,
				FirstCell: r.IntN(3*n) - 2*n, Offset: int64(r.IntN(7) - 3),
			},
			Weights: make([]uint64, n),
		}
		for i := range s.Weights {
			if r.IntN(4) > 0 {
				s.Weights[i] = r.Uint64N(1 << 58)
			}
		}
		if r.IntN(2) == 0 {
			s.Atom = r.Uint64N(1 << 60)
		}
		if r.IntN(3) == 0 {
			s.Grid.GranularityExponent, s.Grid.Unit = 0, 0.3
		}
		for _, loss := range losses {
			want := new(big.Rat)
			add := func(w uint64, first, count int64) {
				weight := new(big.Rat).SetInt(new(big.Int).SetUint64(w))
				want.Add(want, weight.Mul(weight, loss.GridMeanUp(first, count, s.Grid.Step())))
			}
			for i, w := range s.Weights {
				add(w, s.Grid.FirstPoint(i), s.Grid.PointsPerCell)
			}
			add(s.Atom, 0, 1)
			want.Quo(want, exact.PowerOfTwo(64))
			if got := s.expected(loss, nil); got.Cmp(want) != 0 {
				t.Fatalf("trial %d, %s, grid %+v: expected loss %v, want %v", trial, loss.Name(), s.Grid, got, want)
			}
		}
	}
}

func TestExpectedLossAgainstBruteForce(t *testing.T) {
	for _, loss := range []loss.Loss{loss.L1, loss.L2} {
		s := Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Loss: loss},
			Grid:    Grid{GranularityExponent: -3, PointsPerCell: 5, CellsPerSensitivity: 2, FirstCell: -1},
			Weights: []uint64{1 << 62, 1 << 61, 1<<63 - 1<<60}, Atom: 1<<61 + 1<<60,
		}
		tab, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		var want float64
		for i, w := range s.Weights {
			for o := -2; o <= 2; o++ {
				x := float64((i-1)*5+o) / 8
				want += float64(w) * 0x1p-64 / 5 * loss.At(x)
			}
		}
		if got, _ := tab.Certify().ExpectedLoss.Float64(); math.Abs(got-want) > 1e-15*want {
			t.Errorf("%s: expected loss %v, want %v", loss.Name(), got, want)
		}
	}
}

func TestExpectedLossOf(t *testing.T) {
	table, err := New(Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L1},
		Grid:    Grid{PointsPerCell: 1, Offset: 1, CellsPerSensitivity: 1, FirstCell: -1}, // points 0, 1, 2
		Weights: []uint64{1 << 63, 1 << 62, 1 << 62},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := table.ExpectedLossOf(table.Loss()), table.Certify().ExpectedLoss; got.Cmp(want) != 0 {
		t.Errorf("of its own loss %s, want %s", got, want)
	}
	if got, want := table.ExpectedLossOf(loss.L2), big.NewRat(5, 4); got.Cmp(want) != 0 {
		t.Errorf("of l2 %s, want %s", got, want)
	}
}
