// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/vlm"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent/bundle"
)

// TestAccuracyBound compares with the values of the corrected equation (10), and with a
// simulation of the encoder and the decision that the bound is about, which derives
// nothing. With 200 000 draws its standard error is at most 0.0012; 6 of them have a
// false-alarm rate of 2e-9.
func TestAccuracyBound(t *testing.T) {
	for _, c := range []struct {
		epsilon, want float64
	}{{1, 0.1646}, {2, 0.2625}, {4, 0.5135}, {6, 0.7296}, {8, 0.8650}, {10, 0.9370}} {
		if got := accuracyBound(c.epsilon, 10); math.Abs(got-c.want) > 5e-5 {
			t.Errorf("accuracyBound(%g, 10) = %g, want %g", c.epsilon, got, c.want)
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
				v := vlm.Laplace(r)
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
		got := accuracyBound(c.epsilon, c.classes)
		if se := 0.5 / math.Sqrt(draws); math.Abs(got-right/draws) > 6*se {
			t.Errorf("accuracyBound(%g, %d) = %g, simulated %g", c.epsilon, c.classes, got, right/draws)
		}
	}
	// No privacy, and the most classes.
	if got := accuracyBound(100, 64); math.Abs(got-1) > 1e-9 {
		t.Errorf("accuracyBound(100, 64) = %g, want 1", got)
	}
}

// TestPrivateAccuracy: 40 000 people of whom 80 % are right; the estimate is unbiased.
func TestPrivateAccuracy(t *testing.T) {
	right := make([]bool, 40_000)
	for i := range right {
		right[i] = i%5 != 0
	}
	for _, epsilon := range []float64{0.3, 1, 8} {
		p := vlm.FlipProbability(2, epsilon)
		share := 0.8 - p*0.6
		se := math.Sqrt(share*(1-share)/40_000) / (1 - 2*p)
		if got := privateAccuracy(right, epsilon, rand.New(rand.NewPCG(5, 6))); math.Abs(got-0.8) > 6*se {
			t.Errorf("ε = %g: %g ± %g, want 0.8", epsilon, got, se)
		}
	}
}

// TestColumns: noise stays within the public ranges, leaves data alone at a large ε, and
// categories become columns.
func TestColumns(t *testing.T) {
	c := columns{{name: "a", lower: -2, upper: 6}, {name: "b", categories: 3}}
	x := encoder.Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float64{0, 2, 6, 0}}
	if one, want := c.oneHot(x), []float64{-2, 0, 0, 4, 4, 4, 0, 0}; !slices.Equal(one.Data, want) {
		t.Errorf("oneHot = %v, want %v", one.Data, want)
	}
	r := rand.New(rand.NewPCG(9, 10))
	for range 1000 {
		noisy := c.noisy(x, 0.5, r)
		for i := range 2 {
			if v, k := noisy.Data[2*i], noisy.Data[2*i+1]; v < -2 || v > 6 || (k != 0 && k != 1 && k != 2) {
				t.Fatalf("noisy row %g, %g", v, k)
			}
		}
	}
	if noisy := c.noisy(x, 1e9, r); math.Abs(noisy.Data[0]) > 1e-5 || noisy.Data[1] != 2 {
		t.Errorf("noise at ε = 1e9: %v", noisy.Data)
	}
	if noisy := noisyRanges(x, 1e-3, 1); slices.Min(noisy.Data) < 0 || slices.Max(noisy.Data) > 6 {
		t.Errorf("noise in the ranges of the data: %v", noisy.Data)
	}
}

// TestBest: the answers of disjoint people choose, and what fails in training is not chosen.
func TestBest(t *testing.T) {
	s := &scene{ask: people{labels: make([]int, 4000)}}
	all := choices([]float64{0.5, 0.9}, []float64{5}, []float64{10, 20})
	try := func(c choice) (*classified, error) {
		if c.trainingEpsilon == 20 && c.share == 0.5 {
			return nil, fmt.Errorf("nothing: %w", vlm.ErrCollapsed)
		}
		right := make([]bool, 4000)
		for i := range right {
			right[i] = float64(i%10) < 10*c.share
		}
		return &classified{asked: right, tested: right[:1000]}, nil
	}
	c, got, err := s.collection(0).best(all, 3, try)
	if err != nil || c.share != 0.9 || share(got.tested) != 0.9 {
		t.Errorf("choice %v, %v", c, err)
	}
	if c, _, err = s.collection(0).best(all[:1], math.Inf(1), try); err != nil || c != all[0] {
		t.Errorf("choice %v of one, %v", c, err)
	}
	// Each choice is told of by a quarter of the people.
	order := encoders.Rand(0, "people to ask", 0).Perm(4000)
	for k := range all {
		c, _, err := s.collection(0).best(all, math.Inf(1), func(c choice) (*classified, error) {
			right := make([]bool, 4000)
			if c == all[k] {
				for _, i := range order[k*1000 : (k+1)*1000] {
					right[i] = true
				}
			} else {
				for i := range right {
					right[i] = i%2 == 0
				}
			}
			return &classified{asked: right}, nil
		})
		if err != nil || c != all[k] {
			t.Errorf("choice %v, %v, want %v: its people say so", c, err, all[k])
		}
	}
	if _, _, err := s.collection(0).best(choices([]float64{1}, []float64{1}, []float64{1}), 1, func(choice) (*classified, error) {
		return nil, fmt.Errorf("NaN: %w", vlm.ErrDiverged)
	}); err == nil || !strings.Contains(err.Error(), "every choice failed") {
		t.Errorf("all fail: %v", err)
	}
	if _, _, err := s.collection(0).best([]choice{{}}, 1, func(choice) (*classified, error) { return nil, errors.ErrUnsupported }); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("another error: %v", err)
	}
}

// TestSharpened: encodings stay in the l1 ball and are as long as it allows, in their quadrants, with the same
// order of sizes and a larger share of the largest; nothing stays nothing.
func TestSharpened(t *testing.T) {
	const radius, d = 5.0, 8
	u := matrix(60, d)
	r := encoders.Rand(1, "sharp", 0)
	for i := range u.Data[:59*d] {
		u.Data[i] = r.NormFloat64()
	}
	n := &made{m: &vlm.Model{Body: encoder.Body{Domain: bundle.L1Ball, Radius: radius, Coordinates: d}}, known: u, train: u, ask: u, test: u}
	sharp := n.sharpened().train
	share := func(row []float64) (largest, norm float64) {
		for _, v := range row {
			largest, norm = max(largest, math.Abs(v)), norm+math.Abs(v)
		}
		return largest / norm, norm
	}
	for i := range 59 {
		was, is := u.Data[i*d:][:d], sharp.Data[i*d:][:d]
		before, _ := share(was)
		after, norm := share(is)
		if math.Abs(norm-radius) > 1e-12 || after <= before {
			t.Errorf("%v: norm %g, the largest has %g of it and had %g", is, norm, after, before)
		}
		for j := range is {
			for k := range is {
				if was[j]*is[j] < 0 || (math.Abs(was[j]) < math.Abs(was[k])) != (math.Abs(is[j]) < math.Abs(is[k])) {
					t.Errorf("%v became %v", was, is)
				}
			}
		}
	}
	if !slices.Equal(sharp.Data[59*d:], u.Data[59*d:]) {
		t.Errorf("zeros became %v", sharp.Data[59*d:])
	}
}

// TestSignificance compares levels with those of Student's tables: t = 2.353 of 3 degrees of freedom is that of
// 5 %, 4.541 that of 1 %.
func TestSignificance(t *testing.T) {
	var s vlmStudy
	for i, v := range []float64{9, 11, 9, 11} {
		// The mean is 10 and its standard error 1/√3.
		for k, at := range []float64{2.353, 4.541} {
			s.add(vlmPoint{Data: "d", Series: strconv.Itoa(k), Epsilon: shell.Finite(1), Chance: 10 - at/math.Sqrt(3)}, v)
		}
		if i < 2 && s[0].AboveChance != nil {
			t.Errorf("a level %g of %d runs of a collection", *s[0].AboveChance, i+1)
		}
	}
	for k, want := range []float64{0.05, 0.01} {
		if p := s[k].AboveChance; p == nil || math.Abs(*p-want) > 1e-4 {
			t.Errorf("level %v, want %g", p, want)
		}
	}
	// Two runs whose collections vary as those four but for the mean: 2 degrees of freedom, 6.965 is 1 %.
	var two vlmStudy
	at := vlmPoint{Data: "d", Series: "s", Epsilon: shell.Finite(1), Chance: 5 - 6.965/math.Sqrt(2)}
	two.add(at, 3, 5)
	two.add(at, 5, 7)
	if p := two[0].AboveChance; p == nil || math.Abs(*p-0.01) > 1e-4 {
		t.Errorf("level %v, want 0.01", p)
	}
}
