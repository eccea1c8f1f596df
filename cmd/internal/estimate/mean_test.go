// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/local"
)

// unbiased reads a randomizer of the values from −1 to 1 as noisewright local design --range -1,1
// --delta 0 --loss l2 --unbiased --objective worst wrote it, and returns its largest variance too.
func unbiased(t *testing.T, name string) (s local.Spec, variance float64) {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := local.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := r.Verify()
	if err != nil {
		t.Fatal(err)
	}
	variance, _ = v.Certificate().WorstLoss.Float64()
	return r.Spec(), variance
}

// TestMeanError holds half-widths against those of a normal variable of the largest variance, as in the table
// of docs/proofs/concentration.md.
func TestMeanError(t *testing.T) {
	for _, c := range []struct {
		name   string
		ratios map[int]float64
	}{
		{"epsilon-1.json", map[int]float64{100: 1.09, 1000: 1.03, 100_000: 1.01}},
		{"epsilon-3.json", map[int]float64{100: 1.29, 1000: 1.06, 100_000: 1.01}},
	} {
		s, variance := unbiased(t, c.name)
		for n, want := range c.ratios {
			above, below := MeanError(&s, n, 0.9)
			normal := math.Sqrt(variance/float64(n)) * math.Sqrt2 * math.Erfcinv(0.1)
			t.Logf("%s, %d answers: %.4f and %.4f of a normal variable's", c.name, n, above/normal, below/normal)
			if ratio := max(above, below) / normal; !(ratio <= want && ratio > 1) {
				t.Errorf("%s, %d answers: half-widths of %g and %g are %g of a normal variable's, want at most %g", c.name, n, above, below, ratio, want)
			}
		}
		if above, below := MeanError(&s, 1, 0.999999); min(above, below) < 1 {
			t.Errorf("%s: one answer tells its value within %g and %g", c.name, below, above)
		}
	}
}

// TestMeanCoverage draws answers to five kinds of values. Each side of an interval of the level 0.9 is
// missed with a probability of at most 0.05, so in more than 163 of 2000 trials with one below 1e-9. A side
// that is missed with a probability of 0.12 is found but for one of 1e-9.
func TestMeanCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewPCG(3, 4))
	const trials, n = 2000, 100
	values := []struct {
		kind string
		at   func(i int) float64
	}{
		{"0", func(int) float64 { return 0 }},
		{"1", func(int) float64 { return 1 }},
		{"between", func(int) float64 { return 0.95 }},
		{"uniform", func(i int) float64 { return 2*float64(i)/(n-1) - 1 }},
		{"few", func(i int) float64 { return max(-1, float64(i)-98) }},
	}
	for _, name := range []string{"epsilon-1.json", "epsilon-3.json"} {
		s, _ := unbiased(t, name)
		above, below := MeanError(&s, n, 0.9)
		for _, v := range values {
			over, under := 0, 0
			for range trials {
				sum := 0.0
				for i := range n {
					x := v.at(i)
					at, found := slices.BinarySearch(s.Nodes, x)
					if !found && r.Float64() >= (x-s.Nodes[at-1])/(s.Nodes[at]-s.Nodes[at-1]) {
						at--
					}
					y, u := 0, r.Uint64()
					for ; u >= s.Rows[at][y]; y++ {
						u -= s.Rows[at][y]
					}
					sum += s.Answers[y] - x
				}
				if mean := sum / n; mean > above {
					over++
				} else if mean < -below {
					under++
				}
			}
			t.Logf("%s, values %s: %d and %d of %d outside", name, v.kind, over, under, trials)
			if max(over, under) > 163 {
				t.Errorf("%s, values %s: the mean of answers is too high in %d of %d trials and too low in %d, want at most 5 %%", name, v.kind, over, trials, under)
			}
		}
	}
}
