// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
)

// unfit is a law that no grid holds.
type unfit struct{ dominatingPair }

func (unfit) upper(g grid) []float64 {
	heights := make([]float64, g.len())
	for i := range heights {
		heights[i] = math.NaN()
	}
	return heights
}

// TestBestWithoutAGrid: where exact composition is not possible, what is proved is the sum.
func TestBestWithoutAGrid(t *testing.T) {
	laplace, err := Laplace(0.5)
	if err != nil {
		t.Fatal(err)
	}
	gaussian, err := Gaussian(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, fit := range []*PrivacyLossDistribution{laplace, gaussian} {
		of := &PrivacyLossDistribution{pair: unfit{fit.pair}}
		all := compose(t, Release{of, 4})
		const delta = 1e-6
		if _, err := all.Epsilon(delta); !errors.Is(err, dp.ErrInvalid) {
			t.Fatalf("epsilon: %v, want ErrInvalid", err)
		}
		part, err := compose(t, Release{fit, 1}).Epsilon(exact.FloatDown(exact.Rational(delta / 4)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := all.BestEpsilon(delta)
		if err != nil || b.Upper < 4*part.Upper*(1-1e-9) || b.Upper > 4*part.Upper*(1+1e-6) || b.Lower > b.Upper {
			t.Errorf("%+v, %v, want the sum %v", b, err, 4*part.Upper)
		}
	}
}
