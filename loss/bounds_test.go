// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
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

// TestLimitDown compares the limits of random losses at their knots and beside them with those of
// the pieces, for themselves, turned around and in a sum; of another type of loss AtDown is one.
func TestLimitDown(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 64))
	power := must2(Parse("lp:1.5"))
	for range 200 {
		l, oracle := randomPiecewise(rng)
		turned := part{l, 0.5, -1}.alone()
		sum := &combination{"sum", []part{{l, 1, 1}, {power, 3, 1}}, false}
		points := append([]*big.Rat{big.NewRat(rng.Int64N(80)-40, 7)}, oracle.knots...)
		for _, x := range points {
			minus := new(big.Rat).Neg(x)
			for _, side := range []int{1, -1} {
				// The piece of points that are nearer to x than any knot.
				i := 0
				for i < len(oracle.knots) && (oracle.knots[i].Cmp(x) < 0 || oracle.knots[i].Cmp(x) == 0 && side > 0) {
					i++
				}
				want := oracle.poly(i, x)
				if got := Of(l).LimitDown(x, side); got.Cmp(want) != 0 {
					t.Fatalf("%v: limit at %s from side %d = %s, want %s", oracle, x, side, got, want)
				}
				wantSum := power.AtDown(x)
				wantSum.Mul(wantSum, big.NewRat(3, 1)).Add(wantSum, want)
				if got := Of(sum).LimitDown(x, side); got.Cmp(wantSum) != 0 {
					t.Fatalf("%v + 3·lp:1.5: limit at %s from side %d = %s, want %s", oracle, x, side, got, wantSum)
				}
				if got := Of(turned).LimitDown(minus, -side); got.Cmp(want.Mul(want, half)) != 0 {
					t.Fatalf("%v turned: limit at %s from side %d = %s, want %s", oracle, minus, -side, got, want)
				}
				if got := Of(opaque{l}).LimitDown(x, side); got.Cmp(l.AtDown(x)) != 0 {
					t.Fatalf("%v, type unknown: limit at %s = %s, want %s", oracle, x, got, l.AtDown(x))
				}
			}
		}
	}
}

// spoken is a loss of another package that says all that may be said.
type spoken struct{ Loss }

func (spoken) Kinks() []float64                        { return []float64{2, -3} }
func (spoken) Unimodal() bool                          { return true }
func (spoken) PolynomialBeyond() (*big.Rat, int, bool) { return big.NewRat(5, 2), 3, true }
func (spoken) PowerBound() (float64, bool)             { return 2.5, true }

// TestView: what a loss says of itself is passed on, through weights and mirror images where it is the
// same for them, and nothing is said of one that is silent.
func TestView(t *testing.T) {
	silent := Of(opaque{L2})
	if power, ok := silent.PowerBound(); power != 0 || ok {
		t.Errorf("power bound of a silent loss: %g, %t", power, ok)
	}
	if from, degree, ok := silent.PolynomialBeyond(); from != nil || degree != 0 || ok {
		t.Errorf("polynomial of a silent loss: %v, %d, %t", from, degree, ok)
	}
	if _, _, ok := silent.TangentDown(new(big.Rat)); silent.Kinks() != nil || silent.Unimodal() || silent.TailParts() != nil || ok {
		t.Error("of a silent loss something is known")
	}
	if got, want := silent.Work(128), pieceWork(32, 128); got != want {
		t.Errorf("the work of a silent loss is %v, want that of 32 knots, %v", got, want)
	}
	if got, want := Of(opaque{must2(Parse("huber:1"))}).Unimodal(), false; got != want {
		t.Error("a silent loss is taken for unimodal")
	}
	for _, l := range []Loss{spoken{L1}, part{spoken{L1}, 3, -1}.alone()} {
		v := Of(l)
		if power, ok := v.PowerBound(); power != 2.5 || !ok {
			t.Errorf("%s: power bound %g, %t", l.Name(), power, ok)
		}
		if from, degree, ok := v.PolynomialBeyond(); !ok || degree != 3 || from.Cmp(big.NewRat(5, 2)) != 0 {
			t.Errorf("%s: polynomial beyond %v of degree %d, %t", l.Name(), from, degree, ok)
		}
		if got := v.TailParts(); len(got) != 1 || got[0] != l {
			t.Errorf("%s: parts %v, want itself", l.Name(), got)
		}
	}
	sum := Of(must2(Parse("lp:1.5 + l1")))
	if _, ok := sum.PowerBound(); ok {
		t.Error("a sum is taken for its first part, a power")
	}
	if _, _, ok := Of(must2(Parse("lp:1.5 + exceed:1 + lp:3"))).PolynomialBeyond(); ok {
		t.Error("a sum is taken for a polynomial")
	}
	if got := Of(spoken{L1}).Kinks(); !slices.Equal(got, []float64{2, -3}) {
		t.Errorf("kinks %v", got)
	}
	if got := Of(part{spoken{L1}, 3, -1}.alone()).Kinks(); !slices.Equal(got, []float64{-2, 3}) {
		t.Errorf("kinks of the mirror image %v", got)
	}
}

// TestTailParts: parts that sum to the loss, each with something known of it; none where one of them is silent.
func TestTailParts(t *testing.T) {
	for name, count := range map[string]int{
		"l1": 1, "l2": 1, "lp:1.5": 1, "lp:1.5:2": 1, "huber:1 + l2": 1, "l1 + lp:1.5:0.25": 2, "lp:3 + lp:1.5:2 + exceed:2:0.5": 3,
	} {
		l := must2(Parse(name))
		parts := Of(l).TailParts()
		if len(parts) != count {
			t.Errorf("%s: %d parts, want %d", name, len(parts), count)
		}
		for _, x := range []float64{-7, -0.3, 0, 1, 12} {
			sum := 0.0
			for _, p := range parts {
				sum += p.At(x)
			}
			near(t, name+" by its parts", sum, l.At(x), 1e-14)
		}
		for _, p := range parts {
			_, bounded := Of(p).PowerBound()
			if _, _, polynomial := Of(p).PolynomialBeyond(); !bounded && !polynomial {
				t.Errorf("%s: nothing is known of its part %s", name, p.Name())
			}
		}
	}
	for _, parts := range [][]part{
		{{L1, 1, 1}, {opaque{L2}, 1, 1}}, {{opaque{L2}, 1, 1}, {L1, 1, 1}}, {{opaque{L2}, 2, 1}},
	} {
		if got := Of(&combination{"sum", parts, false}).TailParts(); got != nil {
			t.Errorf("parts %v where one is silent", got)
		}
	}
}

// TestTangentAtKink: the slope is the mean of the two.
func TestTangentAtKink(t *testing.T) {
	for name, want := range map[string]map[int64]string{
		"pwl:-inf,-2;0,1;3,4": {-1: "-2", 0: "-1/2", 1: "1", 3: "5/2", 4: "4"},
		"deadzone:2":          {-2: "-1/2", 0: "0", 2: "1/2"},
		"l1":                  {-1: "-1", 0: "0", 1: "1"},
	} {
		for x, slope := range want {
			if _, got, ok := Of(must2(Parse(name))).TangentDown(big.NewRat(x, 1)); !ok || got.RatString() != slope {
				t.Errorf("%s at %d: slope %s, want %s", name, x, got.RatString(), slope)
			}
		}
	}
}

// TestConvex: one fault at a time takes the tangents from a loss, a jump between rising slopes and a
// piece that bends down between kinks that do not among them.
func TestConvex(t *testing.T) {
	bent := func(c2 int64) Loss {
		one := big.NewRat(1, 1)
		return must2(NewPiecewise("bent", []float64{-1, 1}, []Quadratic{
			{C0: one, C1: big.NewRat(-2, 1)},
			{C0: big.NewRat(3-c2, 1), C2: big.NewRat(c2, 1)},
			{C0: one, C1: big.NewRat(2, 1)},
		}))
	}
	for _, c := range []struct {
		loss Loss
		want bool
	}{
		{bent(1), true},
		{bent(0), true},
		{bent(-1), false},
		{bent(2), false},
		{must2(Parse("pwl:-inf,-1;0,1;3,2")), true},
		{must2(Parse("pwl:-inf,-1;0,1;3,1")), true},
		{must2(Parse("pwl:-inf,-1;0,1;3,2,1")), false},
		{must2(Parse("pwl:-inf,-1;0,1;3,2,-1")), false},
		{must2(Parse("pwl:-inf,-2;-3,-1,1;0,1")), false},
		{must2(Parse("pwl:-inf,-1;0,2;3,1")), false},
	} {
		if _, _, ok := Of(c.loss).TangentDown(big.NewRat(1, 3)); ok != c.want {
			t.Errorf("%s, bent %v: convex %t, want %t", c.loss.Name(), c.loss, ok, c.want)
		}
	}
}
