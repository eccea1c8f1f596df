// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

func TestBundles(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewPCG(4, 0))
	for trial := range 6 {
		p := randomProblem(r, domains[trial%3])
		p.Epsilon = max(p.Epsilon, 1)
		res := design(t, p, Options{Store: testStore(t)})
		other := randomData(r, 60, len(p.Features))
		made := map[bundle.Kind]bool{}
		for _, c := range res.Candidates {
			b, err := res.Bundle(c)
			what := fmt.Sprintf("trial %d, %s, %s noise, %s", trial, p.Domain, c.Noise, c.Encoder)
			if !c.Bundled {
				if !errors.Is(err, dp.ErrInvalid) {
					t.Errorf("%s: error %v, want ErrInvalid", what, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			made[c.Noise] = true
			wantNear(t, what+": loss of the bundle", b.Spec().Predicted.TrainingLoss, c.Loss, 1e-3)
			if p.Domain != bundle.Ball && c.Encoder != taskAware {
				continue // the same noise once more
			}
			noisy, err := proved(t, b).NewDeterministicPrivatizer([32]byte{byte(trial)}, sampler.Options{})
			if err != nil {
				t.Fatal(err)
			}
			e, err := Evaluate(t.Context(), noisy, other, 300)
			if err != nil {
				t.Fatal(err)
			}
			want, err := res.Loss(c, other)
			if err != nil {
				t.Fatal(err)
			}
			wantNear(t, what+": prediction", e.Predicted.Total, want.Total, 2e-3)
			wantNear(t, what+": sum of outputs", sum(e.Predicted.Output), e.Predicted.Total, 1e-12)
			if low, high := e.Interval(4.5); !(low <= e.Predicted.Total && e.Predicted.Total <= high) {
				t.Errorf("%s: measured %g to %g, predicted %g", what, low, high, e.Predicted.Total)
			}
			for k, v := range e.MeasuredOutput {
				wantNear(t, what+": predicted output", e.Predicted.Output[k], want.Output[k], 5e-3)
				if math.Abs(v-e.Predicted.Output[k]) > 4.5*e.StandardErrorOutput[k] {
					t.Errorf("%s: output %d measured %g ± %g, predicted %g", what, k, v, e.StandardErrorOutput[k], e.Predicted.Output[k])
				}
			}
		}
		if len(made) != 5 {
			t.Errorf("trial %d: bundles of %v, want five kinds", trial, made)
		}
	}
}

func proved(t *testing.T, b *bundle.Bundle) *bundle.Verified {
	t.Helper()
	v, err := Verify(t.Context(), b, proof.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBundleOfSkewedNoise(t *testing.T) {
	store := storeOf(t, func(_ context.Context, epsilon, delta float64) (*tables.Table, error) {
		return cutLaplaceFor(dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, dp.RealQuery, loss.L2, 32)
	})
	data := randomData(rand.New(rand.NewPCG(9, 0)), 60, 3)
	res := design(t, named(Problem{Data: data, Promise: bundle.Promise{Epsilon: 1, Delta: 0.05}, Domain: bundle.Box, Clip: 0.9}),
		Options{Store: store, Kinds: []bundle.Kind{bundle.Designed}})
	c := res.Candidates[0]
	if m := c.points[0].mean; !(math.Abs(m) > 1e-4) {
		t.Fatalf("mean of the noise = %g, want one that matters", m)
	}
	b, err := res.Bundle(c)
	if err != nil {
		t.Fatal(err)
	}
	noisy, err := proved(t, b).NewDeterministicPrivatizer([32]byte{9}, sampler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Evaluate(t.Context(), noisy, data, 2000)
	if err != nil {
		t.Fatal(err)
	}
	wantNear(t, "prediction", e.Predicted.Total, c.Loss, 1e-9)
	if low, high := e.Interval(4.5); !(low <= c.Loss && c.Loss <= high) {
		t.Errorf("measured %g to %g, want %g", low, high, c.Loss)
	}
}
