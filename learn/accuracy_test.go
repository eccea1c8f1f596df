package learn

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/noisewright/noisewright/release/ledger"
)

// meanError fits naive Bayes on random splits, with fresh noise each, and returns the mean
// error in percent and its standard error.
func meanError(t *testing.T, d *Data, n *Noise, splits, draws int) (mean, standardError float64) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var perSplit []float64
	for range splits {
		train, test := d.split(random)
		sum := 0.0
		for range draws {
			var seed [32]byte
			for i := range seed {
				seed[i] = byte(random.Uint32())
			}
			r, err := n.DeterministicReleaser(seed)
			if err != nil {
				t.Fatal(err)
			}
			m, err := FitNaiveBayes(train, r)
			if err != nil {
				t.Fatal(err)
			}
			e, err := Evaluate(&Model{Schema: train.Schema(), Classifier: m}, test)
			if err != nil {
				t.Fatal(err)
			}
			sum += 100 * e.Rate / float64(draws)
		}
		perSplit = append(perSplit, sum)
		mean += sum / float64(splits)
	}
	for _, x := range perSplit {
		standardError += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(standardError / float64(splits) / float64(splits-1))
}

func TestAcc(t *testing.T) {
	for _, c := range []struct {
		name  string
		eps   float64
		delta float64
		s, d  int
		kinds []Kind
	}{
		{"ecoli", 1, 1e-5, 30, 4, []Kind{None, Auto, Gaussian, Laplace}},
		{"ecoli-numeric", 1, 1e-5, 30, 4, []Kind{None, Auto, Gaussian}},
		{"ecoli-numeric", 1, 0, 30, 4, []Kind{Auto}},
		{"ecoli-numeric", 3, 0, 30, 4, []Kind{Auto}},
		{"abalone", 1, 0, 10, 6, []Kind{None, Auto}},
		{"breast-cancer", 1, 1e-5, 30, 4, []Kind{None, Auto}},
		{"adult", 3, 1e-5, 5, 1, []Kind{None, Auto}},
	} {
		if only := os.Getenv("ONLY"); only != "" && only != c.name {
			continue
		}
		d := load(t, c.name)
		for _, k := range c.kinds {
			b := Budget{c.eps, c.delta, ledger.AddRemove}
			if k == None {
				b = Budget{}
			}
			n, err := NewNoise(t.Context(), k, b, NaiveBayesReleases(d.Schema()), Options{})
			if err != nil {
				t.Fatal(err)
			}
			m, se := meanError(t, d, n, c.s, c.d)
			t.Logf("%s k=%d eps %v delta %v %s: %.2f ± %.2f  (%+v)", c.name, NaiveBayesReleases(d.Schema()), c.eps, c.delta, k, m, se, n.Guarantee())
		}
	}
}
