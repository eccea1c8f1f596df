// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/engine"
)

// TestFits: programs whose dense matrix takes gigabytes are not for the interior point
// method, however few terms they have, even where there is no other.
func TestFits(t *testing.T) {
	lopsided, err := loss.New("pinball", 0.3)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		loss  loss.Loss
		cells int
		fits  bool
	}{
		{loss.L1, 2*engine.MostMasses - 1, true},
		{loss.L1, 2*engine.MostMasses + 1, false},
		{lopsided, engine.MostMasses, true},
		{lopsided, engine.MostMasses + 1, false},
	} {
		p := dp.Problem{Privacy: dp.Privacy{Epsilon: 0.001, Delta: 1e-9, Sensitivity: 1}, Loss: c.loss}
		m, err := newModel(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.fits(grid{k: 1, n: c.cells}); got != c.fits {
			t.Errorf("%s, %d cells: %v, want %v", c.loss.Name(), c.cells, got, c.fits)
		}
	}
}
