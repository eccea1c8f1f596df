// SPDX-License-Identifier: Apache-2.0

package taskaware

import (
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
)

// Local randomizers that are fitted to the encodings do better on people held out than those
// for any encodings, and their bundle proves the promise; other noise is left alone.
func TestRefit(t *testing.T) {
	d := twoNumbers(300, false, 5)
	o := Options{Steps: 200, Restarts: 1, Seed: 3}
	body, local := noiseOf(t, bundle.Local, bundle.Box, 1, 4)
	first, err := Train(t.Context(), d, body, local, o, encoders.Run{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := first.Refit(t.Context(), o, encoders.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if !(again.HeldOut.Loss < 0.99*first.HeldOut.Loss) {
		t.Errorf("loss %g, after %g", again.HeldOut.Loss, first.HeldOut.Loss)
	}
	b, err := again.Bundle()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := latent.Verify(t.Context(), b, proof.Options{}); err != nil {
		t.Error(err)
	}
	body, laplace := noiseOf(t, noise.Laplace, bundle.L1Ball, 1, 6)
	other, err := Train(t.Context(), d, body, laplace, o, encoders.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := other.Refit(t.Context(), o, encoders.Run{}); err != nil || same != other {
		t.Errorf("laplace noise: %v", err)
	}
}
