// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// TestLimitsOfCharges: the last of each range is taken, the next is not.
func TestLimitsOfCharges(t *testing.T) {
	terms := account.Terms{Neighbors: dp.AddRemove, Unit: dp.Row}
	json := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	for name, x := range map[string]struct {
		change func(*account.Charge)
		ok     bool
	}{
		"as it is":           {func(*account.Charge) {}, true},
		"the longest text":   {func(q *account.Charge) { q.Text = json(maxText) }, true},
		"a longer text":      {func(q *account.Charge) { q.Text = json(maxText + 1) }, false},
		"the most costs":     {func(q *account.Charge) { q.Costs = make([]account.Cost, maxCosts) }, true},
		"more costs":         {func(q *account.Charge) { q.Costs = make([]account.Cost, maxCosts+1) }, false},
		"no costs":           {func(q *account.Charge) { q.Costs = nil }, false},
		"a line more":        {func(q *account.Charge) { q.Text = "{}\n" }, false},
		"other neighbors":    {func(q *account.Charge) { q.Neighbors = dp.Replace }, false},
		"another unit":       {func(q *account.Charge) { q.Unit = "person:id" }, false},
		"a digit less":       {func(q *account.Charge) { q.Data = q.Data[1:] }, false},
		"no digit":           {func(q *account.Charge) { q.Data = "g" + q.Data[1:] }, false},
		"a mechanism of 0,0": {func(q *account.Charge) { q.Costs = []account.Cost{{Times: 1}} }, false},
	} {
		q := ask(1)
		x.change(&q)
		for i := range q.Costs {
			if q.Costs[i] == (account.Cost{}) {
				q.Costs[i] = account.Cost{Epsilon: 1, Times: 1}
			}
		}
		if err := validateCharge(q, terms); (err == nil) != x.ok || !x.ok && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, none := range []*tables.Verified{nil, {}} {
		if _, err := tableText(none); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("no table: %v", err)
		}
	}
}

// TestRecordsSayWhatIsHidden: records, found or listed, have the neighbors and the unit of the ledger, and a full
// disk is no damage.
func TestRecordsSayWhatIsHidden(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	if err := Create(t.Context(), path, account.Terms{Epsilon: 9, Neighbors: dp.Replace, Unit: "person:id"}); err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it has read
	q := ask(1)
	q.Neighbors, q.Unit = dp.Replace, "person:id"
	if _, err := l.Release(t.Context(), q, func(context.Context) ([]byte, error) { return []byte("1"), nil }); err != nil {
		t.Fatal(err)
	}
	found, ok, err := l.Find(t.Context(), q.Text, q.Data)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	list, err := l.Records(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	for _, r := range []account.Record{found, list[0]} {
		if r.Neighbors != dp.Replace || r.Unit != "person:id" || r.ID != 1 {
			t.Errorf("%+v", r)
		}
	}
	if _, err := l.db.Exec("PRAGMA max_page_count = 1"); err != nil {
		t.Fatal(err)
	}
	q = ask(2)
	q.Neighbors, q.Unit, q.Summary = dp.Replace, "person:id", strings.Repeat("s", 60000)
	_, err = l.Release(t.Context(), q, func(context.Context) ([]byte, error) { return nil, errors.New("drawn without a charge") })
	if err == nil || errors.Is(err, proof.ErrFormat) || strings.Contains(err.Error(), "drawn") {
		t.Errorf("a full disk: %v", err)
	}
}

// TestSpentOfAdaptive: with adaptive terms what is spent are the sums, rounded up; else the delta is that of the terms.
func TestSpentOfAdaptive(t *testing.T) {
	epsilons, deltas := exact.Rational(0.1), exact.Rational(0.01)
	epsilons.Add(epsilons, exact.Rational(0.2))
	deltas.Add(deltas, exact.Rational(0.06))
	for _, adaptive := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "l")
		if err := Create(t.Context(), path, account.Terms{Epsilon: 1, Delta: 0.25, Neighbors: dp.AddRemove, Unit: dp.Row, Adaptive: adaptive}); err != nil {
			t.Fatal(err)
		}
		l, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() //nolint:errcheck // it has read
		if l.Terms().Delimiter != "," {
			t.Errorf("delimiter %q", l.Terms().Delimiter)
		}
		one := func(context.Context) ([]byte, error) { return []byte("1"), nil }
		first := ask(1, account.Cost{Epsilon: 0.1, Delta: 0.01, Times: 1}, account.Cost{Epsilon: 0.2, Delta: 0.06, Times: 1})
		if _, err := l.Release(t.Context(), first, one); err != nil {
			t.Fatal(err)
		}
		s, err := l.Spent(t.Context())
		if err != nil || s.BasicEpsilon.Cmp(epsilons) != 0 || s.BasicDelta.Cmp(deltas) != 0 || s.Uses != 2 || s.Releases != 1 || s.Pending != 0 {
			t.Errorf("%+v, %v", s, err)
		}
		up := func(x float64, sum *big.Rat) bool {
			return exact.Rational(x).Cmp(sum) >= 0 && exact.Rational(math.Nextafter(x, 0)).Cmp(sum) < 0
		}
		if adaptive && !(up(s.Epsilon, epsilons) && up(s.Delta, deltas)) || !adaptive && s.Delta != 0.25 {
			t.Errorf("adaptive %t: spent are %v, %v", adaptive, s.Epsilon, s.Delta)
		}
		// An answer is returned whatever the noise that is named now.
		if r, err := l.Release(t.Context(), ask(1), one); err != nil || !r.Replayed {
			t.Errorf("asked again with another cost: %+v, %v", r, err)
		}

		if err := l.Fits(t.Context(), []account.Cost{{Epsilon: 0.5, Times: 1}}); err != nil {
			t.Errorf("what fits: %v", err)
		}
		for _, deltas := range [][2]float64{{0.1, 0.2}, {0.5, 0.5}, {0.9, 0.3}} {
			err := l.Fits(t.Context(), []account.Cost{{Epsilon: 2, Delta: deltas[0], Times: 1}, {Epsilon: 3, Delta: deltas[1], Times: 1}})
			var e *Exceeded
			sum := new(big.Rat).Add(exact.Rational(deltas[0]), exact.Rational(deltas[1]))
			if !errors.As(err, &e) || !errors.Is(err, account.ErrExceeded) || e.Left != 0 || exact.Rational(e.LeftDelta).Cmp(sum) < 0 || e.LeftDelta > deltas[0]+deltas[1]+1e-15 {
				t.Errorf("deltas %v: %v, %+v", deltas, err, e)
			}
		}
		n, err := l.LeftTimes(t.Context(), account.Cost{Epsilon: 0.125})
		if err != nil || adaptive && n != 5 || n < 5 || n > 200 {
			t.Errorf("adaptive %t: %d times left, %v", adaptive, n, err)
		}
		if _, err := l.LeftTimes(t.Context(), account.Cost{}); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "of cost 1") {
			t.Errorf("times of nothing: %v", err)
		}
	}
	for unit, ok := range map[string]bool{"person:id": true, "person:": false, "person:a\nb": false, "people": false, dp.Row: true} {
		if err := validate(&account.Terms{Epsilon: 1, Neighbors: dp.AddRemove, Unit: unit}); (err == nil) != ok {
			t.Errorf("unit %q: %v", unit, err)
		}
	}
}

// TestFloor: what is said to be left is no more than is left, as it is printed.
func TestFloor(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for range 2000 {
		x := math.Exp(30 * (r.Float64() - 0.5))
		printed, err := strconv.ParseFloat(fmt.Sprintf("%.6g", floor(x)), 64)
		if err != nil || printed > x || printed < x*(1-1.1e-5) {
			t.Fatalf("%v is printed as %v", x, printed)
		}
	}
	if floor(0.25) != 0.25 || floor(3) != 3 {
		t.Error(floor(0.25), floor(3))
	}
}

// TestHardlyAnything: what is left is named, and what is of no use is said to be that.
func TestHardlyAnything(t *testing.T) {
	for left, want := range map[float64]string{
		0: ": nothing is left at", 2e-9: ": nothing is left at", 0x1p-28: ": hardly anything is left, epsilon 3.72529e-09 at",
		math.Nextafter(2e-4, 0): ": hardly anything is left, epsilon 0.000199999 at", 2e-4: ": left is one of epsilon 0.0002 at", 1: ": left is one of epsilon 1 at",
	} {
		if err := (&Exceeded{Terms: account.Terms{Epsilon: 2}, Left: left}).Error(); !strings.Contains(err, want) {
			t.Errorf("%v is left: %s, want %s", left, err, want)
		}
	}
}
