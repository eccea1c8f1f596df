// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/tables"
)

// TestDocumentedCode: the Go code of README.md and docs/ is taken from examples that
// the tests of this module compile. What stands between two lines "// …" is part of
// one, but for the indentation.
func TestDocumentedCode(t *testing.T) {
	var compiled []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		compiled = append(compiled, unindented(string(text)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "\n```go\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			for _, part := range strings.Split(unindented(block), "// …\n") {
				found++
				if part = strings.TrimSpace(part); !slices.ContainsFunc(compiled, func(c string) bool { return strings.Contains(c, part) }) {
					t.Errorf("%s: no example has this code:\n%s", filepath.Base(page), part)
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("%d pieces of code found, want those of README.md and docs/", found)
	}
}

// TestDocumentedLossesAgree: the page of gains and the recipes have the same expected losses of
// the same designs.
func TestDocumentedLossesAgree(t *testing.T) {
	cell := func(page string, at int, start ...string) string {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var cells []string
			for c := range strings.SplitSeq(strings.ReplaceAll(line, `\|`, ""), "|") {
				cells = append(cells, strings.TrimSpace(c))
			}
			if len(cells) > at && slices.Equal(cells[1:1+len(start)], start) {
				return cells[at]
			}
		}
		t.Fatalf("%s has no row %q", page, start)
		return ""
	}
	for _, loss := range []string{"l1", "l2"} {
		gains, recipes := cell("../docs/gains.md", 4, "1", "1e-6", loss), cell("../docs/recipes.md", 3, "`"+loss+"`")
		if gains != recipes || gains == "" {
			t.Errorf("the expected loss %s is %s in gains.md and %s in the recipes", loss, gains, recipes)
		}
	}
}

// TestWhichEpsilon: the page has the formula's numbers, rounded up.
func TestWhichEpsilon(t *testing.T) {
	text, err := os.ReadFile("../docs/which-epsilon.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| ([0-9.]+) \| ([0-9.]+) % \|`).FindAllStringSubmatch(string(text), -1)
	if len(rows) != 8 {
		t.Fatalf("%d rows, want 8", len(rows))
	}
	for _, row := range rows {
		epsilon, _ := strconv.ParseFloat(row[1], 64)
		_, decimals, _ := strings.Cut(row[2], ".")
		scale := math.Pow10(len(decimals))
		if want := math.Ceil(100*scale/(1+math.Exp(-epsilon))) / scale; strconv.FormatFloat(want, 'f', len(decimals), 64) != row[2] {
			t.Errorf("epsilon %s: %s %%, want %v", row[1], row[2], want)
		}
	}
}

// unindented returns the text without the white space at the ends of its lines.
func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

// TestFormatPages: the pages of the file formats name every field that is read.
func TestFormatPages(t *testing.T) {
	for page, sources := range map[string][]string{
		"table-format.md":  {"tables/codec.go", "tables/table.go", "tables/dual.go", "dp/dp.go", "dp/constraints.go", "proof/file.go"},
		"kernel-format.md": {"kernels/codec.go", "kernels/kernel.go", "kernels/dual.go", "kernels/queries.go", "dp/dp.go", "proof/file.go"},
		"bundle-format.md": {"latent/bundle/codec.go", "latent/bundle/spec.go"},
		"plan-format.md":   {"plan/plan.go", "plan/workload.go", "plan/law.go"},
		"learn.md":         {"learn/schema.go", "learn/model.go", "learn/logistic.go", "learn/noise.go"},
	} {
		text, err := os.ReadFile(filepath.Join("../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		named := make(map[string]bool)
		for _, code := range regexp.MustCompile("`([a-z_.\\[\\]]+)`|\"([a-z_]+)\":").FindAllStringSubmatch(string(text), -1) {
			for _, name := range strings.FieldsFunc(code[1]+"."+code[2], func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
				named[name] = true
			}
		}
		found := 0
		for _, source := range sources {
			code, err := os.ReadFile(filepath.Join("..", source))
			if err != nil {
				t.Fatal(err)
			}
			for _, tag := range regexp.MustCompile("`json:\"([a-z_]+)").FindAllStringSubmatch(string(code), -1) {
				found++
				if !named[tag[1]] {
					t.Errorf("%s does not name the field %s of %s", page, tag[1], source)
				}
			}
		}
		if found < 15 {
			t.Errorf("%s: %d fields found, want those of the format", page, found)
		}
	}
}

// TestFormatsPage: the page on formats has every format and its version.
func TestFormatsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	format := regexp.MustCompile(`Name: +"(noisewright-[a-z-]+)", Version: +([0-9]+)`)
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "newform") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range format.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = true
			if !strings.Contains(string(page), "| `"+m[1]+"` | "+m[2]+" |") {
				t.Errorf("formats.md does not have %s, version %s", m[1], m[2])
			}
		}
		return err
	})
	if err != nil || len(found) < 7 {
		t.Errorf("%v, found %v", err, found)
	}
	database, err := os.ReadFile("../release/ledger/database.go")
	version := regexp.MustCompile(`schemaVersion += ([0-9]+)`).FindSubmatch(database)
	if version == nil || !strings.Contains(string(page), "| `user_version` "+string(version[1])) {
		t.Errorf("%v: formats.md does not have the version of ledgers, %q", err, version)
	}
}

// TestExampleTable: the example of docs/table-format.md is a good table, is written as Encode
// writes it, and what the page shows of it is in it, with "…" for what it leaves out.
func TestExampleTable(t *testing.T) {
	text, err := os.ReadFile("../docs/example-table.json")
	if err != nil {
		t.Fatal(err)
	}
	table, err := tables.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Verify(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Encode(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), text) {
		t.Error("the example table is not written as Encode writes it")
	}
	page, err := os.ReadFile("../docs/table-format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "```\n{")
	shown, _, found := strings.Cut("{"+shown, "```")
	if !found {
		t.Fatal("no table on the page")
	}
	var excerpt, whole any
	if err := errors.Join(json.Unmarshal([]byte(strings.ReplaceAll(shown, ", …", "")), &excerpt), json.Unmarshal(text, &whole)); err != nil {
		t.Fatal(err)
	}
	compareExcerpt(t, "table", excerpt, whole)
}

// compareExcerpt wants all fields and the first elements of what is whole.
func compareExcerpt(t *testing.T, where string, excerpt, whole any) {
	t.Helper()
	switch a := excerpt.(type) {
	case map[string]any:
		b, _ := whole.(map[string]any)
		if len(a) != len(b) {
			t.Errorf("%s: %d fields on the page, %d in the file", where, len(a), len(b))
		}
		for name, v := range a {
			compareExcerpt(t, where+"."+name, v, b[name])
		}
	case []any:
		b, _ := whole.([]any)
		if len(a) > len(b) {
			t.Fatalf("%s: %d elements on the page, %d in the file", where, len(a), len(b))
		}
		for i, v := range a {
			compareExcerpt(t, fmt.Sprintf("%s[%d]", where, i), v, b[i])
		}
	default:
		if excerpt != whole {
			t.Errorf("%s = %v on the page, %v in the file", where, excerpt, whole)
		}
	}
}

// TestLinks: what the pages link to in this repository is there.
func TestLinks(t *testing.T) {
	found := 0
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../docs/proofs/*.md", "../cmd/papers/*.md", "../python/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, link := range regexp.MustCompile(`\]\(([^()\s]+)\)`).FindAllStringSubmatch(string(text), -1) {
				path, _, _ := strings.Cut(link[1], "#")
				if path == "" || strings.Contains(path, ":") {
					continue
				}
				found++
				if _, err := os.Stat(filepath.Join(filepath.Dir(page), path)); err != nil {
					t.Errorf("%s links to %s, which is not there", page, link[1])
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("%d links found", found)
	}
}

// TestNamedCode: the Go files that a page names by their path are there, and so are the
// functions and types in parentheses behind one.
func TestNamedCode(t *testing.T) {
	found := 0
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../docs/proofs/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			if filepath.Base(page) == "CHANGELOG.md" {
				continue // it names what was
			}
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, named := range regexp.MustCompile("`([a-z]+/[a-zA-Z0-9_/]+\\.go)`(?:\\s+\\(((?:`\\w+`(?:,\\s+)?)+)\\))?").FindAllStringSubmatch(string(text), -1) {
				found++
				code, err := os.ReadFile(filepath.Join("..", named[1]))
				if err != nil {
					t.Errorf("%s names %s, which is not there", page, named[1])
				}
				for _, name := range regexp.MustCompile(`\w+`).FindAllString(named[2], -1) {
					if !regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type )` + name + `\b`).Match(code) {
						t.Errorf("%s names %s of %s, which has neither a function nor a type of that name", page, name, named[1])
					}
				}
			}
		}
	}
	if found < 80 {
		t.Errorf("%d files of code found", found)
	}
}
