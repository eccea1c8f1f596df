// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/cmd/internal/scripttest"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

// TestRunLatent takes vectors through design, verify, privatize, decode and evaluate.
func TestRunLatent(t *testing.T) {
	var data strings.Builder
	data.WriteString("id,north,east\n")
	for i := range 40 {
		x := float64(i%8) - 3.5
		data.WriteString("p" + strings.Repeat("i", i) + "," + jsonFloat(2*x) + "," + jsonFloat(x*x) + "\n")
	}
	file := scripttest.TextFile(t, "train.csv", data.String())
	dir := filepath.Join(t.TempDir(), "bundle")

	c := scripttest.CaptureJSON()
	c.Output = dir
	design := &latentDesignOptions{
		Common: c.Common, vectors: vectorOptions{data: file, FeatureColumns: shell.FeatureColumns{Columns: "*", Exclude: "id"}},
		problem: latent.Problem{Promise: bundle.Promise{Epsilon: 8}, Domain: bundle.Box, Clip: 0.9},
		noise:   string(noise.Laplace), design: shell.DesignOptions(),
	}
	if err := design.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Object(t, "baseline_loss", "bundle", "candidates", "clip")

	c = scripttest.CaptureJSON()
	if err := (&latentVerifyOptions{Common: c.Common, bundle: dir, limit: time.Minute}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := c.Object(t); v["valid"] != true || v["epsilon_upper"] != 8.0 || v["delta_upper"] != 0.0 {
		t.Errorf("report %v", v)
	}

	c = scripttest.Capture("")
	if err := (&rowsOptions{Common: c.Common, in: file, bundle: dir, keep: "id"}).run(t.Context(), privatizing); err != nil {
		t.Fatal(err)
	}
	private := c.Stdout.String()
	if !strings.HasPrefix(private, "id,u1") || strings.Contains(private, "north") {
		t.Errorf("printed %q", private)
	}
	c = scripttest.Capture(private)
	if err := (&rowsOptions{Common: c.Common, in: "-", bundle: dir}).run(t.Context(), decoding); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.Stdout.String(), "north,east\n") {
		t.Errorf("printed %q", c.Stdout)
	}

	c = scripttest.CaptureJSON()
	if err := (&latentEvaluateOptions{Common: c.Common, bundle: dir, data: file, draws: 50}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Object(t, "baseline_loss", "unclipped_loss", "predicted", "measured_low", "agrees")
}

func jsonFloat(x float64) string {
	b, _ := json.Marshal(x)
	return string(b)
}
