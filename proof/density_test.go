// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
)

func TestValidateWeight(t *testing.T) {
	many := make(Pieces, formfile.MaxPieces+1)
	for i := range many {
		many[i] = Piece{float64(i) / float64(len(many)), 1}
	}
	for _, c := range []struct {
		lower, upper float64
		weight       Pieces
		want         string
	}{
		{0, 1, nil, ""},
		{0, 1, Pieces{{0, 1}}, ""},
		{-2, 1, Pieces{{-2, 0}, {0, 5}}, ""},
		{0, 1, many[:formfile.MaxPieces], ""},
		{0, 1, many, "weight ="},
		{1, 1, nil, "range ="},
		{1, 0, nil, "range ="},
		{math.NaN(), 1, nil, "range ="},
		{0, math.Inf(1), nil, "range ="},
		{-math.MaxFloat64, math.MaxFloat64, nil, "range ="},
		{0, 1, Pieces{{0, -1}}, "weight[0].weight ="},
		{0, 1, Pieces{{0, math.NaN()}}, "weight[0].weight ="},
		{0, 1, Pieces{{0, math.Inf(1)}}, "weight[0].weight ="},
		{0, 1, Pieces{{0.1, 1}}, "weight[0].from ="},
		{0, 1, Pieces{{0, 1}, {0, 1}}, "weight[1].from ="},
		{0, 1, Pieces{{0, 1}, {1, 1}}, "weight[1].from ="},
		{0, 1, Pieces{{0, 1}, {0.5, 1}, {0.2, 1}}, "weight[2].from ="},
		{0, 1, Pieces{{0, 0}, {0.5, 0}}, "weight = 0 everywhere"},
	} {
		errs := check.In("pkg")
		c.weight.Validate(c.lower, c.upper, errs)
		err := errs.Err()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v from %v to %v: %v", c.weight, c.lower, c.upper, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(check.Sentences(err)[0], c.want)):
			t.Errorf("from %v to %v: %v, want %q", c.lower, c.upper, err, c.want)
		}
	}
}

// TestDensities: the pieces lie next to each other, from end to end, in proportion to their
// weights, and their integrals sum to 1 exactly.
func TestDensities(t *testing.T) {
	for _, c := range []struct {
		lower, upper float64
		weight       Pieces
	}{
		{0, 3, nil},
		{-1, 1, Pieces{{-1, 1}, {0.25, 3}}},
		{0.1, 0.7, Pieces{{0.1, 0.3}, {0.2, 0}, {0.3, 0.1}}},
	} {
		list := c.weight.Densities(c.lower, c.upper)
		if len(list) != max(1, len(c.weight)) {
			t.Fatalf("%d pieces of %d", len(list), len(c.weight))
		}
		sum, at := new(big.Rat), new(big.Rat).SetFloat64(c.lower)
		for i, d := range list {
			if d.From.Cmp(at) != 0 {
				t.Errorf("piece %d starts at %s, want %s", i, d.From, at)
			}
			at = d.To
			mass := new(big.Rat).Sub(d.To, d.From)
			sum.Add(sum, mass.Mul(mass, d.Density))
			if len(c.weight) > 0 { // density_i·weight_0 = density_0·weight_i
				a := new(big.Rat).Mul(d.Density, new(big.Rat).SetFloat64(c.weight[0].Weight))
				b := new(big.Rat).Mul(list[0].Density, new(big.Rat).SetFloat64(c.weight[i].Weight))
				if a.Cmp(b) != 0 {
					t.Errorf("piece %d has the density %s", i, d.Density)
				}
			}
		}
		if end := new(big.Rat).SetFloat64(c.upper); at.Cmp(end) != 0 || sum.Cmp(big.NewRat(1, 1)) != 0 {
			t.Errorf("the pieces end at %s and sum to %s", at, sum)
		}
	}
}
