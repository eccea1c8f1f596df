// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"math/big"
	"math/rand/v2"
	"testing"

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
