// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/release/ledger"
)

// TestPart: a part of what was charged costs nothing, is answered once, and is refused where nothing was charged that it is
// a part of: not with another text or other data, and not another part.
func TestPart(t *testing.T) {
	l, path := create(t, account.Terms{Epsilon: 1})
	whole := query(0, pure(1))
	part := func(i int, of string) account.Charge {
		c := query(i)
		c.Part = of
		return c
	}
	refused := func(c account.Charge, want string) {
		t.Helper()
		if _, err := l.Release(t.Context(), c, never(t)); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
	refused(part(1, whole.Text), `, want what was charged in this ledger, of the same data`)
	if _, err := l.Release(t.Context(), whole, says("0")); err != nil {
		t.Fatal(err)
	}
	other := part(1, whole.Text)
	other.Data = strings.Repeat("cd", 32)
	refused(other, "part = ")
	both := part(1, whole.Text)
	both.Costs = whole.Costs
	refused(both, "costs = 1, want none: it is a part of what was charged")
	refused(query(1), "costs = 0, want 1 to 1024 mechanisms")
	for i := range 3 {
		r, err := l.Release(t.Context(), part(i+1, whole.Text), says("first"))
		if err != nil || string(r.Answer) != "first" || r.Replayed || r.ID != int64(i+2) || len(r.Costs) > 0 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	refused(part(9, query(1).Text), "part = ")
	for _, l := range []*ledger.Ledger{l, open(t, path)} {
		if r, err := l.Release(t.Context(), part(2, whole.Text), never(t)); err != nil || string(r.Answer) != "first" || !r.Replayed {
			t.Errorf("%+v, %v", r, err)
		}
		if s, err := l.Spent(t.Context()); err != nil || s.Epsilon != 1 || s.Uses != 1 || s.Releases != 4 || s.Pending != 0 {
			t.Errorf("%+v, %v", s, err)
		}
	}
	// Left without an answer, it is taken up again, and what it is a part of need not have one.
	l, _ = create(t, account.Terms{Epsilon: 1})
	stop := errors.New("stop")
	for _, c := range []account.Charge{whole, part(1, whole.Text)} {
		if _, err := l.Release(t.Context(), c, func(context.Context) ([]byte, error) { return nil, stop }); !errors.Is(err, stop) {
			t.Fatal(err)
		}
	}
	if r, err := l.Release(t.Context(), part(1, whole.Text), says("late")); err != nil || string(r.Answer) != "late" {
		t.Errorf("%+v, %v", r, err)
	}
}
