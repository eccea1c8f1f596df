// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestErrors: what the library prints, what the program prints, and what errors.Is
// and errors.As find, through all layers.
func TestErrors(t *testing.T) {
	kind := errors.New("kind")
	field := Field("dp", "epsilon", -1.0, "a number >= 0")
	wrapped := fmt.Errorf("t.json: %w", Errorf("tables", kind, "problem: %w", field))
	if got, want := wrapped.Error(), "t.json: tables: problem: dp: epsilon = -1, want a number >= 0"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Sentences(wrapped), []string{"t.json: problem: epsilon = -1, want a number >= 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var f *FieldError
	if !errors.Is(wrapped, kind) || !errors.Is(wrapped, ErrInvalid) || !errors.As(wrapped, &f) || f.Field != "epsilon" {
		t.Error("the kind, ErrInvalid or the field is lost")
	}
}

func TestList(t *testing.T) {
	l := In("lp")
	l.Add(nil)
	if !l.None() || l.Err() != nil {
		t.Errorf("an empty list: %v", l.Err())
	}
	l.Bad("gap", 0, "a number above 0")
	l.Badf("cells", 3, "at most %d", 2)
	l.Want(true, "steps", 1, "at least 1")
	l.Want(Positive(math.NaN()) || Positive(math.Inf(1)) || !Positive(5e-324), "rate", 0, "above %d", 0)
	want := []string{"gap = 0, want a number above 0", "cells = 3, want at most 2", "rate = 0, want above 0"}
	if got := Sentences(l.Err()); l.None() || !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFinite(t *testing.T) {
	if !Finite() || !Finite(0, -math.MaxFloat64, 5e-324) {
		t.Error("finite numbers are not")
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if Finite(v) || Finite(1, v) || Finite(v, 1) {
			t.Errorf("%v is finite", v)
		}
	}
}

func TestDelta(t *testing.T) {
	for _, good := range []float64{0, 5e-324, 0.5, math.Nextafter(1, 0)} {
		if err := Delta("dp", "delta", good); err != nil {
			t.Errorf("delta = %v: %v", good, err)
		}
	}
	l := In("dp")
	l.Delta("delta", 0.1)
	for _, bad := range []float64{-5e-324, 1, math.NaN(), math.Inf(1)} {
		l.Delta("total.delta", bad)
		want := fmt.Sprintf("dp: total.delta = %v, want a probability, at least 0 and below 1", bad)
		if err := Delta("dp", "total.delta", bad); err == nil || err.Error() != want || !errors.Is(err, ErrInvalid) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if n := len(Sentences(l.Err())); n != 4 {
		t.Errorf("%d sentences of 4 bad deltas", n)
	}
}

// TestMaxEpsilon: the largest epsilon passes, the next float64 does not, and what is no
// number is left to dp.Privacy.
func TestMaxEpsilon(t *testing.T) {
	for _, c := range []struct {
		epsilon float64
		ok      bool
	}{{0, true}, {MaxEpsilon, true}, {MaxEpsilon * (1 + 0x1p-52), false}, {1e300, false}, {-1, true}} {
		errs := In("pkg")
		errs.MaxEpsilon(c.epsilon)
		if errs.None() != c.ok {
			t.Errorf("epsilon = %v: %v, want none: %v", c.epsilon, errs.Err(), c.ok)
		}
	}
}
