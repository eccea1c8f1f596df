// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

func budgetOf(t *testing.T, epsilon, delta float64, adaptive bool) *Budget {
	t.Helper()
	b, err := NewBudget(dp.Budget{Epsilon: epsilon, Delta: delta}, adaptive)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBudget charges random costs: what is accepted is within the total, by the sums of the
// promises or by a composition of all uses one by one, and what is refused is in neither.
func TestBudget(t *testing.T) {
	noise, err := shapes.Gaussian(dp.Problem{Privacy: dp.Privacy{Epsilon: 0.4, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L2}, 9, tables.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	var accepted, refused, exactly int
	sequences := 12
	if testing.Short() {
		sequences = 3
	}
	for n := range sequences {
		total := dp.Budget{Epsilon: 0.5 + rng.Float64(), Delta: []float64{0, 1e-6, 1e-2}[n%3]}
		b := budgetOf(t, total.Epsilon, total.Delta, n%4 == 3)
		var all []Cost
		for range 10 {
			c := Cost{Epsilon: []float64{0.05, 0.2}[rng.IntN(2)], Delta: total.Delta * float64(rng.IntN(2)) / 16, Times: 1 + rng.IntN(3)}
			if rng.IntN(3) == 0 {
				c = Cost{Table: noise, Times: c.Times}
			}
			before := b.Costs()
			err := b.Charge(c)
			epsilon, delta := new(big.Rat), new(big.Rat)
			var releases []Release
			for _, c := range append(slices.Clone(all), c) {
				pld, err := c.loss()
				if err != nil {
					t.Fatal(err)
				}
				e, d := c.Promise()
				for range c.Times {
					epsilon.Add(epsilon, new(big.Rat).SetFloat64(e))
					delta.Add(delta, new(big.Rat).SetFloat64(d))
					releases = append(releases, Release{PLD: pld, Times: 1})
				}
			}
			fits := epsilon.Cmp(new(big.Rat).SetFloat64(total.Epsilon)) <= 0 && delta.Cmp(new(big.Rat).SetFloat64(total.Delta)) <= 0
			composed, composing := bestEpsilon(releases, total.Delta, 0)
			if composing != nil {
				t.Fatal(composing)
			}
			switch {
			case err == nil && !fits && (b.adaptive || composed.Lower > total.Epsilon):
				t.Fatalf("%+v: accepted %+v beside %+v: %+v", total, c, all, composed)
			case err == nil:
				all = append(all, c)
				accepted++
				if !fits {
					exactly++
				}
			case !errors.Is(err, ErrExceeded) || !slices.Equal(b.Costs(), before):
				t.Fatalf("%v, with %+v charged, want %+v", err, b.Costs(), before)
			case fits || !b.adaptive && composed.Upper <= total.Epsilon:
				t.Fatalf("%+v: %+v refused beside %+v: %+v", total, c, all, composed)
			default:
				refused++
			}
		}
		if spent, err := b.Spent(); err != nil || spent > total.Epsilon || uses(all) != b.Uses() {
			t.Errorf("%v spent, %v, of %+v, and %d uses, want %d", spent, err, total, b.Uses(), uses(all))
		}
	}
	if accepted == 0 || refused == 0 || exactly == 0 {
		t.Errorf("%d accepted, %d of them by exact composition, %d refused: want all of these", accepted, exactly, refused)
	}
}

// TestBudgetLeft: what is left fits, and a little more does not.
func TestBudgetLeft(t *testing.T) {
	const delta = 1e-7
	for _, adaptive := range []bool{false, true} {
		b := budgetOf(t, 1, 1e-6, adaptive).With(Cost{Epsilon: 0.02, Delta: 1e-9, Times: 20})
		left, err := b.Left(t.Context(), delta)
		if err != nil || left < 0.59 || adaptive && left > 0.6 || !adaptive && left < 0.65 {
			t.Errorf("adaptive %v: %v left, %v", adaptive, left, err)
		}
		for share, want := range map[float64]bool{1: true, 1 + 2*leftWidth: false} {
			more := b.With(Cost{Epsilon: left * share, Delta: delta, Times: 1})
			if ok, err := more.Fits(t.Context()); ok != want || err != nil {
				t.Errorf("adaptive %v: %v times what is left fits: %v, %v", adaptive, share, ok, err)
			}
		}
		cost := Cost{Epsilon: 0.02, Delta: 1e-9}
		n, err := b.LeftTimes(t.Context(), cost)
		if err != nil || n < 29 || adaptive && n > 30 {
			t.Errorf("adaptive %v: %d times left, %v", adaptive, n, err)
		}
		for times, want := range map[int]bool{n: true, n + 1: false} {
			cost.Times = times
			if ok, err := b.With(cost).Fits(t.Context()); ok != want || err != nil {
				t.Errorf("adaptive %v: %d times fit: %v, %v", adaptive, times, ok, err)
			}
		}
		if b.Uses() != 20 {
			t.Errorf("%d uses charged by questions, want the 20 from before", b.Uses())
		}
	}
}

// TestAdaptiveDeltas: deltas are added up as often as the noise is used.
func TestAdaptiveDeltas(t *testing.T) {
	b := budgetOf(t, 1, 1e-6, true)
	if err := b.Charge(Cost{Epsilon: 0.1, Delta: 6e-7, Times: 2}); !errors.Is(err, ErrExceeded) {
		t.Errorf("two uses of delta 6e-7 within 1e-6: %v", err)
	}
	if err := b.Charge(Cost{Epsilon: 0.1, Delta: 0x1p-21, Times: 2}); err != nil {
		t.Error(err)
	}
}

// TestBudgetRefuses: bad totals and bad costs are refused in one sentence for each field.
func TestBudgetRefuses(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		want           string
	}{{0, 0, "epsilon = 0"}, {math.NaN(), 0, "epsilon = NaN"}, {math.Inf(1), 0, "epsilon = +Inf"}, {1, 1, "delta = 1"}, {-1, -1, "delta = -1"}} {
		if _, err := NewBudget(dp.Budget{Epsilon: c.epsilon, Delta: c.delta}, false); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	b := budgetOf(t, 1, 0, false)
	for want, c := range map[string]Cost{
		"times = 0, want 1 to":         {Epsilon: 1},
		"epsilon = 0, want a number":   {Times: 1},
		"epsilon = 101, want a number": {Epsilon: 101, Times: 1},
		"delta = 1, want a prob":       {Epsilon: 1, Delta: 1, Times: 1},
		"table = none":                 {Table: &tables.Verified{}, Times: 1},
	} {
		for _, err := range []error{c.Validate(), b.Charge(c)} {
			if !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", c, err, want)
			}
		}
	}
	if _, err := b.Left(t.Context(), 1); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("left at a delta of 1: %v", err)
	}
	if _, err := b.LeftTimes(t.Context(), Cost{}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("times left of nothing: %v", err)
	}
	if spent, err := b.Spent(); spent != 0 || err != nil {
		t.Errorf("%v spent by refusals, %v", spent, err)
	}
	many := b.With(Cost{Epsilon: 1e-9, Times: limits.TableReleases}, Cost{Epsilon: 1e-8, Times: 1})
	if ok, err := many.Fits(t.Context()); ok || err != nil {
		t.Errorf("more than %d uses fit: %v, %v", limits.TableReleases, ok, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.With(Cost{Epsilon: 0.9, Times: 2}).Fits(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("composed after the end of the context: %v", err)
	}
}

// TestBudgetEdges: a total is kept to the last unit. 0.1 and 0.2 sum to a number between 0.3 and
// the next float64 above.
func TestBudgetEdges(t *testing.T) {
	next := math.Nextafter(0.3, 1)
	for _, c := range []struct {
		epsilon, delta float64
		want           bool
	}{{next, next, true}, {0.3, next, false}, {next, 0.3, false}} {
		for _, adaptive := range []bool{true, false} {
			// What is composed exactly is accepted for less than the sums, but not below its own bound.
			if !adaptive && !c.want {
				continue
			}
			b := budgetOf(t, c.epsilon, c.delta, adaptive)
			if err := b.Charge(Cost{Epsilon: 0.1, Delta: 0.1, Times: 1}); err != nil {
				t.Fatal(err)
			}
			if err := b.Charge(Cost{Epsilon: 0.2, Delta: 0.2, Times: 1}); (err == nil) != c.want || err != nil && !errors.Is(err, ErrExceeded) {
				t.Errorf("0.1 and 0.2 of (%v, %v), adaptive %v: %v", c.epsilon, c.delta, adaptive, err)
			}
		}
	}
	// Without a delta the epsilons of pure mechanisms add up under any composition.
	for _, adaptive := range []bool{true, false} {
		for total, want := range map[float64]bool{1: true, math.Nextafter(1, 0): false} {
			b := budgetOf(t, total, 0, adaptive)
			if err := b.Charge(Cost{Epsilon: 0.25, Times: 4}); (err == nil) != want {
				t.Errorf("4 times 0.25 of %v, adaptive %v: %v", total, adaptive, err)
			}
		}
	}
}

// TestLeftOfADelta: where the deltas add up to the total there is an epsilon left, and beyond it none by basic composition.
func TestLeftOfADelta(t *testing.T) {
	for _, x := range []struct {
		delta, want float64
	}{{0x1p-21, 0.75}, {0x1p-22, 0.75}, {math.Nextafter(0x1p-21, 1), 0}, {0x1p-20, 0}, {0.5, 0}} {
		b := budgetOf(t, 1, 0x1p-20, true).With(Cost{Epsilon: 0.25, Delta: 0x1p-21, Times: 1})
		left, err := b.Left(t.Context(), x.delta)
		if err != nil || left != x.want {
			t.Errorf("delta %v: %v left, %v, want %v", x.delta, left, err, x.want)
		}
		exactly, err := budgetOf(t, 1, 0x1p-20, false).With(Cost{Epsilon: 0.25, Delta: 0x1p-21, Times: 1}).Left(t.Context(), x.delta)
		if err != nil || exactly < left || x.delta > 0x1p-20 && exactly != 0 {
			t.Errorf("delta %v: %v left by exact composition, %v, want at least %v", x.delta, exactly, err, left)
		}
	}
	if left, err := budgetOf(t, 200, 0, true).Left(t.Context(), 0); err != nil || left != maxEpsilon {
		t.Errorf("%v left of 200, %v, want the most that a release may have", left, err)
	}
	if left, err := budgetOf(t, 1, 0, true).With(Cost{Epsilon: 1, Times: 2}).Left(t.Context(), 0); err != nil || left != 0 {
		t.Errorf("%v left of less than nothing, %v", left, err)
	}
}
