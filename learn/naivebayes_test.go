// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// exactFit fits without noise.
func exactFit(t *testing.T, d *Data) *naiveBayes {
	t.Helper()
	r, err := noiseOf(t, none, Budget{}, d.Schema().NaiveBayesReleases(), Options{}).Releaser()
	if err != nil {
		t.Fatal(err)
	}
	return fitted(t, d, r)
}

func fitted(t *testing.T, d *Data, r *Releaser) *naiveBayes {
	t.Helper()
	m, err := d.FitNaiveBayes(r)
	if err != nil {
		t.Fatal(err)
	}
	return m.classifier.(*naiveBayes) //nolint:errcheck,forcetypeassert // what it returns
}

// TestNaiveBayesReference: without noise it is naive Bayes. The logarithms of the
// probabilities of the classes in testdata/reference.csv are those of scikit-learn 1.7.2:
// GaussianNB(var_smoothing=0) for x and y, CategoricalNB(alpha=0.5) for the letter.
func TestNaiveBayesReference(t *testing.T) {
	in, err := os.Open("testdata/reference.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	lines, err := csv.NewReader(in).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	d, err := small().Read(&records{names: lines[0], rows: lines[1:]})
	if err != nil {
		t.Fatal(err)
	}
	m := exactFit(t, d)
	for row, line := range lines[1:] {
		scores, all := m.Scores(d, row), 0.0
		for _, s := range scores {
			all += math.Exp(s - scores[0])
		}
		for c, s := range scores {
			want, err := strconv.ParseFloat(line[4+c], 64)
			if err != nil {
				t.Fatal(err)
			}
			// Squares are rounded to 2^-24, over variances of some 0.1 in 20 records.
			if got := s - scores[0] - math.Log(all); math.Abs(got-want) > 1e-5 {
				t.Errorf("record %d, class %d: %v, want %v", row, c, got, want)
			}
		}
	}
}

// TestNaiveBayesRecovers: of data that it is made for, with noise that is small beside them,
// it finds the parameters; the tolerances are some six standard deviations.
func TestNaiveBayesRecovers(t *testing.T) {
	const n = 60_000
	random := rand.New(rand.NewPCG(7, 8))
	share := []float64{0.5, 0.3, 0.2}
	means, deviations := []float64{-0.5, 0, 0.4}, []float64{0.1, 0.2, 0.15}
	letters := [][]float64{{0.7, 0.1, 0.1, 0.1}, {0.25, 0.25, 0.25, 0.25}, {0.05, 0.05, 0.4, 0.5}}
	draw := func(p []float64) int {
		u, i := random.Float64(), 0
		for ; i < len(p)-1 && u >= p[i]; i++ {
			u -= p[i]
		}
		return i
	}
	d := &Data{schema: small(), columns: make([][]int32, 3), rows: n}
	for range n {
		c := draw(share)
		d.classes = append(d.classes, int32(c))
		x := means[c] + deviations[c]*random.NormFloat64()
		d.columns[0] = append(d.columns[0], int32(onGrid(x)))
		d.columns[1] = append(d.columns[1], int32(draw(letters[c])))
		d.columns[2] = append(d.columns[2], int32(onGrid(0.3*random.NormFloat64())))
	}
	noise := noiseOf(t, gaussian, addRemove, d.schema.NaiveBayesReleases(), Options{})
	r, err := noise.seeded([32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	m := fitted(t, d, r)
	near := func(what string, got, want, tolerance float64) {
		if math.Abs(got-want) > tolerance {
			t.Errorf("%s: %v, want %v within %v", what, got, want, tolerance)
		}
	}
	for c := range share {
		near("share", m.Counts[c]/n, share[c], 0.015)
		near("mean", m.Features[0].Means[c], means[c], 0.02)
		near("deviation", math.Sqrt(m.Features[0].Variances[c]), deviations[c], 0.02)
		near("deviation", math.Sqrt(m.Features[2].Variances[c]), 0.3, 0.02)
		all := 0.0
		for _, cell := range m.Features[1].Cells[c] {
			all += cell
		}
		for i, p := range letters[c] {
			near("letter", m.Features[1].Cells[c][i]/all, p, 0.03)
		}
	}
}

// TestNaiveBayesOfNoRecords: what is learned is noise, a model all the same, and its scores
// are finite.
func TestNaiveBayesOfNoRecords(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	empty := encoded(t, smallRecords(), small())
	one := encoded(t, smallRecords("n,a,1,p,7"), small())
	noise := noiseOf(t, gaussian, Budget{1e-3, 1e-9, addRemove.Neighbors}, small().NaiveBayesReleases(), Options{})
	for seed := range byte(20) {
		r, err := noise.seeded([32]byte{seed})
		if err != nil {
			t.Fatal(err)
		}
		m, err := empty.FitNaiveBayes(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range m.Scores(one, 0) {
			if math.IsNaN(s) || math.IsInf(s, 0) {
				t.Errorf("a score of %v", s)
			}
		}
		if again := reread(t, m); again.Predict(one, 0) != m.Predict(one, 0) {
			t.Error("another class after the file")
		}
	}
	unlabeled := smallRecords("n,a,1,p,7")
	unlabeled.names[1] = "other"
	d, err := small().ReadUnlabeled(unlabeled)
	if err != nil {
		t.Fatal(err)
	}
	r, err := noise.Releaser()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.FitNaiveBayes(r); err == nil {
		t.Error("fitted to records without classes")
	}
	few, err := noiseOf(t, none, Budget{}, 2, Options{}).Releaser()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.FitNaiveBayes(few); err == nil {
		t.Error("fitted by more releases than there is noise for")
	}
}
