// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/noisewright/noisewright/cmd/internal/cli/releases"
	"github.com/noisewright/noisewright/cmd/internal/cli/vectors"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
)

// Main runs the program with the given arguments, without its own name, and returns its exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return shell.Main(newRootCommand, args, stdin, stdout, stderr)
}

func newRootCommand(a *shell.Streams, started func()) *cobra.Command {
	root := &cobra.Command{
		Use:   "noisewright",
		Short: "Design, prove and draw optimal noise for differential privacy",
		Long: `noisewright designs the additive noise with the smallest expected loss that makes a
number (epsilon, delta)-differentially private, proves how good it is in exact
arithmetic, and draws from it: to release a count, a sum, a mean, a histogram or a
quantile of a file, with a ledger that keeps the total, or to make every row of it
private by itself.

Exit codes:
  0    done
  1    failure
  2    bad usage or input
  3    negative verdict: a table does not keep what it claims, or a ledger refuses a
       release that would exceed its total
  4    stopped at a limit: with a proven and usable result, or, of a check, without
       any verdict
  130  interrupted`,
		Example: `  noisewright ledger create city.ledger --epsilon 2 --delta 1e-6
  noisewright release count --data people.csv --epsilon 0.5 --delta 1e-7 --ledger city.ledger
  noisewright design --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1 -o table.json
  noisewright verify table.json
  noisewright privatize table.json --column age --lower 0 --upper 1 in.csv -o out.csv`,
		Version:          readVersion().String(),
		SilenceUsage:     true,
		SilenceErrors:    true,
		PersistentPreRun: func(*cobra.Command, []string) { started() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return shell.BadInput(cmd.CommandPath()+" --help", errors.New("no command given, want one such as design, verify or release"))
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"release", "Release statistics and models of many people's data, under a total", []*cobra.Command{releases.NewReleaseCommand(a), releases.NewLedgerCommand(a), releases.NewLearnCommand(a)}},
		{"design", "Design noise, with a proof", []*cobra.Command{newDesignCommand(a), newPlanCommand(a), newDesignKernelCommand(a), newDesignAdditiveCommand(a), newDesignPlaneCommand(a), newDesignBallCommand(a), newCatalogueCommand(a), newCompareCommand(a)}},
		{"use", "Use it", []*cobra.Command{newPrivatizeCommand(a), newSampleCommand(a), newIntervalCommand(a)}},
		{"local", "Local: values on devices, where nobody is trusted with them", []*cobra.Command{newLocalCommand(a)}},
		{"compose", "Compose several releases", []*cobra.Command{newAccountCommand(a), newCalibrateCommand(a)}},
		{"vectors", "Feature vectors", []*cobra.Command{vectors.NewLatentCommand(a), vectors.NewEncoderCommand(a)}},
		{"verify", "Verify and look at what was designed", []*cobra.Command{newVerifyCommand(a), newCertificateCommand(a), newPlotCommand(a), newExportCommand(a)}},
		{"other", "Other", []*cobra.Command{newStudioCommand(a), newExampleCommand(a), newVersionCommand(a), newManCommand(a)}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.id
		}
		root.AddCommand(g.commands...)
	}
	root.AddCommand(newReproduceCommand())
	root.SetHelpCommand(newHelpCommand(root))
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil { // cobra's own, which has help for every shell there is not
		c.RunE = func(cmd *cobra.Command, _ []string) error {
			return shell.BadInput(cmd.CommandPath()+" --help", errors.New("shell is missing, want bash, zsh, fish or powershell"))
		}
	}
	return root
}

func newReproduceCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reproduce", Hidden: true, DisableFlagParsing: true, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			return shell.BadInput("go -C cmd/papers run . --help, in the sources of noisewright", errors.New(`unknown command "reproduce": published tables and figures have a program of their own, papers`))
		},
	}
}

// newHelpCommand replaces cobra's own, for which an unknown topic is a success.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [command]",
		Short:   "Describe a command",
		Example: "  noisewright help design",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return commandNames(root, args), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return shell.BadInput("noisewright --help", fmt.Errorf("unknown command %q", strings.Join(args, " ")))
			}
			cmd.InitDefaultHelpFlag()
			cmd.InitDefaultVersionFlag()
			return cmd.Help()
		},
	}
}

func commandNames(root *cobra.Command, words []string) []string {
	parent, rest, err := root.Find(words)
	if err != nil || len(rest) > 0 {
		return nil
	}
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

func newManCommand(s *shell.Streams) *cobra.Command {
	c := &shell.Common{Streams: s}
	f := shell.NewFlags(&cobra.Command{
		Use:   "man -o FOLDER",
		Short: "Write the manual pages",
		Long: `Write a manual page for every command, as NAME.1, into a folder: man reads them
there with its option -l, or once they are in share/man/man1. With --markdown the
pages are NAME.md.

The date of the pages is SOURCE_DATE_EPOCH, in seconds since 1970, if that is set,
and otherwise the date of the program's commit, so that the same sources make the
same pages.`,
		Example: `  noisewright man -o man
  man -l man/noisewright-design.1`,
	})
	f.Output(c, "folder to write to, made if it is missing")
	f.Require(&c.Output, "output", "a folder")
	f.Force(c)
	markdown := false
	f.Bool(&markdown, "markdown", "pages in Markdown, for a site")
	return f.Run(func(context.Context) error {
		date, err := pageDate()
		if err != nil {
			return shell.BadInput("", err)
		}
		if err := shell.MakeFolder(c.Output); err != nil {
			return err
		}
		pages, err := writePages(s, c.Output, newRootCommand(&shell.Streams{}, func() {}), date, markdown) // a tree of its own, to be changed
		for _, page := range pages {
			defer page.Discard()
			if err == nil { // all are written: none appears if one cannot be
				err = page.Commit()
			}
		}
		return err
	})
}

// writePages opens and writes the page of a command and those of all below it, for the caller to commit.
func writePages(s *shell.Streams, folder string, c *cobra.Command, date time.Time, markdown bool) (pages []*shell.Output, err error) {
	for _, below := range c.Commands() {
		if !below.IsAvailableCommand() {
			continue
		}
		more, err := writePages(s, folder, below, date, markdown)
		if pages = append(pages, more...); err != nil {
			return pages, err
		}
	}
	c.DisableAutoGenTag = true
	if markdown {
		page, err := s.Create(filepath.Join(folder, strings.ReplaceAll(c.CommandPath(), " ", "_")+".md")) // as they link to each other
		if err != nil {
			return pages, err
		}
		c.Long = asMarkdown(cmp.Or(c.Long, c.Short))
		return append(pages, page), doc.GenMarkdown(c, page)
	}
	c.Long = asMarkdown(cmp.Or(c.Long, c.Short))
	c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = escapeMarkdown(f.Usage) })
	header := doc.GenManHeader{Section: "1", Date: &date, Source: "noisewright " + number, Manual: "noisewright"}
	page, err := s.Create(filepath.Join(folder, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
	if err != nil {
		return pages, err
	}
	return append(pages, page), doc.GenMan(c, &header, page)
}

func pageDate() (time.Time, error) {
	const name = "SOURCE_DATE_EPOCH"
	if text := os.Getenv(name); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds < 0 {
			return time.Time{}, fmt.Errorf("%s = %s, want a number of seconds since 1970", name, check.Quoted(text))
		}
		return time.Unix(seconds, 0).UTC(), nil
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if date, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
				return date.UTC(), nil
			}
		}
	}
	return time.Unix(0, 0).UTC(), nil // a fixed one
}

// asMarkdown makes Markdown of a help text, whose indented lines are to stay as they are.
func asMarkdown(text string) string {
	var b strings.Builder
	indented := false
	for line := range strings.Lines(text) {
		blank := strings.TrimSpace(line) == ""
		if now := strings.TrimLeft(line, " \t") != line; !blank && now != indented {
			b.WriteByte('\n') // ends a paragraph or a block
			indented = now
		}
		if indented && !blank {
			b.WriteString("    " + line)
		} else {
			b.WriteString(escapeMarkdown(line))
		}
	}
	return b.String()
}

var markup = regexp.MustCompile("[][\\\\`*_<>|~#&]")

// escapeMarkdown keeps text from being taken for markup.
func escapeMarkdown(text string) string { return markup.ReplaceAllString(text, `\$0`) }
