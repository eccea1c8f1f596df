// SPDX-License-Identifier: Apache-2.0

package release

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"testing/cryptotest"

	"github.com/noisewright/noisewright/dp"
)

// TestUnknownBoundsWhole: whole releases of lognormal values with private bounds or the right prior, ε = 1, from the values to the answer,
// have the root mean square error over the mean that is wanted. Data and noise have fixed seeds, so that the test says the same each time.
// With UNKNOWN=all there are 500 runs of each; else 30, which with other seeds would be above twice the error that all runs have, whose
// squares have a kurtosis of about 6 and thus 0.2 of a deviation, with a probability below 1e-5.
func TestUnknownBoundsWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	runs := 30
	if os.Getenv("UNKNOWN") == "all" {
		runs = 500
	}
	cryptotest.SetGlobalRandom(t, 1)
	for _, test := range unknownBounds {
		for _, q := range []Query{{Bounds: privateBounds}, {Bounds: "prior:lognormal,0," + map[float64]string{1: "1", 1.5: "1.5"}[test.sigma], Rows: test.rows}} {
			q.Kind, q.Column, q.Epsilon, q.Neighbors = Mean, "value", 1, dp.AddRemove
			p, err := NewPlan(t.Context(), q, laplaceSource)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(2, uint64(test.rows)))
			sum, worst := 0.0, 0.0
			for range runs {
				values, mean := lognormal(r, test.sigma, test.rows)
				d, _, err := ReadData(t.Context(), values, q)
				if err != nil {
					t.Fatal(err)
				}
				out, err := p.Answer(d)
				if err != nil {
					t.Fatal(err)
				}
				off := out[0].Value - mean
				sum += off * off / float64(runs)
				worst = max(worst, math.Abs(off))
			}
			whole := math.Exp(test.sigma * test.sigma / 2)
			got, want := math.Sqrt(sum)/whole, test.found
			if q.Rows > 0 {
				want = test.prior
			}
			if runs < 500 { // of all runs, as docs/release.md has them
				column := 1
				if q.Rows > 0 {
					column = 2
				}
				want = 2 * docsError(t, test.rows, column)
			}
			t.Logf("%d rows, sigma %v, %s: %.4f of the mean, at most %.4f, want %v", test.rows, test.sigma, q.Bounds, got, worst/whole, want)
			if got > want {
				t.Errorf("%d rows, %s: %.4f, want at most %v", test.rows, q.Bounds, got, want)
			}
		}
	}
}
