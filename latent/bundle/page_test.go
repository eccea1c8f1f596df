// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/tables"
)

// TestPage: the bundle.json of docs/bundle-format.md is that of a bundle that Verify
// proves, in its own words.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/bundle-format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```\n{")
	example, _, found := strings.Cut("{"+example, "```")
	if !found {
		t.Fatal("no bundle.json on the page")
	}
	f, err := decodeFile(strings.NewReader(example))
	if err != nil {
		t.Fatal(err)
	}

	axes := []float64{0.25, 0.25}
	s := plain(80, axes...)
	s.Features, s.Domain, s.ClipOrigin = f.Features, f.Domain, f.ClipOrigin
	s.Noise, s.Composition, s.Promise, s.TableOf = f.Noise.Kind, f.Noise.Composition, *f.Privacy, f.Noise.TableOf
	s.Tables = []*tables.Table{must(newLaplaceTable(f.Privacy.Epsilon, f.Domain, axes))}
	b := must(New(s))
	must(b.Verify(nil))
	var written bytes.Buffer
	if err := newFile(&b.spec).encode(&written); err != nil {
		t.Fatal(err)
	}
	flat := func(s string) string { return strings.Join(strings.Fields(s), "") }
	if flat(written.String()) != flat(example) {
		t.Errorf("the page has\n%s\nand Write writes\n%s", example, &written)
	}
}
