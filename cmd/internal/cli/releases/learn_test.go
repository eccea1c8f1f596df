// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/learn"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/release"
	"github.com/noisewright/noisewright/release/ledger"
)

// TestLearnAfterCrash: a model that was charged and has no answer, because the process died, is
// learned with the noise that was charged, whatever would be found now; or, where a promise was
// charged, with what is found now and keeps it.
func TestLearnAfterCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for neighbors, noise := range map[string]string{dp.AddRemove: noise.Gaussian, dp.Replace: "designed"} {
		t.Run(neighbors, func(t *testing.T) { learnAfterCrash(t, neighbors, noise) })
	}
}

func learnAfterCrash(t *testing.T, neighbors, noise string) {
	t.Helper()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	var out, errs bytes.Buffer
	s := &shell.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
	o := newLearnOptions(s)
	o.data, o.schema = file("people.csv", "x,class\n1,a\n2,b\n"), file("schema.json", `{"format":"noisewright-schema","version":1,
		"target":"class","classes":["a","b"],"features":[{"name":"x","bounds":{"lower":0,"upper":3}}]}`)
	o.csv.Delimiter, o.budget, o.cache = ',', learn.Budget{Epsilon: 1, Delta: 1e-5, Neighbors: neighbors}, "-"
	o.ledger, o.Output = file("people.ledger", ""), file("model.json", "")

	ctx := t.Context()
	if err := ledger.Create(ctx, o.ledger, account.Terms{Epsilon: 1, Delta: 1e-5, Neighbors: neighbors, Unit: dp.Row}); err != nil {
		t.Fatal(err)
	}
	book, err := ledger.Open(ctx, o.ledger)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	schema, err := o.readSchema()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := readRows(ctx, &o.Common, o.data, o.csv.Options, func(rows *release.CSV) error {
		_, err := schema.Read(rows)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	l := learner{
		kind: "naive-bayes",
		plan: func(s *learn.Schema) (int, error) { return s.NaiveBayesReleases(), nil },
		fit: func(_ context.Context, d *learn.Data, r *learn.Releaser) (*learn.Model, error) {
			return d.FitNaiveBayes(r)
		},
	}
	text, err := o.ledgerText(l, schema)
	if err != nil {
		t.Fatal(err)
	}
	gaussian, err := learn.NewNoise(ctx, "gaussian", o.budget, 3, learn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	crash := errors.New("crash")
	_, err = book.Release(ctx, account.Charge{
		Text: text, Data: digest, Summary: "learn", Neighbors: neighbors, Unit: dp.Row, Costs: gaussian.Costs(),
	}, func(context.Context) ([]byte, error) { return nil, crash })
	if !errors.Is(err, crash) {
		t.Fatal(err)
	}

	if err := o.run(ctx, l); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(o.Output)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	m, err := learn.ReadModel(in)
	if err != nil || m.Guarantee == nil || m.Guarantee.Noise != noise {
		t.Errorf("%+v, %v, want %s noise", m, err, noise)
	}
	if !strings.Contains(out.String(), "release 1, charged") {
		t.Errorf("%s", out.String())
	}
}
