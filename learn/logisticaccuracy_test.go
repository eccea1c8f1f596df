// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestLogisticErrorRates holds the error of private logistic regression on public data sets, at a
// total of epsilon = 1 and delta = 1e-5, to what it was when this was written, and that noise of
// least variance has the shape of Gaussian noise for so many releases.
func TestLogisticErrorRates(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	fit := func(d *Data, r *Releaser) (*Model, error) {
		return LogisticOptions{}.Fit(t.Context(), d, r)
	}
	for _, c := range []struct {
		set           string
		releases      int
		splits, draws int
		most, above   float64 // percent: in all, and above that without noise
	}{
		{"ecoli-all", 201, 60, 1, 11, 7},
		{"abalone-all", 301, 6, 1, 28, 0.5},
	} {
		t.Run(c.set, func(t *testing.T) {
			d := load(t, c.set)
			k, err := LogisticOptions{}.Releases(d.Schema())
			if k != c.releases || err != nil {
				t.Fatalf("%d releases, %v, want %d", k, err, c.releases)
			}
			n := noiseOf(t, auto, Budget{1, 1e-5, dp.AddRemove}, k, Options{})
			if n.Guarantee().Noise != gaussian {
				t.Errorf("noise %s, want Gaussian", n.Guarantee().Noise)
			}
			mean, standardError := errorOf(t, fit, d, n, c.splits, c.draws)
			exact, _ := errorOf(t, fit, d, noiseOf(t, none, Budget{}, k, Options{}), c.splits, 1)
			t.Logf("%.2f ± %.2f %%, without noise %.2f %%", mean, standardError, exact)
			if mean > c.most || mean > exact+c.above {
				t.Errorf("an error of %.2f %%, want at most %v, and %v more than %.2f", mean, c.most, c.above, exact)
			}
		})
	}
}
