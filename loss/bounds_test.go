// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
)

// TestCeilingUp compares the bound with a scan: it is never below, and for
// piecewise losses it is attained, in the interval or as a limit at a jump.
func TestCeilingUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	tent, err := NewPiecewise("tent", []float64{-1, 1}, []Quadratic{
		{C0: big.NewRat(1, 1), C1: big.NewRat(-1, 1)},
		{C0: big.NewRat(3, 1), C2: big.NewRat(-1, 1)},
		{C0: big.NewRat(1, 1), C1: big.NewRat(1, 1)},
	})
	if err != nil {
		t.Fatal(err)
	}
	losses := []Loss{tent}
	for _, name := range []string{
		"l1", "l2", "lp:1.5", "pinball:0.2", "huber:1", "deadzone:0.5", "exceed:0.7",
		"pwl:-inf,-3;-1,2,1;0.5,-1;1,4", "pwl:-inf,-1000;-2,-1;0,1;2,1000", "l1:2 + lp:1.5:3", "exceed:1:0.5 + l2",
	} {
		l, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		losses = append(losses, l)
	}
	losses = append(losses, Of(must2(Parse("pinball:0.2 + lp:1.5"))).Symmetrized())
	// Of parts that have no valley at 0, turned or not: sums of bounds, which need not be attained.
	hilly := must2(Parse("pwl:-inf,-3;-1,2,1;0.5,-1;1,4 + lp:1.5:0.01"))
	turned := Of(hilly).Symmetrized()
	for _, l := range append(losses, hilly, turned) {
		for range 40 {
			a := 6*rng.Float64() - 3
			b := a + 2*rng.Float64()*rng.Float64()
			if rng.IntN(4) == 0 {
				a = math.Round(a)
			}
			if a > b {
				continue
			}
			most, ok := Of(l).CeilingUp(exact.Rational(a), exact.Rational(b))
			if !ok {
				t.Fatalf("%s: no bound", l.Name())
			}
			got, _ := most.Float64()
			var scan float64
			const steps = 4000
			for i := range steps + 1 {
				scan = max(scan, l.At(min(a+(b-a)*float64(i)/steps, b)))
			}
			// Slopes are at most 1000 and jumps at most 1 here.
			if slack := 1e-9 + 1000*(b-a)/steps; got < scan-1e-9*scan || l != hilly && l != turned && got > scan+slack+1 {
				t.Fatalf("%s on [%g, %g]: %g, by a scan %g", l.Name(), a, b, got, scan)
			}
		}
	}
}
