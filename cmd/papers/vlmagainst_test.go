// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/shell"
)

// TestVLMAgainst: said is each kind of point that is against the paper, and nothing of one that is not.
func TestVLMAgainst(t *testing.T) {
	const tested = 2500 // three standard errors of .1 are .018
	inf := math.Inf(1)
	for _, c := range []struct {
		figure, series string
		epsilon, mean  float64
		want           string
	}{
		{"vlm-figure1", "central ε = 5", 4, 0.117, "at chance, 0.100, at local ε = 4"},
		{"vlm-figure1", "central ε = 5", inf, 0.1, "at chance, 0.100, at local ε = ∞"},
		{"vlm-figure1", "central ε = 5", 4, 0.119, ""},
		{"vlm-figure1", directSeries, 4, 0.119, "above chance at local ε = 4"},
		{"vlm-figure1", directSeries, 4, 0.117, ""},
		{"vlm-figure1", noCentral.name, 2, 0.6, ""},
		{vlmNovel, noCentral.name, 2, 0.6, "0.600 at local ε = 2, where the paper has about 0.75"},
		{vlmNovel, noCentral.name, 2, 0.78, ""},
		{vlmNovel, noCentral.name, 4, 0.6, ""},
		{"vlm-figure4", noCentral.name, 8, 0.87, "0.870 at local ε = 8, above the bound 0.865"},
		{"vlm-figure4", noCentral.name, 8, 0.86, ""},
		{"vlm-figure3", noCentral.name, 4, 0.55, "gains nothing over clean features alone, 0.553, at local ε = 4"},
		{"vlm-figure3", noCentral.name, 4, 0.56, ""},
		{"vlm-figure3", noCentral.name, 2, 0.5, ""}, // where the paper has no gain either
	} {
		var s vlmStudy
		at := vlmPoint{Data: "d", Series: c.series, Epsilon: shell.Finite(c.epsilon), Chance: 0.1, Tested: tested}
		s.add(at, c.mean)
		switch c.figure {
		case "vlm-figure4":
			at.Series = boundSeries
			s.add(at, 0.865)
		case "vlm-figure3":
			at.Series, at.Epsilon = aloneSeries, nil
			s.add(at, 0.553)
		}
		got := s.against(c.figure)
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s, %s, %g at ε = %g: %q, want %q", c.figure, c.series, c.mean, c.epsilon, got, c.want)
		}
	}
}
