package account

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
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
		{[]Release{{m, MaxReleases}, {m, 1}}, 0},
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
	case "discrete-gaussian":
		return DiscreteGaussian(number["sigma"], integer["sensitivity"])
	case "randomized-response":
		return RandomizedResponse(number["epsilon"], integer["categories"])
	case "dp":
		return Approximate(number["epsilon"], number["delta"])
	}
	return nil, fmt.Errorf("no mechanism %q", text)
}
