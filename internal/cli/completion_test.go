package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noisewright/noisewright/internal/cli/shell"
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
			if (kind == "word" || kind == "name" || strings.Contains(kind, "|")) && kind != "N|FILE" && len(words) == 0 {
				t.Errorf("%s --%s: offers none of its words", c.CommandPath(), f.Name)
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
