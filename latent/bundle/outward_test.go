package bundle

import (
	"math"
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
)

// TestRootIsAbove: a root is above the true one, by a relative 2^-128 at most, and exact where that can be.
func TestRootIsAbove(t *testing.T) {
	for n := int64(1); n < 200; n++ {
		x := big.NewRat(n, 7)
		above := root(x)
		near := new(big.Rat).Mul(above, new(big.Rat).Sub(big.NewRat(1, 1), exact.PowerOfTwo(-128)))
		if square(above).Cmp(x) < 0 || square(near).Cmp(x) > 0 {
			t.Errorf("root of %s = %s", x, above.FloatString(50))
		}
	}
	if r := root(big.NewRat(9, 4)); r.Cmp(big.NewRat(3, 2)) != 0 {
		t.Errorf("root of 9/4 = %s", r)
	}
}

// TestRangeL1IsAbove: beside the largest range, here of numbers that floating point has exactly, there is
// what its proof asks for: 2^-51 of all terms for every coordinate and feature and eight more.
func TestRangeL1IsAbove(t *testing.T) {
	for _, c := range []struct {
		m            Matrix
		lower, upper []float64
		most, total  float64
	}{
		{Matrix{2, 2, []float64{3, 5, 7, -2}}, []float64{0, -1}, []float64{1, 1}, 18, 24},
		{Matrix{1, 3, []float64{1, -2, 4}}, []float64{0, 0, 0}, []float64{1, 1, 0.5}, 5, 5},
		{Matrix{3, 1, []float64{1, 1, -1}}, []float64{-1}, []float64{3}, 12, 12},
	} {
		z, n := c.m.Rows, c.m.Cols
		least := c.most + float64(z+n+8)*0x1p-51*c.total
		last := math.Nextafter(c.most, 100) - c.most
		if got := c.m.RangeL1(c.lower, c.upper); got < least-last/2 || got > least+last {
			t.Errorf("%v: %v, want %v", c.m, got, least)
		}
	}
	// A product below all float64s is above 0.
	if got := (Matrix{1, 1, []float64{0x1p-600}}).RangeL1([]float64{0}, []float64{0x1p-600}); !(got > 0) {
		t.Errorf("range %g, want a number above 0", got)
	}
	for _, bounds := range [][2]int{{1, 2}, {2, 1}, {3, 2}, {2, 3}, {3, 3}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("bounds of %v features are taken for 2", bounds)
				}
			}()
			Matrix{1, 2, []float64{1, 1}}.RangeL1(make([]float64, bounds[0]), make([]float64, bounds[1]))
		}()
	}
}
