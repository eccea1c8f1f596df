// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestSelectionTotal: the parts compose to the total, and need no more people than equal
// parts.
func TestSelectionTotal(t *testing.T) {
	for _, m := range []int{1, 2, 30} {
		s, err := NewSelection(1, 1e-6, m)
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewBudget(1, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Charge(s.cost()); err != nil {
			t.Errorf("%d partitions: %v", m, err)
		}
		basic, err := selection(1/float64(m), 1e-6/float64(m), m)
		if err != nil {
			t.Fatal(err)
		}
		if s.median() > basic.median() {
			t.Errorf("%d partitions: %d people needed, and %d with equal parts", m, s.median(), basic.median())
		}
		if m == 30 && s.median() > basic.median()*9/10 {
			t.Errorf("30 partitions: %d people needed, want 10 %% less than the %d of equal parts, by exact composition", s.median(), basic.median())
		}
	}
}

func TestSelectionRefuses(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		partitions     int
		want           string
	}{
		{0, 1e-6, 1, "epsilon = 0"},
		{1, 0, 1, "no private rule"},
		{1, 1e-6, 0, "partitions = 0"},
		{math.NaN(), math.NaN(), -1, "delta = NaN"},
		{1, 1e-60, 1, "larger ones"},
		{1e-9, 1e-12, 1, "larger ones"},
	} {
		_, err := NewSelection(c.epsilon, c.delta, c.partitions)
		wantSentence(t, err, c.want)
		if !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v is not dp.ErrInvalid", err)
		}
	}
}
