// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"io/fs"
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

// walked are the pages whose commands TestWalks runs.
var walked = []string{
	"ARCHITECTURE.md", "README.md", "docs/ball.md", "docs/catalogue.md", "docs/composition.md", "docs/encoders.md", "docs/gains.md",
	"docs/kernels.md", "docs/latent.md", "docs/learn.md", "docs/local.md", "docs/plane.md", "docs/plans.md", "docs/recipes.md",
	"docs/release.md", "docs/shares.md", "docs/which-epsilon.md",
}

// leftOut are the blocks that no walk runs, by how they start, and why.
var leftOut = []struct{ page, start, reason string }{
	{"CONTRIBUTING.md", "export GOFLAGS", "what the Makefile exports, without which no test here runs"},
	{"README.md", "make deps build", ".ci/run begins with make; scripts/dist-check.sh has Go alone"},
	{"cmd/papers/README.md", "", "data sets that are not here, and hours; make papers tests the commands on small ones"},
	{"docs/beam.md", "account: this release", "TestNames and the examples of integrations/beam want these sentences"},
	{"docs/beam.md", "go get", "downloads a published version"},
	{"docs/benchmarks.md", "                         │", "what benchstat printed"},
	{"docs/benchmarks.md", "                    │", "what benchstat printed"},
	{"docs/benchmarks.md", "python3 cmd/papers/peers", "measures other libraries, on data sets that are not here"},
	{"docs/benchmarks.md", "pip install", "installs other libraries, to be measured"},
	{"docs/bundle-format.md", "bundle.json", "names of files"},
	{"docs/bundle-format.md", "{", "an excerpt: TestFormatPages wants every field"},
	{"docs/encoders.md", "papers decisions", "data sets that are not here"},
	{"docs/formats.md", "{", "a file of no form that there is; TestOptionalFields has its cases"},
	{"docs/go.md", "go get", "downloads a published version"},
	{"docs/install.md", "make deps", "what .ci/run runs"},
	{"docs/latent.md", ">>> ", "python/tests/test_page.py runs it"},
	{"docs/local.md", "$ bin/papers", "half an hour; make papers tests the command"},
	{"docs/python.md", "", "python/tests/test_page.py runs the page; make dist-check and .ci/run install"},
	{"docs/python-reference.md", "", "written from the code: python/tests/test_docs.py"},
	{"docs/studio.md", "noisewright studio", "serves until it is stopped: TestStudio"},
	{"docs/studio.md", "make verifier", "make browser begins with it"},
	{"docs/table-format.md", "noisewright verify docs", "TestExampleTable, and python/tests/test_verify.py"},
	{"docs/table-format.md", "{", "TestExampleTable compares it with the file"},
	{"python/README.md", "pip install", "make dist-check installs the package"},
}

// TestWalks runs the commands of a page in their order, in one folder, as a reader does. All end as the
// page says, and print the lines that it shows, but for their numbers.
func TestWalks(t *testing.T) {
	if testing.Short() || highs.Version() == "" {
		t.Skip("slow")
	}
	for _, page := range walked {
		t.Run(page, func(t *testing.T) {
			dir, run := t.TempDir(), 0
			for _, step := range steps(t, page) {
				run++
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
			if run == 0 {
				t.Error("the page has no commands")
			}
		})
	}
}

// TestBlocks: each block of each page is run, compiled or left out with a reason, or is a formula.
func TestBlocks(t *testing.T) {
	tested, err := os.ReadFile("../../../python/tests/test_page.py")
	if err != nil {
		t.Fatal(err)
	}
	used, found := make([]bool, len(leftOut)), 0
	err = filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && (len(name) > 2 && name[0] == '.' || name == "testdata" || name == "node_modules"):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".md"):
			return nil
		}
		page := filepath.ToSlash(strings.TrimPrefix(path, "../../../"))
		for _, b := range blocks(t, page) {
			found++
			at := b.leftOut()
			switch {
			case at >= 0:
				used[at] = true
			case b.kind == "formula", b.kind == "go" && (page == "README.md" || strings.HasPrefix(page, "docs/")): // TestDocumentedCode
			case b.kind == "python" && strings.Contains(string(tested), `"`+page+`"`):
			case (b.kind == "command" || b.kind == "shown") && slices.Contains(walked, page):
			default:
				t.Errorf("%s:%d: no walk and no test runs this %s, and no line in leftOut says why:\n%s", page, b.line, b.kind, b.text)
			}
		}
		return nil
	})
	if err != nil || found < 200 {
		t.Errorf("%v, %d blocks found, want some hundreds", err, found)
	}
	for i, was := range used {
		if !was {
			t.Errorf("no block of %s starts with %q", leftOut[i].page, leftOut[i].start)
		}
	}
}

// A pageBlock is code on a page, between fences or indented.
type pageBlock struct {
	page       string
	line       int
	kind, text string // the tag of its fence; or command, formula, or shown
}

// leftOut returns the place in that list, or -1.
func (b pageBlock) leftOut() int {
	return slices.IndexFunc(leftOut, func(l struct{ page, start, reason string }) bool {
		return l.page == b.page && strings.HasPrefix(b.text, l.start)
	})
}

// A walkStep is what a page has its readers type, and what it shows them.
type walkStep struct{ command, shown string }

var (
	typed   = regexp.MustCompile(`^(noisewright|awk|printf|echo|cat|head|sed|\(head)\b`)
	numbers = regexp.MustCompile(` *([0-9a-f]{64}|-?[0-9]([-0-9.,:TZe+]*[0-9])?(m?s\b)?)`)
)

// blocks reads the blocks of a page.
func blocks(t *testing.T, page string) (all []pageBlock) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../..", page))
	if err != nil {
		t.Fatal(err)
	}
	const code = "    " // begins a line of code, in a list with more
	lines := strings.SplitAfter(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		b := pageBlock{page: page, line: i + 1}
		if tag, fenced := strings.CutPrefix(lines[i], "```"); fenced {
			b.kind = strings.TrimSpace(tag)
			for i++; i < len(lines) && !strings.HasPrefix(lines[i], "```"); i++ {
				b.text += lines[i]
			}
		} else if strings.HasPrefix(lines[i], code) && i > 0 && lines[i-1] == "\n" {
			indent := lines[i][:len(lines[i])-len(strings.TrimLeft(lines[i], " "))]
			for ; i < len(lines) && strings.HasPrefix(lines[i], code); i++ {
				b.text += strings.TrimPrefix(lines[i], indent)
			}
		}
		switch {
		case b.text == "":
			continue
		case b.kind != "":
		case strings.HasPrefix(b.text, "$ ") || typed.MatchString(b.text):
			b.kind = "command"
		case strings.ContainsAny(b.text, "Σ∫≤−·√‖∈"): // signs that are no part of a command
			b.kind = "formula"
		default:
			b.kind = "shown"
		}
		all = append(all, b)
	}
	return all
}

// steps reads what a page has its readers type. In blocks with lines that begin with "$" the other lines
// are shown, and a block that is shown is what the command before it printed.
func steps(t *testing.T, page string) (all []walkStep) {
	t.Helper()
	for _, b := range blocks(t, page) {
		switch {
		case b.leftOut() >= 0:
		case b.kind == "shown" && len(all) > 0:
			all[len(all)-1].shown += b.text
		case b.kind == "command" && !strings.HasPrefix(b.text, "$ "):
			all = append(all, walkStep{command: b.text})
		case b.kind == "command":
			for _, one := range strings.Split("\n"+b.text, "\n$ ")[1:] {
				command, shown, _ := strings.Cut(one, "\n")
				for strings.HasSuffix(command, `\`) {
					next, more, _ := strings.Cut(shown, "\n")
					command, shown = command+"\n"+next, more
				}
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
