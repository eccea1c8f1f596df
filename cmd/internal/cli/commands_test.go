// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noisewright/noisewright/cmd/internal/shell"
)

// TestCompletions wants an answer for every flag and every argument, which is not the
// shell's own, all files, unless the value may be one.
func TestCompletions(t *testing.T) {
	visitCommands(newRootCommand(&shell.Streams{}, func() {}), func(c *cobra.Command) {
		if c.HasSubCommands() {
			return // these are the answer
		}
		if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
			t.Errorf("%s: no completion of arguments", c.CommandPath())
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if len(f.Annotations) > 0 || f.Value.Type() == "bool" {
				return
			}
			complete, ok := c.GetFlagCompletionFunc(f.Name)
			if !ok {
				t.Errorf("%s --%s: no completion", c.CommandPath(), f.Name)
				return
			}
			words, directive := complete(c, nil, "")
			if directive&cobra.ShellCompDirectiveNoFileComp == 0 && !strings.Contains(f.Usage, "file") && len(words) == 0 {
				t.Errorf("%s --%s: offers files, %q", c.CommandPath(), f.Name, f.Usage)
			}
			kind := f.Value.Type()
			if (kind == "word" || kind == "name" || strings.Contains(kind, "|")) && kind != "N|FILE" && kind != "FROM:TO:WIDTH|FILE" && len(words) == 0 {
				t.Errorf("%s --%s: offers none of its words", c.CommandPath(), f.Name)
			}
		})
	})
}

// TestHelpIsWrapped: the paragraphs of help texts fit a terminal of 90 columns; lists, which
// are indented, may be wider.
func TestHelpIsWrapped(t *testing.T) {
	visitCommands(newRootCommand(&shell.Streams{}, func() {}), func(c *cobra.Command) {
		for line := range strings.Lines(c.Long) {
			if n := utf8.RuneCountInString(line); n > 91 && !strings.HasPrefix(line, " ") {
				t.Errorf("%s: a line of %d letters: %s", c.CommandPath(), n, line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "string" {
				t.Errorf("%s --%s is a string, want what it stands for", c.CommandPath(), f.Name)
			}
		})
	})
}

// visitCommands visits a command and all below it.
func visitCommands(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, below := range c.Commands() {
		visitCommands(below, visit)
	}
}

// TestEveryJSONIsChecked wants a script that looks at the JSON of every command that has
// one: the command json of the scripts holds it to the rules. Those of release
// are one.
func TestEveryJSONIsChecked(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts: %v", len(files), err)
	}
	var scripts strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		scripts.Write(text)
	}
	visitCommands(newRootCommand(&shell.Streams{}, func() {}), func(c *cobra.Command) {
		parent := c.Parent()
		if c.Flags().Lookup("json") == nil || parent.Name() == "release" && c.Name() != "count" {
			return
		}
		run := regexp.MustCompile(`(?m)^(exec|code \d) ` + c.CommandPath() + ` .*--json.*\n(! stderr .*\n|cp stdout .*\n|!?stdout .*\n)*json \S+ `)
		if !run.MatchString(scripts.String()) {
			t.Errorf("%s --json: no script looks at it", c.CommandPath())
		}
	})
}

// TestRangesInErrors takes the ends of every range that an error names, and wants the
// flag to take them.
func TestRangesInErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	within := regexp.MustCompile(`(?m)(?:from|at least) (\S+?)(?: to (\S+?))?(?:,|$| and)`)
	try := func(path, arguments []string, name, value string) (complaint string) {
		var errs strings.Builder
		s := &shell.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs}
		if code := shell.Run(t.Context(), newRootCommand, s, slices.Concat(path, []string{"--" + name + "=" + value}, arguments)); code != shell.ExitBadInput {
			t.Fatalf("%s --%s=%s: exit code %d", path, name, value, code)
		}
		for line := range strings.Lines(errs.String()) {
			if strings.HasPrefix(line, "error: "+name+" = ") {
				return strings.TrimSpace(line)
			}
		}
		return ""
	}
	tested := 0
	visitCommands(newRootCommand(&shell.Streams{}, func() {}), func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		arguments := []string{"no", "such", "file"} // wrong for every command: nothing is to run
		if table := c.Flags().Lookup("table"); table != nil && table.Hidden {
			arguments = nil // one would be the table, which goes with few flags, and none is an error
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); f.Hidden || kind != "number" && kind != "numbers" && kind != "count" && f.Name != "times" && f.Name != "clip" {
				return
			}
			path := path
			if f.Name == "delta" && c.Flags().Lookup("allow-delta") != nil {
				path = append(slices.Clone(path), "--allow-delta")
			}
			complaint := try(path, arguments, f.Name, "x")
			for _, other := range []string{"local", "categories=a,b", "columns=a,b"} { // some go with it only
				if flag, _, _ := strings.Cut(other, "="); complaint == "" && c.Flags().Lookup(flag) != nil {
					path = append(slices.Clone(path), "--"+other)
					complaint = try(path, arguments, f.Name, "x")
				}
			}
			if complaint == "" {
				t.Errorf("%s --%s=x is good", c.CommandPath(), f.Name)
			}
			m := within.FindStringSubmatch(complaint)
			if m == nil {
				return
			}
			for _, end := range m[1:] {
				if end == "" {
					continue
				}
				tested++
				if complaint := try(path, arguments, f.Name, end); complaint != "" {
					t.Errorf("%s: %s", c.CommandPath(), complaint)
				}
			}
		})
	})
	if tested < 50 {
		t.Errorf("%d ends tested", tested)
	}
}
