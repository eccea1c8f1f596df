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
		{"docs/gains.md", "# How", "Expected loss at", 7},
		{"docs/which-epsilon.md", "# Which", "", 2},
		{"docs/release.md", "# Release", "## What you must decide", 18},
		{"docs/plans.md", "# Publish", "## What you must decide", 15},
		{"docs/recipes.md", "# Recipes", "## The tables of a paper", 43},
		{"docs/composition.md", "# ", "", 10},
		{"docs/kernels.md", "# ", "", 11},
		{"docs/local.md", "# ", "", 3},
		{"docs/ball.md", "## Five minutes", "## What it is worth", 6},
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

// TestPicture: the picture of README.md is what its command in docs/gains.md draws, but for what other
// processors round otherwise, and README.md says of it what is in its legend.
func TestPicture(t *testing.T) {
	if highs.Version() == "" {
		t.Skip("another design")
	}
	read := func(page string) string {
		text, err := os.ReadFile(filepath.Join("../../..", page))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	dir, gains, said := t.TempDir(), read("docs/gains.md"), ""
	for _, start := range []string{"noisewright plan design ", "noisewright plot totals.json "} {
		_, rest, found := strings.Cut(gains, "\n"+start)
		command, _, _ := strings.Cut(rest, "\n")
		if !found {
			t.Fatalf("no command %q", start)
		}
		sh := exec.CommandContext(t.Context(), "sh", "-c", start+command) //nolint:gosec // of our own pages
		sh.Dir = dir
		out, err := sh.CombinedOutput()
		if err != nil {
			t.Fatalf("%s%s: %v\n%s", start, command, err, out)
		}
		said += string(out)
	}
	drawn, err := os.ReadFile(filepath.Join(dir, "totals.svg"))
	if err != nil {
		t.Fatal(err)
	}
	kept := read("docs/figures/totals.svg")
	number := regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?`)
	now, before := number.FindAllString(string(drawn), -1), number.FindAllString(kept, -1)
	if number.ReplaceAllString(string(drawn), "") != number.ReplaceAllString(kept, "") || len(now) != len(before) {
		t.Fatal("docs/figures/totals.svg is another picture: make it again by the command in docs/gains.md")
	}
	for i := range now {
		a, _ := strconv.ParseFloat(now[i], 64)
		b, _ := strconv.ParseFloat(before[i], 64)
		if d := a - b; d < -0.5 || d > 0.5 {
			t.Errorf("the picture has %s, where the command draws %s", before[i], now[i])
		}
	}
	readme := read("README.md")
	for _, name := range []string{"released by this plan", "released one by one"} {
		within := regexp.MustCompile(name + `: 95 % of answers are within ± ([0-9.]+)`).FindStringSubmatch(kept)
		if within == nil || !strings.Contains(readme, "within "+within[1]+" ") {
			t.Errorf("README.md does not say of what is %s: within %q", name, within)
		}
	}
	for _, name := range []string{"identity", "p-identity"} {
		found := regexp.MustCompile(`  ` + name + ` +([0-9.]+)`).FindStringSubmatch(said)
		v, _ := strconv.ParseFloat(found[1], 64)
		if !strings.Contains(readme, strconv.FormatFloat(v, 'f', 2, 64)) {
			t.Errorf("README.md does not say that %s has an error of %v", name, v)
		}
	}
	if n := len(readme); n > 7000 {
		t.Errorf("README.md has %d bytes, want at most 7000", n)
	}
}
