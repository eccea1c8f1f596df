// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/files"
	"github.com/noisewright/noisewright/proof"
)

// The exit codes.
const (
	ExitDone        = 0
	ExitFailure     = 1
	ExitBadInput    = 2
	ExitNegative    = 3
	ExitLimit       = 4
	exitInterrupted = 130
)

// Failure is an error with its exit code and the command to try next.
type Failure struct {
	Code int
	Err  error
	Hint string
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// BadInput is about a flag, an argument or an input file.
func BadInput(hint string, err error) error {
	return &Failure{Code: ExitBadInput, Err: err, Hint: hint}
}

// Refuse is an error about flags that do not go together, nil if nothing is wrong with them.
func Refuse(wrong bool, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// Invalid makes an error that wraps dp.ErrInvalid one of bad input, unless it is a Failure already.
func Invalid(hint string, err error) error {
	if _, failed := errors.AsType[*Failure](err); !failed && errors.Is(err, dp.ErrInvalid) {
		return BadInput(hint, err)
	}
	return err
}

// LatentFailure is the failure of a latent command.
func LatentFailure(err error) error {
	var f *Failure
	switch {
	case errors.As(err, &f):
		return err
	case errors.Is(err, proof.ErrNotPrivate):
		return Negative("", err)
	case errors.Is(err, proof.ErrWork):
		return BadInput("noisewright latent verify --time-limit 10m checks it", err)
	case errors.Is(err, dp.ErrInvalid), errors.Is(err, proof.ErrFormat), errors.Is(err, fs.ErrExist):
		return BadInput("", err)
	}
	return err
}

// Negative is about a table that does not keep what it claims.
func Negative(hint string, err error) error {
	return &Failure{Code: ExitNegative, Err: err, Hint: hint}
}

func interrupted() error {
	return &Failure{Code: exitInterrupted, Err: errors.New("interrupted")}
}

// usageError is about the command line as cobra and pflag see it.
func usageError(err error, cmd *cobra.Command) error {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	// cobra's suggestions follow on lines of their own.
	first, rest, _ := strings.Cut(err.Error(), "\n")
	hint := cmd.CommandPath() + " --help"
	if _, name, ok := strings.Cut(rest, "Did you mean this?"); ok {
		if name = strings.Join(strings.Fields(name), " or "); name != "" {
			hint = "did you mean " + name + "?"
		}
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if name := similarFlag(cmd, unknown.GetSpecifiedName()); name != "" {
			hint = "did you mean --" + name + "?"
		}
		if argument := strings.ToUpper(unknown.GetSpecifiedName()); slices.Contains(strings.Fields(cmd.Use), argument) {
			hint = fmt.Sprintf("%s is no flag but an argument: %s", argument, cmd.UseLine())
		}
	}
	return BadInput(hint, errors.New(first))
}

// similarFlag returns what cobra would suggest if flags were commands, "" for nothing.
func similarFlag(cmd *cobra.Command, wrong string) string {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	return strings.Join(names.SuggestionsFor(wrong), " or --")
}

// standardOutput marks the errors of standard output.
type standardOutput struct {
	io.Writer
	abandoned *atomic.Bool // nothing is written any more
	err       error        // the last one: cobra drops those of help texts
}

func (s *standardOutput) Write(p []byte) (int, error) {
	if s.abandoned.Load() {
		return 0, context.Canceled
	}
	n, err := s.Writer.Write(p)
	if err != nil {
		err = &outputError{err}
		s.err = err
	}
	return n, err
}

type outputError struct{ err error }

func (e *outputError) Error() string {
	return "standard output: " + files.Cause(e.err).Error()
}
func (e *outputError) Unwrap() error { return e.err }

func (a *Streams) report(err error) int {
	if !a.ended.CompareAndSwap(false, true) {
		return exitInterrupted
	}
	a.line.Load().Clear()
	if out, ok := a.Out.(*standardOutput); ok && err == nil {
		err = out.err
	}
	if err == nil {
		return ExitDone
	}
	code, hint := ExitFailure, ""
	f, failed := errors.AsType[*Failure](err)
	if failed {
		code, hint = f.Code, f.Hint
	}
	if out, ok := errors.AsType[*outputError](err); ok && errors.Is(out, syscall.EPIPE) && !failed {
		return ExitDone // the reader, such as head, has all it wanted
	}
	if errors.Is(err, context.Canceled) {
		code = exitInterrupted
	}
	label := "error"
	if code == ExitLimit {
		label = "warning"
	}
	for _, s := range check.Sentences(err) {
		a.Say(label, s)
	}
	if hint != "" {
		a.Say("hint", hint)
	}
	return code
}

// Say prints a labeled line to standard error. All errors, hints and warnings pass here: they may
// hold text of files and names of files, which must not reach a terminal as commands.
func (a *Streams) Say(label, s string) {
	a.line.Load().Clear()
	fmt.Fprintf(a.Err, "%s: %s\n", label, Printable(s))
}

// Printable escapes what does not print, line ends too, as a Go string does: \x1b, \n, \u202e.
func Printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if strconv.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(s[:size])
		} else {
			quoted := strconv.Quote(s[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}

// Sentence is what an error says to a reader of the program, on one line.
func Sentence(err error) string { return strings.Join(check.Sentences(err), "; ") }
