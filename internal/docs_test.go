package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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
		example := strings.HasSuffix(path, "_test.go") || strings.HasPrefix(filepath.ToSlash(path), "../examples/")
		if !example || filepath.Ext(path) != ".go" {
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

// TestDocumentedLossesAgree: the README and the recipes have the same expected losses of
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
		readme, recipes := cell("../README.md", 4, "1", "1e-6", loss), cell("../docs/recipes.md", 3, "`"+loss+"`")
		if readme != recipes || readme == "" {
			t.Errorf("the expected loss %s is %s in the README and %s in the recipes", loss, readme, recipes)
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
		"table-format.md":  {"tables/codec.go", "tables/table.go", "tables/dual.go", "dp/privacy.go", "dp/constraints.go", "proof/file.go"},
		"kernel-format.md": {"kernels/codec.go", "kernels/kernel.go", "kernels/dual.go", "kernels/queries.go", "dp/privacy.go", "proof/file.go"},
		"bundle-format.md": {"latent/bundle/codec.go", "latent/bundle/spec.go"},
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
