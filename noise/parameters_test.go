// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// TestBadParametersRefused: every baseline refuses bad parameters with ErrInvalid,
// before anything else.
func TestBadParametersRefused(t *testing.T) {
	bad := []dp.Privacy{{Epsilon: -1, Delta: 0.1, Sensitivity: 1}, {Epsilon: 1, Delta: 1, Sensitivity: 1}, {Epsilon: 1, Delta: 0.1, Sensitivity: 0}, {Epsilon: math.NaN(), Delta: 0.1, Sensitivity: 1}, {Epsilon: 1, Delta: math.NaN(), Sensitivity: 1}, {Epsilon: 1, Delta: 0.1, Sensitivity: math.Inf(1)}}
	for _, p := range bad {
		for _, b := range Baselines() {
			_, err := b.New(p, loss.L1)
			if !errors.Is(err, dp.ErrInvalid) || inapplicable(err) {
				t.Errorf("%s %+v: %v; want ErrInvalid", b.Name, p, err)
			}
		}
	}
}

// TestMissingLossRefused: a nil loss is an error, not a crash.
func TestMissingLossRefused(t *testing.T) {
	p := dp.Privacy{Epsilon: 0.5, Delta: 0.1, Sensitivity: 1}
	for _, b := range Baselines() {
		m, err := b.New(p, nil)
		if err == nil {
			_, _, err = m.ExpectedLoss(nil)
		}
		if !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", b.Name, err)
		}
	}
}
