// SPDX-License-Identifier: Apache-2.0

package latent_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/proof/forms"
)

func ownOf(t *testing.T, name string) (*latent.Own, error) {
	t.Helper()
	m, err := proof.ReadFile(filepath.Join("..", "python", "tests", "data", "files", name+".json"), func(in io.Reader) (proof.Mechanism, error) { return forms.Decode(in) })
	if err != nil {
		t.Fatal(err)
	}
	return latent.NewOwn(m)
}

// TestOwn: noise of one's own is in a bundle that proves its promise, with as many coordinates as that
// is enough for; the range of a randomizer is moved to lie around 0.
func TestOwn(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	data := mat.NewDense(200, 3, nil)
	for i := range 200 {
		for j := range 3 {
			data.Set(i, j, r.NormFloat64()*float64(3-j))
		}
	}
	for _, c := range []struct {
		file    string
		kind    bundle.Kind
		radius  float64
		epsilon float64
		most    int // coordinates
	}{
		{"real", bundle.Designed, 0.5, 2.5, 2},
		{"local-unbiased", bundle.LocalUnbiased, 1, 4, 2},
		{"local-worst", bundle.Local, 2.5, 3.9, 1},
	} {
		own, err := ownOf(t, c.file)
		if err != nil || own.Kind != c.kind || own.Radius != c.radius {
			t.Fatalf("%s: %+v, %v", c.file, own, err)
		}
		p := latent.Problem{Features: []string{"a", "b", "c"}, Data: data, Domain: bundle.Box, Clip: 0.99, Promise: bundle.Promise{Epsilon: c.epsilon, Delta: 0.25}}
		d, err := latent.Design(t.Context(), p, latent.Options{Own: own})
		if err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		best := d.Best("")
		if len(d.Candidates) != 1 || best.Noise != c.kind || best.Z > c.most {
			t.Errorf("%s: %d candidates, %s with %d coordinates, want at most %d", c.file, len(d.Candidates), best.Noise, best.Z, c.most)
		}
		b, err := d.Bundle(best)
		if err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		v, err := latent.Verify(context.Background(), b, proof.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		if e, _ := v.EpsilonUpper().Float64(); e > c.epsilon {
			t.Errorf("%s: epsilon %g is proved, want at most %g", c.file, e, c.epsilon)
		}
		p.Epsilon, p.Delta = 0.5, 0.01
		if _, err := latent.Design(t.Context(), p, latent.Options{Own: own}); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "want at most the promise") {
			t.Errorf("%s with too small a promise: %v", c.file, err)
		}
	}
	for file, want := range map[string]string{
		"kernel":     "want one that is private for any two of them",
		"integer":    "want a table, a kernel or a local randomizer of numbers",
		"categories": "want a table, a kernel or a local randomizer of numbers",
	} {
		if _, err := ownOf(t, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", file, err, want)
		}
	}
}

// TestOwnKernel: a kernel that is private for any two values is a randomizer, whose answers are its own.
func TestOwnKernel(t *testing.T) {
	half := uint64(1) << 63
	k, err := kernels.New(t.Context(), kernels.Spec{
		Privacy: dp.Privacy{Epsilon: 1.1, Sensitivity: 4}, Queries: kernels.Queries{Lower: 0, Upper: 4}, Loss: loss.L1,
		Edges: []float64{0, 2, 4}, Nodes: []float64{1, 3}, Rows: [][]uint64{{half + half/2, half / 2}, {half / 2, half + half/2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	own, err := latent.NewOwn(k)
	if err != nil {
		t.Fatal(err)
	}
	s := own.Randomizer.Spec()
	if own.Kind != bundle.Local || len(s.Rows) != 2 || s.Rows[0][0] != half+half/2 || s.Answers[0] != -s.Answers[1] || s.Nodes[0] != -own.Radius {
		t.Errorf("%s within ±%g: nodes %v, answers %v, rows %v", own.Kind, own.Radius, s.Nodes, s.Answers, s.Rows)
	}
}
