// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/release/ledger"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// create makes and opens a ledger, of rows that are added or removed unless the terms say
// otherwise. Its name has what a URI would take for something else.
func create(tb testing.TB, terms account.Terms) (*ledger.Ledger, string) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "a b?mode=ro#%41.ledger")
	if terms.Neighbors == "" {
		terms.Neighbors, terms.Unit = dp.AddRemove, dp.Row
	}
	if err := ledger.Create(tb.Context(), path, terms); err != nil {
		tb.Fatal(err)
	}
	return open(tb, path), path
}

func open(tb testing.TB, path string) *ledger.Ledger {
	tb.Helper()
	l, err := ledger.Open(tb.Context(), path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

// query is number i of those that tests ask.
func query(i int, costs ...account.Cost) account.Charge {
	return account.Charge{
		Text: fmt.Sprintf(`{"query":%d}`, i), Data: strings.Repeat("ab", 32), Summary: fmt.Sprintf("query %d", i),
		Neighbors: dp.AddRemove, Unit: dp.Row, Costs: costs,
	}
}

func pure(epsilon float64) account.Cost { return account.Cost{Epsilon: epsilon, Times: 1} }

func says(text string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return []byte(text), nil }
}

// never is for queries that are not to be drawn.
func never(tb testing.TB) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		tb.Error("drawn, want no draw")
		return []byte("never"), nil
	}
}

// gaussian returns a table of Gaussian noise for counts.
func gaussian(tb testing.TB, sigma, epsilon, delta float64) *tables.Verified {
	tb.Helper()
	v, err := shapes.Gaussian(dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L2}, sigma, tables.Grid{})
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func TestRelease(t *testing.T) {
	l, path := create(t, account.Terms{Epsilon: 1})
	r, err := l.Release(t.Context(), query(1, pure(0.5)), says("7"))
	if err != nil || string(r.Answer) != "7" || r.Replayed {
		t.Fatalf("%+v, %v", r, err)
	}
	// The same query on the same data, also after a restart: at no cost.
	for _, l := range []*ledger.Ledger{l, open(t, path)} {
		r, err = l.Release(t.Context(), query(1, pure(0.5)), never(t))
		if err != nil || string(r.Answer) != "7" || !r.Replayed {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	// On other data it is another release.
	other := query(1, pure(0.25))
	other.Data = strings.Repeat("cd", 32)
	if r, err = l.Release(t.Context(), other, says("8")); err != nil || string(r.Answer) != "8" || r.ID != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	_, err = l.Release(t.Context(), query(3, pure(0.5)), never(t))
	var e *ledger.Exceeded
	if !errors.As(err, &e) || !errors.Is(err, account.ErrExceeded) {
		t.Fatal(err)
	}
	if e.Left != 0.25 || e.LeftDelta != 0 || e.Spent.Epsilon != 0.75 || e.Terms.Epsilon != 1 {
		t.Errorf("%+v, want 0.25 left of 1", e)
	}
	if want := "ledger: the release would exceed the total of epsilon 1, delta 0: left is one of epsilon 0.25 at its delta of 0"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if _, err = l.Release(t.Context(), query(3, pure(0.25)), says("9")); err != nil {
		t.Error(err)
	}
	_, err = l.Release(t.Context(), query(4, pure(1e-9)), never(t))
	if !errors.As(err, &e) || e.Left != 0 || !strings.Contains(err.Error(), "nothing is left") {
		t.Error(err)
	}
	list, err := l.Records(t.Context())
	if err != nil || len(list) != 3 || string(list[2].Answer) != "9" || list[2].Costs[0] != pure(0.25) || list[1].Data != other.Data ||
		list[0].Summary != "query 1" || time.Since(list[0].Charged) > time.Hour || list[0].Answered.Before(list[0].Charged) {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestTakenUp: of one charge there is one answer, whoever asks for it.
func TestTakenUp(t *testing.T) {
	l, path := create(t, account.Terms{Epsilon: 1})
	broken := errors.New("broken")
	if _, err := l.Release(t.Context(), query(1, pure(1)), func(context.Context) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	s, err := l.Spent(t.Context())
	if err != nil || s.Epsilon != 1 || s.Releases != 1 || s.Pending != 1 || s.Uses != 1 {
		t.Fatalf("%+v, %v: want the charge, which stays", s, err)
	}
	// With other noise it would be another release.
	if _, err := l.Release(t.Context(), query(1, pure(0.5)), never(t)); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("%v, want a refusal", err)
	}
	if r, ok, err := l.Find(t.Context(), query(1).Text, query(1).Data); err != nil || !ok || r.Answer != nil || r.Costs[0] != pure(1) {
		t.Errorf("%+v, %v, %v", r, ok, err)
	}
	if _, ok, err := l.Find(t.Context(), query(2).Text, query(2).Data); err != nil || ok {
		t.Errorf("found what is not there: %v", err)
	}
	// A slow process, not a dead one: the faster one's answer is the answer.
	fast := open(t, path)
	r, err := l.Release(t.Context(), query(1, pure(1)), func(ctx context.Context) ([]byte, error) {
		r, err := fast.Release(ctx, query(1, pure(1)), says("fast"))
		if err != nil || string(r.Answer) != "fast" || r.Replayed {
			t.Errorf("%+v, %v", r, err)
		}
		return []byte("slow"), nil
	})
	if err != nil || string(r.Answer) != "fast" || !r.Replayed {
		t.Errorf("%+v, %v, want the answer of the faster one", r, err)
	}
}

// TestLost: an answer that is empty or too large is lost for good, as another draw would be free; nobody is told its size.
func TestLost(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: answers of 128 MiB")
	}
	l, path := create(t, account.Terms{Epsilon: 3})
	for i, size := range []int{0, 128<<20 + 1, 128<<20 + 2} {
		_, err := l.Release(t.Context(), query(i, pure(1)), func(context.Context) ([]byte, error) { return bytes.Repeat([]byte{'7'}, size), nil })
		want := fmt.Sprintf("ledger: the answer of release %d is lost: it was empty, or larger than 128 MiB", i+1)
		if !errors.Is(err, dp.ErrInvalid) || err.Error() != want {
			t.Errorf("%d bytes: %v, want %s", size, err, want)
		}
		again := open(t, path)
		if _, err := again.Release(t.Context(), query(i, pure(1)), never(t)); err == nil || err.Error() != want {
			t.Errorf("%d bytes again: %v", size, err)
		}
		if _, ok, err := again.Find(t.Context(), query(i).Text, query(i).Data); ok || err == nil || err.Error() != want {
			t.Errorf("%d bytes: found %v, %v", size, ok, err)
		}
	}
	if r, err := l.Release(t.Context(), query(3, pure(1e-9)), never(t)); !errors.Is(err, account.ErrExceeded) {
		t.Errorf("%+v, %v: want the charges, which stay", r, err)
	}
	if s, err := l.Spent(t.Context()); err != nil || s.Pending != 0 || s.Releases != 3 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestDrawnIsKept: a context that ends once the answer is drawn loses nothing, as another draw would be free.
func TestDrawnIsKept(t *testing.T) {
	l, path := create(t, account.Terms{Epsilon: 1})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := l.Release(ctx, query(1, pure(1)), func(context.Context) ([]byte, error) {
		cancel()
		return []byte("drawn"), nil
	})
	if err != nil || string(r.Answer) != "drawn" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := open(t, path).Release(t.Context(), query(1, pure(1)), never(t)); err != nil || string(r.Answer) != "drawn" {
		t.Errorf("again: %+v, %v", r, err)
	}
}

// TestOftener: a charge is taken up by as many uses of the noise only.
func TestOftener(t *testing.T) {
	l, _ := create(t, account.Terms{Epsilon: 3})
	once, twice := pure(1), pure(1)
	twice.Times = 2
	if _, err := l.Release(t.Context(), query(1, once), func(context.Context) ([]byte, error) { return nil, errors.New("broken") }); err == nil {
		t.Fatal("no error")
	}
	if _, err := l.Release(t.Context(), query(1, twice), never(t)); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "charged with before") {
		t.Errorf("two uses for the price of one: %v", err)
	}
}

func TestBadInput(t *testing.T) {
	for name, terms := range map[string]account.Terms{
		"epsilon": {Epsilon: math.NaN(), Neighbors: dp.AddRemove, Unit: dp.Row}, "delta": {Epsilon: 1, Delta: 1, Neighbors: dp.Replace, Unit: dp.Row},
		"neighbors": {Epsilon: 1, Neighbors: "both", Unit: dp.Row}, "unit": {Epsilon: 1, Neighbors: dp.Replace, Unit: "person:"},
	} {
		path := filepath.Join(t.TempDir(), "l")
		if err := ledger.Create(t.Context(), path, terms); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v", terms, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file was made", name)
		}
	}
	l, path := create(t, account.Terms{Epsilon: 1, Delta: 0.1})
	if err := ledger.Create(t.Context(), path, l.Terms()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want a refusal", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v, want the ledger alone", left, err)
	}
	v := gaussian(t, 10, 0.5, 1e-3)
	for name, change := range map[string]func(*account.Charge){
		"text": func(q *account.Charge) { q.Text = "{}\n" }, "summary": func(q *account.Charge) { q.Summary = "a\x1b[1m" },
		"data":      func(q *account.Charge) { q.Data = strings.Repeat("AB", 32) },
		"neighbors": func(q *account.Charge) { q.Neighbors = dp.Replace }, "unit": func(q *account.Charge) { q.Unit = "person:id" },
		"costs": func(q *account.Charge) { q.Costs = nil }, "times of cost 1": func(q *account.Charge) { q.Costs[0].Times = 0 },
		"epsilon of cost 1":        func(q *account.Charge) { q.Costs[0].Epsilon = math.Inf(1) },
		"epsilon, delta of cost 1": func(q *account.Charge) { q.Costs[0].Table, q.Costs[0].Delta = v, 0.5 },
		"table of cost 1":          func(q *account.Charge) { q.Costs[0].Table = &tables.Verified{} },
	} {
		q := query(1, pure(0.1))
		change(&q)
		if _, err := l.Release(t.Context(), q, never(t)); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := l.Left(t.Context(), 1); !errors.Is(err, dp.ErrInvalid) {
		t.Error(err)
	}
	if _, err := l.LeftTimes(t.Context(), account.Cost{}); !errors.Is(err, dp.ErrInvalid) {
		t.Error(err)
	}
	if s, err := l.Spent(t.Context()); err != nil || s.Releases != 0 {
		t.Errorf("%+v, %v: charged for nothing", s, err)
	}
}
