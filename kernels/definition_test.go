// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// randomDual has multipliers without any sense, of which each kind is there at times.
func randomDual(rng *rand.Rand, s Spec) *Dual {
	d := &Dual{Cells: 1 + rng.IntN(6), Exponent: -20 - rng.IntN(30), Mirrored: rng.IntN(2) == 0}
	reach := s.Queries.Reach(d.Cells, s.Privacy.Sensitivity)
	for i := range 2 * d.Cells {
		if rng.IntN(10) == 0 {
			continue
		}
		a := dualPair{Gain: i % d.Cells}
		a.Lose = a.Gain + rng.IntN(2*reach+1) - reach
		a.First = max(0, a.Gain-rng.IntN(2)) // so that the cheap answer costs something
		for range min(d.Cells, a.Gain+1+rng.IntN(2)) - a.First {
			a.Multipliers = append(a.Multipliers, rng.Int64N(1<<uint(-d.Exponent))/int64(16*d.Cells))
		}
		d.Pairs = append(d.Pairs, a)
		if d.validate(s.Privacy, s.Queries) != nil {
			d.Pairs = d.Pairs[:len(d.Pairs)-1]
		}
	}
	if rng.IntN(2) == 0 {
		for range d.Cells {
			d.Caps = append(d.Caps, rng.Int64N(1<<uint(-d.Exponent))/int64(8*d.Cells))
		}
	}
	return d
}

// TestLowerBoundFromItsDefinition: it is the formula of LowerBound, at most a unit of 2^(x−96) of each cell below it.
func TestLowerBoundFromItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	losses := []loss.Loss{loss.L1, loss.L2}
	positive, capped := 0, 0
	for range 500 {
		s := Spec{
			Privacy: dp.Privacy{Epsilon: 2 * rng.Float64(), Delta: []float64{0, 1e-3, 0.1}[rng.IntN(3)], Sensitivity: 0.3 + 2*rng.Float64()},
			Queries: Queries{Lower: -1, Upper: 1 + rng.Float64()}, Loss: losses[rng.IntN(2)],
		}
		if rng.IntN(2) == 0 {
			s.Queries.Weight = []proof.Piece{{From: -1, Weight: 1}, {From: rng.Float64(), Weight: 0.2 + rng.Float64()}}
		}
		if rng.IntN(3) > 0 {
			s.InstanceCap = 0.3 * rng.Float64()
		}
		if rng.IntN(2) == 0 {
			s.CapLoss = losses[rng.IntN(2)]
		}
		s.Dual = randomDual(rng, s)
		d, got := s.Dual, s.LowerBound()
		w, l, _ := s.Queries.CellCosts(d.Cells, s.Loss)
		_, lc, _ := s.Queries.CellCosts(d.Cells, s.capLoss())
		unit := exact.PowerOfTwo(d.Exponent)
		// e^ε from below by 300 places: a bound that takes it any smaller is too large.
		ratio := new(big.Rat).SetFrac(exact.ExpDown(s.Privacy.Epsilon, 300), new(big.Int).Lsh(big.NewInt(1), 300))
		times := func(n int64, r *big.Rat) *big.Rat { return new(big.Rat).Mul(new(big.Rat).SetInt64(n), r) }
		want, caps := new(big.Rat), new(big.Rat)
		for k := range d.Cells {
			var least *big.Rat
			for j := range d.Cells {
				c := new(big.Rat).Mul(w[k], l[k][j])
				if s.InstanceCap > 0 && len(d.Caps) > 0 {
					c.Add(c, times(d.Caps[k], new(big.Rat).Mul(unit, lc[k][j])))
				}
				for _, p := range d.Pairs {
					for i, y := range p.Multipliers {
						for mirror := range 2 {
							gain, lose, at := p.Gain, p.Lose, p.First+i
							if mirror == 1 {
								if !d.Mirrored {
									continue
								}
								gain, lose, at = d.Cells-1-gain, d.Cells-1-lose, d.Cells-1-at
							}
							if at == j && gain == k {
								c.Add(c, times(y, unit))
							}
							if at == j && lose == k {
								c.Sub(c, times(y, new(big.Rat).Mul(unit, ratio)))
							}
						}
					}
				}
				if least == nil || c.Cmp(least) < 0 {
					least = c
				}
			}
			want.Add(want, least)
			if len(d.Caps) > 0 {
				caps.Add(caps, times(d.Caps[k], unit))
			}
		}
		for _, p := range d.Pairs {
			most := p.Multipliers[0]
			for _, y := range p.Multipliers {
				most = max(most, y)
			}
			if d.Mirrored {
				most *= 2
			}
			want.Sub(want, times(most, new(big.Rat).Mul(unit, exact.Rational(s.Privacy.Delta))))
		}
		if s.InstanceCap > 0 {
			want.Sub(want, caps.Mul(caps, exact.Rational(s.InstanceCap)))
		}
		if want.Sign() < 0 {
			want.SetInt64(0)
		}
		// What is lost: a unit of the floor, and 2·2^-96 of e^ε times the multipliers, of each cell.
		slack := times(int64(d.Cells)*(2+64*int64(len(d.Pairs))), exact.PowerOfTwo(d.Exponent-exact.RatioBits))
		slack.Mul(slack, exact.PowerOfTwo(-d.Exponent))
		if got.Cmp(want) > 0 || new(big.Rat).Add(got, slack).Cmp(want) < 0 {
			t.Fatalf("%+v, dual %+v: bound %s, want %s", s, d, got.FloatString(40), want.FloatString(40))
		}
		if got.Sign() > 0 {
			positive++
			if s.InstanceCap > 0 && len(d.Caps) > 0 {
				capped++
			}
		}
	}
	if positive < 60 || capped < 20 {
		t.Errorf("%d bounds above 0, %d with caps: the test tests little", positive, capped)
	}
}

// TestCellCostsFromTheirDefinition: the ends stand for the least of all nodes beyond them, and a cell has the
// least density in it all over.
func TestCellCostsFromTheirDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 84))
	for _, name := range []string{"l1", "l2", "asymmetric:1,3", "deadzone:0.4", "exceed:0.3", "pinball:0.2", "huber:0.5"} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			q := Queries{Lower: -rng.Float64(), Upper: 1 + rng.Float64()}
			q.Weight = []proof.Piece{{From: q.Lower, Weight: rng.Float64()}, {From: 0.2, Weight: 0.1 + rng.Float64()}, {From: 0.3, Weight: rng.Float64()}, {From: 0.9, Weight: rng.Float64()}}
			cells := 1 + rng.IntN(6)
			w, costs, ok := q.CellCosts(cells, l)
			if !ok {
				t.Fatalf("%s has no costs", name)
			}
			step := new(big.Rat).Sub(exact.Rational(q.Upper), exact.Rational(q.Lower))
			step.Quo(step, big.NewRat(int64(cells), 1))
			for k := range cells {
				from := new(big.Rat).Add(exact.Rational(q.Lower), new(big.Rat).Mul(step, big.NewRat(int64(k), 1)))
				to := new(big.Rat).Add(from, step)
				var least *big.Rat
				for _, p := range q.Weight.Densities(q.Lower, q.Upper) {
					if p.From.Cmp(to) < 0 && p.To.Cmp(from) > 0 && (least == nil || p.Density.Cmp(least) < 0) {
						least = p.Density
					}
				}
				if want := new(big.Rat).Mul(least, step); w[k].Cmp(want) != 0 {
					t.Errorf("cell %d of %d: mass %s, want %s", k, cells, w[k], want)
				}
				for j := range cells {
					first, last := j-k, j-k
					if j == 0 {
						first -= 40
					}
					if j == cells-1 {
						last += 40
					}
					want := l.LowerNode(int64(j-k), step)
					for i := first; i <= last; i++ {
						if c := l.LowerNode(int64(i), step); c.Cmp(want) < 0 {
							want = c
						}
					}
					if costs[k][j].Cmp(want) != 0 {
						t.Errorf("%s: cell %d of %d, answer %d: cost %s, want %s", name, k, cells, j, costs[k][j].FloatString(9), want.FloatString(9))
					}
				}
			}
		}
	}
}

// TestReach is the number of whole cells in a sensitivity, and all at most.
func TestReach(t *testing.T) {
	q := Queries{Lower: -1, Upper: 2}
	for _, c := range []struct {
		cells       int
		sensitivity float64
		want        int
	}{
		{3, 1, 1},
		{3, math.Nextafter(1, 0), 0},
		{3, math.Nextafter(2, 3), 2},
		{6, 1.4, 2},
		{3, 3, 3},
		{3, 4, 3},
		{3, 1e300, 3},
	} {
		if got := q.Reach(c.cells, c.sensitivity); got != c.want {
			t.Errorf("%d cells, sensitivity %g: reach %d, want %d", c.cells, c.sensitivity, got, c.want)
		}
	}
}

// TestEveryInputHasItsCell: at each edge, one float64 to either side, and outside.
func TestEveryInputHasItsCell(t *testing.T) {
	rng := rand.New(rand.NewPCG(85, 86))
	for range 30 {
		k := newKernel(t, randomSpec(t, rng))
		n := k.Cells()
		for i := range n + 1 {
			e := k.Edge(i)
			for _, x := range []float64{math.Nextafter(e, math.Inf(-1)), e, math.Nextafter(e, math.Inf(1))} {
				want, inside := -1, x >= k.Edge(0) && x <= k.Edge(n)
				for j := range n {
					if x >= k.Edge(j) {
						want = j
					}
				}
				got, ok := k.CellOf(x)
				c, err := k.ChooseNumber(x)
				if ok != inside || (err == nil) != inside || inside && (got != want || c.Row != want) || !inside && got != 0 {
					t.Errorf("%g of %v: cell %d, %v, and row %d, %v; want %d, %v", x, k.spec.Edges, got, ok, c.Row, err, want, inside)
				}
				if math.IsNaN(k.LossAt(x)) == inside {
					t.Errorf("loss %g at %g", k.LossAt(x), x)
				}
			}
		}
		for i := range n {
			x, _ := proof.Float(k.Input(i))
			if got, ok := k.CellOf(x); !ok || got != i || math.Abs(x-(k.Edge(i)+k.Edge(i+1))/2) > 1e-9 {
				t.Errorf("the input %g of cell %d is in %d", x, i, got)
			}
			x, _ = proof.Float(k.Answer(proof.Choice{}, i, 0))
			if x != k.Node(i) || k.AnswerNumber(proof.Choice{}, i, 0) != k.Node(i) {
				t.Errorf("answer %d is %g", i, x)
			}
		}
		if _, ok := k.CellOf(math.NaN()); ok || k.Points() != 0 {
			t.Error("NaN is in a cell, or answers have points")
		}
		pairs := make(map[proof.Pair]bool)
		all, own := k.Pairs()
		for _, p := range all {
			pairs[p] = true
		}
		if len(own) != len(all) || len(pairs) != len(all) {
			t.Errorf("%d pairs, %d different ones, %d of its own", len(all), len(pairs), len(own))
		}
		for i := range n {
			for j := range n {
				apart := exact.Rational(max(k.Edge(i), k.Edge(j)))
				apart.Sub(apart, exact.Rational(min(k.Edge(i+1), k.Edge(j+1))))
				want := i != j && apart.Cmp(exact.Rational(k.Privacy().Sensitivity)) < 0
				if pairs[proof.Pair{Gain: i, Lose: j}] != want {
					t.Errorf("cells %d and %d of %v at a sensitivity of %g: a pair is %v, want %v", i, j, k.spec.Edges, k.Privacy().Sensitivity, !want, want)
				}
			}
		}
	}
	// A cell of two neighboring float64s has no middle but its edge.
	s := exponentialSpec(t, 1, 0.4, Queries{}, 1, math.Nextafter(1, 2), 2)
	s.Nodes = []float64{1, 1.5}
	if x, _ := proof.Float(newKernel(t, s).Input(0)); x != 1 {
		t.Errorf("the input of a cell without a middle is %g", x)
	}
}

// TestCapIsOfItsLoss: a cap of another loss than that of the design is held to that one, to a unit.
func TestCapIsOfItsLoss(t *testing.T) {
	s := exponentialSpec(t, 1, 0.45, Queries{}, 0, 0.5, 1, 1.5, 2)
	s.CapLoss, s.InstanceCap = loss.L2, 1e6
	k := newKernel(t, s)
	if k.Certify().CapLoss.Cmp(k.Certify().MaxLoss) == 0 || k.CapLoss().Name() != "l2" {
		t.Fatal("both losses are the same")
	}
	if other := exponentialSpec(t, 1, 0.45, Queries{}, 0, 0.5, 1, 1.5, 2); newKernel(t, other).CapLoss().Name() != "l1" {
		t.Error("without a loss of its own, a cap is not of the loss")
	}
	s.Loss = loss.L2
	same := s
	same.CapLoss = nil
	most := newKernel(t, same).Certify()
	if k.Certify().CapLoss.Cmp(most.MaxLoss) != 0 || k.Certify().CapLossAt != most.MaxLossAt || most.CapLoss.Cmp(most.MaxLoss) != 0 {
		t.Errorf("the capped loss is at most %s at %g, want %s at %g", k.Certify().CapLoss, k.Certify().CapLossAt, most.MaxLoss, most.MaxLossAt)
	}
	limit := exact.FloatUp(most.MaxLoss)
	for _, c := range []struct {
		limit float64
		holds bool
	}{{limit, true}, {math.Nextafter(limit, 0), false}} {
		same.InstanceCap = c.limit
		if _, err := newKernel(t, same).Verify(); (err == nil) != c.holds {
			t.Errorf("cap %g for %s: %v", c.limit, most.MaxLoss.FloatString(20), err)
		}
	}
}

// TestLimitsOfSpecs: the last that is taken, and the first that is not.
func TestLimitsOfSpecs(t *testing.T) {
	edges := func(n int) []float64 {
		e := make([]float64, n+1)
		for i := range e {
			e[i] = float64(i)
		}
		return e
	}
	spec := func(n int) Spec {
		s := Spec{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Queries: Queries{Upper: float64(n)}, Loss: loss.L1, Edges: edges(n), Nodes: edges(n)[:n], Rows: make([][]uint64, n)}
		for i := range s.Rows {
			s.Rows[i] = make([]uint64, n)
			for j := range n - 1 {
				s.Rows[i][j] = 1 << 10
				s.Rows[i][n-1] -= 1 << 10
			}
		}
		return s
	}
	for _, c := range []struct {
		change func(*Spec)
		n      int
		taken  bool
	}{
		{func(*Spec) {}, 2, true},
		{func(*Spec) {}, limits.KernelCells, true},
		{func(*Spec) {}, limits.KernelCells + 1, false},
		{func(s *Spec) { s.Nodes, s.Edges, s.Rows = nil, []float64{0}, nil }, 2, false},
		{func(s *Spec) { s.Privacy.Epsilon = 100 }, 2, true},
		{func(s *Spec) { s.Privacy.Epsilon = math.Nextafter(100, 101) }, 2, false},
		{func(s *Spec) { s.Loss = odd{loss.L1} }, 2, false},
		{func(s *Spec) { s.CapLoss, s.InstanceCap = odd{loss.L1}, 1 }, 2, false},
		{func(s *Spec) { s.Dual = &Dual{Cells: limits.KernelCells, Exponent: -10} }, 2, true},
		{func(s *Spec) { s.Dual = &Dual{Cells: limits.KernelCells + 1, Exponent: -10} }, 2, false},
		{func(s *Spec) { s.Dual = &Dual{Cells: 0, Exponent: -10} }, 2, false},
		{dual(dualPair{Gain: 0, Lose: 1, First: 0, Multipliers: []int64{1}}), 2, true},
		{dual(dualPair{Gain: 0, Lose: 1, First: 0, Multipliers: []int64{1, 1}}), 2, true},
		{dual(dualPair{Gain: 0, Lose: 1, First: 1, Multipliers: []int64{1, 1}}), 2, false},
		{dual(dualPair{Gain: 0, Lose: 1, First: -1, Multipliers: []int64{1, 1}}), 2, false},
		{dual(dualPair{Gain: 0, Lose: 2, First: 0, Multipliers: []int64{1}}), 2, false},
		{dual(dualPair{Gain: -1, Lose: 0, First: 0, Multipliers: []int64{1}}), 2, false},
		{dual(dualPair{Gain: 0, Lose: -1, First: 0, Multipliers: []int64{1}}), 2, false},
		{dual(dualPair{Gain: 2, Lose: 1, First: 0, Multipliers: []int64{1}}), 2, false},
		{dual(dualPair{Gain: 0, Lose: 0, First: 0, Multipliers: []int64{1}}), 2, false},
		{dual(dualPair{Gain: 0, Lose: 1, First: 0, Multipliers: []int64{-1}}), 2, false},
		{dual(dualPair{Gain: 0, Lose: 1, First: 0, Multipliers: []int64{1}}, dualPair{Gain: 0, Lose: 1, First: 1, Multipliers: []int64{1}}), 2, false},
		{dual(dualPair{Gain: 0, Lose: 1, First: 0, Multipliers: []int64{1}}, dualPair{Gain: 1, Lose: 0, First: 1, Multipliers: []int64{1}}), 2, true},
	} {
		s := spec(c.n)
		c.change(&s)
		if err := s.validate(); (err == nil) != c.taken {
			t.Errorf("%d cells, dual %+v, epsilon %g: %v", c.n, s.Dual, s.Privacy.Epsilon, err)
		}
	}
}

func dual(pairs ...dualPair) func(*Spec) {
	return func(s *Spec) { s.Dual = &Dual{Cells: 2, Exponent: -10, Pairs: pairs} }
}

// odd is a loss that says nothing of its shape.
type odd struct{ loss.Loss }

func (odd) Name() string { return "odd" }

// TestWithDual: all but the lower bound stays, which is that of the dual.
func TestWithDual(t *testing.T) {
	s := exponentialSpec(t, 1, 0.45, Queries{}, 0, 1, 2)
	k := newKernel(t, s)
	d := &Dual{Cells: 2, Exponent: -40, Mirrored: true, Pairs: []dualPair{{Gain: 0, Lose: 1, First: 0, Multipliers: []int64{1 << 37}}}}
	with, err := k.WithDual(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	s.Dual = d
	want := newKernel(t, s).Certify()
	if got := with.Certify(); got.LowerBound.Cmp(want.LowerBound) != 0 || got.LowerBound.Sign() <= 0 || got.ExpectedLoss.Cmp(want.ExpectedLoss) != 0 || with.spec.Claims != want.Claims() {
		t.Errorf("certificate %+v, want %+v", got, want)
	}
	if k.Certify().LowerBound.Sign() != 0 {
		t.Error("the kernel itself has changed")
	}
}

// TestLeastWeightCounts: a weight of 1 at an answer 2^60 away is a sixteenth of a unit of loss.
func TestLeastWeightCounts(t *testing.T) {
	s := Spec{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Queries: Queries{Upper: 2}, Loss: loss.L1,
		Edges: []float64{0, 1, 2}, Nodes: []float64{1, 0x1p60}, Rows: [][]uint64{{math.MaxUint64, 1}, {math.MaxUint64, 1}},
	}
	c := newKernel(t, s).Certify()
	expected, _ := c.ExpectedLoss.Float64()
	largest, _ := c.MaxLoss.Float64()
	if math.Abs(expected-0.5625) > 1e-9 || math.Abs(largest-1.0625) > 1e-9 {
		t.Errorf("losses %g and %g, want 0.5625 and 1.0625", expected, largest)
	}
}
