// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
)

// Common are the streams and the options that commands have in common.
type Common struct {
	*Streams
	JSON   bool   // one object in the place of the summary
	Quiet  bool   // no progress and no summary
	Output string // of -o
}

// Summary adds --json and --quiet to a command that ends with a summary. The flags named by files
// have been added: without one of them and without --json, --quiet would leave nothing of the work.
func (f *Flags) Summary(c *Common, files ...string) {
	f.SummaryQuiet(c, "no progress and no summary", files...)
}

// SummaryQuiet is Summary with a usage of --quiet of its own.
func (f *Flags) SummaryQuiet(c *Common, usage string, files ...string) {
	f.Verdict(c, usage)
	f.Check(func() error {
		want := "--json"
		for _, name := range files {
			if f.cmd.Flags().Lookup(name).Value.String() != "" {
				return nil
			}
			want += " or --" + name
		}
		if c.Quiet && !c.JSON {
			return fmt.Errorf("quiet leaves no result, want %s with it", want)
		}
		return nil
	})
}

// Verdict is SummaryQuiet for a command that has a result without any flag: its exit code, or a file.
func (f *Flags) Verdict(c *Common, quiet string) {
	f.Bool(&c.JSON, "json", "print one JSON object instead of the summary")
	f.Quiet(c, quiet)
}

// Quiet adds the flag --quiet.
func (f *Flags) Quiet(c *Common, usage string) { f.Bool(&c.Quiet, "quiet", usage) }

// Output adds -o for a file with one of the extensions, or a folder if there is none.
func (f *Flags) Output(c *Common, usage string, extensions ...string) {
	kind := "file"
	if len(extensions) == 0 {
		kind = "folder"
	}
	f.text(&c.Output, "output", "o", kind, usage)
	if len(extensions) == 0 {
		_ = f.cmd.MarkFlagDirname("output")
		return
	}
	_ = f.cmd.MarkFlagFilename("output", extensions...)
	f.Force(c)
	f.Check(func() error {
		if c.JSON && c.Output == "-" {
			return errors.New("output = - and --json, want only one of them on standard output")
		}
		return nil
	})
}

// Force adds the flag --force, without which no output replaces a file.
func (f *Flags) Force(c *Common) {
	f.Bool(&c.Force, "force", "replace files that are there")
}

// Finish writes a design and prints it; limit says that it was stopped, or is nil.
func (c *Common) Finish(w *Output, encode func(io.Writer) error, v any, rows []Row, limit error) error {
	if err := w.Put(encode); err != nil {
		return err
	}
	if err := c.Print(v, rows); err != nil {
		return err
	}
	return limit
}

// Print prints v as JSON or the rows, unless it is to be quiet or standard output has the result.
func (c *Common) Print(v any, rows []Row) error {
	return c.PrintText(v, func(b *strings.Builder) { WriteRows(b, rows) })
}

// PrintText is Print for a summary that is more than rows.
func (c *Common) PrintText(v any, write func(*strings.Builder)) error {
	c.line.Load().Clear()
	switch {
	case c.JSON:
		return EncodeJSON(c.Out, v)
	case c.Quiet || c.Output == "-":
		return nil
	}
	var b strings.Builder
	write(&b)
	_, err := io.WriteString(c.Out, b.String())
	return err
}

// NotChecked prints that something is not checked, unless the command was interrupted.
func (c *Common) NotChecked(stopped error) error {
	if f := new(Failure); !errors.As(stopped, &f) {
		return stopped
	}
	if err := c.Print(Object{"valid", nil, "error", Sentence(stopped)}, []Row{{"verdict", "not checked"}}); err != nil {
		return err
	}
	return stopped
}

// Progress returns the progress line, a silent one if the command is to be quiet.
func (c *Common) Progress() *Progress { return c.newProgress(c.Quiet) }

// Words of --noise of several commands, beside the names of package noise.
const (
	NoiseAuto     = "auto" // the best one
	NoiseDesigned = "designed"
)

// DesignOptions are the defaults of designs.
func DesignOptions() lp.Options {
	return lp.Options{Gap: lp.Limits.Gap.Default, TimeLimit: time.Minute, MaxCells: lp.Limits.MaxCells.Default, NewSolver: highs.New}
}

// Where promises become weak.
const (
	largeEpsilon = 10
	largeDelta   = 1e-3
	mostDelta    = 0.1
)

// Prudent adds the flags --allow-delta and --rows of a command that promises an epsilon and a
// delta, refuses a promise that is hardly one, and warns of a weak one. It looks at no data: the
// number of rows is what the caller says, because where rows are added or removed their true number is
// private, and a warning that depends on it would tell of it.
func (f *Flags) Prudent(c *Common, epsilon, delta *float64) {
	allow, rows := false, 0
	f.Bool(&allow, "allow-delta", fmt.Sprintf("allow a delta of %g or more, the probability with which nothing is promised", mostDelta))
	f.Func("rows", "count", "", "about how many rows, or people, there are, as known without a look at the data: warn of a delta above one over it", func(text string) error {
		n, ok := ParseCount(text)
		if !ok || n < 1 {
			return Want("an integer of at least 1")
		}
		rows = n
		return nil
	})
	f.Check(func() error {
		if *delta >= mostDelta && !allow {
			return fmt.Errorf("delta = %v, want less than %g, or --allow-delta: with this probability nothing is promised", *delta, mostDelta)
		}
		c.WarnWeak(*epsilon, *delta, rows)
		return nil
	})
}

// Caution warns of a promise that is weak: of a design, which may be for any use, and is not refused.
func (f *Flags) Caution(c *Common, p *dp.Privacy) {
	f.Check(func() error {
		c.WarnWeak(p.Epsilon, p.Delta, 0)
		return nil
	})
}

// WarnWeak warns of a promise that is weak, among so many rows; 0 where their number is not known.
func (c *Common) WarnWeak(epsilon, delta float64, rows int) {
	if epsilon > largeEpsilon {
		c.Warn("epsilon = %v promises little: %s", epsilon, InWords(epsilon, delta, "which of two secrets somebody has"))
	}
	switch {
	case rows > 0 && delta > 1/float64(rows):
		c.Warn("delta = %v is above 1/%d, one over the number of rows: to publish a random row as it is would keep such a promise", delta, rows)
	case delta >= largeDelta:
		c.Warn("delta = %v is large: with this probability nothing is promised; it should be far below one over the number of people, such as 1e-6", delta)
	}
}

// InWords says what an epsilon and a delta are to who guesses something of which they hide
// which of two it is. With even odds before, no test is right with a probability above
// (e^epsilon + delta)/(1 + e^epsilon) (Kairouz, Oh and Viswanath, 2015, theorem 2.1), here rounded up,
// to as many digits as it takes to stay below 1.
func InWords(epsilon, delta float64, what string) string {
	wrong := (1 - delta) / (1 + math.Exp(epsilon)) * (1 - 1e-12) // at least, rounding included
	for scale := 1e4; scale <= 1e15; scale *= 10 {
		if n := math.Floor(wrong * scale); n >= 1 {
			return fmt.Sprintf("asked %s, who could only toss a coin before is right with a probability of at most %v %% after", what, (scale-n)/(scale/100))
		}
	}
	return fmt.Sprintf("asked %s, who could only toss a coin before may be certain after", what)
}
