// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/portrait"
	"github.com/noisewright/noisewright/cmd/internal/scripttest"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/newform"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/proof/forms"
)

// selection returns a mechanism of a form that the program has nothing for in particular:
// rows of numbers go in and sets come out. It keeps an epsilon of 1.1 and more.
func selection(t *testing.T, epsilon float64) *newform.Selection {
	t.Helper()
	const a, b = 1 << 62, 1 << 62 / 3 // of the sets with the label and without; 3·b is one short
	s, err := newform.New(newform.Spec{
		Epsilon: epsilon, Anchors: [][]float64{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}, Labels: []string{"e", "n", "w", "s"}, Size: 2,
		Rows: [][]uint64{{a, a, a, b, b, b + 1}, {a, b, b, a, a, b + 1}, {b, a, b, a, b + 1, a}, {b, b, a, b + 1, a, a}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNewForm runs the commands on files of a form that is a package and a line in a list: it
// is proved, drawn from, accounted for and drawn.
func TestNewForm(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, epsilon := range map[string]float64{"good.json": 1.2, "bad.json": 0.5} {
		if err := proof.WriteFile(path(name), selection(t, epsilon)); err != nil {
			t.Fatal(err)
		}
	}
	rows := "who,where\n1,\"0.9,0.1\"\n2,\"-0.2,0.8\"\n"
	if err := os.WriteFile(path("in.csv"), []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		s := shell.NewStreams(t.Context(), strings.NewReader(""), &stdout, &stderr)
		s.Forms = []forms.Reader{{Form: newform.Form, Decode: func(r io.Reader) (proof.Mechanism, error) { return newform.Decode(r) }}}
		code = shell.Run(t.Context(), newRootCommand, s, args)
		return code, stdout.String(), stderr.String()
	}
	for _, c := range []struct {
		code int
		args string
		out  []string
		errs string
	}{
		{0, "verify good.json", []string{
			"valid: every claim holds", "1.2, between any two inputs", "0 promised, 0 certified", "a row of 2 cells, numbers from -1 to 1",
			"one of 6 categories", "largest loss", "0.25",
		}, ""},
		{3, "verify bad.json", []string{"INVALID: not private as claimed", "0 promised"}, "delta = 0 is promised"},
		{0, "verify --json good.json", []string{`{"schema":3,"valid":true,"form":"subset selection","epsilon":1.2,"delta":0,"inputs":`, `"max_loss":0.25`}, ""},
		{3, "verify --json bad.json", []string{`"valid":false`, `"error":"delta = 0 is promised`}, "delta = 0 is promised"},
		{0, "sample --table good.json --value=0.9,0.1 -n 20", []string{"e"}, ""},
		{2, "sample --table good.json --value=7,0 -n 1", nil, "value = 7,0, want a row of 2 cells, numbers from -1 to 1"},
		{2, "sample --table good.json -n 1", nil, "value is missing, want a row of 2 cells"},
		{2, "sample --table good.json --value=1,0 --integer -n 1", nil, "want none of them with a subset selection"},
		{3, "sample --table bad.json --value=1,0 -n 1", nil, "delta = 0 is promised"},
		{0, "account good.json --times 3 --delta 1e-9", []string{"3 of good.json", "epsilon"}, ""},
		{0, "plot good.json -o good.svg", nil, ""},
		{2, "plot good.json --values 1 -o values.svg", nil, "want neither with a subset selection"},
		{0, "privatize --table good.json --column where in.csv -o out.csv", nil, "total: epsilon 1.2, delta 0"},
		{2, "privatize --table good.json --column where --lower 0 --upper 1 in.csv", nil, "want none of them with a subset selection"},
		{2, "privatize --table good.json --column who in.csv", nil, `row 1 (line 2): who is not a row of 2 cells`},
		{2, "compare --table good.json", nil, "is a subset selection, want a table or a local randomizer"},
		{2, "interval --table good.json 3", nil, "is a subset selection, want a table made by design"},
		{2, "export good.json", nil, "is a subset selection, want a table"},
	} {
		args := strings.Fields(c.args)
		for i, a := range args {
			if strings.HasSuffix(a, ".json") || strings.HasSuffix(a, ".csv") || strings.HasSuffix(a, ".svg") {
				args[i] = path(a)
			}
		}
		code, out, errs := run(args...)
		out, errs = strings.ReplaceAll(out, dir+"/", ""), strings.ReplaceAll(errs, dir+"/", "")
		if code != c.code || !strings.Contains(errs, c.errs) || c.errs == "" && errs != "" {
			t.Errorf("%s: %d, %s, want %d and %q", c.args, code, errs, c.code, c.errs)
		}
		for _, want := range c.out {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %s, want %q", c.args, out, want)
			}
		}
		if strings.Contains(c.args, "--json") {
			if err := scripttest.CheckJSON([]byte(out)); err != nil {
				t.Errorf("%s: %v", c.args, err)
			}
		}
	}
	svg, err := os.ReadFile(path("good.svg"))
	if err != nil || !bytes.Contains(svg, []byte("e,n")) || !bytes.Contains(svg, []byte("0,-1")) {
		t.Errorf("the figure has no sets or no rows, %v", err)
	}
	private, err := os.ReadFile(path("out.csv"))
	lines := strings.Split(string(private), "\n")
	if err != nil || len(lines) != 4 || lines[0] != "who,where" {
		t.Fatalf("%q, %v", private, err)
	}
	for _, line := range lines[1:3] {
		set, quoted := strings.CutPrefix(line[2:], `"`)
		if _, err := selection(t, 1.2).Answers().Parse(strings.TrimSuffix(set, `"`)); err != nil || !quoted {
			t.Errorf("the answer %s: %v", line, err)
		}
	}
}

// TestNewFormPortrait shows such a form on the pages.
func TestNewFormPortrait(t *testing.T) {
	v, err := selection(t, 1.2).Prove(context.Background(), proof.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := portrait.New(v)
	if err := p.ProveTotal(v); err != nil {
		t.Error(err)
	}
	text, err := json.Marshal(p)
	if err != nil || p.Kind != "newform" || p.Epsilon != 1.2 || p.Worst.Text != "0.25" || p.Bound.Text != "0" {
		t.Errorf("%s, %v", text, err)
	}
	if l := p.Laws; len(l.Rows) != 4 || l.Values[3] != "0,-1" || len(l.Labels) != 6 || l.Labels[0] != "e,n" || l.Rows[0][0] != 0.25 {
		t.Errorf("laws %+v", p.Laws)
	}
}
