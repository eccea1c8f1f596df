// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/lp/highs"
)

// TestWalks runs the commands of a page, or of a part of it, in their order, in one folder, as a reader
// does. All end as the page says, and print the lines that it shows, but for their numbers.
func TestWalks(t *testing.T) {
	if testing.Short() || highs.Version() == "" {
		t.Skip("slow")
	}
	for _, c := range []struct {
		page, from, to string
		commands       int // of the program
	}{
		{"README.md", "## A count", "## Where it helps", 6},
		{"docs/gains.md", "# How", "Expected loss at", 6},
		{"docs/which-epsilon.md", "# Which", "", 2},
		{"docs/release.md", "# Release", "## What you must decide", 14},
		{"docs/plans.md", "# Publish", "## What you must decide", 11},
		{"docs/recipes.md", "# Recipes", "## The tables of a paper", 43},
		{"docs/composition.md", "# ", "", 10},
		{"docs/kernels.md", "# ", "", 11},
		{"docs/local.md", "# ", "", 3},
		{"docs/learn.md", "## Five minutes", "## What is guaranteed", 5},
		{"docs/shares.md", "## From devices", "## The same people", 8},
		{"docs/latent.md", "**Without that file**", "## How to read", 5},
	} {
		t.Run(c.page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../../..", c.page))
			if err != nil {
				t.Fatal(err)
			}
			_, part, ok := strings.Cut("\n"+string(text), "\n"+c.from)
			if c.to != "" {
				var end bool
				part, _, end = strings.Cut(part, "\n"+c.to)
				ok = ok && end
			}
			if !ok {
				t.Fatalf("no part from %q to %q", c.from, c.to)
			}
			dir, commands := t.TempDir(), 0
			for _, step := range steps(part) {
				commands += len(program.FindAllString(step.command, -1))
				sh := exec.CommandContext(t.Context(), "sh", "-e", "-c", step.command) //nolint:gosec // of our own pages
				sh.Dir = dir
				out, err := sh.CombinedOutput()
				if fails := strings.Contains(step.shown, "error: "); fails != (err != nil) {
					t.Fatalf("%s\n%v:\n%s", step.command, err, out)
				}
				rest := "\n" + masked(string(out))
				for line := range strings.Lines(step.shown) {
					start, _, _ := strings.Cut(strings.TrimSpace(line), "…")
					if line = masked(start); line == "" {
						continue
					}
					_, below, found := strings.Cut(rest, "\n"+line)
					if !found {
						t.Fatalf("%s\nno line below says %q:\n%s", step.command, line, out)
					}
					rest = below
				}
			}
			if commands != c.commands {
				t.Errorf("%d commands, want %d", commands, c.commands)
			}
		})
	}
}

// A walkStep is what a page has its readers type, and what it shows them.
type walkStep struct{ command, shown string }

var (
	block   = regexp.MustCompile("(?m)^```\n((?:.*\n)*?)```$|^\n((?:    .*\n)+)")
	typed   = regexp.MustCompile(`^(noisewright|awk|printf|echo|cat|head|sed|\() ?`)
	program = regexp.MustCompile(`(?m)(^|\| )noisewright `)
	numbers = regexp.MustCompile(` *([0-9a-f]{64}|-?[0-9]([-0-9.,:TZe+]*[0-9])?(m?s\b)?)`)
)

// steps reads the blocks of a page. In those with lines that begin with "$" the other lines are shown,
// and a block of neither kind shows what the command before it printed.
func steps(page string) (all []walkStep) {
	for _, m := range block.FindAllStringSubmatch(page, -1) {
		text := m[1]
		for line := range strings.Lines(m[2]) {
			text += strings.TrimPrefix(line, "    ")
		}
		prompt := strings.HasPrefix(text, "$ ")
		if !prompt && !typed.MatchString(text) {
			if strings.HasPrefix(text, "answer ") {
				all[len(all)-1].shown = text
			}
			continue
		}
		if !prompt {
			all = append(all, walkStep{command: text})
			continue
		}
		for _, one := range strings.Split("\n"+text, "\n$ ")[1:] {
			command, shown, _ := strings.Cut(one, "\n")
			for strings.HasSuffix(command, `\`) {
				next, more, _ := strings.Cut(shown, "\n")
				command, shown = command+"\n"+next, more
			}
			if typed.MatchString(command) { // and not another program
				all = append(all, walkStep{command, shown})
			}
		}
	}
	return all
}

// masked returns text with all numbers alike, and how they are aligned.
func masked(text string) string { return numbers.ReplaceAllString(text, "#") }

// TestGains: the numbers of README.md's table, usual and ours, are what the commands of docs/gains.md
// print, one for each row.
func TestGains(t *testing.T) {
	if testing.Short() || highs.Version() == "" {
		t.Skip("slow")
	}
	read := func(page, from string) string {
		text, err := os.ReadFile(filepath.Join("../../..", page))
		if err != nil {
			t.Fatal(err)
		}
		_, part, ok := strings.Cut(string(text), from)
		if !ok {
			t.Fatalf("%s has no %q", page, from)
		}
		return part
	}
	rows := strings.Split(read("README.md", "| --- | --- | --- | --- | --- |\n"), "\n")
	commands, _, _ := strings.Cut(read("docs/gains.md", "\n```\n"), "\n```\n")
	for i, command := range strings.Split(commands, "\n") {
		sh := exec.CommandContext(t.Context(), "sh", "-c", command) //nolint:gosec // of our own pages
		sh.Dir = t.TempDir()
		out, err := sh.Output()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		cells := strings.Split(rows[i], "|")
		for _, number := range regexp.MustCompile(`[0-9.]*[0-9]`).FindAllString(cells[2]+cells[3], -1) {
			_, after, _ := strings.Cut(number, ".")
			if !slices.ContainsFunc(strings.Fields(string(out)), func(word string) bool {
				v, err := strconv.ParseFloat(word, 64)
				return err == nil && strconv.FormatFloat(v, 'f', len(after), 64) == number
			}) {
				t.Errorf("%s prints no %s:\n%s", command, number, out)
			}
		}
	}
}
