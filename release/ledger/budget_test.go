// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/release/ledger"
	"github.com/noisewright/noisewright/tables"
)

// composed composes costs without a ledger: the promises' sums, and the least and the largest
// epsilon that could be meant at the delta.
func composed(tb testing.TB, costs []account.Cost, delta float64) (sumEpsilon, sumDelta *big.Rat, lower, upper float64) {
	tb.Helper()
	sumEpsilon, sumDelta = new(big.Rat), new(big.Rat)
	var releases []account.Release
	known := map[*tables.Verified]*account.PrivacyLossDistribution{}
	for _, c := range costs {
		e, d := c.Promise()
		for range c.Times {
			sumEpsilon.Add(sumEpsilon, new(big.Rat).SetFloat64(e))
			sumDelta.Add(sumDelta, new(big.Rat).SetFloat64(d))
		}
		p, err := known[c.Table], error(nil)
		if c.Table == nil {
			p, err = account.Approximate(c.Epsilon, c.Delta)
		} else if p == nil {
			p, err = account.LossOf(c.Table.Mechanism())
			known[c.Table] = p
		}
		if err != nil {
			tb.Fatal(err)
		}
		releases = append(releases, account.Release{PLD: p, Times: c.Times})
	}
	c, err := account.Compose(releases, account.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	lower, upper = 0, math.Inf(1)
	switch b, err := c.Epsilon(delta); {
	case err == nil:
		lower, upper = b.Lower, b.Upper
	case errors.Is(err, account.ErrDeltaTooSmall):
		lower = math.Inf(1)
	default:
		tb.Fatal(err)
	}
	if basic, ok := c.BasicEpsilon(delta); ok {
		upper = min(upper, basic)
	}
	return sumEpsilon, sumDelta, lower, upper
}

// TestNeverAboveTheTotal charges random sequences and composes what was accepted directly,
// without the ledger, and what was refused too.
func TestNeverAboveTheTotal(t *testing.T) {
	sequences := 12
	if testing.Short() {
		sequences = 3
	}
	noise := []*tables.Verified{gaussian(t, 12, 0.3, 0), gaussian(t, 20, 0.2, 0), gaussian(t, 40, 0.1, 0)}
	rng := rand.New(rand.NewPCG(1, 2))
	accepted, refused, byComposition := 0, 0, 0
	for n := range sequences {
		terms := account.Terms{Epsilon: math.Exp(2*rng.Float64() - 1), Delta: []float64{0, 1e-6, 1e-3, 0.1}[rng.IntN(4)], Adaptive: n%4 == 0}
		l, _ := create(t, terms)
		var costs []account.Cost
		total := new(big.Rat).SetFloat64(terms.Epsilon)
		totalDelta := new(big.Rat).SetFloat64(terms.Delta)
		for i := range 8 {
			var more []account.Cost
			for range 1 + rng.IntN(2) {
				c := account.Cost{Epsilon: terms.Epsilon * math.Pow(rng.Float64(), 3), Times: 1 + rng.IntN(4)}
				switch rng.IntN(3) {
				case 0:
					c = account.Cost{Table: noise[rng.IntN(len(noise))], Times: c.Times}
				case 1:
					c.Delta = terms.Delta * math.Pow(rng.Float64(), 4)
				}
				more = append(more, c)
			}
			all := append(costs[:len(costs):len(costs)], more...)
			e, d, lower, upper := composed(t, all, terms.Delta)
			sums := e.Cmp(total) <= 0 && d.Cmp(totalDelta) <= 0
			_, err := l.Release(t.Context(), query(i, more...), says("x"))
			switch {
			case err == nil && !sums && (terms.Adaptive || !(lower <= terms.Epsilon)):
				t.Fatalf("sequence %d: accepted at epsilon %v to %v, total %+v", n, lower, upper, terms)
			case err == nil:
				costs = all
				accepted++
				if !sums {
					byComposition++
				}
			case !errors.Is(err, account.ErrExceeded):
				t.Fatal(err)
			case sums || !terms.Adaptive && upper <= terms.Epsilon:
				t.Fatalf("sequence %d: refused at epsilon %v, total %+v", n, upper, terms)
			default:
				refused++
			}
		}
		checkSpent(t, l, costs)
	}
	if accepted < sequences || refused < sequences/2 || byComposition == 0 {
		t.Errorf("%d accepted, %d of them by composition, %d refused: want all of these", accepted, byComposition, refused)
	}
}

// checkSpent compares Spent with a direct composition.
func checkSpent(t *testing.T, l *ledger.Ledger, costs []account.Cost) {
	t.Helper()
	s, err := l.Spent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	terms := l.Terms()
	if s.Epsilon > terms.Epsilon || s.Delta > terms.Delta {
		t.Errorf("spent %+v of %+v", s, terms)
	}
	if len(costs) == 0 {
		return
	}
	e, d, lower, upper := composed(t, costs, terms.Delta)
	if s.BasicEpsilon.Cmp(e) != 0 || s.BasicDelta.Cmp(d) != 0 || s.Epsilon < lower || !terms.Adaptive && s.Epsilon > upper {
		t.Errorf("spent %+v, want the sums %v, %v and from %v to %v", s, e, d, lower, upper)
	}
}

// TestComposesExactly wants more Gaussian releases than basic composition allows: as many as
// account says, and not one more.
func TestComposesExactly(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	v := gaussian(t, 40, 0.1, 0)
	l, path := create(t, account.Terms{Epsilon: 1, Delta: 1e-6})
	cost := account.Cost{Table: v, Times: 1}
	fit, err := l.LeftTimes(t.Context(), cost)
	if err != nil || fit < 30 {
		t.Fatalf("%d left, %v", fit, err)
	}
	for n, fits := range map[int]bool{fit: true, fit + 1: false} {
		if _, _, lower, upper := composed(t, []account.Cost{{Table: v, Times: n}}, 1e-6); fits != (upper <= 1) {
			t.Errorf("%d left, and %d have an epsilon of %v to %v", fit, n, lower, upper)
		}
	}
	for i := range 3 {
		if _, err := l.Release(t.Context(), query(i, cost), says("x")); err != nil {
			t.Fatal(err)
		}
	}
	l = open(t, path) // which knows the table from its own text
	if n, err := l.LeftTimes(t.Context(), cost); err != nil || n != fit-3 {
		t.Errorf("%d left, %v, want %d", n, err, fit-3)
	}
	cost.Times = fit - 3
	if _, err := l.Release(t.Context(), query(3, cost), says("x")); err != nil {
		t.Error(err)
	}
	cost.Times = 1
	var e *ledger.Exceeded
	if _, err := l.Release(t.Context(), query(4, cost), never(t)); !errors.As(err, &e) || e.Spent.Uses != fit || e.Spent.Releases != 4 || !(e.Spent.Epsilon > 0.9) {
		t.Errorf("%v, spent %+v", err, e.Spent)
	}
	list, err := l.Records(t.Context())
	if err != nil || len(list) != 4 {
		t.Fatal(len(list), err)
	}
	want, err := account.Cost{Table: v}.TableHash()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := list[3].Costs[0].TableHash(); err != nil || got != want {
		t.Errorf("table %s, %v, want %s", got, err, want)
	}
}

// TestLeft charges what is left, which has to fit, and a little more, which must not.
func TestLeft(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	v := gaussian(t, 40, 0.1, 0)
	for _, terms := range []account.Terms{{Epsilon: 1}, {Epsilon: 1, Delta: 1e-6}, {Epsilon: 3, Delta: 0.01}, {Epsilon: 1, Delta: 1e-6, Adaptive: true}, {Epsilon: 99, Delta: 0.5}} {
		for _, share := range []float64{0, 0.1, 0.999} {
			delta := share * terms.Delta
			l, _ := create(t, terms)
			if terms.Delta > 0 {
				if _, err := l.Release(t.Context(), query(0, pure(0.1), account.Cost{Table: v, Times: 2}), says("x")); err != nil && !terms.Adaptive {
					t.Fatal(err)
				}
			}
			left, err := l.Left(t.Context(), delta)
			if err != nil {
				t.Fatal(err)
			}
			if more := left * 1.001; left < 100 && more <= 100 {
				if _, err := l.Release(t.Context(), query(1, account.Cost{Epsilon: math.Max(more, 1e-6), Delta: delta, Times: 1}), never(t)); !errors.Is(err, account.ErrExceeded) {
					t.Errorf("%+v: %v is left at delta %v, but %v: %v", terms, left, delta, more, err)
				}
			}
			if left == 0 {
				continue
			}
			if _, err := l.Release(t.Context(), query(2, account.Cost{Epsilon: left, Delta: delta, Times: 1}), says("x")); err != nil {
				t.Errorf("%+v: %v is left at delta %v: %v", terms, left, delta, err)
			}
		}
	}
}

// TestCondition is the example of docs/proofs/ledger.md: two choices that fit exactly, each
// by itself, and would not if one chose between them in view of the first answer.
func TestCondition(t *testing.T) {
	log3 := math.Nextafter(math.Log(3), 2)
	first, second, reveals := pure(math.Log(3)), pure(math.Log(3)), account.Cost{Delta: 0.375, Times: 1}
	for name, c := range map[string]struct {
		adaptive bool
		then     account.Cost
		fits     bool
	}{
		"exact, M2": {false, second, true}, "exact, M3": {false, reveals, true},
		"adaptive, M2": {true, second, false}, "adaptive, M3": {true, reveals, true}, // its sums are the total
	} {
		l, _ := create(t, account.Terms{Epsilon: log3, Delta: 0.3751, Adaptive: c.adaptive})
		if _, err := l.Release(t.Context(), query(1, first), says("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Release(t.Context(), query(2, c.then), says("x")); c.fits != (err == nil) || err != nil && !errors.Is(err, account.ErrExceeded) {
			t.Errorf("%s: %v, want it to fit: %t", name, err, c.fits)
		}
	}
	// H of randomized response with odds 3, and of what reveals everything with 3/8.
	response := func(a float64) float64 { return max(0, 0.75-a*0.25) + max(0, 0.25-a*0.75) }
	reveal := func(a float64) float64 { return 0.375 + 0.625*max(0, 1-a) }
	const alpha = 3
	choice := 0.75*max(response(alpha/3.0), reveal(alpha/3.0)) + 0.25*max(response(alpha*3.0), reveal(alpha*3.0))
	if choice != 15.0/32 {
		t.Errorf("the choice has delta = %v, want 15/32", choice)
	}
}
