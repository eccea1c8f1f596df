// SPDX-License-Identifier: Apache-2.0

package dp

import (
	"errors"
	"testing"
)

// TestQuantileLoss: magnitudes that print with an exponent are no exception.
func TestQuantileLoss(t *testing.T) {
	for magnitude, want := range map[float64]string{2: "exceed:2", 1e6: "exceed:1e6", 1234567: "exceed:1.234567e6", 1e-7: "exceed:1e-7"} {
		l, err := Quantile{Probability: 0.9, Magnitude: magnitude}.Loss()
		if err != nil || l.Name() != want {
			t.Errorf("quantile at %g: %v, %v, want %s", magnitude, l, err, want)
		}
	}
	if _, err := (Quantile{Probability: 0.9, Magnitude: 1e70}).Loss(); !errors.Is(err, ErrInvalid) {
		t.Errorf("quantile at 1e70: %v, want an error", err)
	}
}
