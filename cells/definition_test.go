// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// TestAnswersFromDefinition: next to every edge, a value is rounded to its point and answered by the bins of its
// cell, or refused; what is answered is a point of the law.
func TestAnswersFromDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for range 60 {
		s := randomSpec(rng)
		k := newKernel(t, s)
		m := mechanism{s, math.Ldexp(1, s.Grid.GranularityExponent)}
		reach := int64(0)
		for j := range s.Rows[0] {
			first := k.Grid().FirstPoint(j)
			reach = max(reach, -first, first+s.Grid.PointsPerBin-1)
		}
		if k.Reach() != reach || k.Points() != s.Grid.PointsPerBin || k.Bins() != len(s.Rows[0]) {
			t.Fatalf("%+v: reach %d of %d, %d points, %d bins", s.Grid, k.Reach(), reach, k.Points(), k.Bins())
		}
		for _, e := range s.Edges {
			for d := -16; d <= 16; d++ {
				x := e + float64(d)*m.step/8
				if math.IsInf(e, 0) {
					x = float64(d) * m.step
				}
				law, inside := m.answer(x)
				cell, ok := k.CellAt(x)
				c, err := k.Choose(proof.Number(x))
				if ok != inside || (err == nil) != inside {
					t.Fatalf("%v: %g is in a cell: %v, %v, want %v", s.Edges, x, ok, err, inside)
				}
				if !inside {
					continue
				}
				if c.Row != cell || c.Base != m.round(x) {
					t.Fatalf("%v: %g is in the cells %d and %d, rounded to %d", s.Edges, x, cell, c.Row, c.Base)
				}
				count := 0
				for j, w := range s.Rows[cell] {
					for i := range s.Grid.PointsPerBin {
						y := k.AnswerNumber(c, j, i)
						v, _ := proof.Float(k.Answer(c, j, i))
						p := law[int64(y/m.step)]
						if p == nil || p.Num().BitLen() != 0 != (w != 0) || y != v || y != float64(int64(y/m.step))*m.step {
							t.Fatalf("%v: %g is answered %g", s.Edges, x, y)
						}
						count++
					}
				}
				if count != len(law) {
					t.Fatalf("%d answers, want %d", count, len(law))
				}
			}
		}
		for row := range s.Rows {
			x, _ := proof.Float(k.Input(row))
			from, to := m.round(max(s.Edges[row], -100)), m.round(min(s.Edges[row+1], 100))
			got, ok := k.CellAt(x)
			if !ok || got != row {
				t.Errorf("%v: the input %g of cell %d is in %d", s.Edges, x, row, got)
			}
			if off := 2*m.round(x) - from - to; !math.IsInf(s.Edges[row], 0) && !math.IsInf(s.Edges[row+1], 0) && (off > 2 || off < -2) {
				t.Errorf("%v: the input %g of cell %d is not its middle", s.Edges, x, row)
			}
		}
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			if c, ok := k.CellAt(x); ok || c != 0 {
				t.Errorf("%g is in the cell %d", x, c)
			}
			if _, err := k.ChooseNumber(x); err == nil {
				t.Errorf("%g is rounded", x)
			}
		}
	}
}

// TestLargestValue: the rounded value and the noise together are at most 2^53, to a point.
func TestLargestValue(t *testing.T) {
	s := randomSpec(rand.New(rand.NewPCG(53, 54)))
	s.Grid = Grid{GranularityExponent: -1, PointsPerBin: 3, FirstBin: -2}
	s.Edges, s.Rows, s.Weight = []float64{math.Inf(-1), math.Inf(1)}, s.Rows[:1], []float64{1}
	k := newKernel(t, s)
	limit := float64(exact.MaxInteger - k.Reach())
	for _, sign := range []float64{1, -1} {
		for _, c := range []struct {
			points float64
			taken  bool
		}{{limit, true}, {limit + 1, false}, {exact.MaxInteger, false}} {
			x := sign * c.points / 2
			_, ok := k.CellAt(x)
			if _, err := k.ChooseNumber(x); ok != c.taken || (err == nil) != c.taken {
				t.Errorf("%g points: %v, %v, want %v", sign*c.points, ok, err, c.taken)
			}
		}
	}
	if x, _ := proof.Float(k.Input(0)); x != 0 {
		t.Errorf("the input of all numbers is %g", x)
	}
}

// TestPairsFromDefinition: all multiples of a bin between which, and those at which, the points of two values
// within the sensitivity can be apart.
func TestPairsFromDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 56))
	for range 60 {
		s := randomSpec(rng)
		k := newKernel(t, s)
		all, own := k.Pairs()
		has := make(map[proof.Pair]int)
		for _, p := range all {
			has[p]++
		}
		for _, p := range own {
			has[p] += 2
		}
		points := s.Grid.PointsPerBin
		for gain := range s.Rows {
			for lose := range s.Rows {
				first, last, ok := k.Shifts(gain, lose)
				for m := int64(-200); m <= 200; m++ {
					want := 0
					if ok && m*points > first-points && m*points < last+points {
						want = 1
						if m*points >= first && m*points <= last {
							want = 3
						}
					}
					p := proof.Pair{Gain: gain, Lose: lose, Shift: -int(m)}
					if has[p] != want {
						t.Fatalf("cells %d and %d, points %d to %d apart, by %d bins of %d: %d, want %d", gain, lose, first, last, m, points, has[p], want)
					}
					delete(has, p)
				}
			}
		}
		if len(has) > 0 {
			t.Errorf("more pairs: %v", has)
		}
	}
}

// TestLimitsOfSpecs: the last that is taken, and the first that is not.
func TestLimitsOfSpecs(t *testing.T) {
	base := func() Spec {
		s := randomSpec(rand.New(rand.NewPCG(57, 58)))
		s.Grid = Grid{PointsPerBin: 1}
		s.Edges, s.Rows, s.Weight = []float64{0, 5}, [][]uint64{{1 << 63, 1 << 63}}, []float64{1}
		s.Privacy.Sensitivity = 1
		return s
	}
	many := func(n int) func(*Spec) {
		return func(s *Spec) {
			s.Edges, s.Weight = []float64{0}, nil
			row := s.Rows[0]
			s.Rows = nil
			for i := range n {
				s.Edges, s.Weight, s.Rows = append(s.Edges, float64(i+1)), append(s.Weight, 1), append(s.Rows, row)
			}
		}
	}
	bins := func(n int) func(*Spec) {
		return func(s *Spec) {
			row := make([]uint64, n)
			for i := range row {
				row[i] = 1
				row[0]--
			}
			s.Rows = [][]uint64{row}
		}
	}
	edges := func(list ...float64) func(*Spec) {
		return func(s *Spec) {
			s.Edges = list
			s.Weight, s.Rows = nil, nil
			for range len(list) - 1 {
				s.Weight, s.Rows = append(s.Weight, 1), append(s.Rows, []uint64{1 << 63, 1 << 63})
			}
		}
	}
	inf := math.Inf(1)
	shift := func(list ...dualShift) func(*Spec) {
		return func(s *Spec) {
			s.Edges, s.Weight, s.Rows = []float64{0, 5, 10}, []float64{1, 1}, [][]uint64{s.Rows[0], s.Rows[0]}
			s.Dual = &Dual{NodesPerSensitivity: 2, Exponent: -10, Shifts: list}
		}
	}
	one := []int64{1}
	for i, c := range []struct {
		change func(*Spec)
		taken  bool
	}{
		{func(*Spec) {}, true},
		{many(limits.AdditiveCells), true},
		{many(limits.AdditiveCells + 1), false},
		{bins(2), true},
		{bins(maxBins + 1), false},
		{func(s *Spec) { s.Rows = [][]uint64{{}} }, false},
		{func(s *Spec) { s.Rows = nil }, false},
		{func(s *Spec) { s.Rows = append(s.Rows, s.Rows[0]) }, false},
		{func(s *Spec) { s.Edges = []float64{0} }, false},
		{func(s *Spec) { s.Privacy.Epsilon = 100 }, true},
		{func(s *Spec) { s.Privacy.Epsilon = math.Nextafter(100, 101) }, false},
		{func(s *Spec) { s.Privacy.Delta = 1 }, false},
		{func(s *Spec) { s.Loss = nil }, false},
		{func(s *Spec) { s.Claims.Delta = "1e5" }, false},
		{func(s *Spec) { s.Weight = []float64{0} }, false},
		{func(s *Spec) { s.Weight = []float64{-1} }, false},
		{func(s *Spec) { s.Weight = []float64{inf} }, false},
		{func(s *Spec) { s.Grid.PointsPerBin = maxPointsPerBin }, true},
		{func(s *Spec) { s.Grid.PointsPerBin = maxPointsPerBin + 1 }, false},
		{func(s *Spec) { s.Grid.PointsPerBin = 0 }, false},
		{func(s *Spec) { s.Grid.FirstBin = maxFirstBin }, true},
		{func(s *Spec) { s.Grid.FirstBin = maxFirstBin + 1 }, false},
		{func(s *Spec) { s.Grid.FirstBin = -maxFirstBin - 1 }, false},
		{func(s *Spec) { s.Privacy.Sensitivity = maxBins }, true},
		{func(s *Spec) { s.Privacy.Sensitivity = maxBins + 0.5 }, false},
		{func(s *Spec) { s.Grid.GranularityExponent = exponentRange + 1 }, false},
		{func(s *Spec) { s.Grid.GranularityExponent = -exponentRange - 1 }, false},
		{edges(-inf, inf), true},
		{edges(-inf, 0, inf), true},
		{edges(inf, 5), false},
		{edges(0, -inf), false},
		{edges(0, inf, 5), false},
		{edges(-inf, -inf), false},
		{edges(0, math.NaN()), false},
		{edges(math.NaN(), 0), false},
		{edges(1, 1), false},
		{edges(1, 0), false},
		{edges(0, 0.4), false}, // the same point
		{edges(0, 0.5), true},
		{edges(0, 0.5, 1), false},
		{edges(0, exact.MaxInteger), true},
		{edges(0, exact.MaxInteger+2), false},
		{shift(), true},
		{shift(dualShift{Gain: 0, Lose: 1, Shift: -1, Multipliers: one}), true},
		{shift(dualShift{Gain: 0, Lose: 1, Shift: 1, Multipliers: one}), false},
		{shift(dualShift{Gain: 0, Lose: 0, Shift: 2, Multipliers: one}), true},
		{shift(dualShift{Gain: 0, Lose: 0, Shift: 3, Multipliers: one}), false},
		{shift(dualShift{Gain: 0, Lose: 0, Shift: 0, Multipliers: one}), false},
		{shift(dualShift{Gain: 0, Lose: 2, Shift: 0, Multipliers: one}), false},
		{shift(dualShift{Gain: 2, Lose: 0, Shift: 0, Multipliers: one}), false},
		{shift(dualShift{Gain: -1, Lose: 0, Shift: 0, Multipliers: one}), false},
		{shift(dualShift{Gain: 0, Lose: -1, Shift: 0, Multipliers: one}), false},
		{shift(dualShift{Gain: 0, Lose: 0, Shift: 2, Multipliers: []int64{-1}}), false},
		{shift(dualShift{Gain: 0, Lose: 0, Shift: 2, Below: -1}), false},
		{shift(dualShift{Gain: 0, Lose: 0, Shift: 2, First: -maxNode, Multipliers: one}), true},
		{shift(dualShift{Gain: 0, Lose: 0, Shift: 2, First: -maxNode - 1, Multipliers: one}), false},
		{shift(dualShift{Gain: 0, Lose: 0, Shift: 2, First: maxNode - 1, Multipliers: one}), true},
		{shift(dualShift{Gain: 0, Lose: 0, Shift: 2, First: maxNode, Multipliers: one}), false},
		{shift(dualShift{Gain: 0, Lose: 0, Shift: 2, Multipliers: one}, dualShift{Gain: 0, Lose: 0, Shift: 2, Multipliers: one}), false},
		{shift(dualShift{Gain: 0, Lose: 0, Shift: 2, Multipliers: one}, dualShift{Gain: 0, Lose: 0, Shift: -2, Multipliers: one}), true},
		{func(s *Spec) { s.Dual = &Dual{NodesPerSensitivity: maxBins, Exponent: -10} }, true},
		{func(s *Spec) { s.Dual = &Dual{NodesPerSensitivity: maxBins + 1, Exponent: -10} }, false},
		{func(s *Spec) { s.Dual = &Dual{NodesPerSensitivity: 0, Exponent: -10} }, false},
		{func(s *Spec) { s.Dual = &Dual{NodesPerSensitivity: 1, Exponent: 1 << 20} }, false},
	} {
		s := base()
		c.change(&s)
		if err := s.validate(); (err == nil) != c.taken {
			t.Errorf("case %d: %v, want it taken: %v", i, err, c.taken)
		}
	}
}

// TestCapsToAUnit: the delta and the cap that are promised hold to a unit, and a cap is of its own loss.
func TestCapsToAUnit(t *testing.T) {
	s := randomSpec(rand.New(rand.NewPCG(59, 60)))
	s.InstanceCap, s.CapLoss = math.MaxFloat64, loss.L2
	c := newKernel(t, s).Certify()
	capped, delta := exact.FloatUp(c.CapLoss), exact.FloatUp(c.DeltaUpper)
	for _, o := range []struct {
		capped, delta float64
		holds         bool
	}{{capped, delta, true}, {math.Nextafter(capped, 0), delta, false}, {capped, math.Nextafter(delta, 0), false}} {
		s.InstanceCap, s.Privacy.Delta = o.capped, o.delta
		if _, err := newKernel(t, s).Verify(); (err == nil) != o.holds {
			t.Errorf("cap %g of %g, delta %g of %g: %v", o.capped, capped, o.delta, delta, err)
		}
	}
	if _, l := newKernel(t, s).InstanceCap(); l.Name() != "l2" {
		t.Errorf("the cap is of %s", l.Name())
	}
	s.CapLoss = nil
	if _, l := newKernel(t, s).InstanceCap(); l.Name() != "l1" {
		t.Errorf("without a loss of its own, the cap is of %s", l.Name())
	}
}

// TestWithDual: all but the lower bound stays, which is that of the dual.
func TestWithDual(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	positive := 0
	for range 40 {
		s := randomSpec(rng)
		k := newKernel(t, s)
		s.Dual = randomDual(rng, s)
		want := newKernel(t, s)
		with, err := k.WithDual(context.Background(), s.Dual)
		if err != nil {
			t.Fatal(err)
		}
		if with.spec.Claims != want.spec.Claims || with.Certify().LowerBound.Cmp(want.Certify().LowerBound) != 0 {
			t.Errorf("claims %+v, want %+v", with.spec.Claims, want.spec.Claims)
		}
		positive += want.Certify().LowerBound.Sign()
	}
	if positive == 0 {
		t.Error("no dual proves anything")
	}
}

// TestLeastWeightCounts: a weight of 1 is a probability of 2^-64, of the losses too.
func TestLeastWeightCounts(t *testing.T) {
	s := Spec{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.99, Sensitivity: 1}, Loss: loss.L1, Grid: Grid{PointsPerBin: 1},
		Edges: []float64{0, 5}, Weight: []float64{1}, Rows: [][]uint64{{math.MaxUint64, 1}},
	}
	c := newKernel(t, s).Certify()
	if want := exact.PowerOfTwo(-64); c.ExpectedLoss.Cmp(want) != 0 || c.MaxLoss.Cmp(want) != 0 {
		t.Errorf("losses %s and %s, want 2^-64", c.ExpectedLoss, c.MaxLoss)
	}
}

// TestShiftsBothWays: the whole shifts of a lower bound, for cells in either order and at the sensitivity itself.
func TestShiftsBothWays(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 64))
	for range 300 {
		sensitivity, parts := float64(int(1)<<rng.IntN(3)), 1<<rng.IntN(5)
		edges := []float64{float64(rng.IntN(9) - 4)}
		for range 1 + rng.IntN(4) {
			edges = append(edges, edges[len(edges)-1]+float64(1+rng.IntN(12))/4)
		}
		has := make(map[Pair]bool)
		for _, p := range (&Spec{Edges: edges, Privacy: dp.Privacy{Sensitivity: sensitivity}}).Shifts(parts, false) {
			has[p] = true
		}
		for gain := range len(edges) - 1 {
			for lose := range len(edges) - 1 {
				least, most := edges[gain]-edges[lose+1], edges[gain+1]-edges[lose] // of differences, without the ends
				for k := -2 * parts; k <= 2*parts; k++ {
					d := float64(k) * sensitivity / float64(parts)
					want := least < sensitivity && most > -sensitivity && d >= max(least, -sensitivity) && d <= min(most, sensitivity) && (gain != lose || k != 0)
					if p := (Pair{gain, lose, int64(k)}); has[p] != want {
						t.Fatalf("edges %v, sensitivity %g, %+v of %d: %v, want %v", edges, sensitivity, p, parts, !want, want)
					}
				}
			}
		}
	}
}
