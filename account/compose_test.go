// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

func TestComposeErrors(t *testing.T) {
	m, err := Laplace(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		releases []Release
		width    float64
	}{
		{nil, 0},
		{[]Release{{nil, 1}}, 0},
		{[]Release{{m, 0}}, 0},
		{[]Release{{m, -1}}, 0},
		{[]Release{{m, limits.TableReleases}, {m, 1}}, 0},
		{[]Release{{m, 1}}, 0.6},
		{[]Release{{m, 1}}, -1},
	} {
		if c, err := Compose(x.releases, Options{Width: x.width}); c != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("Compose(%v, %g) = %v, %v, want ErrInvalid", x.releases, x.width, c, err)
		}
	}
	c := compose(t, Release{m, 2})
	for _, x := range []float64{-1, 1, 2} {
		if _, err := c.Epsilon(x); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("Epsilon(%g): %v", x, err)
		}
	}
	if _, err := c.Delta(-1); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("Delta(-1): %v", err)
	}
}

// parse makes the mechanism of a name, which is what Name returns; sensitivities,
// categories and losses may be left out.
func parse(text string) (*PrivacyLossDistribution, error) {
	kind, arguments, _ := strings.Cut(text, ":")
	number, integer, name := map[string]float64{}, map[string]int{"sensitivity": 1, "categories": 2}, "l1"
	for pair := range strings.SplitSeq(arguments, ",") {
		key, value, _ := strings.Cut(pair, "=")
		if _, ok := integer[key]; ok {
			n := 0
			if _, err := fmt.Sscan(value, &n); err != nil {
				return nil, err
			}
			integer[key] = n
		} else if key == "loss" {
			name = value
		} else {
			x := 0.0
			if _, err := fmt.Sscan(value, &x); err != nil {
				return nil, err
			}
			number[key] = x
		}
	}
	switch kind {
	case "laplace":
		return Laplace(number["epsilon"])
	case "truncated-laplace":
		return TruncatedLaplace(number["epsilon"], number["delta"])
	case "discrete-laplace":
		return DiscreteLaplace(number["epsilon"], integer["sensitivity"])
	case "staircase":
		l, err := loss.Parse(name)
		if err != nil {
			return nil, err
		}
		return Staircase(number["epsilon"], l)
	case "gaussian":
		return Gaussian(number["sigma"])
	case "subsampled-gaussian":
		return SubsampledGaussian(number["sigma"], number["rate"])
	case "discrete-gaussian":
		return DiscreteGaussian(number["sigma"], integer["sensitivity"])
	case "randomized-response":
		return RandomizedResponse(number["epsilon"], integer["categories"])
	case "dp":
		return Approximate(number["epsilon"], number["delta"])
	}
	return nil, fmt.Errorf("no mechanism %q", text)
}

// TestBasicEpsilon: pure releases add up, a delta is shared among all, and what is proved
// is never below the truth, nor below it by the rounding of a sum.
func TestBasicEpsilon(t *testing.T) {
	laplace, err := Laplace(0.1)
	if err != nil {
		t.Fatal(err)
	}
	c := compose(t, Release{laplace, 3})
	truth := exact.Rational(0.1)
	truth.Mul(truth, big.NewRat(3, 1))
	if e, ok := c.BasicEpsilon(0); !ok || exact.Rational(e).Cmp(truth) < 0 || e > 0.3+1e-9 {
		t.Errorf("three of epsilon 0.1: %v, %t, want 0.3 or a hair more", e, ok)
	}
	gaussian, err := Gaussian(2)
	if err != nil {
		t.Fatal(err)
	}
	both := compose(t, Release{laplace, 2}, Release{gaussian, 5})
	basic, ok := both.BasicEpsilon(1e-6)
	total, err := both.Epsilon(1e-6)
	if !ok || err != nil || basic < total.Lower {
		t.Errorf("basic %g, %t, below the truth, at least %g, %v", basic, ok, total.Lower, err)
	}
	for _, delta := range []float64{0, -1, 1, math.NaN()} { // no delta, or too small a one for Gaussian noise
		if e, ok := both.BasicEpsilon(delta); ok {
			t.Errorf("delta = %g: %g, want none", delta, e)
		}
	}
}

// TestBestEpsilon: the smaller of both bounds, +Inf where there is none.
func TestBestEpsilon(t *testing.T) {
	laplace, err := Laplace(0.1)
	if err != nil {
		t.Fatal(err)
	}
	gaussian, err := Gaussian(2)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		releases []Release
		delta    float64
	}{
		{[]Release{{laplace, 3}}, 0},
		{[]Release{{laplace, 3}}, 1e-9}, // basic is the smaller
		{[]Release{{laplace, 300}}, 1e-3},
		{[]Release{{laplace, 2}, {gaussian, 5}}, 1e-6},
		{[]Release{{gaussian, 5}}, 0}, // none
	} {
		c := compose(t, test.releases...)
		got, err := c.BestEpsilon(test.delta)
		if err != nil {
			t.Fatal(err)
		}
		want := math.Inf(1)
		if b, err := c.Epsilon(test.delta); err == nil {
			want = b.Upper
		}
		if e, ok := c.BasicEpsilon(test.delta); ok {
			want = min(want, e)
		}
		if got.Upper != want || !(got.Lower >= 0 && got.Lower <= got.Upper) {
			t.Errorf("delta %g: %v, want at most %v", test.delta, got, want)
		}
	}
	for _, delta := range []float64{-1, 1, math.NaN(), math.Inf(1)} {
		if b, err := compose(t, Release{laplace, 1}).BestEpsilon(delta); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("delta = %g: %v, %v", delta, b, err)
		}
	}
}

func TestNoTable(t *testing.T) {
	for _, none := range []*tables.Table{nil, {}} {
		if pld, err := LossOf(none); pld != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v, %v, want dp.ErrInvalid", pld, err)
		}
	}
}
