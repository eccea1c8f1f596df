// SPDX-License-Identifier: Apache-2.0

package encoder

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

func ownOf(t *testing.T, file string) *latent.Own {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "python", "tests", "data", "files", file))
	if err != nil {
		t.Fatal(err)
	}
	var m proof.Mechanism
	if strings.HasPrefix(file, "local") {
		m, err = local.Decode(bytes.NewReader(text))
	} else {
		m, err = tables.Decode(bytes.NewReader(text))
	}
	if err != nil {
		t.Fatal(err)
	}
	own, err := latent.NewOwn(m)
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// TestGiven: the bundle proves the promise, fitting leaves the noise as it is, and noise that does not
// fit the body or the promise is refused. Of 20 000 releases of 0 the mean is within 6 standard errors.
func TestGiven(t *testing.T) {
	for file, scale := range map[string]float64{"real.json": 0.5, "local-unbiased.json": 1} {
		own := ownOf(t, file)
		body := Body{bundle.Box, scale, 2}
		promise := bundle.Promise{Epsilon: 4, Delta: 0.25}
		n, err := Given(own, body, promise)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if _, err := latent.Verify(t.Context(), install(t, n, 2), proof.Options{}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if fitted, err := Fit(n, Matrix{Rows: 1, Cols: 2, Stride: 2, Data: []float64{0, 0}}); err != nil || fitted != n {
			t.Errorf("%s: another noise after Fit, %v", file, err)
		}
		u := make([]float64, 40_000)
		n.Release(u, u, rand.New(rand.NewPCG(1, 2)))
		mean, square := 0.0, 0.0
		for _, v := range u {
			mean += v / float64(len(u))
			square += v * v / float64(len(u))
		}
		if math.Abs(mean) > 6*math.Sqrt(square/float64(len(u))) || square == 0 {
			t.Errorf("%s: mean %g, mean square %g", file, mean, square)
		}
		body.Radius *= 1.001
		if _, err := Given(own, body, promise); err == nil || !strings.Contains(err.Error(), "radius") {
			t.Errorf("%s in a larger body: %v", file, err)
		}
		body.Radius = scale
		if _, err := Given(own, body, bundle.Promise{Epsilon: 1.9, Delta: 0.25}); !errors.Is(err, proof.ErrNotPrivate) {
			t.Errorf("%s with too small a promise: %v", file, err)
		}
	}
}
