package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
)

type manOptions struct{ shell.Common }

func newManCommand(s *shell.Streams) *cobra.Command {
	o := &manOptions{shell.Common{Streams: s}}
	f := shell.NewFlags(&cobra.Command{
		Use:   "man -o FOLDER",
		Short: "Write the manual pages",
		Long: `Write a manual page for every command, as NAME.1, into a folder: man reads them
there with its option -l, or once they are in share/man/man1.

The date of the pages is SOURCE_DATE_EPOCH, in seconds since 1970, if that is set,
and otherwise the date of the program's commit, so that the same sources make the
same pages.`,
		Example: `  noisewright man -o man
  man -l man/noisewright-design.1`,
	})
	f.Folder(&o.Common)
	return f.Run(o.run)
}

func (o *manOptions) run(context.Context) error {
	date, err := pageDate()
	if err != nil {
		return shell.BadInput("", err)
	}
	if err := shell.MakeFolder(o.Output); err != nil {
		return err
	}
	return o.writePages(newRootCommand(o.Streams, func() {}), date) // a tree of its own, to be changed
}

// writePages writes the page of a command and those of all below it.
func (o *manOptions) writePages(c *cobra.Command, date time.Time) error {
	for _, below := range c.Commands() {
		if !below.IsAvailableCommand() {
			continue
		}
		if err := o.writePages(below, date); err != nil {
			return err
		}
	}
	c.DisableAutoGenTag = true
	c.Long = asMarkdown(cmp.Or(c.Long, c.Short))
	c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = escapeMarkdown(f.Usage) })
	header := doc.GenManHeader{Section: "1", Date: &date, Source: "noisewright " + readVersion().short(), Manual: "noisewright"}
	var page bytes.Buffer
	if err := doc.GenMan(c, &header, &page); err != nil {
		return err
	}
	w, err := o.Create(filepath.Join(o.Output, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
	if err != nil {
		return err
	}
	defer w.Discard()
	return w.Put(func(w io.Writer) error {
		_, err := page.WriteTo(w)
		return err
	})
}

// pageDate is the date of the manual pages.
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
		switch {
		case indented && !blank:
			b.WriteString("    " + line)
		default:
			b.WriteString(escapeMarkdown(line))
		}
	}
	return b.String()
}

// escapeMarkdown keeps text from being taken for markup.
func escapeMarkdown(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\\`*_[]<>|~#&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
