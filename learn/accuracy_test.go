// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// fitter is one of the learners.
type fitter func(*Data, *Releaser) (*Model, error)

func fitNaiveBayes(d *Data, r *Releaser) (*Model, error) { return d.FitNaiveBayes(r) }

// errorOf fits to random four fifths of the records, with fresh noise each time,
// and returns the mean error on the others in percent, with its standard error over splits.
func errorOf(t *testing.T, fit fitter, d *Data, n *Noise, splits, draws int) (mean, standardError float64) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var square float64
	for range splits {
		train, test := d.split(random)
		sum := 0.0
		for range draws {
			var seed [32]byte
			binary.LittleEndian.PutUint64(seed[:], random.Uint64())
			r, err := n.seeded(seed)
			if err != nil {
				t.Fatal(err)
			}
			m, err := fit(train, r)
			if err != nil {
				t.Fatal(err)
			}
			e, err := m.Evaluate(test)
			if err != nil {
				t.Fatal(err)
			}
			sum += 100 * e.Rate / float64(draws)
		}
		mean += sum / float64(splits)
		square += sum * sum / float64(splits)
	}
	return mean, math.Sqrt((square - mean*mean) / float64(splits-1))
}

// TestErrors holds the error of private naive Bayes on public data sets to what it was when
// this was written, and to published software: diffprivlib 0.6.6 has 28.2 % on the numbers of
// ecoli and 27.7 % on abalone at a pure epsilon of 1. All random numbers have seeds.
func TestErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, c := range []struct {
		set           string
		budget        Budget
		splits, draws int
		most          float64 // percent
	}{
		{"ecoli", Budget{1, 1e-5, dp.AddRemove}, 20, 3, 10.5},
		{"ecoli-numeric", Budget{1, 0, dp.AddRemove}, 20, 3, 12},
		{"abalone", Budget{1, 0, dp.AddRemove}, 10, 1, 27.7},
		{"breast-cancer", Budget{1, 1e-5, dp.AddRemove}, 20, 3, 3.3},
		{"adult", Budget{3, 1e-5, dp.AddRemove}, 2, 1, 16.8},
	} {
		t.Run(c.set, func(t *testing.T) {
			d := load(t, c.set)
			k := d.Schema().NaiveBayesReleases()
			n := noiseOf(t, auto, c.budget, k, Options{})
			mean, standardError := errorOf(t, fitNaiveBayes, d, n, c.splits, c.draws)
			exact, _ := errorOf(t, fitNaiveBayes, d, noiseOf(t, none, Budget{}, k, Options{}), c.splits, 1)
			t.Logf("%d releases at epsilon %v, delta %v, %s: %.2f ± %.2f %%, without noise %.2f %%", k, c.budget.Epsilon, c.budget.Delta, n.Guarantee().Noise, mean, standardError, exact)
			if mean > c.most {
				t.Errorf("an error of %.2f %%, want at most %v", mean, c.most)
			}
		})
	}
}
