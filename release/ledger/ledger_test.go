package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/release/ledger"
)

func create(t *testing.T, terms ledger.Terms) (*ledger.Ledger, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a b?#%.ledger")
	if terms.Neighbors == "" {
		terms.Neighbors, terms.Unit = ledger.AddRemove, ledger.Row
	}
	if err := ledger.Create(t.Context(), path, terms); err != nil {
		t.Fatal(err)
	}
	return open(t, path), path
}

func open(t *testing.T, path string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func query(i int, costs ...ledger.Cost) ledger.Query {
	return ledger.Query{
		Text: fmt.Sprintf(`{"query":%d}`, i), Data: strings.Repeat("ab", 32), Summary: fmt.Sprintf("query %d", i),
		Neighbors: ledger.AddRemove, Unit: ledger.Row, Costs: costs,
	}
}

func says(text string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return []byte(text), nil }
}

func TestRelease(t *testing.T) {
	l, _ := create(t, ledger.Terms{Epsilon: 1})
	half := ledger.Cost{Epsilon: 0.5, Times: 1}
	r, err := l.Release(t.Context(), query(1, half), says("7"))
	if err != nil || string(r.Answer) != "7" || r.Replayed {
		t.Fatalf("%+v, %v", r, err)
	}
	r, err = l.Release(t.Context(), query(1, half), says("8"))
	if err != nil || string(r.Answer) != "7" || !r.Replayed {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = l.Release(t.Context(), query(2, half), says("9")); err != nil || string(r.Answer) != "9" {
		t.Fatalf("%+v, %v", r, err)
	}
	_, err = l.Release(t.Context(), query(3, half), says("10"))
	var e *ledger.Exceeded
	if !errors.As(err, &e) || !errors.Is(err, ledger.ErrExceeded) || e.Left != 0 {
		t.Fatalf("%v", err)
	}
	t.Log(err)
}
