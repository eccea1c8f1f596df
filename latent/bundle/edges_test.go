// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

// TestPromisesToTheLastPlace: a promise of what is proved is kept, and one a unit in the last place below
// it is not, for every composition and domain.
func TestPromisesToTheLastPlace(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for name, s := range exampleSpecs(t) {
		v := must(must(New(s)).Verify(nil))
		verdict := func(what string, p Promise, kept bool) {
			t.Helper()
			s.Promise = p
			if _, err := must(New(s)).Verify(nil); kept && err != nil || !kept && !errors.Is(err, proof.ErrNotPrivate) {
				t.Errorf("%s: %s: %+v: %v", name, what, p, err)
			}
		}
		was := s.Promise
		if s.Composition != jointL2 { // the delta is at the epsilon that is promised
			most := exact.FloatUp(v.EpsilonUpper())
			verdict("epsilon", Promise{most, was.Delta}, true)
			verdict("less epsilon", Promise{math.Nextafter(exact.FloatDown(v.EpsilonUpper()), 0), was.Delta}, false)
		}
		if v.DeltaUpper().Sign() > 0 {
			verdict("delta", Promise{was.Epsilon, exact.FloatUp(v.DeltaUpper())}, true)
			verdict("less delta", Promise{was.Epsilon, math.Nextafter(exact.FloatDown(v.DeltaUpper()), 0)}, false)
		}
	}
}

// TestAxesToTheLastPlace: an axis is at most half of the sensitivity of its noise, to the last place.
func TestAxesToTheLastPlace(t *testing.T) {
	for i := range 2 {
		for _, wider := range []bool{false, true} {
			s := perCoordinate(t)
			s.Axes[i] = s.Tables[s.TableOf[i]].Privacy().Sensitivity / 2
			if wider {
				s.Axes[i] = math.Nextafter(s.Axes[i], 1)
			}
			if _, err := must(New(s)).Verify(nil); errors.Is(err, proof.ErrNotPrivate) != wider || !wider && err != nil {
				t.Errorf("axis %d is %v: %v", i, s.Axes[i], err)
			}
		}
	}
}
