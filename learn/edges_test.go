// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/tables"
)

// TestNoGuaranteeOfNothing: a budget of nothing, noise without a proof, and a budget without noise are refused.
func TestNoGuaranteeOfNothing(t *testing.T) {
	for _, b := range []Budget{{0, 0, dp.AddRemove}, {0, 0.1, dp.Replace}, {-1, 0, dp.AddRemove}} {
		if err := b.Validate(); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%+v: %v", b, err)
		}
	}
	if err := (Budget{math.SmallestNonzeroFloat64, 0, dp.AddRemove}).Validate(); err != nil {
		t.Error(err)
	}
	for _, b := range []Budget{{Epsilon: 1}, {Delta: 0.1}, {Epsilon: 1, Delta: 0.1}} {
		if n, err := NewNoise(t.Context(), none, b, 1, Options{}); n != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("no noise for %+v: %v", b, err)
		}
	}
	for _, v := range []*tables.Verified{nil, {}} {
		if n, err := prove(v, addRemove, 1); n != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("noise without a proof: %v", err)
		}
	}
}

// TestStepsAreClipped: no number has more than gridSteps steps, whatever it is.
func TestStepsAreClipped(t *testing.T) {
	for _, x := range []float64{1, math.Nextafter(1, 2), 1.5, 2, 1e300, math.Inf(1)} {
		if onGrid(x) != gridSteps || onGrid(-x) != -gridSteps {
			t.Errorf("%v has %d steps, and its negative %d", x, onGrid(x), onGrid(-x))
		}
	}
}

// TestReleasesAreCounted: one for the records, and one for each step of a round.
func TestReleasesAreCounted(t *testing.T) {
	s := &Schema{Classes: []string{"a", "b"}}
	for _, o := range []LogisticOptions{{Rounds: 7, PerRound: 3}, {Rounds: 1, PerRound: 5}, {Rounds: 12, PerRound: 1}} {
		if n, err := o.Releases(s); err != nil || n != 1+o.Rounds*o.PerRound {
			t.Errorf("%+v: %d releases, %v", o, n, err)
		}
	}
}
