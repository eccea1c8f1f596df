// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// costlySpec has many nodes and answers of many digits, and a dual.
func costlySpec(t *testing.T, lossName string, delta float64, objective Objective) Spec {
	t.Helper()
	l, err := loss.Parse(lossName)
	if err != nil {
		t.Fatal(err)
	}
	const nodes, answers = 500, 2000
	s := Spec{
		Epsilon: 1, Delta: delta, Values: Values{Kind: Real, Lower: -1, Upper: nodes}, Objective: objective, Loss: l,
		Claims: Claims{"0.5", "1", "1", "1", "0"}, Dual: &Dual{},
	}
	row := slices.Repeat([]uint64{math.MaxUint64 / answers}, answers)
	row[0] += -row[0] * answers
	for j := range answers {
		s.Answers = append(s.Answers, float64(j)+1/float64(j+3))
	}
	for i := range nodes {
		s.Nodes = append(s.Nodes, float64(i)-1+1/float64(i+1))
		s.Rows = append(s.Rows, row)
		if delta > 0 {
			s.Rows[i] = slices.Clone(row)
			s.Rows[i][i], s.Rows[i][i+1] = 0, 2*row[i+1]
			s.Dual.Pairs = append(s.Dual.Pairs, dualPair{Gain: i, Lose: (i + 1) % nodes, Multipliers: []float64{1, 2}})
		}
		s.Dual.Totals, s.Dual.Weights = append(s.Dual.Totals, 1e-3), append(s.Dual.Weights, 1)
	}
	if delta > 0 {
		for i := range s.Rows { // sums of 2^64
			var sum uint64
			for _, w := range s.Rows[i] {
				sum += w
			}
			s.Rows[i][answers-1] -= sum
		}
		s.Dual.Answers = s.Answers
	}
	s.Nodes[0], s.Nodes[nodes-1] = -1, nodes
	s.Dual.Nodes = s.Nodes
	if objective == Mean {
		s.Dual.Weights = nil
		if delta > 0 { // one for each cell
			s.Dual.Nodes = slices.Insert(slices.Clone(s.Nodes), 1, -0.5)
		}
	}
	return s
}

// A check that costs too much ends at the limit of work or with its context, and says that
// the randomizer is not checked.
func TestWorkIsLimited(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for name, s := range map[string]Spec{
		"many pairs of nodes": costlySpec(t, "l2", 0.1, Worst),
		"many prices":         costlySpec(t, "l1", 0.1, Mean),
		"a costly power":      costlySpec(t, "lp:1.1", 0, Worst),
		"densities":           costlySpec(t, "l2", 0, Mean),
	} {
		r, err := New(t.Context(), s)
		if err != nil {
			t.Fatal(name, err)
		}
		start := time.Now()
		for work := int64(1 << 15); work < 1<<27; work *= 8 {
			v, err := proof.Verify(t.Context(), r, proof.Options{Work: work})
			if v != nil || !errors.Is(err, proof.ErrWork) || errors.Is(err, proof.ErrNotPrivate) || errors.Is(err, proof.ErrFalseClaim) {
				t.Errorf("%s: %v, %v, want proof.ErrWork alone", name, v, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		v, err := proof.Verify(ctx, r, proof.Options{Work: math.MaxInt64})
		cancel()
		if v != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, %v, want the error of the context", name, v, err)
		}
		if elapsed := time.Since(start); elapsed > 30*time.Second {
			t.Errorf("%s: ended after %v", name, elapsed)
		}
	}
}

// The work of a check is a number of the randomizer.
func TestWorkIsCounted(t *testing.T) {
	text := richRandomizer(t).Spec()
	v, err := newRandomizer(t, text).Verify()
	if err != nil {
		t.Fatal(err)
	}
	work := v.Work()
	if _, err := proof.Verify(t.Context(), newRandomizer(t, text), proof.Options{Work: work - 1}); !errors.Is(err, proof.ErrWork) {
		t.Errorf("with less work than it takes: %v", err)
	}
	if v, err = proof.Verify(t.Context(), newRandomizer(t, text), proof.Options{Work: work}); err != nil || v.Work() != work {
		t.Errorf("with as much work as it takes: %v, %v", v, err)
	}
}

// TestPiecesAreNotHalvedForEver: a weight of many pieces is priced on no more intervals than
// there is memory for.
func TestPiecesAreNotHalvedForEver(t *testing.T) {
	const pieces = 4096
	s := Spec{
		Epsilon: 1, Values: Values{Kind: Real, Upper: pieces}, Objective: Mean, Loss: loss.L2,
		Dual: &Dual{Nodes: []float64{0, pieces}, Totals: []float64{1, 1}},
	}
	for i := range pieces {
		s.Values.Weight = append(s.Values.Weight, proof.Piece{From: float64(i), Weight: float64(1 + i%3)})
	}
	if n := len(newPricing(&s, nil).places); n < pieces || n > mostIntervals {
		t.Errorf("%d intervals for %d pieces, want at most %d", n, pieces, mostIntervals)
	}
	s.Values.Weight = s.Values.Weight[:1]
	if n := len(newPricing(&s, nil).places); n < leastIntervals {
		t.Errorf("%d intervals for one piece, want at least %d", n, leastIntervals)
	}
}

// TestEqualDuals: two duals are equal if no field differs, of those that there are and will be.
func TestEqualDuals(t *testing.T) {
	pair := dualPair{Gain: 1, Lose: 2, First: 3, Multipliers: []float64{4}}
	full := func() *Dual {
		d := &Dual{}
		for i := range reflect.TypeFor[Dual]().NumField() {
			if f, ok := reflect.ValueOf(d).Elem().Field(i).Addr().Interface().(*[]float64); ok {
				*f = []float64{1, 2}
			}
		}
		p := pair
		d.Pairs, d.Product = []dualPair{p}, true
		return d
	}
	if d := full(); !d.equal(full()) || d.equal(nil) || (*Dual)(nil).equal(d) || !(*Dual)(nil).equal(nil) {
		t.Error("a dual is not equal to itself alone")
	}
	for i := range reflect.TypeFor[Dual]().NumField() {
		d := full()
		reflect.ValueOf(d).Elem().Field(i).SetZero()
		if d.equal(full()) {
			t.Errorf("equal in spite of %s", reflect.TypeFor[Dual]().Field(i).Name)
		}
	}
	for i := range reflect.TypeFor[dualPair]().NumField() {
		d := full()
		reflect.ValueOf(&d.Pairs[0]).Elem().Field(i).SetZero()
		if d.equal(full()) {
			t.Errorf("equal in spite of %s of a pair", reflect.TypeFor[dualPair]().Field(i).Name)
		}
	}
}

// TestWithDual: other multipliers give another bound and the rest as it was, a context that ends
// gives none, and the multipliers that a randomizer has are not priced again.
func TestWithDual(t *testing.T) {
	r := newRandomizer(t, Spec{
		Epsilon: 1.1, Values: Values{Kind: Integer, Upper: 1}, Objective: Mean, Loss: twoAnswers().Loss,
		Answers: []float64{0, 1}, Rows: [][]uint64{{3 * quarter, quarter}, {quarter, 3 * quarter}},
		Dual: &Dual{Nodes: []float64{0, 1}, Totals: []float64{0.125, 0.125}},
	})
	dual := *r.Spec().Dual
	ended, end := context.WithCancel(t.Context())
	end()

	other := dual
	other.Totals = []float64{0.0625, 0.0625}
	if _, err := r.WithDual(ended, &other); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v, want its error", err)
	}
	with, err := r.WithDual(t.Context(), &other)
	if err != nil {
		t.Fatal(err)
	}
	got, want := with.Proof().Certificate(), r.Proof().Certificate()
	if got.MeanLoss.Cmp(want.MeanLoss) != 0 || got.LowerBound.Cmp(want.LowerBound) == 0 {
		t.Errorf("loss %s and bound %s, want the loss %s and another bound than %s", got.MeanLoss, got.LowerBound, want.MeanLoss, want.LowerBound)
	}
	if again, err := with.WithDual(t.Context(), &other); err != nil || again != with {
		t.Errorf("the same multipliers: another randomizer, %v", err)
	}
	// Claims of its own, which may be weaker, do not stay.
	s := with.Spec()
	s.Claims.LowerBound = "0"
	weak, err := New(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if strong, err := weak.WithDual(t.Context(), &other); err != nil || strong.Spec().Claims != with.Spec().Claims {
		t.Errorf("claims %+v, %v, want %+v", strong.Spec().Claims, err, with.Spec().Claims)
	}
}

// TestEveryLimitOfWork: of small randomizers with prices of pairs, every limit below the work that a check takes
// ends it as not checked.
func TestEveryLimitOfWork(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for _, kind := range []Kind{Category, Integer, Real} {
		for _, objective := range []Objective{Mean, Worst} {
			s := boundSpec(rng, kind, objective, 0.1, false, false, 0)
			s.Dual = randomDual(rng, &s)
			v, err := newRandomizer(t, s).Verify()
			if err != nil {
				t.Fatal(kind, objective, err)
			}
			c := v.Certificate()
			if want := map[Objective]*big.Rat{Mean: c.MeanLoss, Worst: c.WorstLoss}[objective]; c.Loss().Cmp(want) != 0 || c.Loss() == want || c.MeanLoss.Cmp(c.WorstLoss) == 0 {
				t.Errorf("%s, %s: the loss %s, want a copy of %s", kind, objective, c.Loss(), want)
			}
			for work := int64(1); work < v.Work(); work += 1 + work/6 {
				if found, err := proof.Verify(t.Context(), newRandomizer(t, s), proof.Options{Work: work}); found != nil || !errors.Is(err, proof.ErrWork) {
					t.Errorf("%s, %s, with the work %d of %d: %v, %v, want ErrWork", kind, objective, work, v.Work(), found, err)
				}
			}
		}
	}
}
