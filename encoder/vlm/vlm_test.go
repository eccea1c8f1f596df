package vlm

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/encoder/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
)

// TestAccuracyBound compares with the values of the corrected equation (10), and with a
// simulation of the encoder and the decision that the bound is about, which derives
// nothing. With 200 000 draws its standard error is at most 0.0012; 6 of them have a
// false-alarm rate of 2e-9.
func TestAccuracyBound(t *testing.T) {
	for _, c := range []struct {
		epsilon, want float64
	}{{1, 0.1646}, {2, 0.2625}, {4, 0.5135}, {6, 0.7296}, {8, 0.8650}, {10, 0.9370}} {
		if got, err := AccuracyBound(c.epsilon, 10); err != nil || math.Abs(got-c.want) > 5e-5 {
			t.Errorf("AccuracyBound(%g, 10) = %g, %v, want %g", c.epsilon, got, err, c.want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		epsilon float64
		classes int
	}{{0, 4}, {1, 2}, {3, 10}, {6, 4}, {5, 20}} {
		const draws = 200_000
		right := 0.0
		for range draws {
			best, at := math.Inf(-1), 0
			for j := range c.classes / 2 {
				v := laplace(r)
				if j == 0 {
					v += c.epsilon / 2
				}
				if size := math.Abs(v); size > best {
					best, at = size, j
					if v < 0 {
						at = -1
					}
				}
			}
			if at == 0 {
				right++
			}
		}
		got, err := AccuracyBound(c.epsilon, c.classes)
		if se := 0.5 / math.Sqrt(draws); err != nil || math.Abs(got-right/draws) > 6*se {
			t.Errorf("AccuracyBound(%g, %d) = %g, %v, simulated %g", c.epsilon, c.classes, got, err, right/draws)
		}
	}
	// No privacy, and the most classes: near 1, and within [0, 1].
	if got, err := AccuracyBound(100, maxBoundClasses); err != nil || math.Abs(got-1) > 1e-9 {
		t.Errorf("AccuracyBound(100, %d) = %g, %v, want 1", maxBoundClasses, got, err)
	}
	for _, c := range []struct {
		epsilon float64
		classes int
	}{{-1, 10}, {math.NaN(), 10}, {math.Inf(1), 10}, {1, 3}, {1, 0}, {1, 66}} {
		if _, err := AccuracyBound(c.epsilon, c.classes); !errors.Is(err, check.ErrInvalid) {
			t.Errorf("AccuracyBound(%g, %d): %v, want an invalid input", c.epsilon, c.classes, err)
		}
	}
}

// TestFlip: the largest quotient of the probabilities of an answer is e^ε, and the frequencies
// are within 6 standard deviations.
func TestFlip(t *testing.T) {
	const classes, epsilon, n = 5, 1.5, 100_000
	p := FlipProbability(classes, epsilon)
	if q := (1 - p) / (p / (classes - 1)); math.Abs(math.Log(q)-epsilon) > 1e-12 {
		t.Errorf("the quotient is e^%g, want e^%g", math.Log(q), epsilon)
	}
	if FlipProbability(classes, math.Inf(1)) != 0 {
		t.Error("flips at an infinite epsilon")
	}
	counts := make([]float64, classes)
	for _, y := range Flip(slices.Repeat([]int{3}, n), classes, p, rand.New(rand.NewPCG(3, 4))) {
		counts[y]++
	}
	for y, c := range counts {
		want := p / (classes - 1)
		if y == 3 {
			want = 1 - p
		}
		if math.Abs(c/n-want) > 6*math.Sqrt(want*(1-want)/n) {
			t.Errorf("class %d in %g of the draws, want %g", y, c/n, want)
		}
	}
}

// TestPrivateAccuracy: 40 000 people of whom 80 % are right; the estimate is unbiased,
// its standard error that of the spread.
func TestPrivateAccuracy(t *testing.T) {
	right := make([]bool, 40_000)
	for i := range right {
		right[i] = i%5 != 0
	}
	for _, epsilon := range []float64{0.3, 1, 8} {
		got, se, err := PrivateAccuracy(right, epsilon, rand.New(rand.NewPCG(5, 6)))
		if err != nil || math.Abs(got-0.8) > 6*se {
			t.Errorf("ε = %g: %g ± %g, %v, want 0.8", epsilon, got, se, err)
		}
		p := FlipProbability(2, epsilon)
		share := 0.8 - p*0.6
		if want := math.Sqrt(share*(1-share)/40_000) / (1 - 2*p); math.Abs(se/want-1) > 0.1 {
			t.Errorf("ε = %g: standard error %g, want %g", epsilon, se, want)
		}
	}
	for _, bad := range []func() error{
		func() error { _, _, err := PrivateAccuracy(nil, 1, nil); return err },
		func() error { _, _, err := PrivateAccuracy(right, 0, nil); return err },
	} {
		if err := bad(); !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%v, want an invalid input", err)
		}
	}
}

// TestLaplace: draws are finite, and their mean size is 1.
func TestLaplace(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const n = 100_000
	sum, size := 0.0, 0.0
	for range n {
		v := laplace(r)
		sum, size = sum+v, size+math.Abs(v)
	}
	if math.Abs(sum/n) > 6*math.Sqrt(2.0/n) || math.Abs(size/n-1) > 6/math.Sqrt(n) {
		t.Errorf("mean %g, mean size %g, want 0 and 1", sum/n, size/n)
	}
	for _, u := range []uint64{0, math.MaxUint64} {
		if v := laplace(rand.New(constant(u))); math.IsInf(v, 0) || math.IsNaN(v) {
			t.Errorf("laplace is %g for the word %#x", v, u)
		}
	}
}

type constant uint64

func (c constant) Uint64() uint64 { return uint64(c) }

// TestColumns: noise stays within the public ranges, leaves data alone at a large ε, and
// categories become columns.
func TestColumns(t *testing.T) {
	c := Columns{{Name: "a", Lower: -2, Upper: 6}, {Name: "b", Categories: 3}}
	x := encoder.Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float64{0, 2, 6, 0}}
	one, err := c.OneHot(x)
	if want := []float64{-0.5, 0, 0, 1, 1, 1, 0, 0}; err != nil || !slices.Equal(one.Data, want) {
		t.Errorf("OneHot = %v, %v, want %v", one.Data, err, want)
	}
	dst := dense.NewMatrix(2, 2)
	r := rand.New(rand.NewPCG(9, 10))
	for range 1000 {
		if err := c.Noise(dst, x, 0.5, r); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if v, k := dst.Data[2*i], dst.Data[2*i+1]; v < -2 || v > 6 || (k != 0 && k != 1 && k != 2) {
				t.Fatalf("noisy row %g, %g", v, k)
			}
		}
	}
	if err := c.Noise(dst, x, 1e9, r); err != nil || math.Abs(dst.Data[0]) > 1e-5 || dst.Data[1] != 2 {
		t.Errorf("noise at ε = 1e9: %v, %v", dst.Data, err)
	}
	if err := c.Noise(dst, x, 0, r); !errors.Is(err, check.ErrInvalid) {
		t.Errorf("ε = 0: %v", err)
	}
	x.Data[3] = 3
	if _, err := c.OneHot(x); !errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), "row 2 of b = 3") {
		t.Errorf("category 3 of 3: %v", err)
	}
	if got := Ranges(x); got[0] != (Column{Lower: 0, Upper: 6}) || got[1] != (Column{Lower: 2, Upper: 3}) {
		t.Errorf("Ranges = %v", got)
	}
}

// TestSearch: the answers of disjoint people choose, and failures of training come last.
func TestSearch(t *testing.T) {
	choices := Grid([]float64{0.5, 0.9}, []float64{5}, []float64{10, 20})
	asked := map[int]bool{}
	trials, err := Search(t.Context(), choices, Validation{People: 4000, Epsilon: 3}, func(_ context.Context, c Choice, people []int) ([]bool, error) {
		if c.TrainingEpsilon == 20 && c.Share == 0.5 {
			return nil, check.Errorf("vlm", ErrCollapsed, "nothing")
		}
		right := make([]bool, len(people))
		for i, p := range people {
			if asked[p] {
				t.Fatalf("person %d is asked twice", p)
			}
			asked[p] = true
			right[i] = float64(i%10) < 10*c.Share
		}
		return right, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(trials) != 4 || trials[0].Share != 0.9 || trials[1].Share != 0.9 || trials[2].Share != 0.5 || !errors.Is(trials[3].Err, ErrCollapsed) {
		t.Errorf("trials %+v", trials)
	}
	if best := trials[0]; math.Abs(best.Accuracy-0.9) > 6*best.StandardError || best.People != 1000 {
		t.Errorf("best %+v", best)
	}
	failing := func(context.Context, Choice, []int) ([]bool, error) {
		return nil, check.Errorf("vlm", ErrDiverged, "NaN")
	}
	if _, err := Search(t.Context(), choices, Validation{People: 10, Epsilon: 1}, failing); err == nil || !strings.Contains(err.Error(), "every choice failed") {
		t.Errorf("all fail: %v", err)
	}
	for _, v := range []Validation{{People: 3, Epsilon: 1}, {People: 10}} {
		if _, err := Search(t.Context(), choices, v, failing); !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%+v: %v", v, err)
		}
	}
}

// TestScenarios is the table of the docs.
func TestScenarios(t *testing.T) {
	for _, c := range []struct {
		s    Scenario
		l    Level
		want string
	}{
		{Collection, Latent, "encoder"},
		{Collection, Features, "encoder"},
		{NovelClass, Latent, "encoder"},
		{NovelClass, Features, "encoder"},
		{Joining, Latent, "encoder"},
		{Joining, Features, "encoder and decoder"},
	} {
		if got, err := c.s.Private(c.l); err != nil || got.String() != c.want {
			t.Errorf("%s, %s: %v, %v, want %s", c.s, c.l, got, err, c.want)
		}
	}
	if _, err := Collection.Private("x"); !errors.Is(err, check.ErrInvalid) {
		t.Errorf("level x: %v", err)
	}
	if _, err := Scenario("x").Private(Latent); !errors.Is(err, check.ErrInvalid) {
		t.Errorf("scenario x: %v", err)
	}
}
