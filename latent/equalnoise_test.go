// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// truncatedLaplace stands for a designer.
func truncatedLaplace(_ context.Context, p dp.Problem) (*tables.Verified, error) {
	return shapes.TruncatedLaplace(p, tables.Grid{GranularityExponent: -6, PointsPerCell: 1, CellsPerSensitivity: int(math.Ceil(64 * p.Sensitivity))})
}

// A table keeps its share of the promise by basic composition, or all of them keep it by exact
// composition, which is chosen where there are many coordinates and a large delta.
func TestEqualTable(t *testing.T) {
	for _, c := range []struct {
		promise bundle.Promise
		z       int
		want    bundle.Composition
	}{
		{bundle.Promise{Epsilon: 3, Delta: 1e-6}, 1, "basic"},
		{bundle.Promise{Epsilon: 3, Delta: 1e-6}, 7, "basic"},
		{bundle.Promise{Epsilon: 1, Delta: 0.3}, 12, bundle.Exact},
	} {
		table, composition, err := EqualTable(t.Context(), c.promise, c.z, 2.5, truncatedLaplace)
		if err != nil {
			t.Fatal(err)
		}
		p := table.Privacy()
		if composition != c.want || p.Sensitivity != 2.5 {
			t.Errorf("%+v of %d: composition %s, %+v", c.promise, c.z, composition, p)
		}
		if basic := exact.Share(c.promise.Epsilon, c.z); composition == "basic" && p.Epsilon != basic || composition == bundle.Exact && p.Epsilon <= basic {
			t.Errorf("%+v of %d: epsilon %g, by basic composition %g", c.promise, c.z, p.Epsilon, basic)
		}
	}
	failed := errors.New("no solver")
	if _, _, err := EqualTable(t.Context(), bundle.Promise{Epsilon: 1, Delta: 1e-6}, 2, 1, func(context.Context, dp.Problem) (*tables.Verified, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("the designer failed: %v", err)
	}
}

func TestFitRandomizer(t *testing.T) {
	r, err := FitRandomizer([]float64{0.5, 0.6, 0.4, -0.2}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := r.Verify(); err != nil || v.Mechanism().Spec().Epsilon != 2 {
		t.Error(err)
	}
	for want, c := range map[string]struct {
		values  []float64
		epsilon float64
	}{
		"values = none, want at least one": {nil, 1},
		"values[1] = 2, want":              {[]float64{0, 2}, 1},
		"values[0] = NaN, want":            {[]float64{math.NaN()}, 1},
		"epsilon = 0, want":                {[]float64{0}, 0},
		"epsilon = 101, want":              {[]float64{0}, 101},
	} {
		if _, err := FitRandomizer(c.values, 1, c.epsilon); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
