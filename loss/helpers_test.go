// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"
	"testing"
)

// opaque hides what a loss is.
type opaque struct{ Loss }

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s = %.17g, want %.17g (relative error %.3g, tolerance %.3g)", what, got, want, got/want-1, relative)
	}
}
