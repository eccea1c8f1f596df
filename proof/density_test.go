package proof

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
)

// TestValidateRows: a row has as many weights as there are answers and they sum to 2^64
// exactly; the first that does not is named, and no other.
func TestValidateRows(t *testing.T) {
	half := uint64(1) << 63
	for _, c := range []struct {
		rows [][]uint64
		want string // "": valid
	}{
		{nil, ""},
		{[][]uint64{{half, half}, {half + 1, half - 1}, {math.MaxUint64, 1}}, ""},
		{[][]uint64{{half, half}, {half, half - 1}}, "rows[1] = a sum of 18446744073709551615"},
		{[][]uint64{{half, half}, {half, half + 1}}, "rows[1] = a sum of 18446744073709551617"},
		{[][]uint64{{0, 0}}, "rows[0] = a sum of 0"},
		{[][]uint64{{math.MaxUint64, math.MaxUint64}}, "rows[0] = a sum of 36893488147419103230"},
		{[][]uint64{{half, half}, {half, half, 0}, {1, 1}}, "rows[1] = 3 weights, want 2, one per node"},
		{[][]uint64{{}}, "rows[0] = 0 weights"},
	} {
		errs := check.In("pkg")
		ValidateRows(c.rows, 2, "one per node", errs)
		err := errs.Err()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c.rows, err)
		case c.want != "" && (!errors.Is(err, dp.ErrInvalid) || len(check.Sentences(err)) != 1 || !strings.HasPrefix(check.Sentences(err)[0], c.want)):
			t.Errorf("%v: %v, want %q", c.rows, err, c.want)
		}
	}
}

func TestValidateWeight(t *testing.T) {
	many := make([]Piece, MaxPieces+1)
	for i := range many {
		many[i] = Piece{float64(i) / float64(len(many)), 1}
	}
	for _, c := range []struct {
		lower, upper float64
		weight       []Piece
		want         string
	}{
		{0, 1, nil, ""},
		{0, 1, []Piece{{0, 1}}, ""},
		{-2, 1, []Piece{{-2, 0}, {0, 5}}, ""},
		{0, 1, many[:MaxPieces], ""},
		{0, 1, many, "weight ="},
		{1, 1, nil, "range ="},
		{1, 0, nil, "range ="},
		{math.NaN(), 1, nil, "range ="},
		{0, math.Inf(1), nil, "range ="},
		{-math.MaxFloat64, math.MaxFloat64, nil, "range ="},
		{0, 1, []Piece{{0, -1}}, "weight[0].weight ="},
		{0, 1, []Piece{{0, math.NaN()}}, "weight[0].weight ="},
		{0, 1, []Piece{{0, math.Inf(1)}}, "weight[0].weight ="},
		{0, 1, []Piece{{0.1, 1}}, "weight[0].from ="},
		{0, 1, []Piece{{0, 1}, {0, 1}}, "weight[1].from ="},
		{0, 1, []Piece{{0, 1}, {1, 1}}, "weight[1].from ="},
		{0, 1, []Piece{{0, 1}, {0.5, 1}, {0.2, 1}}, "weight[2].from ="},
		{0, 1, []Piece{{0, 0}, {0.5, 0}}, "weight = 0 everywhere"},
	} {
		errs := check.In("pkg")
		ValidateWeight(c.lower, c.upper, c.weight, errs)
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
		weight       []Piece
	}{
		{0, 3, nil},
		{-1, 1, []Piece{{-1, 1}, {0.25, 3}}},
		{0.1, 0.7, []Piece{{0.1, 0.3}, {0.2, 0}, {0.3, 0.1}}},
	} {
		list := Densities(c.lower, c.upper, c.weight)
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
