// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
)

// sample returns values with tails, clipped to ±radius, and as they were.
func sample(r *rand.Rand, n int, radius float64) (values, targets []float64) {
	for range n {
		x := math.Copysign(r.ExpFloat64(), r.NormFloat64())
		targets = append(targets, x)
		values = append(values, min(max(x, -radius), radius))
	}
	return values, targets
}

// The search finds the best of all ways to cut the range into up to four blocks, or more
// blocks that gain more.
func TestBestByBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for trial := range 6 {
		values, targets := sample(r, 5+r.IntN(20), 1.5)
		l := NewLaw(values, targets, 1.5)
		epsilon := 0.3 + 2*r.Float64()
		a, bins := math.Expm1(epsilon), len(l.edges)-1
		of := func(cuts ...int) float64 {
			total, from := 0., 0
			for _, to := range append(cuts, bins) {
				total += l.gain(from, to, a)
				from = to
			}
			return total / (a + float64(len(cuts)+1))
		}
		most := 0.
		for i := 1; i < bins; i++ {
			most = max(most, of(i))
			for j := i + 1; j < bins; j++ {
				most = max(most, of(i, j))
				for k := j + 1; k < bins; k++ {
					most = max(most, of(i, j, k))
				}
			}
		}
		var cuts []int
		gain := l.best(epsilon, &cuts)
		slices.Sort(cuts)
		if !(gain >= most*(1-1e-12)) || len(cuts) <= 3 && gain > most*(1+1e-12) || math.Abs(gain-of(cuts...)) > 1e-12*gain {
			t.Errorf("trial %d: gain %g with cuts %v, by brute force %g with at most 3", trial, gain, cuts, most)
		}
		if l.Gain(epsilon) != gain {
			t.Errorf("trial %d: another gain without cuts", trial)
		}
	}
}

// A randomizer keeps its promise, and gains what the search says: the variance of the mean
// target given the answer, by the rows of the file and the law.
func TestRandomizer(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0))
	for _, epsilon := range []float64{1e-6, 0.1, 1, 4, 9, 30} {
		values, targets := sample(r, 300, 2)
		l := NewLaw(values, targets, 2)
		m, err := l.Randomizer(epsilon)
		if err != nil {
			t.Fatalf("epsilon %g: %v", epsilon, err)
		}
		proof, err := m.Verify()
		if err != nil {
			t.Fatalf("epsilon %g: %v", epsilon, err)
		}
		if c := proof.Certificate(); c.DeltaUpper.Sign() != 0 {
			t.Errorf("epsilon %g: delta %v is proved, want 0", epsilon, c.DeltaUpper)
		}
		s := m.Spec()
		probability, mean := make([]float64, len(s.Answers)), make([]float64, len(s.Answers))
		for k, end := range l.edges[1:] {
			p := m.PMFAt(l.edges[k]/2 + end/2)
			for j := range p {
				probability[j] += (l.mass[k+1] - l.mass[k]) * p[j]
				mean[j] += (l.sum[k+1] - l.sum[k]) * p[j]
			}
		}
		gain := 0.
		for j, p := range probability {
			gain += mean[j] * mean[j] / p
			if want := l.mean + mean[j]/p; math.Abs(want-s.Answers[j]) > 1e-9*(1+math.Abs(want)) {
				t.Errorf("epsilon %g: answer %g, want the mean given it, %g", epsilon, s.Answers[j], want)
			}
		}
		if want := l.Gain(epsilon); math.Abs(gain-want) > 1e-6*want {
			t.Errorf("epsilon %g: gain %g by the rows, %g by the search", epsilon, gain, want)
		}
	}
}

// For uniform values there is a closed form: blocks of equal length, which gain
// (p−q)²·(1−1/d²)/3 in [-1, 1], p the probability of the right answer and q of each other
// one. Blocks end where bins do, so no more than that is gained with d blocks, and with
// other lengths little more.
func TestUniform(t *testing.T) {
	var values []float64
	for i := range 960 {
		values = append(values, (2*float64(i)+1)/960-1)
	}
	l := NewLaw(values, values, 1)
	before := 0.
	for _, epsilon := range []float64{0.5, 1, 2, 3, 4, 6} {
		want := 0.
		for d := 2.; d < 40; d++ {
			m := 1 / (math.Exp(epsilon) + d - 1)
			want = max(want, math.Pow(math.Expm1(epsilon)*m, 2)*(1-1/(d*d))/3)
		}
		got := l.Gain(epsilon)
		if !(got >= want*(1-2e-3) && got <= want*1.04) || !(got > before) {
			t.Errorf("epsilon %g: gain %g, want about %g", epsilon, got, want)
		}
		before = got
	}
}

// A mirror image has the gain of the law.
func TestMirror(t *testing.T) {
	values, targets := sample(rand.New(rand.NewPCG(3, 0)), 101, 1)
	negative := func(x []float64) []float64 {
		y := slices.Clone(x)
		for i := range y {
			y[i] = -y[i]
		}
		return y
	}
	l, m := NewLaw(values, targets, 1), NewLaw(negative(values), negative(targets), 1)
	for _, epsilon := range []float64{1, 5} {
		if a, b := l.Gain(epsilon), m.Gain(epsilon); math.Abs(a-b) > 1e-12*a {
			t.Errorf("epsilon %g: gain %g and of the mirror image %g", epsilon, a, b)
		}
	}
}

func TestWeights(t *testing.T) {
	for _, epsilon := range []float64{0x1p-30, 1e-3, 0.7, 3, 12, 44, 100} {
		e := new(big.Rat).SetFrac(exact.ExpDown(epsilon, 200), new(big.Int).Lsh(big.NewInt(1), 200))
		for _, d := range []int{2, 3, 7, 64, maxBins} {
			low, high := weights(epsilon, d)
			l, h := new(big.Int).SetUint64(low), new(big.Int).SetUint64(high)
			sum := new(big.Int).Mul(l, big.NewInt(int64(d-1)))
			if sum.Add(sum, h).Cmp(new(big.Int).Lsh(big.NewInt(1), 64)) != 0 || low == 0 || high < low {
				t.Errorf("epsilon %g, %d blocks: weights %d and %d", epsilon, d, low, high)
			}
			if most := new(big.Rat).Mul(e, new(big.Rat).SetInt(l)); most.Cmp(new(big.Rat).SetInt(h)) < 0 {
				t.Errorf("epsilon %g, %d blocks: weights %d and %d are too far apart", epsilon, d, low, high)
			}
		}
	}
}

// Values that are all alike, and a radius beyond all of them.
func TestDegenerateLaws(t *testing.T) {
	for name, values := range map[string][]float64{
		"constant": {0.5, 0.5, 0.5}, "at the ends": {-1, 1, 1, -1}, "one": {0.25}, "small": {1e-9, -1e-9, 0},
	} {
		l := NewLaw(values, values, 1)
		m, err := l.Randomizer(2)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := m.Verify(); err != nil || m.Spec().Values.Kind != local.Real {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No mechanism with delta = 0 has a mean squared error below the bound that a file of
// lp.DesignLocal proves for uniform values, and blocks come within 0.3 % of it.
func TestNearTheLowerBound(t *testing.T) {
	var values []float64
	for i := range 960 {
		values = append(values, (2*float64(i)+1)/960-1)
	}
	for _, epsilon := range []float64{1, 3} {
		file, err := proof.ReadFile(fmt.Sprintf("testdata/uniform-%g.json", epsilon), local.Decode)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := file.Verify()
		if err != nil {
			t.Fatal(err)
		}
		m, err := NewLaw(values, values, 1).Randomizer(epsilon)
		if err != nil {
			t.Fatal(err)
		}
		s := m.Spec()
		if about := file.Spec(); about.Epsilon != epsilon || about.Values.Weight != nil || about.Demands != (local.Demands{}) || about.Objective != local.Mean {
			t.Fatalf("the file is about another problem: %+v", about.Values)
		}
		s.Values.Weight, s.Claims = nil, local.Claims{}
		uniform, err := local.New(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		loss, _ := uniform.Certify().MeanLoss.Float64()
		bound, _ := proof.Certificate().LowerBound.Float64()
		if !(bound <= loss && loss <= 1.003*bound) {
			t.Errorf("epsilon %g: mean squared error %g, the lower bound %g", epsilon, loss, bound)
		}
	}
}
