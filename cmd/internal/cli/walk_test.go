// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/lp/highs"
)

// TestWalks runs the commands of a section of a page in their order, in one folder, as a reader does:
// all succeed, and the last ones say what the section leads to.
func TestWalks(t *testing.T) {
	if testing.Short() || highs.Version() == "" {
		t.Skip("slow")
	}
	for _, c := range []struct {
		page, from, to string
		files          map[string]string // that the section takes to be there
		commands       int
		says           []string // some line has it, each below the one before
	}{
		{"README.md", "## Five minutes", "## What it designs", nil, 11, []string{
			"\nanswer ", "\nverdict  ", "\nmean of values  ", "\ntrue value  ", "\nmean of values  ", "\ntruncated-laplace  ",
		}},
		{"docs/recipes.md", "## A rating from every device", "## Noise that depends on", map[string]string{
			"ratings.csv": "rating\n1\n4.5\n5\n0\n",
			"visits.csv":  "page,band\n17,3\n0,0\n199,7\n17,4\n",
			"colors.csv":  "color\nred\ngreen\nblue\nred\n",
			"costs.csv":   "color,red,green,blue\nred,0,1,2\ngreen,1,0,1\nblue,2,1,0\n",
		}, 13, []string{"\nmean of values  ", "\nshares  ", "\nblue  "}},
		{"docs/plans.md", "A file to try it on", "## What you must decide", nil, 6, []string{"\nstrategy ", "\n  F ", "\nstrategy ", "\n  query 12 ", "\n  up to dec "}},
	} {
		t.Run(c.page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../../..", c.page))
			if err != nil {
				t.Fatal(err)
			}
			_, section, ok := strings.Cut(string(text), "\n"+c.from)
			section, _, end := strings.Cut(section, "\n"+c.to)
			if !ok || !end {
				t.Fatalf("%s has no section from %q to %q", c.page, c.from, c.to)
			}
			dir := t.TempDir()
			for name, content := range c.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			script, commands := commandsOf(section)
			if commands != c.commands {
				t.Errorf("%d commands, want %d:\n%s", commands, c.commands, script)
			}
			sh := exec.CommandContext(t.Context(), "sh", "-e", "-c", script) //nolint:gosec // of our own pages
			sh.Dir = dir
			out, err := sh.CombinedOutput()
			if err != nil {
				t.Fatalf("%v:\n%s", err, out)
			}
			rest := "\n" + string(out)
			for _, want := range c.says {
				if _, rest, ok = strings.Cut(rest, want); !ok {
					t.Fatalf("nothing below says %q:\n%s", want, out)
				}
			}
		})
	}
}

// commandsOf returns what a section has a reader run, with the number of the program's commands:
// blocks that begin with one or with awk.
func commandsOf(section string) (script string, commands int) {
	for _, block := range strings.Split(section, "\n```\n")[1:] {
		if strings.HasPrefix(block, "noisewright ") || strings.HasPrefix(block, "awk ") {
			script += block + "\n"
			commands += strings.Count("\n"+block, "\nnoisewright ")
		}
	}
	return script, commands
}
