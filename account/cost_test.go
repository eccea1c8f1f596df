// SPDX-License-Identifier: Apache-2.0

package account

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// TestCosts: a cost is a table, at what it promises and nothing else, or a promise in its range; equal mechanisms are
// charged together, and only these.
func TestCosts(t *testing.T) {
	table, err := shapes.Gaussian(dp.Problem{Privacy: dp.Privacy{Epsilon: 0.5, Delta: 0.01, Sensitivity: 1}, Loss: loss.L1}, 5, tables.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	promised := table.Mechanism().Privacy().Delta
	for _, x := range []struct {
		cost Cost
		ok   bool
	}{
		{Cost{Table: table, Times: 1}, true},
		{Cost{Table: table, Epsilon: 0.5, Delta: promised, Times: limits.TableReleases}, true},
		{Cost{Table: table, Epsilon: 0.5, Delta: promised, Times: limits.TableReleases + 1}, false},
		{Cost{Table: table, Times: 0}, false},
		{Cost{Table: table, Epsilon: 0.5, Times: 1}, false},
		{Cost{Table: table, Delta: promised, Times: 1}, false},
		{Cost{Table: table, Epsilon: 0.5, Delta: 2 * promised, Times: 1}, false},
		{Cost{Table: table, Epsilon: 0.4, Delta: promised, Times: 1}, false},
		{Cost{Table: table, Epsilon: 1, Delta: 1, Times: 1}, false},
		{Cost{Table: &tables.Verified{}, Times: 1}, false},
		{Cost{Epsilon: 100, Times: 1}, true},
		{Cost{Epsilon: math.Nextafter(100, 101), Times: 1}, false},
		{Cost{Delta: 0.5, Times: 1}, true},
		{Cost{Times: 1}, false},
		{Cost{Epsilon: -5e-324, Delta: 0.5, Times: 1}, false},
		{Cost{Epsilon: 1, Delta: 1, Times: 1}, false},
	} {
		if err := x.cost.Validate(); (err == nil) != x.ok || !x.ok && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("epsilon %v, delta %v, %d times, table %t: %v", x.cost.Epsilon, x.cost.Delta, x.cost.Times, x.cost.Table != nil, err)
		}
	}
	if e, d := (Cost{Table: table}).Promise(); e != 0.5 || d != promised {
		t.Errorf("a table promises %v, %v", e, d)
	}
	if e, d := (Cost{Epsilon: 2, Delta: 0.25}).Promise(); e != 2 || d != 0.25 {
		t.Errorf("a promise of %v, %v", e, d)
	}
	other := Cost{Epsilon: 0.5, Delta: promised, Times: 3}
	sum := merged([]Cost{{Table: table, Times: 2}}, other, Cost{Table: table, Epsilon: 0.5, Delta: promised, Times: 5}, other)
	if len(sum) != 2 || sum[0].Table != table || sum[0].Times != 7 || sum[1].Table != nil || sum[1].Times != 6 || uses(sum) != 13 {
		t.Errorf("%+v", sum)
	}
	epsilon, delta := sums(sum)
	if e, _ := epsilon.Float64(); e != 6.5 {
		t.Errorf("the epsilons sum to %v", e)
	}
	if d, _ := delta.Float64(); math.Abs(d/promised-13) > 1e-12 {
		t.Errorf("the deltas sum to %v", d)
	}
	// Of a table the noise is composed, which costs less than what is only known to keep its promise.
	own, err := Cost{Table: table, Times: 9}.EpsilonAt(0.05)
	if err != nil {
		t.Fatal(err)
	}
	known, err := Cost{Epsilon: 0.5, Delta: promised, Times: 9}.EpsilonAt(0.05)
	if err == nil && !(own < known) || own > 4.5 || own < 0.5 {
		t.Errorf("nine of a table: %v, of its promise %v, %v", own, known, err)
	}

	var text bytes.Buffer
	if err := table.Mechanism().Encode(&text); err != nil {
		t.Fatal(err)
	}
	want := sha256.Sum256(text.Bytes())
	if h, err := (Cost{Table: table}).TableHash(); err != nil || h != hex.EncodeToString(want[:]) {
		t.Errorf("%s, %v, want that of the file", h, err)
	}
	for _, c := range []Cost{{Epsilon: 1}, {Table: &tables.Verified{}}} {
		if _, err := c.TableHash(); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("no table: %v", err)
		}
	}
}

// memory is a Ledger of one record.
type memory struct {
	Ledger
	record   *Record
	released int
}

func (m *memory) Find(context.Context, string, string) (Record, bool, error) {
	if m.record == nil {
		return Record{}, false, nil
	}
	return *m.record, true, nil
}

func (m *memory) Release(ctx context.Context, c Charge, answer func(context.Context) ([]byte, error)) (Record, error) {
	m.released++
	text, err := answer(ctx)
	m.record = &Record{Charge: c, Answer: text}
	return *m.record, err
}

// TestOnce: what has an answer is planned and drawn no more, what was left without one is drawn at the costs charged,
// and without a ledger nothing is charged.
func TestOnce(t *testing.T) {
	planned := 0
	plan := func(before []Cost) ([]Cost, func(context.Context) ([]byte, error), error) {
		planned++
		costs := []Cost{{Epsilon: 1, Times: 1}}
		if before != nil {
			costs = before
		}
		return costs, func(context.Context) ([]byte, error) { return []byte{byte(planned)}, nil }, nil
	}
	l := &memory{}
	first, err := Charge{Text: "{}"}.Once(t.Context(), l, plan)
	if err != nil || first.Replayed || string(first.Answer) != "\x01" || l.released != 1 || first.Costs[0].Epsilon != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := Charge{Text: "{}"}.Once(t.Context(), l, plan)
	if err != nil || !again.Replayed || string(again.Answer) != "\x01" || l.released != 1 || planned != 1 {
		t.Errorf("%+v, %v, planned %d times", again, err, planned)
	}
	l.record = &Record{Charge: Charge{Costs: []Cost{{Epsilon: 7, Times: 1}}}}
	if left, err := (Charge{Text: "{}"}).Once(t.Context(), l, plan); err != nil || left.Replayed || left.Costs[0].Epsilon != 7 || l.released != 2 || planned != 2 {
		t.Errorf("%+v, %v", left, err)
	}
	if free, err := (Charge{Text: "{}"}).Once(t.Context(), nil, plan); err != nil || free.Replayed || string(free.Answer) != "\x03" || l.released != 2 {
		t.Errorf("%+v, %v", free, err)
	}
}
