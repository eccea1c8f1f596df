// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
)

// said is what a command says of the figure or table of a paper that it computes: its caption and what differs in
// its help, and all of it beside its numbers. Texts may have line breaks, which are blanks.
type said struct {
	caption   string   // what the figure or table shows
	differs   string   // from the paper: data and method
	form      string   // sizes of the run, beside those of the paper; "" if there is one form only
	published []string // what the paper has
	against   []string // where the run is against that
}

// paperCommand completes a command for a figure or table of a paper. More is what its help says between the caption
// and what differs.
func paperCommand(c *shell.Common, name, example, short string, s said, more string, run func(context.Context) error, flags func(*shell.Flags)) *cobra.Command {
	long := wrapped(s.caption + ".")
	if more != "" {
		long += "\n\n" + more
	}
	cmd := command(c, name, example, short, long+"\n\n"+wrapped("What differs from the paper: "+s.differs+"."), run, flags)
	cmd.Annotations = map[string]string{captionNote: flat(s.caption)}
	return cmd
}

// captionNote is the annotation of commands that has what captions say.
const captionNote = "caption"

// print prints a report that begins with what is said, and ends with the published numbers, where the run is
// against them, and the files.
func (s said) print(c *shell.Common, name string, body any, rows []shell.Row, files []string) error {
	return c.Print(s.document(name, body, files), append(append(s.head(), rows...), s.tail(files)...))
}

func (s said) document(name string, body any, files []string) shell.Object {
	list := func(texts []string) []string { return append([]string{}, texts...) } // [] and not null
	return document(name, shell.Object{
		"caption", flat(s.caption), "differs", flat(s.differs), "form", flat(s.form),
		"published", list(s.published), "against_the_paper", list(s.against), body,
	}, files)
}

// head is what stands above the numbers.
func (s said) head() []shell.Row {
	rows := []shell.Row{{"caption", flat(s.caption)}, {"differs", flat(s.differs)}}
	if s.form != "" {
		rows = append(rows, shell.Row{"form", flat(s.form)})
	}
	return rows
}

// tail is what stands below them.
func (s said) tail(files []string) []shell.Row {
	rows := publishedRows(s.published)
	for _, text := range s.against {
		rows = append(rows, shell.Row{"against the paper", text})
	}
	return append(rows, shell.Row{"files", strings.Join(files, ", ")})
}

// wrapped breaks a text into lines as help has them.
func wrapped(text string) string {
	const width = 88
	var b strings.Builder
	line := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case line+1+len([]rune(word)) > width:
			b.WriteByte('\n')
			line = 0
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += len([]rune(word))
	}
	return b.String()
}

// seedFlag adds --seed. Everything random of a run follows from it and the number of the run.
func seedFlag(f *shell.Flags, seed *uint64) {
	f.Func("seed", "N", "0", "number that all randomness follows from", func(text string) (err error) {
		if *seed, err = strconv.ParseUint(text, 10, 31); err != nil {
			return shell.Want("an integer from 0 to 2147483647")
		}
		return nil
	})
}

// runSeed is the seed of a run. Those of the seed 0 are the numbers of the runs.
func runSeed(seed uint64, run int) uint64 { return seed<<32 + uint64(run) } //nolint:gosec // not negative

// formOf says that a run is quick or full, and its sizes.
func formOf(full bool, sizes ...string) string {
	return map[bool]string{false: "quick: ", true: "full: "}[full] + strings.Join(sizes, "; ")
}

// commas lists values, and joined with another word between them.
func commas[T any](values []T) string { return joined(values, ", ") }

func joined[T any](values []T, between string) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, between)
}

// deviationOf is the standard deviation of a sample; nil of fewer than two numbers, which have none.
func deviationOf(x []float64) *float64 {
	if len(x) < 2 {
		return nil
	}
	_, deviation := meanAndDeviation(x)
	return &deviation
}

// deviationText is a deviation in a CSV file, empty if there is none.
func deviationText(deviation *float64, text func(float64) string) string {
	if deviation == nil {
		return ""
	}
	return text(*deviation)
}

// bar is how far a bar of a deviation goes.
func bar(deviation *float64) float64 {
	if deviation == nil {
		return 0
	}
	return *deviation
}
