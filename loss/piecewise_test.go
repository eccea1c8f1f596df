// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// plain is a piecewise loss by its definition, nothing clever: the oracle of
// these tests.
type plain struct {
	knots  []*big.Rat
	pieces []Quadratic
}

func (p plain) poly(i int, x *big.Rat) *big.Rat {
	q := p.pieces[i].filled()
	v := new(big.Rat).Mul(q.C2, x)
	v.Add(v, q.C1).Mul(v, x)
	return v.Add(v, q.C0)
}

func (p plain) at(x *big.Rat) *big.Rat {
	for i, k := range p.knots {
		switch x.Cmp(k) {
		case -1:
			return p.poly(i, x)
		case 0:
			return lower(p.poly(i, x), p.poly(i+1, x))
		}
	}
	return p.poly(len(p.knots), x)
}

// randomPiecewise returns a loss of up to six pieces with knots and coefficients
// that are small multiples of 1/4: jumps, kinks, concave and convex pieces. The
// level makes it >= 0.
func randomPiecewise(rng *rand.Rand) (*piecewise, plain) {
	n := rng.IntN(6)
	var x []float64
	for range n {
		x = append(x, float64(rng.IntN(33)-16)/4)
	}
	slices.Sort(x)
	x = slices.Compact(x)
	n = len(x)
	small := func() *big.Rat { return big.NewRat(rng.Int64N(25)-12, 4) }
	oracle := plain{pieces: make([]Quadratic, n+1)}
	for i := range oracle.pieces {
		q := Quadratic{small(), small(), new(big.Rat)}
		if rng.IntN(2) == 0 {
			q.C2 = small()
		}
		if i == 0 || i == n {
			q.C2.Abs(q.C2)
			if q.C2.Sign() == 0 {
				q.C1.Abs(q.C1)
				if i == 0 {
					q.C1.Neg(q.C1)
				}
				if n == 0 {
					q.C1 = nil
				}
			}
		}
		oracle.pieces[i] = q
	}
	for i, v := range x {
		oracle.knots = append(oracle.knots, exact.Rational(v))
		if rng.IntN(2) == 0 { // make it continuous
			gap := new(big.Rat).Sub(oracle.poly(i, oracle.knots[i]), oracle.poly(i+1, oracle.knots[i]))
			c := oracle.pieces[i+1].filled()
			c.C0.Add(c.C0, gap)
			oracle.pieces[i+1] = c
		}
	}
	level := new(big.Rat)
	for {
		l, err := NewPiecewise("test", x, oracle.pieces)
		if err == nil {
			return l.(*piecewise), oracle
		}
		level.SetInt64(8)
		for i, q := range oracle.pieces {
			c := q.filled()
			c.C0.Add(c.C0, level)
			oracle.pieces[i] = c
		}
	}
}

var testSteps = []*big.Rat{big.NewRat(1, 1), big.NewRat(1, 4), big.NewRat(1, 3), big.NewRat(7, 5), big.NewRat(9, 1), big.NewRat(3, 64)}

// TestPiecewiseAgainstDefinition: values, grid means and ramps of random losses,
// exactly.
func TestPiecewiseAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 400 {
		l, oracle := randomPiecewise(rng)
		step := testSteps[rng.IntN(len(testSteps))]
		for range 20 {
			x := big.NewRat(rng.Int64N(400)-200, []int64{4, 8, 7}[rng.IntN(3)])
			if got, want := l.AtDown(x), oracle.at(x); got.Cmp(want) != 0 {
				t.Fatalf("%v: c(%s) = %s, want %s", oracle, x, got, want)
			}
			f, exact := x.Float64()
			if want, _ := oracle.at(x).Float64(); exact && l.At(f) != want {
				t.Fatalf("%v: At(%g) = %g, want %g", oracle, f, l.At(f), want)
			}
		}
		for range 5 {
			first, count := rng.Int64N(80)-60, rng.Int64N(90)+1
			want := new(big.Rat)
			for n := first; n < first+count; n++ {
				want.Add(want, oracle.at(multipleOf(n, step)))
			}
			want.Quo(want, big.NewRat(count, 1))
			if got := l.GridMeanUp(first, count, step); got.Cmp(want) != 0 {
				t.Fatalf("%v: GridMeanUp(%d, %d, %s) = %s, want %s", oracle, first, count, step, got, want)
			}
		}
		for range 5 {
			from, to := big.NewRat(rng.Int64N(80)-40, 7), big.NewRat(rng.Int64N(80)-40, 8)
			if got, want := l.RampMeanUp(from, to), oracle.ramp(from, to); got.Cmp(want) != 0 {
				t.Fatalf("%v: RampMeanUp(%s, %s) = %s, want %s", oracle, from, to, got, want)
			}
		}
		x := big.NewRat(rng.Int64N(80)-40, 4)
		if got, want := l.RampMeanUp(x, x), oracle.at(x); got.Cmp(want) != 0 {
			t.Fatalf("%v: RampMeanUp(%s, %s) = %s, want %s", oracle, x, x, got, want)
		}
	}
}

// ramp integrates 2c(from+d·t)(1-t), a cubic between the knots, by Simpson's rule,
// which is exact for cubics.
func (p plain) ramp(from, to *big.Rat) *big.Rat {
	d := new(big.Rat).Sub(to, from)
	if d.Sign() == 0 {
		return p.at(from)
	}
	one := big.NewRat(1, 1)
	cuts := []*big.Rat{new(big.Rat), one}
	for _, k := range p.knots {
		s := new(big.Rat).Sub(k, from)
		if s.Quo(s, d); s.Sign() > 0 && s.Cmp(one) < 0 {
			cuts = append(cuts, s)
		}
	}
	slices.SortFunc(cuts, (*big.Rat).Cmp)
	sum := new(big.Rat)
	for i := 1; i < len(cuts); i++ {
		middle := new(big.Rat).Add(cuts[i-1], cuts[i])
		middle.Mul(middle, half)
		x := func(s *big.Rat) *big.Rat { v := new(big.Rat).Mul(d, s); return v.Add(v, from) }
		k := 0
		for k < len(p.knots) && p.knots[k].Cmp(x(middle)) < 0 {
			k++
		}
		f := func(s *big.Rat) *big.Rat {
			return new(big.Rat).Mul(p.poly(k, x(s)), new(big.Rat).Sub(one, s))
		}
		v := new(big.Rat).Mul(f(middle), big.NewRat(4, 1))
		v.Add(v, f(cuts[i-1])).Add(v, f(cuts[i]))
		sum.Add(sum, v.Mul(v, new(big.Rat).Sub(cuts[i], cuts[i-1])))
	}
	return sum.Mul(sum, big.NewRat(2, 6))
}

// below checks exactly that the line from (a, la) to (b, lb) is nowhere above c
// on [a, b]: on each piece at its ends, as limits, and at the least difference.
func (p plain) below(a, b, la, lb *big.Rat) error {
	slope := new(big.Rat).Sub(lb, la)
	slope.Quo(slope, new(big.Rat).Sub(b, a))
	for i := range p.pieces {
		low, high := a, b
		if i > 0 && p.knots[i-1].Cmp(low) > 0 {
			low = p.knots[i-1]
		}
		if i < len(p.knots) && p.knots[i].Cmp(high) < 0 {
			high = p.knots[i]
		}
		if low.Cmp(high) > 0 || low.Cmp(high) == 0 && i > 0 && i < len(p.knots) {
			continue
		}
		points := []*big.Rat{low, high}
		if q := p.pieces[i].filled(); q.C2.Sign() > 0 {
			touch := new(big.Rat).Sub(slope, q.C1)
			if touch.Quo(touch, q.C2).Mul(touch, half); touch.Cmp(low) > 0 && touch.Cmp(high) < 0 {
				points = append(points, touch)
			}
		}
		for _, x := range points {
			line := new(big.Rat).Sub(x, a)
			line.Mul(line, slope).Add(line, la)
			value := p.poly(i, x)
			if x.Cmp(a) == 0 || x.Cmp(b) == 0 {
				// The piece may touch the interval in this point only.
				value = p.at(x)
			}
			if line.Cmp(value) > 0 {
				return fmt.Errorf("line %s above the loss %s at %s", line, value, x)
			}
		}
	}
	return nil
}

// TestPiecewiseLowerNode: the interpolant of random losses is nowhere above them,
// on either side of the jumps, and Growth is not above any increment, does not
// decrease, and is reached.
func TestPiecewiseLowerNode(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for range 100 {
		l, oracle := randomPiecewise(rng)
		step := testSteps[rng.IntN(len(testSteps))]
		// The knots are within ±4; step 3/64 needs 85 cells for that.
		const reach = 100
		nodes, values := make(map[int64]*big.Rat), make(map[int64]*big.Rat)
		for j := int64(-reach - 1); j <= reach+1; j++ {
			nodes[j], values[j] = l.LowerNode(j, step), l.AtDown(multipleOf(j, step))
			if nodes[j].Cmp(values[j]) > 0 {
				t.Fatalf("%v: node %d of step %s is %s, above c = %s", oracle, j, step, nodes[j], values[j])
			}
			if j > -reach-1 {
				if err := oracle.below(multipleOf(j-1, step), multipleOf(j, step), nodes[j-1], nodes[j]); err != nil {
					t.Fatalf("%v, step %s, nodes %d and %d: %v", oracle, step, j-1, j, err)
				}
			}
		}
		for _, side := range []int64{1, -1} {
			var least *big.Rat
			for i := int64(reach); i >= 1; i-- {
				a := new(big.Rat).Sub(nodes[side*(i+1)], nodes[side*i])
				b := new(big.Rat).Sub(values[side*(i+1)], values[side*i])
				for _, inc := range []*big.Rat{a, b} {
					if least == nil || inc.Cmp(least) < 0 {
						least = inc
					}
				}
				if got := l.Growth(side*i, step); got.Cmp(least) != 0 {
					t.Fatalf("%v, step %s: Growth(%d) = %s, the least increment is %s", oracle, step, side*i, got, least)
				}
			}
			if least.Cmp(l.Growth(side*reach, step)) > 0 {
				t.Errorf("%v: Growth decreases away from 0", oracle)
			}
			if l.Growth(side*reach, step).Sign() < 0 {
				t.Errorf("%v: Growth stays negative", oracle)
			}
		}
	}
}

// TestPiecewiseTightNodes: kinks and jumps at nodes lose nothing, a quadratic
// loses step²/4 times its coefficient, and l1 and l2 agree with their own code.
func TestPiecewiseTightNodes(t *testing.T) {
	step := big.NewRat(1, 2)
	check := func(l Loss, j int64, want string) {
		t.Helper()
		if got := l.LowerNode(j, step).RatString(); got != want {
			t.Errorf("%s.LowerNode(%d) = %s, want %s", l.Name(), j, got, want)
		}
	}
	must := func(name string) Loss {
		l, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	dead, exceed, huber, pin := must("deadzone:2"), must("exceed:2"), must("huber:2"), must("pinball:0.75")
	for j, want := range map[int64]string{-6: "1", -4: "0", 0: "0", 4: "0", 5: "1/2", 8: "2"} {
		check(dead, j, want)
	}
	for j, want := range map[int64]string{-5: "1", -4: "0", 4: "0", 5: "1", 100: "1"} {
		check(exceed, j, want)
	}
	off := must("exceed:2.1") // the first node whose whole interval is beyond 2.1
	for j, want := range map[int64]string{5: "0", 6: "1", -5: "0", -6: "1"} {
		check(off, j, want)
	}
	for j, want := range map[int64]string{0: "-1/32", 2: "15/32", -2: "15/32", 4: "63/32", 5: "3", 6: "4"} {
		check(huber, j, want)
	}
	for j, want := range map[int64]string{-8: "1", 0: "0", 8: "3"} {
		check(pin, j, want)
	}
	for _, l := range []Loss{L1, L2} {
		p := l.(piecewiser).asPiecewise()
		if !p.Symmetric() || !p.Unimodal() {
			t.Errorf("%s as a piecewise loss is not symmetric and unimodal", l.Name())
		}
		for _, step := range testSteps {
			for j := int64(-30); j <= 30; j++ {
				if got, want := p.LowerNode(j, step), l.LowerNode(j, step); got.Cmp(want) != 0 {
					t.Errorf("%s: node %d of step %s is %s, want %s", l.Name(), j, step, got, want)
				}
				if j != 0 && p.Growth(j, step).Cmp(l.Growth(j, step)) != 0 {
					t.Errorf("%s: Growth(%d, %s) = %s, want %s", l.Name(), j, step, p.Growth(j, step), l.Growth(j, step))
				}
				if got, want := p.GridMeanUp(j, 17, step), l.GridMeanUp(j, 17, step); got.Cmp(want) != 0 {
					t.Errorf("%s: GridMeanUp(%d, 17, %s) = %s, want %s", l.Name(), j, step, got, want)
				}
				a, b := multipleOf(j, step), multipleOf(7-2*j, step)
				if got, want := p.RampMeanUp(a, b), l.RampMeanUp(a, b); got.Cmp(want) != 0 {
					t.Errorf("%s: RampMeanUp(%s, %s) = %s, want %s", l.Name(), a, b, got, want)
				}
			}
		}
	}
}

// TestPiecewiseLongRuns: 2^41 points starting at 2^52, against a run cut into
// parts, and a mean that must lie between the values at its ends.
func TestPiecewiseLongRuns(t *testing.T) {
	l, err := New("huber", 0x1p20)
	if err != nil {
		t.Fatal(err)
	}
	for _, exponent := range []int{0, -32, -60} {
		step := new(big.Rat).SetFloat64(math.Ldexp(1, exponent))
		const count = int64(1)<<41 + 1
		for _, first := range []int64{-count / 2, 1 << 52, -1 << 52, 1<<52 - count/3} {
			whole := l.GridMeanUp(first, count, step)
			sum := new(big.Rat)
			for at, rest := first, count; rest > 0; {
				n := min(rest, count/7+1)
				part := l.GridMeanUp(at, n, step)
				sum.Add(sum, part.Mul(part, big.NewRat(n, 1)))
				at, rest = at+n, rest-n
			}
			if sum.Quo(sum, big.NewRat(count, 1)).Cmp(whole) != 0 {
				t.Errorf("step 2^%d: the mean from %d on is %s, from its parts %s", exponent, first, whole, sum)
			}
			ends := []*big.Rat{l.AtDown(multipleOf(first, step)), l.AtDown(multipleOf(first+count-1, step))}
			slices.SortFunc(ends, (*big.Rat).Cmp)
			if first != -count/2 && (whole.Cmp(ends[0]) < 0 || whole.Cmp(ends[1]) > 0) {
				t.Errorf("step 2^%d: the mean from %d on is %s, not within %s", exponent, first, whole, ends)
			}
		}
	}
}

// TestPiecewiseCellMean holds the averages of random losses against quadrature,
// and narrow cells far from 0 against the value.
func TestPiecewiseCellMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		l, oracle := randomPiecewise(rng)
		for range 10 {
			center, width := rng.Float64()*12-6, math.Exp(rng.Float64()*10-6)
			low, high := center-width/2, center+width/2
			cuts := []float64{low, high}
			for _, k := range oracle.knots {
				if f, _ := k.Float64(); f > low && f < high {
					cuts = append(cuts, f)
				}
			}
			slices.Sort(cuts)
			sum := 0.0
			for i := 1; i < len(cuts); i++ {
				sum += quad.Fixed(l.At, cuts[i-1], cuts[i], 3, quad.Legendre{}, 0)
			}
			if got, want := l.CellMean(center, width), sum/width; math.Abs(got-want) > 1e-9*(1+want) {
				t.Fatalf("%v: CellMean(%g, %g) = %g, want %g", oracle, center, width, got, want)
			}
		}
	}
	l, err := New("deadzone", 1e9)
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []float64{1e-3, 1e-9, 1e-100} {
		if got := l.CellMean(1e9, width); math.Abs(got-width/8) > 1e-12*width {
			t.Errorf("deadzone:1e9: CellMean(1e9, %g) = %g, want %g", width, got, width/8)
		}
		if got := l.CellMean(1e15, width); got != 1e15-1e9 {
			t.Errorf("deadzone:1e9: CellMean(1e15, %g) = %g, want %g", width, got, 1e15-1e9)
		}
	}
}

// TestPiecewiseShape: symmetry and monotonicity, and what NewPiecewise refuses.
func TestPiecewiseShape(t *testing.T) {
	for name, want := range map[string][2]bool{ // symmetric, unimodal
		"huber:2": {true, true}, "deadzone:1": {true, true}, "exceed:1": {true, true},
		"pinball:0.5": {true, true}, "pinball:0.3": {false, true}, "asymmetric:2,2": {true, true},
		"pwl:-inf,-1;0,1":             {true, true},
		"pwl:-inf,-1;1,1":             {false, false},
		"pwl:-inf,-1;0,1;2,1,-1":      {false, false},
		"pwl:-inf,-1;-2,1;0,-1;2,1":   {true, false},
		"pwl:-inf,-1;-2,0,-1;2,1,1":   {true, true},
		"pwl:-inf,-1;0,0;1,0.5;3,4,1": {false, true},
		"l1 + exceed:2:3":             {true, true},
		"pinball:0.25 + pinball:0.75": {true, true},
		"asymmetric:1,2 + huber:1":    {false, true},
	} {
		l, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if l.Symmetric() != want[0] || Of(l).Unimodal() != want[1] {
			t.Errorf("%s: symmetric %t, unimodal %t; want %v", name, l.Symmetric(), Of(l).Unimodal(), want)
		}
	}
	one, minus := big.NewRat(1, 1), big.NewRat(-1, 1)
	for name, make := range map[string]func() (Loss, error){
		"no pieces":        func() (Loss, error) { return NewPiecewise("x", nil, nil) },
		"too few":          func() (Loss, error) { return NewPiecewise("x", []float64{1}, []Quadratic{{}}) },
		"NaN":              func() (Loss, error) { return NewPiecewise("x", []float64{math.NaN()}, []Quadratic{{}, {}}) },
		"infinite":         func() (Loss, error) { return NewPiecewise("x", []float64{math.Inf(1)}, []Quadratic{{}, {}}) },
		"descending":       func() (Loss, error) { return NewPiecewise("x", []float64{1, 1}, []Quadratic{{}, {}, {}}) },
		"negative":         func() (Loss, error) { return NewPiecewise("x", nil, []Quadratic{{C0: minus}}) },
		"line":             func() (Loss, error) { return NewPiecewise("x", nil, []Quadratic{{C1: one}}) },
		"falling parabola": func() (Loss, error) { return NewPiecewise("x", nil, []Quadratic{{C2: minus}}) },
		"vertex":           func() (Loss, error) { return NewPiecewise("x", nil, []Quadratic{{C2: one, C0: minus}}) },
		"negative between": func() (Loss, error) {
			return NewPiecewise("x", []float64{0, 1}, []Quadratic{{}, {C1: minus}, {}})
		},
		"falls to infinity": func() (Loss, error) { return NewPiecewise("x", []float64{0}, []Quadratic{{}, {C1: minus}}) },
	} {
		if l, err := make(); l != nil || !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%s: %v, %v; want an error", name, l, err)
		}
	}
}

// TestSymmetrized: the mean of both sides, exactly, for random losses, for a
// weighted one and for one that is no piecewise.
func TestSymmetrized(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	losses := []Loss{must2(Parse("pinball:0.3:0.5")), must2(Parse("pinball:0.3 + lp:1.5")), opaque{must2(New("asymmetric", 1, 3))}}
	for range 100 {
		l, _ := randomPiecewise(rng)
		losses = append(losses, l)
	}
	for _, l := range losses {
		s := Of(l).Symmetrized()
		if _, one := s.(*piecewise); l.Name() == "test" && !one {
			t.Fatalf("%s: not one piecewise loss", s.Name())
		}
		if !s.Symmetric() || Of(s).Symmetrized() != s {
			t.Fatalf("%s: not symmetric", s.Name())
		}
		step := testSteps[rng.IntN(len(testSteps))]
		for range 10 {
			j := rng.Int64N(80) - 40
			x := multipleOf(j, step)
			f, _ := x.Float64()
			minus := new(big.Rat).Neg(x)
			if want := mean(l.AtDown(x), l.AtDown(minus)); s.AtDown(x).Cmp(want) != 0 {
				t.Fatalf("%s: c(%s) = %s, want %s", s.Name(), x, s.AtDown(x), want)
			}
			if got, want := s.At(f), (l.At(f)+l.At(-f))/2; math.Abs(got-want) > 1e-12*want {
				t.Fatalf("%s: At(%g) = %g, want %g", s.Name(), f, got, want)
			}
			if got, want := s.CellMean(f, 3), (l.CellMean(f, 3)+l.CellMean(-f, 3))/2; math.Abs(got-want) > 1e-9*(1+want) {
				t.Fatalf("%s: CellMean(%g, 3) = %g, want %g", s.Name(), f, got, want)
			}
			if got, want := s.GridMeanUp(j, 9, step), mean(l.GridMeanUp(j, 9, step), l.GridMeanUp(-j-8, 9, step)); got.Cmp(want) != 0 {
				t.Fatalf("%s: GridMeanUp(%d, 9, %s) = %s, want %s", s.Name(), j, step, got, want)
			}
			if got, want := s.RampMeanUp(x, step), mean(l.RampMeanUp(x, step), l.RampMeanUp(minus, new(big.Rat).Neg(step))); got.Cmp(want) != 0 {
				t.Fatalf("%s: RampMeanUp(%s, %s) = %s, want %s", s.Name(), x, step, got, want)
			}
			for _, side := range []int{1, -1} {
				if got, want := Of(s).LimitDown(x, side), mean(Of(l).LimitDown(x, side), Of(l).LimitDown(minus, -side)); got.Cmp(want) != 0 {
					t.Fatalf("%s: limit at %s from side %d = %s, want %s", s.Name(), x, side, got, want)
				}
			}
			// The nodes of the sum are no lower than the sum of the nodes.
			if s.LowerNode(j, step).Cmp(mean(l.LowerNode(j, step), l.LowerNode(-j, step))) < 0 {
				t.Fatalf("%s: node %d is lower than the mean of its parts", s.Name(), j)
			}
		}
	}
}

// mean returns (a+b)/2 in a.
func mean(a, b *big.Rat) *big.Rat {
	a.Add(a, b)
	return a.Mul(a, half)
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestPiecewiseGrowth: it is the least increment, of the lower nodes or of the values, from a cell outwards.
func TestPiecewiseGrowth(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	for range 60 {
		l, oracle := randomPiecewise(rng)
		step := big.NewRat(1+rng.Int64N(9), 1+rng.Int64N(9))
		for _, side := range []int64{-1, 1} {
			increments := make([]*big.Rat, 60) // all knots are far inside
			at := func(n int64) (node, value *big.Rat) {
				x := new(big.Rat).Mul(step, big.NewRat(side*n, 1))
				return l.LowerNode(side*n, step), l.AtDown(x)
			}
			for n := range increments {
				node, value := at(int64(n))
				nextNode, nextValue := at(int64(n) + 1)
				increments[n] = lower(nextNode.Sub(nextNode, node), nextValue.Sub(nextValue, value))
			}
			least := increments[len(increments)-1]
			for n := len(increments) - 1; n > 0; n-- {
				least = lower(least, increments[n])
				if n > 20 {
					continue
				}
				if got := l.Growth(side*int64(n), step); got.Cmp(least) != 0 {
					t.Fatalf("%v, step %s: Growth(%d) = %s, want %s", oracle, step, side*int64(n), got, least)
				}
			}
		}
	}
}

// TestManyPieces: cells over more pieces than are added one by one, of which the areas up to a knot are known, have the
// means of the parts they consist of; with knots on one side of 0 alone, and on both.
func TestManyPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	for _, from := range []int{-70, -20, 5} {
		var x []float64
		pieces := []Quadratic{{C0: big.NewRat(900, 1), C1: big.NewRat(-1, 1)}}
		for i := range 50 {
			x = append(x, float64(from+i))
			pieces = append(pieces, Quadratic{C0: big.NewRat(200+rng.Int64N(50), 1), C1: big.NewRat(rng.Int64N(5)-2, 1)})
		}
		pieces[50].C1 = big.NewRat(1, 1)
		l := must2(NewPiecewise("many", x, pieces))
		for range 30 {
			low := float64(from) - 10 + float64(rng.IntN(30))
			count := 2 + rng.IntN(40)
			sum := 0.0
			for i := range count {
				sum += l.CellMean(low+float64(i)+0.5, 1)
			}
			near(t, fmt.Sprintf("mean over %d pieces from %g on", count, low), l.CellMean(low+float64(count)/2, float64(count)), sum/float64(count), 1e-12)
		}
	}
}

// TestCeilingOfPieces: of random losses the bound is attained, in the interval or as a limit at a jump, and none of its values is above.
func TestCeilingOfPieces(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(23, 24))
	for range 300 {
		l, oracle := randomPiecewise(rng)
		low := rng.Int64N(80) - 40
		high := low + rng.Int64N(40)
		got, ok := Of(l).CeilingUp(big.NewRat(low, 8), big.NewRat(high, 8))
		want := new(big.Rat)
		for n := 64 * low; n <= 64*high; n++ {
			x := big.NewRat(n, 8*64)
			want = higher(want, oracle.at(x))
			for i, k := range oracle.knots {
				if k.Cmp(x) == 0 {
					want = higher(want, higher(oracle.poly(i, x), oracle.poly(i+1, x)))
				}
			}
		}
		// A top is at most half a point away from one, and falls by at most 3 times the square of that.
		if most := new(big.Rat).Add(want, big.NewRat(3, 1<<20)); !ok || got.Cmp(want) < 0 || got.Cmp(most) > 0 {
			t.Fatalf("%v on [%d/8, %d/8]: %s, by a scan %s", oracle, low, high, got.FloatString(9), want.FloatString(9))
		}
	}
}

// TestKnotsDropped: a knot at which nothing happens is none.
func TestKnotsDropped(t *testing.T) {
	falls := Quadratic{C1: big.NewRat(-1, 1), C0: big.NewRat(3, 1)}
	filled := falls.filled() // the same, its zero spelled out
	l := must2(NewPiecewise("x", []float64{-1, 2, 3}, []Quadratic{falls, filled, {C0: big.NewRat(1, 1)}, {C1: big.NewRat(1, 1)}}))
	if got := Of(l).Kinks(); !slices.Equal(got, []float64{2, 3}) {
		t.Errorf("kinks %v, want 2 and 3", got)
	}
	if got := Of(must2(Parse("pwl:-inf,-1;0,1;1,2"))).Kinks(); !slices.Equal(got, []float64{1}) {
		t.Errorf("kinks %v, want 1 alone", got)
	}
}
