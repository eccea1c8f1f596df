// SPDX-License-Identifier: Apache-2.0

package vlm

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
)

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

// TestLaplace: draws are finite, and their mean size is 1.
func TestLaplace(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const n = 100_000
	sum, size := 0.0, 0.0
	for range n {
		v := Laplace(r)
		sum, size = sum+v, size+math.Abs(v)
	}
	if math.Abs(sum/n) > 6*math.Sqrt(2.0/n) || math.Abs(size/n-1) > 6/math.Sqrt(n) {
		t.Errorf("mean %g, mean size %g, want 0 and 1", sum/n, size/n)
	}
	for _, u := range []uint64{0, math.MaxUint64} {
		if v := Laplace(rand.New(constant(u))); math.IsInf(v, 0) || math.IsNaN(v) {
			t.Errorf("laplace is %g for the word %#x", v, u)
		}
	}
}

type constant uint64

func (c constant) Uint64() uint64 { return uint64(c) }

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
