// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestMeterLimit: the limit itself may be spent, one operation more may not, and then
// nothing more ever.
func TestMeterLimit(t *testing.T) {
	m := newMeter(t.Context(), 100)
	if !m.Spend(0) || !m.Spend(60) || !m.Spend(40) || m.Used() != 100 || m.Err("pkg") != nil || !m.Go() {
		t.Fatalf("100 operations of 100 are not allowed: %d, %v", m.Used(), m.Err("pkg"))
	}
	if m.Spend(1) || m.Spend(0) || m.Go() || m.Used() != 100 {
		t.Fatal("101 operations of 100 are allowed, or some after it said stop")
	}
	err := m.Err("pkg")
	if !errors.Is(err, ErrWork) || !strings.HasPrefix(err.Error(), "pkg: ") || !strings.Contains(err.Error(), "100") {
		t.Errorf("%v, want ErrWork with the limit", err)
	}
	// What would overflow is no more allowed than what does not.
	if m := newMeter(t.Context(), 100); m.Spend(math.MaxInt64) || m.Used() != 0 {
		t.Error("the largest number of operations is allowed")
	}
	if m := newMeter(t.Context(), noLimit); !m.Spend(math.MaxInt64) || m.Spend(1) {
		t.Error("no limit is not the largest number")
	}
}

// TestMeterDefault: 0 and what is below it stand for the default.
func TestMeterDefault(t *testing.T) {
	for _, work := range []int64{0, -1, math.MinInt64} {
		m := newMeter(t.Context(), Options{Work: work}.Limit())
		if !m.Spend(defaultWork) || m.Spend(1) {
			t.Errorf("a meter for %d operations has not the default limit", work)
		}
	}
}

// TestNilMeter has no limit.
func TestNilMeter(t *testing.T) {
	var m *Meter
	if once, again := m.Spend(math.MaxInt64), m.Spend(math.MaxInt64); !once || !again || !m.Go() || m.Used() != 0 || m.Err("pkg") != nil {
		t.Error("it says stop, or counts")
	}
}

// TestMeterContext: a context that ends is seen by Go at once and by Spend after a little
// work, and the error is its own.
func TestMeterContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m, n := newMeter(ctx, noLimit), newMeter(ctx, noLimit)
	cancel()
	if m.Go() || m.Spend(0) || !errors.Is(m.Err("pkg"), context.Canceled) || errors.Is(m.Err("pkg"), ErrWork) {
		t.Errorf("%v, want that of the context", m.Err("pkg"))
	}
	if n.Spend(between) {
		t.Error("the context was not looked at after a millisecond of work")
	}
	if !errors.Is(n.Err("pkg"), context.Canceled) {
		t.Errorf("%v, want that of the context", n.Err("pkg"))
	}
}

// TestOnce: a value is found once, by one of many who ask, and is the same for all.
func TestOnce(t *testing.T) {
	o := newOnce[int]()
	var found atomic.Int32
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			v, err := o.Get("pkg", newMeter(context.Background(), 10), func() int {
				time.Sleep(time.Millisecond)
				return int(found.Add(1))
			})
			if v != 1 || err != nil {
				t.Errorf("%d, %v, want 1", v, err)
			}
		})
	}
	all.Wait()
	if found.Load() != 1 {
		t.Errorf("it was found %d times", found.Load())
	}
}

// TestOnceStopped: what was found while the meter said stop does not count, and the next
// one who asks looks again.
func TestOnceStopped(t *testing.T) {
	o := newOnce[string]()
	small := newMeter(t.Context(), 1)
	if v, err := o.Get("pkg", small, func() string { small.Spend(2); return "half" }); v != "" || !errors.Is(err, ErrWork) {
		t.Errorf("%q, %v, want ErrWork alone", v, err)
	}
	if v, err := o.Get("pkg", small, func() string { t.Error("asked with a meter that said stop"); return "" }); v != "" || !errors.Is(err, ErrWork) {
		t.Errorf("%q, %v, want ErrWork alone", v, err)
	}
	if v, err := o.Get("pkg", newMeter(t.Context(), 1), func() string { return "whole" }); v != "whole" || err != nil {
		t.Errorf("%q, %v, want what was found", v, err)
	}
	// A meter that said stop has nothing of what others found either.
	if v, err := o.Get("pkg", small, func() string { return "again" }); v != "" || err == nil {
		t.Errorf("%q, %v, want an error", v, err)
	}
}

// TestOnceWaits: who waits for another one can be told to stop, and the other one goes on.
func TestOnceWaits(t *testing.T) {
	o := newOnce[int]()
	begun, finish := make(chan struct{}), make(chan struct{})
	var other sync.WaitGroup
	other.Go(func() {
		v, err := o.Get("pkg", newMeter(context.Background(), 1), func() int { close(begun); <-finish; return 7 })
		if v != 7 || err != nil {
			t.Errorf("%d, %v, want 7", v, err)
		}
	})
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if v, err := o.Get("pkg", newMeter(ctx, 1), func() int { return 8 }); v != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d, %v, want the error of the context", v, err)
	}
	close(finish)
	other.Wait()
}
