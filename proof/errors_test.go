// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"errors"
	"fmt"
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
)

// rational parses a fraction or a decimal.
func rational(t *testing.T, text string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("no number: %q", text)
	}
	return r
}

// TestSentinels: each error is found by its own sentinel and by no other.
func TestSentinels(t *testing.T) {
	all := []error{ErrFormat, ErrNotPrivate, ErrFalseClaim, ErrWork, dp.ErrInvalid}
	for i, kind := range all {
		err := fmt.Errorf("a.json: %w", check.Errorf("pkg", kind, "some text"))
		for j, other := range all {
			if got := errors.Is(err, other); got != (i == j) {
				t.Errorf("an error of kind %q is of kind %q: %v", kind, other, got)
			}
		}
		if got := check.Sentences(err); len(got) != 1 || got[0] != "a.json: some text" {
			t.Errorf("it reads %q, which prints its kind or its package", got)
		}
	}
}

func TestGap(t *testing.T) {
	for _, c := range []struct {
		loss, bound string
		gap         float64
		ok          bool
	}{
		{"3/2", "1", 0.5, true},
		{"1", "1", 0, true},
		{"3/4", "1", -0.25, true}, // on a coarse grid
		{"0", "0", 0, true},
		{"1", "0", 0, false},
		{"1", "-1", 0, false},
	} {
		if gap, ok := (Bounds{Loss: rational(t, c.loss), LowerBound: rational(t, c.bound)}).Gap(); gap != c.gap || ok != c.ok {
			t.Errorf("the gap of %s above %s is %v, %v, want %v, %v", c.loss, c.bound, gap, ok, c.gap, c.ok)
		}
	}
}
