// SPDX-License-Identifier: Apache-2.0

package csvfile

import "testing"

func TestNumber(t *testing.T) {
	for s, want := range map[string]float64{"0": 0, "-0.5": -0.5, "+1e3": 1000, ".5": 0.5, "1E-400": 0, "007": 7} {
		if got, err := Number(s); err != nil || got != want {
			t.Errorf("Number(%q) = %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", " ", "-", "1,5", "1 000", "inf", "NaN", "1e999", "0x10", "0x1p-2", "1_000", "--1", "1e", "\u00e9", "?"} {
		if got, err := Number(s); err == nil {
			t.Errorf("Number(%q) = %v, want an error", s, got)
		}
	}
}
