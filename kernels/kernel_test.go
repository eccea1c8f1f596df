// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// exponentialSpec is the exponential mechanism on the centers of cells, P_k(j) ∝
// e^(−r|node_j − node_k|): private with delta 0 at epsilon, r a share of epsilon
// per sensitivity that leaves room for the width of the cells.
func exponentialSpec(tb testing.TB, epsilon, share float64, q Queries, edges ...float64) Spec {
	tb.Helper()
	n := len(edges) - 1
	q.Lower, q.Upper = edges[0], edges[n]
	s := Spec{
		Privacy: dp.Privacy{Epsilon: epsilon, Delta: 1e-9, Sensitivity: 1},
		Queries: q, Loss: loss.L1, Edges: edges,
	}
	for k := range n {
		s.Nodes = append(s.Nodes, (edges[k]+edges[k+1])/2)
	}
	for _, x := range s.Nodes {
		pmf := make([]float64, n)
		var sum float64
		for j, y := range s.Nodes {
			pmf[j] = math.Exp(-share * epsilon * math.Abs(y-x))
			sum += pmf[j]
		}
		for j := range pmf {
			pmf[j] /= sum
		}
		w, _, err := tables.Quantize(pmf, 0)
		if err != nil {
			tb.Fatal(err)
		}
		s.Rows = append(s.Rows, w)
	}
	return s
}

func newKernel(tb testing.TB, s Spec) *Kernel {
	tb.Helper()
	k, err := New(tb.Context(), s)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// randomSpec has edges and rows without any structure.
func randomSpec(tb testing.TB, rng *rand.Rand) Spec {
	tb.Helper()
	n := 2 + rng.IntN(6)
	edges := make([]float64, n+1)
	for i := 1; i <= n; i++ {
		edges[i] = edges[i-1] + 0.05 + rng.Float64()
	}
	s := exponentialSpec(tb, []float64{0, 0.4, 2}[rng.IntN(3)], 0.5, Queries{}, edges...)
	s.Privacy.Sensitivity = 0.1 + 2*rng.Float64()
	s.Privacy.Delta = 0.99
	for k := range s.Rows {
		pmf := make([]float64, n)
		for range 3 {
			pmf[rng.IntN(n)] += 0.25
		}
		pmf[k] += 0.25
		if w, _, err := tables.Quantize(pmf, 0); err == nil { // else an answer is certain
			s.Rows[k] = w
		}
	}
	return s
}

// TestDeltaAgainstQueries compares the certified delta with the divergences
// between the laws of many pairs of query values within the sensitivity: none may
// exceed it, and the largest, found just below the upper edge of one cell and at
// the lower edge of another, attains it.
func TestDeltaAgainstQueries(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(41, 42))
	for range 100 {
		s := randomSpec(t, rng)
		k := newKernel(t, s)
		certified, _ := k.Certify().DeltaUpper.Float64()
		e := math.Exp(s.Privacy.Epsilon)
		worst := 0.0
		compare := func(x, y float64) {
			i, okX := k.CellOf(x)
			m, okY := k.CellOf(y)
			if !okX || !okY || math.Abs(x-y) > s.Privacy.Sensitivity {
				return
			}
			p, q := k.PMF(i), k.PMF(m)
			var there, back float64
			for j := range p {
				there += max(0, p[j]-e*q[j])
				back += max(0, q[j]-e*p[j])
			}
			worst = max(worst, there, back)
		}
		for _, a := range s.Edges {
			for _, b := range s.Edges {
				compare(math.Nextafter(a, 0), b)
			}
		}
		for range 2000 {
			x := s.Queries.Upper * rng.Float64()
			compare(x, x+s.Privacy.Sensitivity*(2*rng.Float64()-1))
		}
		if math.Abs(worst-certified) > 1e-12 {
			t.Fatalf("the largest divergence found is %g, certified %g\n%+v", worst, certified, s)
		}
	}
}

// TestProtectedPairs: with K cells per sensitivity the pairs up to K apart, however
// wide the outer cells are; and one unit in the last place decides.
func TestProtectedPairs(t *testing.T) {
	edges := []float64{-9, 0.5, 1, 1.5, 2, 2.5, 77}
	count := func(sensitivity float64) (n, widest int) {
		for _, p := range (&Spec{Edges: edges, Privacy: dp.Privacy{Sensitivity: sensitivity}}).ProtectedPairs() {
			n++
			widest = max(widest, p[1]-p[0])
		}
		return n, widest
	}
	if n, widest := count(1); n != 5+4 || widest != 2 {
		t.Errorf("%d pairs, at most %d apart, want 9 and 2", n, widest)
	}
	if n, widest := count(math.Nextafter(1, 2)); n != 5+4+3 || widest != 3 {
		t.Errorf("a hair more: %d pairs, at most %d apart, want 12 and 3", n, widest)
	}
}

// TestLossAgainstQuadrature compares the exact expected loss and the bound on
// the largest with the midpoint rule and a fine scan, also with a weight whose
// pieces start between nodes.
func TestLossAgainstQuadrature(t *testing.T) {
	for _, loss := range []loss.Loss{loss.L1, loss.L2} {
		for _, q := range []Queries{{}, {Weight: []proof.Piece{{From: -1, Weight: 0.5}, {From: -0.7, Weight: 0}, {From: 0.05, Weight: 3}, {From: 2, Weight: 1}}}} {
			s := exponentialSpec(t, 1, 0.5, q, -1, -0.5, 0, 0.3, 1.7, 2.5)
			s.Loss = loss
			k := newKernel(t, s)
			c := k.Certify()
			const steps = 200000
			var sum, mass, most float64
			for i := range steps {
				x := -1 + 3.5*(float64(i)+0.5)/steps
				w := 1.0
				for _, p := range q.Weight {
					if x >= p.From {
						w = p.Weight
					}
				}
				l := k.LossAt(x)
				sum += w * l
				mass += w
				most = max(most, l)
			}
			if got, _ := c.ExpectedLoss.Float64(); math.Abs(got-sum/mass) > 1e-5*got {
				t.Errorf("%s %v: expected loss %g, by quadrature %g", loss.Name(), q.Weight, got, sum/mass)
			}
			if got, _ := c.MaxLoss.Float64(); got < most || got > 1.02*most {
				t.Errorf("%s %v: largest loss %g, found %g", loss.Name(), q.Weight, got, most)
			}
		}
	}
}

// TestDualNeverExceedsAnAchievedLoss is weak duality: whatever multipliers
// are written down, the bound stays below the loss of a private kernel.
func TestDualNeverExceedsAnAchievedLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(43, 44))
	others := []loss.Loss{loss.L2, loss.L1} // of caps
	for i, loss := range []loss.Loss{loss.L1, loss.L2} {
		other := others[i]
		for _, q := range []Queries{{}, {Weight: []proof.Piece{{From: 0, Weight: 1}, {From: 0.7, Weight: 5}, {From: 1.9, Weight: 0.2}}}} {
			s := exponentialSpec(t, 1, 0.45, q, 0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5)
			s.Loss = loss
			k := newKernel(t, s)
			if _, err := k.Verify(); err != nil {
				t.Fatal(err)
			}
			c := k.Certify()
			most, _ := c.MaxLoss.Float64()
			s.InstanceCap, s.CapLoss = math.MaxFloat64, other
			otherMost, _ := newKernel(t, s).Certify().CapLoss.Float64()
			best := 0.0
			for range 400 {
				d := Dual{Cells: 1 + rng.IntN(9), Exponent: -40, Mirrored: rng.IntN(2) == 0}
				reach := s.Queries.Reach(d.Cells, 1)
				for range rng.IntN(3 * d.Cells) {
					a := dualPair{Gain: rng.IntN(d.Cells)}
					a.Lose = a.Gain + rng.IntN(2*reach+1) - reach
					// Good ones raise the cost of the cheap answer.
					a.First = max(0, a.Gain-rng.IntN(2))
					scale := 0x1p40 * rng.Float64() / float64(d.Cells*d.Cells)
					for j := a.First; j <= a.Gain; j++ {
						a.Multipliers = append(a.Multipliers, int64(scale*rng.Float64()))
					}
					d.Pairs = append(d.Pairs, a)
					if d.validate(s.Privacy, s.Queries) != nil {
						d.Pairs = d.Pairs[:len(d.Pairs)-1]
					}
				}
				if rng.IntN(2) == 0 {
					for range d.Cells {
						d.Caps = append(d.Caps, rng.Int64N(1<<38))
					}
				}
				if err := d.validate(s.Privacy, s.Queries); err != nil {
					t.Fatal(err)
				}
				for _, o := range []Spec{{}, {InstanceCap: 1.0001 * most}, {InstanceCap: 1.0001 * otherMost, CapLoss: other}} {
					o.Privacy, o.Queries, o.Loss, o.Dual = s.Privacy, s.Queries, loss, &d
					lb := o.LowerBound()
					if lb.Cmp(c.ExpectedLoss) > 0 {
						t.Fatalf("%s: bound %s above the achieved %s: %+v", loss.Name(), lb.FloatString(10), c.ExpectedLoss.FloatString(10), d)
					}
					f, _ := lb.Float64()
					best = max(best, f)
				}
			}
			if best == 0 {
				t.Errorf("%s: every random bound was 0; the test tests nothing", loss.Name())
			}
		}
	}
}

// TestBoundByHand: two cells, one per sensitivity, with one multiplier each
// way. With l1 on [0, 2], Δ = 1: w = ½, l = |j−k|, and y on the pairs
// (0,1) at output 0 and (1,0) at output 1 makes the reduced costs
// ½·0 + y, ½·1 − e^ε y for k = 0, and the same for k = 1.
func TestBoundByHand(t *testing.T) {
	p := dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}
	q := Queries{Lower: 0, Upper: 2}
	const y = 0.125
	d := &Dual{Cells: 2, Exponent: -40, Mirrored: true, Pairs: []dualPair{{Gain: 0, Lose: 1, First: 0, Multipliers: []int64{y * (1 << 40)}}}}
	got, _ := (&Spec{Privacy: p, Queries: q, Loss: loss.L1, Dual: d}).LowerBound().Float64()
	// k = 0: output 0 gains y from (0,1); output 1 loses e·y through (1,0).
	want := 2*min(y, 0.5-math.E*y) - p.Delta*2*y
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("bound %g, want %g", got, want)
	}
	if b := (&Spec{Privacy: p, Queries: q, Loss: loss.L1}).LowerBound(); b.Sign() != 0 {
		t.Errorf("no multipliers prove %s", b)
	}
}

// TestVerifyRejects makes a sound kernel promise or claim slightly too much.
func TestVerifyRejects(t *testing.T) {
	base := exponentialSpec(t, 1, 0.45, Queries{}, 0, 0.25, 0.5, 0.75, 1, 1.25, 1.5)
	base.Privacy.Delta = 0.01
	base.Privacy.Epsilon = 0.5
	delta, _ := newKernel(t, base).Certify().DeltaUpper.Float64()
	if delta == 0 {
		t.Fatal("the kernel has no delta to claim")
	}
	base.Privacy.Delta = delta * (1 + 1e-9)
	good := newKernel(t, base).spec.Claims
	if _, err := newKernel(t, base).Verify(); err != nil {
		t.Fatal(err)
	}
	less := func(s string) string {
		r, err := exact.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return exact.DecimalDown(new(big.Rat).Mul(r, big.NewRat(999999999999, 1000000000000)), 15)
	}
	most, _ := newKernel(t, base).Certify().MaxLoss.Float64()
	capped := base
	capped.InstanceCap, capped.CapLoss = math.MaxFloat64, loss.L2
	squares := exact.FloatUp(newKernel(t, capped).Certify().CapLoss)
	for _, c := range []struct {
		name   string
		change func(*Spec)
		want   error
	}{
		{"delta too small", func(s *Spec) { s.Privacy.Delta = delta * (1 - 1e-12) }, proof.ErrNotPrivate},
		{"epsilon too small", func(s *Spec) { s.Privacy.Epsilon = 0.499 }, proof.ErrNotPrivate},
		{"sensitivity too large", func(s *Spec) { s.Privacy.Sensitivity = 1.001 }, proof.ErrNotPrivate},
		{"a law from far away", func(s *Spec) {
			s.Rows = append([][]uint64(nil), s.Rows...)
			s.Rows[1] = s.Rows[5]
		}, proof.ErrNotPrivate},
		{"a cap that is not kept", func(s *Spec) { s.InstanceCap = most * (1 - 1e-12) }, proof.ErrFalseClaim},
		{"a cap on another loss that is kept", func(s *Spec) { s.InstanceCap, s.CapLoss = squares, loss.L2 }, nil},
		{"a cap on another loss that is not kept", func(s *Spec) { s.InstanceCap, s.CapLoss = squares*(1-1e-12), loss.L2 }, proof.ErrFalseClaim},
		{"delta claimed too small", func(s *Spec) { s.Claims.Delta = less(good.Delta) }, proof.ErrFalseClaim},
		{"loss claimed too small", func(s *Spec) { s.Claims.ExpectedLoss = less(good.ExpectedLoss) }, proof.ErrFalseClaim},
		{"largest loss claimed too small", func(s *Spec) { s.Claims.MaxLoss = less(good.MaxLoss) }, proof.ErrFalseClaim},
		{"bound without a dual", func(s *Spec) { s.Claims.LowerBound = "0.000001" }, proof.ErrFalseClaim},
	} {
		s := base
		s.Claims = good
		c.change(&s)
		if _, err := newKernel(t, s).Verify(); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := new(Kernel).Verify(); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("zero kernel: %v", err)
	}
}

func TestNewNamesBadFields(t *testing.T) {
	base := exponentialSpec(t, 1, 0.5, Queries{}, 0, 1, 2, 3)
	pair := func(p dualPair) func(*Spec) {
		return func(s *Spec) { s.Dual = &Dual{Cells: 3, Pairs: []dualPair{p}} }
	}
	for _, c := range []struct {
		change func(*Spec)
		field  string
	}{
		{func(s *Spec) { s.Privacy.Epsilon = math.NaN() }, "epsilon"},
		{func(s *Spec) { s.Privacy.Delta = 1 }, "delta"},
		{func(s *Spec) { s.Privacy.Sensitivity = 0 }, "sensitivity"},
		{func(s *Spec) { s.Loss = nil }, "loss"},
		{func(s *Spec) { s.Queries.Lower = 5 }, "range"},
		{func(s *Spec) { s.Queries.Upper = math.Inf(1) }, "range"},
		{func(s *Spec) { s.Queries.Upper = 4 }, "edges"},
		{func(s *Spec) { s.Queries.Weight = []proof.Piece{{From: 1, Weight: 1}} }, "weight[0].from"},
		{func(s *Spec) { s.Queries.Weight = []proof.Piece{{From: 0, Weight: 1}, {From: 0, Weight: 1}} }, "weight[1].from"},
		{func(s *Spec) { s.Queries.Weight = []proof.Piece{{From: 0, Weight: 1}, {From: 3, Weight: 1}} }, "weight[1].from"},
		{func(s *Spec) { s.Queries.Weight = []proof.Piece{{From: 0, Weight: -1}} }, "weight[0].weight"},
		{func(s *Spec) { s.Queries.Weight = []proof.Piece{{From: 0, Weight: 0}} }, "weight"},
		{func(s *Spec) { s.InstanceCap = -1 }, "instance_cap"},
		{func(s *Spec) { s.CapLoss = loss.L2 }, "instance_cap_loss"},
		{func(s *Spec) { s.Edges = []float64{0, 2, 1, 3} }, "edges[2]"},
		{func(s *Spec) { s.Edges = s.Edges[:3] }, "edges"},
		{func(s *Spec) { s.Nodes = []float64{0, 2, 1} }, "nodes[2]"},
		{func(s *Spec) { s.Nodes = []float64{0, 1, math.Inf(1)} }, "nodes[2]"},
		{func(s *Spec) { s.Nodes = nil }, "nodes"},
		{func(s *Spec) { s.Rows = s.Rows[:2] }, "rows"},
		{func(s *Spec) { s.Rows = [][]uint64{s.Rows[0], s.Rows[1], s.Rows[2][:2]} }, "rows[2]"},
		{func(s *Spec) { s.Rows = [][]uint64{s.Rows[0], {1, 2, 3}, s.Rows[2]} }, "rows[1]"},
		{func(s *Spec) { s.Claims.Delta = "1e-3" }, "certificate.delta"},
		{func(s *Spec) { s.Dual = &Dual{} }, "dual.cells"},
		{func(s *Spec) { s.Dual = &Dual{Cells: 3, Exponent: 9999} }, "dual.exponent"},
		{func(s *Spec) { s.Dual = &Dual{Cells: 3, Caps: []int64{1}} }, "dual.caps"},
		{func(s *Spec) { s.Dual = &Dual{Cells: 1, Caps: []int64{-1}} }, "dual.caps"},
		{pair(dualPair{Gain: 0, Lose: 2}), "dual.pairs"},
		{pair(dualPair{Gain: 1, Lose: 1}), "dual.pairs"},
		{pair(dualPair{Gain: 0, Lose: 1, First: 2, Multipliers: []int64{1, 1}}), "dual.first"},
		{pair(dualPair{Gain: 0, Lose: 1, Multipliers: []int64{-1}}), "dual.multipliers"},
		{pair(dualPair{Gain: 0, Lose: 1, Multipliers: []int64{math.MaxInt64}}), "dual.multipliers"},
		{func(s *Spec) {
			s.Dual = &Dual{Cells: 3, Mirrored: true, Pairs: []dualPair{{Gain: 0, Lose: 1}, {Gain: 2, Lose: 1}}}
		}, "dual.pairs"},
	} {
		s := base
		c.change(&s)
		if _, err := New(t.Context(), s); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: error %v", c.field, err)
		}
	}
}

func TestQueriesSymmetric(t *testing.T) {
	for _, c := range []struct {
		q    Queries
		want bool
	}{
		{Queries{Lower: 0, Upper: 3}, true},
		{Queries{Lower: 0, Upper: 3, Weight: []proof.Piece{{From: 0, Weight: 2}, {From: 1, Weight: 5}, {From: 2, Weight: 2}}}, true},
		{Queries{Lower: 0, Upper: 3, Weight: []proof.Piece{{From: 0, Weight: 2}, {From: 1, Weight: 5}, {From: 2.5, Weight: 2}}}, false},
		{Queries{Lower: 0, Upper: 3, Weight: []proof.Piece{{From: 0, Weight: 2}, {From: 1.5, Weight: 5}}}, false},
	} {
		if got := c.q.Symmetric(); got != c.want {
			t.Errorf("%+v: %v", c.q, got)
		}
	}
}

func TestKernelDoesNotAliasItsSpec(t *testing.T) {
	s := exponentialSpec(t, 1, 0.45, Queries{Weight: []proof.Piece{{From: 0, Weight: 1}}}, 0, 0.5, 1)
	s.Dual = &Dual{Cells: 2, Pairs: []dualPair{{Gain: 0, Lose: 1, Multipliers: []int64{1}}}, Caps: []int64{1, 1}}
	k := newKernel(t, s)
	before := kernelText(t, k)
	s.Rows[0][0], s.Nodes[1], s.Queries.Weight[0].Weight = 7, 9, 9
	s.Dual.Pairs[0].Multipliers[0], s.Dual.Caps[0] = 9, 9
	k.Queries().Weight[0].Weight = 8
	if kernelText(t, k) != before {
		t.Error("the kernel changed with the slices it was made from")
	}
}

func BenchmarkCertify(b *testing.B) {
	nodes := make([]float64, 33)
	for i := range nodes {
		nodes[i] = float64(i) / 8
	}
	k := newKernel(b, exponentialSpec(b, 1, 0.45, Queries{}, nodes...))
	for b.Loop() {
		k.spec.certify(nil) // Certify does it once
	}
}
