// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/local"
)

func labels(k int) []string {
	out := make([]string, k)
	for i := range out {
		out[i] = fmt.Sprint("label ", i)
	}
	return out
}

// TestRandomizedResponse: private to the last unit, as likely to be true as it may be, and
// proved to be the best.
func TestRandomizedResponse(t *testing.T) {
	for _, k := range []int{2, 3, 10, 100} {
		for _, epsilon := range []float64{1e-9, 0.01, 1, 4, 12, 100} {
			v, err := local.RandomizedResponse(labels(k), epsilon)
			if err != nil {
				t.Fatalf("%d categories, epsilon %g: %v", k, epsilon, err)
			}
			s, c := v.Mechanism().Spec(), v.Certificate()
			ratio := exact.RatioDown(epsilon)
			truth, other := s.Rows[0][0], s.Rows[0][1]
			if c.DeltaUpper.Sign() != 0 || ratio.Exceeds(truth, other) {
				t.Errorf("%d categories, epsilon %g: weights %d and %d are not private", k, epsilon, truth, other)
			}
			if less := other - 1; other > 1 && !ratio.Exceeds(-(uint64(k-1)*less), less) {
				t.Errorf("%d categories, epsilon %g: the weight %d of another category could be less", k, epsilon, other)
			}
			p := math.Exp(epsilon) / (math.Exp(epsilon) + float64(k-1))
			if got := float64(truth) * 0x1p-64; math.Abs(got-p) > 1e-12 {
				t.Errorf("%d categories, epsilon %g: the truth has probability %g, want %g", k, epsilon, got, p)
			}
			// At a large epsilon the weight of 2^-64 is far above what there need be.
			if gap, ok := c.Bounds().Gap(); epsilon <= 12 && (!ok || gap > 1e-9) {
				t.Errorf("%d categories, epsilon %g: gap %g, %t", k, epsilon, gap, ok)
			}
		}
	}
	for _, x := range []struct {
		labels  []string
		epsilon float64
	}{
		{labels(3), 0},
		{labels(3), 101},
		{labels(3), math.NaN()},
		{labels(1), 1},
		{nil, 1},
		{labels(limits.LocalNodes + 1), 1},
		{[]string{"a", "a"}, 1},
		{[]string{"a", ""}, 1},
	} {
		if v, err := local.RandomizedResponse(x.labels, x.epsilon); v != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%d categories, epsilon %g: %v, %v, want it to wrap dp.ErrInvalid", len(x.labels), x.epsilon, v, err)
		}
	}
}
