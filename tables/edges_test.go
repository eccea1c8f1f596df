// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// threeCells is noise of three cells of so many points, without privacy to speak of.
func threeCells(points int64) Spec {
	return Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: float64(points) * 0x1p-10}, Loss: loss.L1},
		Grid:    Grid{GranularityExponent: -10, PointsPerCell: points, CellsPerSensitivity: 1, FirstCell: -1},
		Weights: []uint64{1 << 62, 1 << 63, 1 << 62},
	}
}

// verdict is what Verify says of a table that New takes.
func verdict(t *testing.T, s Spec) error {
	t.Helper()
	_, err := mustTable(t, s).Verify()
	return err
}

// TestSensitivityReaches: a sensitivity of as many points as the shifts that are tried is promised
// well, and one a unit in the last place longer is not. So it is where the step is no power of two.
func TestSensitivityReaches(t *testing.T) {
	for _, test := range []struct {
		points int64
		k      int
		unit   float64
	}{{1, 1, 0}, {3, 1, 0}, {1025, 7, 0}, {1, 1, 0.1}, {5, 3, 0.7}, {999, 2, 1e-30}} {
		s := threeCells(test.points)
		s.Weights = slices.Repeat([]uint64{1 << 60}, 16)
		s.Grid.CellsPerSensitivity = test.k
		if test.unit > 0 {
			s.Query, s.Grid.GranularityExponent, s.Grid.Unit, s.Step = dp.LatticeQuery, 0, test.unit, test.unit
		}
		reach := new(big.Rat).SetInt64(test.points * int64(test.k))
		longest := exact.FloatDown(reach.Mul(reach, s.Grid.Step()))
		s.Sensitivity = longest
		if err := verdict(t, s); err != nil {
			t.Errorf("%d points of %v: sensitivity %v: %v", test.points, s.Grid.Step(), longest, err)
		}
		s.Sensitivity = math.Nextafter(longest, math.Inf(1))
		if err := verdict(t, s); !errors.Is(err, proof.ErrNotPrivate) {
			t.Errorf("%d points of %v: sensitivity %v, beyond %v: %v", test.points, s.Grid.Step(), s.Sensitivity, reach, err)
		}
	}
}

// probabilities returns those of the cells of a table and of so many periods of its tail, ascending,
// and the index of the cell that holds 0.
func probabilities(s Spec, periods int) (p []*big.Rat, zero int) {
	n, k := len(s.Weights), s.Grid.CellsPerSensitivity
	one := func(i int) *big.Rat { return new(big.Rat).SetInt(new(big.Int).SetUint64(s.Weights[i])) }
	for s.Grid.FirstPoint(zero+1) <= 0 {
		zero++
	}
	if s.TailRatio == 0 {
		for i := range n {
			p = append(p, one(i))
		}
		return p, zero
	}
	far := func(i, m int) *big.Rat {
		w := one(i)
		w.Mul(w, rest(s.ratio()))
		for range m {
			w.Mul(w, s.ratio())
		}
		return w
	}
	for m := periods; m >= 0; m-- {
		for i := range k {
			p = append(p, far(i, m))
		}
	}
	for i := k; i < n-k; i++ {
		p = append(p, one(i))
	}
	for m := range periods + 1 {
		for i := n - k; i < n; i++ {
			p = append(p, far(i, m))
		}
	}
	return p, zero + periods*k
}

// TestMonotoneTail holds monotone noise against its definition, cell by cell over some periods of the
// tail: random blocks, most of them falling, on either side.
func TestMonotoneTail(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	seen := map[bool]int{}
	for range 400 {
		k := 1 + rng.IntN(3)
		ratio := rng.Uint64()>>1 | 1<<62
		// Within a block weights fall a little, beyond it by the ratio.
		block := func() []uint64 {
			w := make([]uint64, k)
			for i := range w {
				w[i] = 1<<40 - uint64(i)<<38
			}
			if rng.IntN(2) == 0 {
				w[rng.IntN(k)] = uint64(rng.IntN(1 << 40))
			}
			if rng.IntN(4) == 0 {
				w[k-1] = w[0] >> 2
			}
			return w
		}
		left, right := block(), block()
		weights := make([]uint64, 0, 2*k+1)
		for i := range left {
			weights = append(weights, left[k-1-i])
		}
		weights = append(append(weights, 0), right...)
		for i, w := range weights {
			if i != k {
				weights[k] -= w
			}
		}
		s := Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 60, Delta: 0.99, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L1, Constraints: dp.Constraints{Monotone: true}},
			Grid:    Grid{PointsPerCell: 1, CellsPerSensitivity: k, FirstCell: -k},
			Weights: weights, TailRatio: ratio,
		}
		p, zero := probabilities(s, 3)
		want := true
		for i := range len(p) - 1 {
			if c := p[i].Cmp(p[i+1]); i < zero && c > 0 || i >= zero && c < 0 {
				want = false
			}
		}
		seen[want]++
		err := verdict(t, s)
		if errors.Is(err, proof.ErrFalseClaim) == want {
			t.Fatalf("%d cells per period, ratio %#x, weights %#x: %v, monotone: %v", k, ratio, weights, err, want)
		}
	}
	if seen[true] < 20 || seen[false] < 20 {
		t.Errorf("monotone or not: %v", seen)
	}
}

// TestSupportEnds: noise whose outermost points are the ends of the support stated keeps it, and none
// with an end a unit in the last place nearer. A support holds 0, and so the atom, which is there.
func TestSupportEnds(t *testing.T) {
	for _, atom := range []uint64{0, 1 << 62} {
		s := threeCells(3)
		s.Weights = []uint64{1 << 62, 1<<63 - atom, 1 << 62}
		s.Atom = atom
		// Points -4 … 4.
		end := 4 * 0x1p-10
		// A cell without weight on either side has no part in it, and one of a unit has.
		for i, w := range []uint64{0, 1} {
			for side := range 2 {
				s := s
				s.Weights = []uint64{0, 1 << 62, 1<<63 - atom - w, 1 << 62, 0}
				s.Weights[4*side], s.Grid.FirstCell = w, -2
				s.Constraints.Support = &dp.Interval{Lower: -end, Upper: end}
				if err := verdict(t, s); errors.Is(err, proof.ErrFalseClaim) == (i == 0) {
					t.Errorf("atom %d, a weight of %d outside: %v", atom, w, err)
				}
			}
		}
		for _, test := range []struct {
			lower, upper float64
			keeps        bool
		}{
			{-end, end, true},
			{math.Inf(-1), end, true},
			{-end, math.Inf(1), true},
			{math.Nextafter(-end, 0), end, false},
			{-end, math.Nextafter(end, 0), false},
		} {
			s.Constraints.Support = &dp.Interval{Lower: test.lower, Upper: test.upper}
			if err := verdict(t, s); errors.Is(err, proof.ErrFalseClaim) == test.keeps {
				t.Errorf("atom %d, support %v to %v: %v", atom, test.lower, test.upper, err)
			}
		}
		s.Delta = 1 - 0x1p-53
		for _, support := range []dp.Interval{{Lower: -1, Upper: -0x1p-1074}, {Lower: 0x1p-1074, Upper: 1}} {
			s.Constraints.Support = &support
			if _, err := New(s); !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("support %v, without the atom: %v", support, err)
			}
		}
		// Noise on one side of 0: only the atom is at 0.
		s.Grid.FirstCell, s.Constraints.Support = -3, &dp.Interval{Lower: -10 * 0x1p-10, Upper: 0}
		if err := verdict(t, s); err != nil {
			t.Errorf("atom %d, noise below 0: %v", atom, err)
		}
	}
}

// TestConstraintsAtTheirBounds: a bound that is what is found holds, and one a unit in the last place
// stronger does not; neither does unbiased noise, or symmetric, with a unit of weight moved.
func TestConstraintsAtTheirBounds(t *testing.T) {
	s := threeCells(3)
	s.Weights, s.Atom = []uint64{1 << 62, 1 << 62, 1 << 62}, 1<<62
	step := s.Grid.Step()
	// Points -4 … 4 of 1/12 each, and the atom: E X² = 2·(1+4+9+16)/12 = 5.
	variance := 5 * 0x1p-20
	if found := s.expected(loss.L2, nil); found.Cmp(exact.Rational(variance)) != 0 {
		t.Fatalf("variance %v, want %v", found, variance)
	}
	check := func(what string, keeps bool, c dp.Constraints) {
		t.Helper()
		s.Constraints = c
		if err := verdict(t, s); errors.Is(err, proof.ErrFalseClaim) == keeps {
			t.Errorf("%s: %v, want it to hold: %v", what, err, keeps)
		}
	}
	check("variance", true, dp.Constraints{MaxVariance: variance})
	check("less variance", false, dp.Constraints{MaxVariance: math.Nextafter(variance, 0)})
	check("symmetric", true, dp.Constraints{Symmetric: true, Unbiased: true, Monotone: true})

	// P(|X| > 3 steps) = 2/12: P(|X| <= 3 steps) = 5/6.
	magnitude, _ := new(big.Rat).Mul(step, big.NewRat(3, 1)).Float64()
	quantile := func(p float64) dp.Constraints {
		return dp.Constraints{Quantiles: []dp.Quantile{{Probability: p, Magnitude: magnitude}}}
	}
	found := s.expected(mustExceed(t, magnitude), nil)
	within := new(big.Rat).Sub(big.NewRat(1, 1), found)
	check("quantile", true, quantile(exact.FloatDown(within)))
	check("quantile of more", false, quantile(math.Nextafter(exact.FloatDown(within), 1)))
	if within.Cmp(big.NewRat(5, 6)) != 0 {
		t.Errorf("P(|X| <= 3 steps) = %v, want 5/6", within)
	}

	// A shift by a cell leaves one cell and the atom that the other cannot be.
	check("distinguishing", true, dp.Constraints{MaxDistinguishing: 0.5})
	check("less distinguishing", false, dp.Constraints{MaxDistinguishing: math.Nextafter(0.5, 0)})

	s.Weights = []uint64{1<<62 + 1, 1<<62 - 2, 1<<62 + 1}
	check("symmetric, not monotone", true, dp.Constraints{Symmetric: true, Unbiased: true})
	check("a unit more outside", false, dp.Constraints{Monotone: true})
	s.Weights = []uint64{1 << 62, 1<<62 + 1, 1<<62 - 1}
	check("not symmetric", false, dp.Constraints{Symmetric: true})
	check("a mean of a unit", false, dp.Constraints{Unbiased: true})
	check("monotone", true, dp.Constraints{Monotone: true})
}

func mustExceed(t *testing.T, magnitude float64) loss.Loss {
	t.Helper()
	l, err := dp.Quantile{Probability: 0.5, Magnitude: magnitude}.Loss()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestExpectedOfAtom: the atom has its share of a loss that is not 0 at 0, with and without a tail.
func TestExpectedOfAtom(t *testing.T) {
	l, err := loss.Parse("l1 + pwl:-inf,-2;5,2")
	if err != nil {
		t.Fatal(err)
	}
	for _, ratio := range []uint64{0, 1 << 63} {
		s := Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 60, Delta: 0.99, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L1},
			Grid:    Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -1},
			Weights: []uint64{1 << 62, 1 << 62, 1 << 62}, Atom: 1 << 62, TailRatio: ratio,
		}
		with := s.expected(l, nil)
		// The atom is as likely as the cell of the point 0 beside it.
		s.Weights, s.Atom = []uint64{1 << 62, 1 << 63, 1 << 62}, 0
		if without := s.expected(l, nil); with.Cmp(without) != 0 || with.Sign() <= 0 {
			t.Errorf("ratio %#x: expected loss %v with the atom, want %v", ratio, with, without)
		}
		s.Weights, s.Atom = []uint64{1 << 62, 0, 1 << 62}, 1<<63
		if all := s.expected(l, nil); all.Cmp(with) != 0 {
			t.Errorf("ratio %#x: expected loss %v with the atom alone, want %v", ratio, all, with)
		}
	}
}

// TestExpectedFromDefinition: the expected loss is the mean over all points, for losses that are summed by
// their differences, and those that are not.
func TestExpectedFromDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 64))
	for _, name := range []string{"l1", "l2", "huber:0.004", "pinball:0.25", "l1 + pwl:-inf,-2;5,2"} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			s := threeCells(3)
			s.Weights = make([]uint64, 5+rng.IntN(8))
			left := uint64(math.MaxUint64)
			for i := range s.Weights[1:] {
				s.Weights[i+1] = rng.Uint64N(left / 3)
				left -= s.Weights[i+1]
			}
			s.Weights[0], s.Loss = left+1, l
			s.Grid.FirstCell = -rng.IntN(len(s.Weights) + 3)
			want := new(big.Rat)
			for i, w := range s.Weights {
				for n := range s.Grid.PointsPerCell {
					c := l.GridMeanUp(s.Grid.FirstPoint(i)+n, 1, s.Grid.Step())
					want.Add(want, c.Mul(c, new(big.Rat).SetInt(new(big.Int).SetUint64(w))))
				}
			}
			want.Mul(want, exact.PowerOfTwo(-64)).Quo(want, big.NewRat(s.Grid.PointsPerCell, 1))
			if found := mustTable(t, s).Certify().ExpectedLoss; found.Cmp(want) != 0 {
				t.Fatalf("%s: weights %v from cell %d: %v, want %v", name, s.Weights, s.Grid.FirstCell, found.FloatString(20), want.FloatString(20))
			}
		}
	}
}

// TestMeanOfTails: the mean counts what lies periods further out, on either side, as the law has it.
func TestMeanOfTails(t *testing.T) {
	rng := rand.New(rand.NewPCG(65, 66))
	for range 6 {
		s := randomTail(rng)
		s.TailRatio = 1 << 61
		const periods = 40 // 2^-120 of the mass is further out
		p, _ := probabilities(s, periods)
		want := new(big.Rat)
		first := s.Grid.FirstPoint(0) - periods*s.Grid.period()
		for i, w := range p {
			twice := 2*(first+int64(i)*s.Grid.PointsPerCell) + s.Grid.PointsPerCell - 1
			want.Add(want, w.Mul(w, new(big.Rat).SetInt64(twice)))
		}
		if off := want.Sub(want, s.twiceMean()); off.Abs(off).Cmp(exact.PowerOfTwo(-30)) > 0 { // in units of 2^-65 steps
			t.Fatalf("%+v: the mean is off by %s", s, off.FloatString(20))
		}
	}
}

// TestBlocksBeside0: the blocks that repeat outwards lie on either side of the point 0.
func TestBlocksBeside0(t *testing.T) {
	for offset := int64(-3); offset <= 3; offset++ {
		s := threeCells(3)
		s.Query, s.Grid.GranularityExponent, s.Privacy.Sensitivity = dp.IntegerQuery, 0, 1
		s.TailRatio, s.Grid.Offset = 1<<62, offset
		if _, err := New(s); (err == nil) != (offset >= -1 && offset <= 1) {
			t.Errorf("points %d to %d between the blocks: %v", offset-1, offset+1, err)
		}
	}
}

// TestLeastInCells: what a lower bound takes for the loss in a cell between two nodes is nowhere above the
// loss inside it, on either side of 0, and where it jumps.
func TestLeastInCells(t *testing.T) {
	for _, name := range []string{"l1", "l2", "exceed:0.5", "exceed:0.25"} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		n := &nodes{edges: true, step: big.NewRat(1, 8)}
		for j := int64(-20); j < 20; j++ {
			least := n.one(l, j)
			for k := int64(1); k < 16; k++ {
				x := new(big.Rat).Mul(big.NewRat(16*j+k, 16), n.step)
				if inside := l.AtDown(x); inside.Cmp(least) < 0 {
					t.Errorf("%s: %v in cell %d, and %v at %v", name, least, j, inside, x)
				}
			}
		}
	}
}

// TestMalformedDualProvesNothing: LowerBound may be asked of multipliers that no table has checked.
func TestMalformedDualProvesNothing(t *testing.T) {
	p := geometricSpec(t, 1, 0.05, 3).Problem
	for _, d := range []*Dual{nil, {}, {CellsPerSensitivity: 1, Exponent: -4, Shifts: []dualShift{{Shift: 12, Multipliers: []int64{1}}}}} {
		if bound := d.LowerBound(p); bound.Sign() != 0 {
			t.Errorf("%+v: a bound of %s, want 0", d, bound.FloatString(6))
		}
	}
}

// TestBoundsOfDesigns: the multipliers of designs nearly reach the loss of their tables, which a
// bound computed a little too high is above, and Verify then refuses. The smallest gaps are of 1e-3.
func TestBoundsOfDesigns(t *testing.T) {
	paths, err := filepath.Glob("../python/tests/data/files/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	tight := 0
	for _, path := range append(paths, "../docs/example-table.json") {
		tab, err := proof.ReadFile(path, Decode)
		if err != nil {
			continue // of another form
		}
		s := tab.spec
		if s.Dual == nil || !s.Dual.Mirrored || s.Privacy.Delta == 0 || strings.Contains(path, "-false") {
			continue // false tables may be far from private
		}
		bounds := tab.Certify().Bounds()
		gap, _ := bounds.Gap()
		if gap < 0 {
			t.Errorf("%s: a bound of %s above a loss of %s", path, bounds.LowerBound.FloatString(9), bounds.Loss.FloatString(9))
		}
		if gap < 0.02 {
			tight++
		}
	}
	if tight < 2 {
		t.Errorf("%d tables with mirrored multipliers and a gap below 2 %%, want some", tight)
	}
}

// TestUnitsCount: a unit of weight has its share of a loss, in a cell and in the atom.
func TestUnitsCount(t *testing.T) {
	l, err := loss.Parse("l2 + pwl:-inf,-2;5,2")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []loss.Loss{loss.L1, loss.L2, l} {
		for i := range 5 {
			s := threeCells(1)
			s.Weights, s.Grid.FirstCell, s.Grid.GranularityExponent = make([]uint64, 5), -2, 0
			s.Weights[i] = 1
			want := l.GridMeanUp(int64(i-2), 1, big.NewRat(1, 1))
			if found := s.expected(l, nil); found.Cmp(want.Mul(want, exact.PowerOfTwo(-64))) != 0 {
				t.Errorf("%s: a unit in cell %d has the loss %v, want %v", l.Name(), i, found, want)
			}
		}
		s := threeCells(1)
		s.Weights, s.Atom = []uint64{0, 0, 0}, 1
		want := l.GridMeanUp(0, 1, s.Grid.Step())
		if found := s.expected(l, nil); found.Cmp(want.Mul(want, exact.PowerOfTwo(-64))) != 0 {
			t.Errorf("%s: a unit of the atom has the loss %v, want %v", l.Name(), found, want)
		}
	}
}

// TestLeastTailIsOne: noise with the least ratio has a tail, and no end on either side.
func TestLeastTailIsOne(t *testing.T) {
	for _, ratio := range []uint64{1, 1 << 63} {
		for _, test := range []struct {
			lower, upper float64
			keeps        bool
		}{
			{math.Inf(-1), math.Inf(1), true}, {-1e9, math.Inf(1), false}, {math.Inf(-1), 1e9, false}, {-1e9, 1e9, false},
		} {
			s := threeCells(3)
			s.TailRatio, s.Constraints.Support = ratio, &dp.Interval{Lower: test.lower, Upper: test.upper}
			if err := verdict(t, s); errors.Is(err, proof.ErrFalseClaim) == test.keeps {
				t.Errorf("ratio %d, support %v to %v: %v", ratio, test.lower, test.upper, err)
			}
		}
	}
}

// TestWorstShiftIsNamed: the shift that is named has the divergence that is found, in its direction.
func TestWorstShiftIsNamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(67, 68))
	below := 0
	for range 200 {
		s := threeCells(1)
		s.Weights, s.Grid.CellsPerSensitivity = make([]uint64, 2+rng.IntN(6)), 1+rng.IntN(3)
		left := uint64(math.MaxUint64)
		for i := range s.Weights[1:] {
			s.Weights[i+1] = rng.Uint64N(left / 2)
			left -= s.Weights[i+1]
		}
		s.Weights[0] = left + 1
		r := exact.RatioDown(s.Epsilon)
		delta, shift := s.worstShift(r, nil)
		want := new(big.Int)
		for j, w := range s.Weights {
			partner := uint64(0)
			if k := j - shift; k >= 0 && k < len(s.Weights) {
				partner = s.Weights[k]
			}
			if d := r.Divergence([]uint64{w}, []uint64{partner}); d.Sign() > 0 {
				want.Add(want, d)
			}
		}
		if delta.Cmp(exact.Probability(want)) != 0 {
			t.Fatalf("weights %v: shift %d is named, with %v of %v", s.Weights, shift, exact.Probability(want), delta)
		}
		if shift < 0 {
			below++
		}
	}
	if below == 0 || below == 200 {
		t.Errorf("%d of 200 shifts are negative", below)
	}
	// One cell, from which every shift leads away.
	s := threeCells(1)
	s.Weights, s.Atom, s.Grid.CellsPerSensitivity = []uint64{1 << 63}, 1<<63, 3
	if delta, shift := s.worstShift(exact.RatioDown(s.Epsilon), nil); delta.Cmp(big.NewRat(1, 1)) != 0 || shift != 1 {
		t.Errorf("one cell: delta %v at the shift %d, want 1 at 1", delta, shift)
	}
}

// cubic is |x|³ that says of itself to be a polynomial.
type cubic struct{ loss.Loss }

func (cubic) PolynomialBeyond() (*big.Rat, int, bool) { return new(big.Rat), 3, true }

// TestDegreesAbove2: the formula for polynomials of degree 2 is for no others.
func TestDegreesAbove2(t *testing.T) {
	l, err := loss.Parse("lp:3")
	if err != nil {
		t.Fatal(err)
	}
	s := threeCells(1)
	s.Weights, s.Grid.FirstCell = slices.Repeat([]uint64{1 << 60}, 11), -5
	if got, want := s.expected(cubic{l}, nil), s.expected(l, nil); got.Cmp(want) != 0 || got.Sign() <= 0 {
		t.Errorf("expected loss %v, want %v", got, want)
	}
}

// TestQuantileExactly: noise that is within a magnitude exactly as often as stated keeps that.
func TestQuantileExactly(t *testing.T) {
	for _, test := range []struct {
		weights []uint64
		keeps   bool
	}{{[]uint64{1 << 62, 1 << 63, 1 << 62}, true}, {[]uint64{1 << 62, 1<<63 - 1, 1<<62 + 1}, false}, {[]uint64{1 << 62, 1<<63 + 1, 1<<62 - 1}, true}} {
		s := threeCells(1)
		s.Weights = test.weights
		s.Constraints.Quantiles = []dp.Quantile{{Probability: 0.5, Magnitude: 0.5 * 0x1p-10}}
		if err := verdict(t, s); errors.Is(err, proof.ErrFalseClaim) == test.keeps {
			t.Errorf("weights %v: %v", test.weights, err)
		}
	}
}

// TestInputsOfIntegers: the noise of an integer query takes integers, and other noise numbers.
func TestInputsOfIntegers(t *testing.T) {
	for _, query := range []dp.Query{dp.IntegerQuery, dp.RealQuery} {
		s := threeCells(1)
		s.Query, s.Grid.GranularityExponent, s.Sensitivity = query, 0, 1
		if kind := mustTable(t, s).Inputs().Kind; (kind == proof.Integers) != (query == dp.IntegerQuery) {
			t.Errorf("%s: inputs are %v", query, kind)
		}
	}
}
