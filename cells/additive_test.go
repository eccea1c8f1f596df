// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

func newKernel(tb testing.TB, s Spec) *Kernel {
	tb.Helper()
	k, err := New(s)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// randomRow returns random weights that sum to 2^64, some of them 0.
func randomRow(rng *rand.Rand, bins int) []uint64 {
	row := make([]uint64, bins)
	left := uint64(math.MaxUint64)
	for j := range row[1:] {
		if j == 0 || rng.IntN(4) > 0 {
			row[j+1] = 1 + rng.Uint64N(left/2)
			left -= row[j+1]
		}
	}
	row[0] = left + 1
	slices.Reverse(row)
	return row
}

// randomSpec is a small kernel without any structure, on points 2^exponent apart. The
// sensitivity is a multiple of a quarter of that, edges are of an eighth.
func randomSpec(rng *rand.Rand) Spec {
	g := Grid{GranularityExponent: rng.IntN(5) - 2, PointsPerBin: 1 + rng.Int64N(4), FirstBin: -rng.IntN(4)}
	unit := math.Ldexp(1, g.GranularityExponent)
	n := 1 + rng.IntN(4)
	s := Spec{
		Privacy: dp.Privacy{Epsilon: []float64{0, 0.3, 2}[rng.IntN(3)], Delta: 0.99, Sensitivity: unit * float64(1+rng.IntN(20)) / 4},
		Loss:    loss.L1, Grid: g,
	}
	x := float64(rng.IntN(9)-20) / 8
	for range n + 1 {
		s.Edges = append(s.Edges, x*unit)
		x += 1.125 + float64(rng.IntN(30))/8
	}
	if rng.IntN(2) == 0 {
		s.Edges[0] = math.Inf(-1)
	}
	if rng.IntN(2) == 0 {
		s.Edges[n] = math.Inf(1)
	}
	bins := 2 + rng.IntN(4)
	for range n {
		s.Weight = append(s.Weight, float64(rng.IntN(3)))
		s.Rows = append(s.Rows, randomRow(rng, bins))
	}
	s.Weight[rng.IntN(n)] = 1
	return s
}

// mechanism is the definition, apart from the code: the law of the answer to a value, by
// point of the lattice.
type mechanism struct {
	Spec
	step float64
}

// round is ⌊x/step + 1/2⌋ for values and steps where that is exact.
func (m mechanism) round(x float64) int64 { return int64(math.Floor(x/m.step + 0.5)) }

// answer returns the probability of each answer to x, and false if x is in no cell.
func (m mechanism) answer(x float64) (map[int64]*big.Rat, bool) {
	at, cells := m.round(x), len(m.Edges)-1
	if !math.IsInf(m.Edges[0], 0) && at < m.round(m.Edges[0]) || !math.IsInf(m.Edges[cells], 0) && at > m.round(m.Edges[cells]) {
		return nil, false
	}
	cell := 0
	for cell+1 < cells && at >= m.round(m.Edges[cell+1]) {
		cell++
	}
	law := make(map[int64]*big.Rat)
	size := m.Grid.PointsPerBin
	for j, w := range m.Rows[cell] {
		p := new(big.Rat).SetFrac(new(big.Int).SetUint64(w), new(big.Int).Lsh(big.NewInt(size), 64))
		for i := range size {
			law[at+(int64(m.Grid.FirstBin)+int64(j))*size-size/2+i] = p
		}
	}
	return law, true
}

// divergence is the largest P(A) − ratio·Q(A) over sets A of answers.
func divergence(p, q map[int64]*big.Rat, ratio *big.Rat) *big.Rat {
	sum := new(big.Rat)
	for y, w := range p {
		d := new(big.Rat).Set(w)
		if v, ok := q[y]; ok {
			d.Sub(d, new(big.Rat).Mul(ratio, v))
		}
		if d.Sign() > 0 {
			sum.Add(sum, d)
		}
	}
	return sum
}

// ratioDown is the rational bound below e^ε that certificates use.
func ratioDown(epsilon float64) *big.Rat {
	return new(big.Rat).SetFrac(exact.ExpDown(epsilon, exact.RatioBits), new(big.Int).Lsh(big.NewInt(1), exact.RatioBits))
}

// TestDeltaFromDefinition: the certified delta is the largest divergence between the
// answers to any two values within the sensitivity, of all on a grid eight times finer
// than the lattice, in rational arithmetic.
func TestDeltaFromDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		s := randomSpec(rng)
		k := newKernel(t, s)
		m := mechanism{s, math.Ldexp(1, s.Grid.GranularityExponent)}
		ratio := ratioDown(s.Privacy.Epsilon)
		fine := m.step / 8
		type valued struct {
			x   float64
			law map[int64]*big.Rat
		}
		var values []valued
		for i := -8 * 12; i <= 8*28; i++ {
			x := float64(i) * fine
			law, ok := m.answer(x)
			cell, found := k.CellOf(m.round(x))
			if ok != found || ok && cell >= k.Cells() {
				t.Fatalf("x = %g is in cell %d: %v, want %v", x, cell, found, ok)
			}
			if ok {
				values = append(values, valued{x, law})
			}
		}
		worst := new(big.Rat)
		seen := make(map[[2]int64]bool)
		for _, a := range values {
			for _, b := range values {
				pair := [2]int64{m.round(a.x), m.round(b.x)}
				if math.Abs(a.x-b.x) > s.Privacy.Sensitivity || seen[pair] {
					continue
				}
				seen[pair] = true
				if d := divergence(a.law, b.law, ratio); d.Cmp(worst) > 0 {
					worst = d
				}
			}
		}
		if c := k.Certify(); c.DeltaUpper.Cmp(worst) != 0 {
			t.Fatalf("certified %s at %+v, want %s\n%+v", c.DeltaUpper.FloatString(9), c.Worst, worst.FloatString(9), s)
		}
	}
}

// TestEveryAnswerSet: on tiny kernels, no set of answers distinguishes two values by more
// than the certified delta.
func TestEveryAnswerSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 10 {
		s := randomSpec(rng)
		s.Grid.PointsPerBin = 1
		for k, row := range s.Rows {
			s.Rows[k] = row[:2]
			row[1] |= 1
			s.Rows[k][0] = -row[1]
		}
		s.Privacy.Sensitivity = min(s.Privacy.Sensitivity, 2*math.Ldexp(1, s.Grid.GranularityExponent))
		m := mechanism{s, math.Ldexp(1, s.Grid.GranularityExponent)}
		delta, ratio := newKernel(t, s).Certify().DeltaUpper, ratioDown(s.Privacy.Epsilon)
		for i := -10; i <= 20; i++ {
			for d := 0.0; d*m.step <= s.Privacy.Sensitivity; d++ {
				p, okP := m.answer(float64(i) * m.step)
				q, okQ := m.answer((float64(i) + d) * m.step)
				if !okP || !okQ {
					continue
				}
				var answers []int64
				for y := int64(i) - 8; y <= int64(i)+8; y++ {
					if p[y] != nil || q[y] != nil {
						answers = append(answers, y)
					}
				}
				for set := range 1 << len(answers) {
					there, back := new(big.Rat), new(big.Rat)
					for b, y := range answers {
						if set>>b&1 == 1 && p[y] != nil {
							there.Add(there, p[y])
						}
						if set>>b&1 == 1 && q[y] != nil {
							back.Add(back, q[y])
						}
					}
					excess := new(big.Rat).Sub(there, new(big.Rat).Mul(ratio, back))
					other := new(big.Rat).Sub(back, new(big.Rat).Mul(ratio, there))
					if excess.Cmp(delta) > 0 || other.Cmp(delta) > 0 {
						t.Fatalf("values %d and %g steps on: a set of answers exceeds %s\n%+v", i, d, delta.FloatString(6), s)
					}
				}
			}
		}
	}
}

// TestLossesFromDefinition sums the loss over all points of the noise.
func TestLossesFromDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 40 {
		s := randomSpec(rng)
		s.Loss = []loss.Loss{loss.L1, loss.L2}[i%2]
		s.InstanceCap, s.CapLoss = 1e6, loss.L2
		c := newKernel(t, s).Certify()
		step := s.Grid.Step()
		expect := func(row []uint64, l loss.Loss) *big.Rat {
			sum := new(big.Rat)
			for j, w := range row {
				for i := range s.Grid.PointsPerBin {
					x := new(big.Rat).SetInt64((int64(s.Grid.FirstBin)+int64(j))*s.Grid.PointsPerBin - s.Grid.PointsPerBin/2 + i)
					p := new(big.Rat).SetFrac(new(big.Int).SetUint64(w), new(big.Int).Lsh(big.NewInt(s.Grid.PointsPerBin), 64))
					sum.Add(sum, p.Mul(p, l.AtDown(x.Mul(x, step))))
				}
			}
			return sum
		}
		mean, most, capped, total := new(big.Rat), new(big.Rat), new(big.Rat), 0.0
		for k, row := range s.Rows {
			e := expect(row, s.Loss)
			if c.Losses[k].Cmp(e) != 0 {
				t.Fatalf("cell %d loses %s, want %s", k, c.Losses[k].FloatString(9), e.FloatString(9))
			}
			if e.Cmp(most) > 0 {
				most.Set(e)
			}
			if o := expect(row, loss.L2); o.Cmp(capped) > 0 {
				capped = o
			}
			mean.Add(mean, e.Mul(e, exact.Rational(s.Weight[k])))
			total += s.Weight[k]
		}
		mean.Quo(mean, exact.Rational(total))
		if c.ExpectedLoss.Cmp(mean) != 0 || c.MaxLoss.Cmp(most) != 0 || c.CapLoss.Cmp(capped) != 0 {
			t.Fatalf("losses %+v, want %s on average, %s at most and %s by the cap's loss", c.Claims(), mean.FloatString(9), most.FloatString(9), capped.FloatString(9))
		}
	}
}

// randomDual has multipliers at random shifts that the cells allow.
func randomDual(rng *rand.Rand, s Spec) *Dual {
	d := &Dual{NodesPerSensitivity: 1 + rng.IntN(4), Caps: []int64{}, Shifts: []dualShift{}}
	_, exp := math.Frexp(s.Privacy.Sensitivity / float64(d.NodesPerSensitivity))
	d.Exponent = exp - 18 - rng.IntN(6)
	for _, p := range s.Shifts(d.NodesPerSensitivity, false) {
		if rng.IntN(3) > 0 {
			continue
		}
		m := dualShift{Gain: p.Gain, Lose: p.Lose, Shift: int(p.Shift), First: -rng.IntN(3)}
		for range 1 + rng.IntN(4) {
			m.Multipliers = append(m.Multipliers, rng.Int64N(1<<16))
		}
		if rng.IntN(3) == 0 {
			m.Below = rng.Int64N(1 << 12)
		}
		if rng.IntN(3) == 0 {
			m.Above = rng.Int64N(1 << 12)
		}
		d.Shifts = append(d.Shifts, m)
	}
	if s.InstanceCap > 0 {
		for range s.Rows {
			d.Caps = append(d.Caps, rng.Int64N(1<<10))
		}
	}
	return d
}

// TestBoundFromDefinition computes the formula of the bound from the multipliers one by
// one, over far more nodes, and compares.
func TestBoundFromDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	positive := 0
	for range 150 {
		s := randomSpec(rng)
		if rng.IntN(2) == 0 {
			s.InstanceCap, s.CapLoss = s.Privacy.Sensitivity*float64(1+rng.IntN(8)), loss.L1
		}
		s.Privacy.Delta = rng.Float64() / 16
		s.Dual = randomDual(rng, s)
		if err := s.Dual.validate(&s); err != nil {
			t.Fatal(err)
		}
		want := plainBound(s)
		if got := s.LowerBound(); got.Cmp(want) > 0 || new(big.Rat).Sub(want, got).Cmp(big.NewRat(1, 1<<40)) > 0 {
			t.Fatalf("bound %s, want %s", got.FloatString(12), want.FloatString(12))
		}
		if want.Sign() > 0 {
			positive++
		}
	}
	if positive < 10 {
		t.Errorf("only %d bounds are above 0: this compares nothing", positive)
	}
}

// plainBound is the formula, with e^ε rounded up as the bound has it.
func plainBound(s Spec) *big.Rat {
	d := s.Dual
	unit := exact.PowerOfTwo(d.Exponent)
	up := new(big.Rat).SetFrac(exact.ExpUp(s.Privacy.Epsilon, exact.RatioBits), new(big.Int).Lsh(big.NewInt(1), exact.RatioBits))
	step := exact.Rational(s.Privacy.Sensitivity)
	step.Quo(step, big.NewRat(int64(d.NodesPerSensitivity), 1))
	var weights float64
	for _, w := range s.Weight {
		weights += w
	}
	bound := new(big.Rat)
	for k, w := range s.Weight {
		share := new(big.Rat).Quo(exact.Rational(w), exact.Rational(weights))
		kappa := new(big.Rat)
		if len(d.Caps) > 0 {
			kappa.Mul(unit, big.NewRat(d.Caps[k], 1))
		}
		var least *big.Rat
		for j := -60; j <= 60; j++ {
			b := s.Loss.LowerNode(int64(j), step)
			b.Mul(b, share)
			if kappa.Sign() > 0 {
				c := s.CapLoss.LowerNode(int64(j), step)
				b.Add(b, c.Mul(c, kappa))
			}
			for i := range d.Shifts {
				m := &d.Shifts[i]
				y := new(big.Rat)
				if m.Gain == k {
					b.Add(b, y.Mul(unit, big.NewRat(m.at(j), 1)))
				}
				if m.Lose == k {
					y.Mul(unit, big.NewRat(m.at(j-m.Shift), 1))
					b.Sub(b, y.Mul(y, up))
				}
			}
			if least == nil || b.Cmp(least) < 0 {
				least = b
			}
		}
		bound.Add(bound, least)
		bound.Sub(bound, kappa.Mul(kappa, exact.Rational(s.InstanceCap)))
	}
	for _, m := range d.Shifts {
		eta := max(m.Below, m.Above)
		for _, y := range m.Multipliers {
			eta = max(eta, y)
		}
		cost := new(big.Rat).Mul(unit, big.NewRat(eta, 1))
		bound.Sub(bound, cost.Mul(cost, exact.Rational(s.Privacy.Delta)))
	}
	if bound.Sign() < 0 {
		return new(big.Rat)
	}
	return bound
}

// TestBoundHoldsForKernels: no multipliers prove more than what a kernel loses that has the
// delta the bound is about. Points are so fine here that the edges are where they are.
func TestBoundHoldsForKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	positive := 0
	for range 300 {
		s := randomSpec(rng)
		scale := 1 << 8
		s.Grid.GranularityExponent -= 8
		s.Grid.PointsPerBin *= int64(scale)
		k := newKernel(t, s)
		c := k.Certify()
		s.Privacy.Delta = exact.FloatUp(c.DeltaUpper)
		if !(s.Privacy.Delta < 1) {
			continue
		}
		s.InstanceCap = exact.FloatUp(c.MaxLoss)
		s.Dual = randomDual(rng, s)
		bound := s.LowerBound()
		if bound.Cmp(c.ExpectedLoss) > 0 {
			t.Fatalf("a kernel loses %s, the bound says %s at least\n%+v", c.ExpectedLoss.FloatString(9), bound.FloatString(9), s)
		}
		if bound.Sign() > 0 {
			positive++
		}
	}
	if positive < 10 {
		t.Errorf("only %d bounds are above 0: this compares nothing", positive)
	}
}

// TestShifts: the shifts of a lower bound are those that values can have, or come
// arbitrarily close to, and those of a program for kernels hold them between them.
func TestShifts(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name             string
		edges            []float64
		gain, lose       int
		inwards, outward [2]int64 // first and last; {1, 0}: none
	}{
		{"one infinite cell", []float64{-inf, inf}, 0, 0, [2]int64{-4, 4}, [2]int64{-4, 4}},
		{"a narrow cell", []float64{0, 0.5}, 0, 0, [2]int64{-1, 1}, [2]int64{-1, 1}},
		{"a cell of no whole width", []float64{0, 0.7}, 0, 0, [2]int64{-1, 1}, [2]int64{-2, 2}},
		{"neighbors", []float64{0, 0.5, 1}, 0, 1, [2]int64{-2, 0}, [2]int64{-2, 0}},
		{"an outer cell", []float64{0, 0.5, inf}, 1, 0, [2]int64{0, 4}, [2]int64{0, 4}},
		{"just within reach", []float64{0, 0.5, 2.25, 2.5, 3}, 0, 2, [2]int64{-4, -4}, [2]int64{-4, -3}},
		{"a float64 beyond", []float64{0, 0.5, 1, 1.5 + 0x1p-52}, 0, 2, [2]int64{-3, -1}, [2]int64{-3, -1}},
		{"out of reach", []float64{0, 0.5, 2.5, 3}, 0, 2, [2]int64{1, 0}, [2]int64{1, 0}},
	} {
		for _, outwards := range []bool{false, true} {
			want := c.inwards
			if outwards {
				want = c.outward
			}
			got := [2]int64{1, 0}
			for _, p := range (&Spec{Edges: c.edges, Privacy: dp.Privacy{Sensitivity: 2}}).Shifts(4, outwards) {
				if p.Gain == c.gain && p.Lose == c.lose {
					if got[0] > got[1] {
						got[0] = p.Shift
					}
					got[1] = p.Shift
				}
			}
			if got != want {
				t.Errorf("%s, outwards %v: shifts %v, want %v", c.name, outwards, got, want)
			}
		}
	}
}

// TestVerify: a kernel that keeps its word is proved, one that does not is not.
func TestVerify(t *testing.T) {
	s := randomSpec(rand.New(rand.NewPCG(11, 12)))
	s.InstanceCap = 100
	k := newKernel(t, s)
	s.Claims = k.spec.Claims
	c := k.Certify()
	v, err := newKernel(t, s).Verify()
	if err != nil || v.Certificate().Claims() != s.Claims || v.Mechanism().Certify().Claims() != s.Claims {
		t.Fatalf("%v, %v", v, err)
	}
	if _, err := proof.Verify(t.Context(), newKernel(t, s), proof.Options{Work: v.Work()}); err != nil {
		t.Errorf("with the work that it takes: %v", err)
	}
	if _, err := proof.Verify(t.Context(), newKernel(t, s), proof.Options{Work: v.Work() - 1}); !errors.Is(err, proof.ErrWork) {
		t.Errorf("with less work than it takes: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := proof.Verify(ended, newKernel(t, s), proof.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
	for name, change := range map[string]struct {
		f    func(*Spec)
		want error
	}{
		"delta":               {func(s *Spec) { s.Privacy.Delta = exact.FloatDown(c.DeltaUpper) * 0.999 }, proof.ErrNotPrivate},
		"cap":                 {func(s *Spec) { s.InstanceCap = exact.FloatDown(c.MaxLoss) * 0.999 }, proof.ErrFalseClaim},
		"cap by another loss": {func(s *Spec) { s.InstanceCap, s.CapLoss = 1e-9, loss.L2 }, proof.ErrFalseClaim},
		"loss":                {func(s *Spec) { s.Claims.ExpectedLoss = "0.001" }, proof.ErrFalseClaim},
		"most":                {func(s *Spec) { s.Claims.MaxLoss = "0.001" }, proof.ErrFalseClaim},
		"bound":               {func(s *Spec) { s.Claims.LowerBound = "0.001" }, proof.ErrFalseClaim},
	} {
		other := s
		change.f(&other)
		if v, err := newKernel(t, other).Verify(); v != nil || !errors.Is(err, change.want) {
			t.Errorf("%s: %v, %v, want %v", name, v, err, change.want)
		}
	}
	for _, k := range []*Kernel{nil, {}} {
		if v, err := k.Verify(); v != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v, %v, want ErrInvalid", v, err)
		}
	}
	var none Verified
	if none.Mechanism() != nil || none.Certificate().DeltaUpper != nil {
		t.Error("the zero value holds something")
	}
}
