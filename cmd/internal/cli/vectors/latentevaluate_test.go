// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"math"
	"testing"
)

// TestStandardErrors: two draws say little about their spread.
func TestStandardErrors(t *testing.T) {
	for _, c := range []struct {
		draws             int
		probability, want float64
	}{{2, 0.001, 636.6192}, {10, 0.001, 4.780913}, {1000000, 0.001, 3.290539}} {
		if got := standardErrors(c.draws, c.probability); math.Abs(got/c.want-1) > 1e-5 {
			t.Errorf("standardErrors(%d, %g) = %g, want %g", c.draws, c.probability, got, c.want)
		}
	}
}
