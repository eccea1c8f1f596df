// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/portrait"
)

// TestSnippets compiles the programs that the page shows.
func TestSnippets(t *testing.T) {
	for kind, p := range map[string]*portrait.Portrait{
		"table":    {Kind: "table", Name: "table.json"},
		"kernel":   {Kind: "kernel", Name: "kernel.json", Laws: &portrait.Laws{}},
		"additive": {Kind: "additive", Name: "additive.json", Laws: &portrait.Laws{}},
		"local":    {Kind: "local", Name: "randomizer.json", Laws: &portrait.Laws{}},
		"category": {Kind: "local", Name: "randomizer.json", Laws: &portrait.Laws{Labels: []string{"a", "b"}}},
	} {
		code, python := snippets(p)
		if !strings.Contains(python, `noisewright.load("`+p.Name+`")`) {
			t.Errorf("%s: Python %s", kind, python)
		}
		file := filepath.Join(t.TempDir(), "private.go")
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		build := exec.Command("go", "build", "-o", os.DevNull, file)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s\n%s", kind, err, out, code)
		}
		if out, err := exec.Command("gofmt", "-l", file).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: gofmt would change it: %s, %v", kind, out, err)
		}
	}
}
